"""A target given by its addresses: all cases share it, it can fail, and its control port can advance its clock."""

import itertools
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from rocketmq_testkit.conformance.case import Case
from rocketmq_testkit.conformance.context.remoting import RemotingContext
from rocketmq_testkit.conformance.deployment.target import COMMON_SETTINGS, Capability, TargetError
from rocketmq_testkit.conformance.discovery import all_cases
from rocketmq_testkit.conformance.outcomes.outcome import Outcome, Verdict
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.runner.run import Run, carry_out
from rocketmq_testkit.conformance.scenario import scenario, scenarios_of
from rocketmq_testkit.conformance.sdk.scenario_context import ScenarioContext
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget
from rocketmq_testkit.conformance.targets.target_option import parse_target
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode


@pytest.fixture
def served() -> Iterator[Emulator]:
    """An emulator that serves any client."""
    with Emulator(profile="faithful", config=dict(COMMON_SETTINGS)) as emulator:
        yield emulator


def addresses(emulator: Emulator, *more: str) -> str:
    """Return the target of a running emulator."""
    return ",".join((f"namesrv={emulator.namesrv}", f"endpoint={emulator.endpoint}", *more))


def run(cases: list[Case], text: str, *, jobs: int = 1, each: Callable[[Outcome], None] = lambda _: None) -> Run:
    """Run cases with a target and compare them with the project's records."""
    return carry_out(cases, [parse_target(text)], RecordedOutcomes(), jobs=jobs, each=each)


def cases(*nouns: str) -> list[Case]:
    """Return the cases of some nouns, such as `send`, that need no broker of their own."""
    return [each for each in all_cases() if each.noun in nouns and not each.mark.settings and not each.mark.alone]


def test_a_broker_that_stops_ends_the_run(served: Emulator) -> None:
    """A broker that stops ends the run: earlier outcomes are kept, and no other case starts.

    The current case has no outcome.
    """
    seen = itertools.count(1)

    def let_die(_outcome: Outcome) -> None:
        if next(seen) == 2:
            served.stop()

    text, namesrv = addresses(served), served.namesrv
    found = run(cases("limits"), text, each=let_die)
    assert [each.verdict for each in found.outcomes] == [Verdict.SAME] * 2
    assert found.problem == f"TargetError: namesrv={namesrv} cannot be reached: Connection refused"
    assert not found.good


def test_a_target_waits_for_a_broker_that_is_not_up_yet() -> None:
    """A target whose broker is not up yet waits for it, and the run then uses that broker."""
    with Emulator(profile="faithful", config=dict(COMMON_SETTINGS)) as gone:
        namesrv, endpoint = gone.namesrv, gone.endpoint
    ports = [int(address.rpartition(":")[2]) for address in (namesrv, endpoint)]
    target = parse_target(f"namesrv={namesrv},endpoint={endpoint},wait=60")
    with ExitStack() as late, ThreadPoolExecutor(1) as pool:
        started = pool.submit(target.start)
        with pytest.raises(TimeoutError):
            started.result(0.3)
        late.enter_context(Emulator(profile="faithful", namesrv_port=ports[0], grpc_port=ports[1]))
        started.result(60)
        target.check()


def test_keys_that_differ_from_the_recorded_ones_are_likely_causes(served: Emulator) -> None:
    """Configuration keys that differ from the recorded broker's are listed as likely causes.

    Names, ports and threads are not compared.
    """
    with Emulator(profile="faithful", config={**COMMON_SETTINGS, "maxMessageSize": "1000", "brokerName": "x"}) as other:
        assert parse_target(addresses(other)).likely_causes() == ["maxMessageSize=1000 (recorded with 4194304)"]
    assert parse_target(addresses(served)).likely_causes() == []
    assert parse_target("namesrv=127.0.0.1:1,endpoint=127.0.0.1:1").likely_causes() == []


def test_cases_that_share_a_broker_have_the_same_outcomes_as_with_their_own(served: Emulator) -> None:
    """Cases of both protocols that run at the same time on one broker have the same outcomes as with a broker each.

    Each case uses unique names.
    """
    shared = cases("send", "pop", "ack", "offsets", "routes", "tag", "grpc_send", "grpc_fifo", "limits")
    assert len(shared) > 100
    found = run(shared, addresses(served), jobs=8)
    assert [(each.id, each.reason) for each in found.outcomes if each.verdict is not Verdict.SAME] == []
    assert len(found.outcomes) == len(shared)


