"""A RocketMQ given by its addresses: all cases share it, it can fail, and its control port can advance its clock."""

import itertools
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from rocketmq_testkit.conformance.case import Case, all_cases
from rocketmq_testkit.conformance.outcome import Outcome, Verdict
from rocketmq_testkit.conformance.runner.run import Run, carry_out
from rocketmq_testkit.conformance.scenario import scenario, scenarios_of
from rocketmq_testkit.conformance.stage import Stage
from rocketmq_testkit.conformance.targets.choose import target as choose
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget
from rocketmq_testkit.conformance.targets.target import COMMON_SETTINGS, Capability, TargetError
from rocketmq_testkit.conformance.truth import Truth
from rocketmq_testkit.conformance.worlds.remoting import Remoting
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
    return carry_out(cases, [choose(text)], Truth(), jobs=jobs, each=each)


def cases(*nouns: str) -> list[Case]:
    """Return the cases of some nouns that need no broker of their own."""
    return [each for each in all_cases() if each.noun in nouns and not each.mark.settings and not each.mark.alone]


def test_a_broker_that_dies_ends_the_run(served: Emulator) -> None:
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


def test_a_broker_that_starts_is_waited_for() -> None:
    """A target whose broker is not up yet waits for it, and the run then uses that broker."""
    with Emulator(profile="faithful", config=dict(COMMON_SETTINGS)) as gone:
        namesrv, endpoint = gone.namesrv, gone.endpoint
    ports = [int(address.rpartition(":")[2]) for address in (namesrv, endpoint)]
    target = choose(f"namesrv={namesrv},endpoint={endpoint},wait=60")
    with ExitStack() as late, ThreadPoolExecutor(1) as pool:
        started = pool.submit(target.start)
        with pytest.raises(TimeoutError):
            started.result(0.3)
        late.enter_context(Emulator(profile="faithful", namesrv_port=ports[0], grpc_port=ports[1]))
        started.result(60)
        target.check()


def test_keys_that_differ_from_the_recorded_ones_are_found(served: Emulator) -> None:
    """Configuration keys that differ from the recorded broker's are listed as likely causes.

    Names, ports and threads are not compared.
    """
    with Emulator(profile="faithful", config={**COMMON_SETTINGS, "maxMessageSize": "1000", "brokerName": "x"}) as other:
        assert choose(addresses(other)).likely_causes() == ["maxMessageSize=1000 (recorded with 4194304)"]
    assert choose(addresses(served)).likely_causes() == []
    assert choose("namesrv=127.0.0.1:1,endpoint=127.0.0.1:1").likely_causes() == []


def test_cases_that_share_a_broker_do_not_see_each_other(served: Emulator) -> None:
    """Many cases of both protocols at once on one broker have the same outcomes as with a broker each.

    All names are unique.
    """
    shared = cases("send", "pop", "ack", "offsets", "routes", "tag", "grpc_send", "grpc_fifo", "limits")
    assert len(shared) > 100
    found = run(shared, addresses(served), jobs=8)
    assert [(each.id, each.reason) for each in found.outcomes if each.verdict is not Verdict.SAME] == []
    assert len(found.outcomes) == len(shared)


JUMPS_MS = 20_000
"""A lower bound for the jumps of delay, timer and invisible duration cases.

Without jumps the clock would not advance.
"""


def test_with_its_control_port_time_jumps(served: Emulator) -> None:
    """With a control port, cases that wait for minutes take no time.

    A deliberate difference of the emulator in this process is accepted for this emulator as well.
    """
    wanted = cases("delay", "timer", "grpc_invisible")
    before = served.clock.now_ms
    found = run(wanted, addresses(served, f"control={served.control}"), jobs=4)
    assert [(each.id, each.verdict, each.reason) for each in found.outcomes if not each.expected] == []
    assert {each.verdict for each in found.outcomes} == {Verdict.SAME, Verdict.DELIBERATE}
    jumped_ms = served.clock.now_ms - before - found.seconds * 1000
    assert jumped_ms > JUMPS_MS


def test_with_its_control_port_it_can_be_crashed_and_restarted(served: Emulator) -> None:
    """With a control port, a broker can crash and restart: clients are disconnected, messages and keys are kept."""
    with choose(addresses(served, f"control={served.control}")) as target:
        assert target.capabilities >= {Capability.VIRTUAL_TIME, Capability.RESTART, Capability.CRASH}
        with target.lend({}, alone=True) as place, Remoting(place, "t1") as t:
            topic = t.topic(queues=1)
            for stop in (t.crash, t.restart):
                t.sent(topic)
                with RemotingClient(t.broker_address) as before:
                    before.request(RequestCode.GET_BROKER_CONFIG)
                    stop()
                    with pytest.raises(ConnectionError):
                        before.request(RequestCode.GET_BROKER_CONFIG)
            assert [each.body for each in t.messages_of(topic, t.group())] == [b"m0", b"m0"]
        with pytest.raises(TargetError, match="cannot be configured"), target.lend({"k": "v"}):
            pass


@pytest.mark.parametrize("controlled", [False, True])
def test_it_can_be_away_for_a_while(served: Emulator, controlled: bool) -> None:
    """An emulator can be stopped for a while, also by its control port, and keeps its messages."""
    target = choose(addresses(served, f"control={served.control}")) if controlled else EmulatorTarget()
    with target, target.lend({}, alone=True) as place, Remoting(place, "t2") as t:
        topic = t.topic(queues=1)
        t.sent(topic)
        with t.away(), pytest.raises(ConnectionRefusedError), RemotingClient(t.broker_address):
            pass
        t.sent(topic)
        assert [each.body for each in t.messages_of(topic, t.group())] == [b"m0", b"m0"]


def test_with_its_control_port_a_scenario_may_stop_it(served: Emulator) -> None:
    """With a control port, a scenario that restarts its broker uses the shared one.

    A scenario with configuration keys of its own is not applicable.
    """

    @scenario("BrokerController.shutdown", verbs={"send"}, capabilities={Capability.RESTART}, alone=True)
    def stops(s: Stage) -> None:
        """A broker keeps stored messages."""
        topic = s.topic()
        s.producer(topic).send(topic)
        s.world.restart()
        s.see("kept", len(s.stored(topic)))

    @scenario("BrokerConfig", settings={"brokerPermission": "4"})
    def configured(s: Stage) -> None:
        """A broker rejects every message."""

    module = types.ModuleType("sample")
    for function in (stops, configured):
        function.__module__ = "sample"
        setattr(module, function.__name__, function)
    found = carry_out(
        [],
        [choose(addresses(served, f"control={served.control}"))],
        Truth(),
        jobs=2,
        each=lambda _: None,
        scenarios=scenarios_of(module),
        sdks=["python"],
    )
    [stopped, other] = found.outcomes
    assert (stopped.verdict, stopped.notes) == (Verdict.UNRECORDED, [("kept", 1)]), stopped.reason
    assert (other.verdict, other.reason) == (Verdict.NOT_APPLICABLE, "needs configure")


def test_a_control_port_that_is_none_is_said_so(served: Emulator) -> None:
    """A control port that cannot be reached, or is none, is reported in one sentence before any case runs."""
    for url, problem in ((f"http://{served.namesrv}", "is no control port"), ("http://127.0.0.1:1", "refused")):
        with pytest.raises(TargetError, match=problem), choose(addresses(served, f"control={url}")):
            pass