JUMPS_MS = 20_000
"""A lower bound (ms) for the jumps of cases of delays, timers and invisible durations."""


def test_with_a_control_port_waiting_cases_advance_the_clock(served: Emulator) -> None:
    """With a control port, cases that wait for minutes advance the clock instead.

    The deliberate differences of the target `emulator` are accepted for an emulator at an address as well.
    """
    wanted = cases("delay", "timer", "grpc_invisible")
    before = served.clock.now_ms
    found = run(wanted, addresses(served, f"control={served.control}"), jobs=4)
    assert [(each.id, each.verdict, each.reason) for each in found.outcomes if not each.expected] == []
    assert {each.verdict for each in found.outcomes} == {Verdict.SAME, Verdict.DELIBERATE}
    jumped_ms = served.clock.now_ms - before - found.seconds * 1000
    assert jumped_ms > JUMPS_MS


def test_with_a_control_port_a_broker_can_crash_and_restart(served: Emulator) -> None:
    """With a control port, a broker can crash and restart: clients are disconnected, messages and keys are kept."""
    with parse_target(addresses(served, f"control={served.control}")) as target:
        assert target.capabilities >= {Capability.VIRTUAL_TIME, Capability.RESTART, Capability.CRASH}
        with target.lend({}, alone=True) as place, RemotingContext(place, "t1") as t:
            topic = t.topic(queues=1)
            for stop in (t.crash, t.restart):
                t.sent(topic)
                with RemotingClient(t.broker_address) as before:
                    before.request(RequestCode.GET_BROKER_CONFIG)
                    stop()
                    with pytest.raises(ConnectionError):
                        before.request(RequestCode.GET_BROKER_CONFIG)
            assert [each.body for each in t.messages_of(topic, t.group())] == [b"m0", b"m0"]
        with pytest.raises(TargetError, match="cannot configure this emulator"), target.lend({"k": "v"}):
            pass


@pytest.mark.parametrize("controlled", [False, True])
def test_an_emulator_stopped_for_a_while_keeps_its_messages(served: Emulator, controlled: bool) -> None:
    """An emulator that is stopped for a while, directly or by its control port, keeps its messages."""
    target = parse_target(addresses(served, f"control={served.control}")) if controlled else EmulatorTarget()
    with target, target.lend({}, alone=True) as place, RemotingContext(place, "t2") as t:
        topic = t.topic(queues=1)
        t.sent(topic)
        with t.stopped(), pytest.raises(ConnectionRefusedError), RemotingClient(t.broker_address):
            pass
        t.sent(topic)
        assert [each.body for each in t.messages_of(topic, t.group())] == [b"m0", b"m0"]


def test_with_a_control_port_a_scenario_restarts_the_shared_broker(served: Emulator) -> None:
    """With a control port, a scenario that restarts its broker uses the shared one.

    A scenario with configuration keys of its own is not applicable.
    """

    @scenario("BrokerController.shutdown", verbs={"send"}, capabilities={Capability.RESTART}, alone=True)
    def stops(s: ScenarioContext) -> None:
        """A broker keeps stored messages."""
        topic = s.topic()
        s.producer(topic).send(topic)
        s.admin.restart()
        s.note("kept", len(s.stored(topic)))

    @scenario("BrokerConfig", settings={"brokerPermission": "4"})
    def configured(s: ScenarioContext) -> None:
        """A broker rejects every message."""

    module = types.ModuleType("sample")
    for function in (stops, configured):
        function.__module__ = "sample"
        setattr(module, function.__name__, function)
    found = carry_out(
        [],
        [parse_target(addresses(served, f"control={served.control}"))],
        RecordedOutcomes(),
        jobs=2,
        each=lambda _: None,
        scenarios=scenarios_of(module),
        sdks=["python"],
    )
    [stopped, other] = found.outcomes
    assert (stopped.verdict, stopped.notes) == (Verdict.UNRECORDED, [("kept", 1)]), stopped.reason
    assert (other.verdict, other.reason) == (Verdict.NOT_APPLICABLE, "needs configure")


def test_an_unreachable_or_invalid_control_port_is_reported_before_any_case(served: Emulator) -> None:
    """A control port that cannot be reached, or is none, is reported in one sentence before any case runs."""
    for url, problem in ((f"http://{served.namesrv}", "is no control port"), ("http://127.0.0.1:1", "refused")):
        with pytest.raises(TargetError, match=problem), parse_target(addresses(served, f"control={url}")):
            pass
