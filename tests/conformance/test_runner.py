"""Runs of cases: verdicts, isolation, failing targets, interruption."""

import os
import signal
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.case import Case, CaseError, cases_of, grpc_case, remoting_case
from rocketmq_testkit.conformance.context.grpc import GrpcContext
from rocketmq_testkit.conformance.context.remoting import RemotingContext
from rocketmq_testkit.conformance.deployment.target import Capability, Deployment, TargetError
from rocketmq_testkit.conformance.discovery import all_cases
from rocketmq_testkit.conformance.outcomes import known_differences
from rocketmq_testkit.conformance.outcomes.outcome import Outcome, Verdict
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.runner.attempts import first_expected
from rocketmq_testkit.conformance.runner.case_run import run_case
from rocketmq_testkit.conformance.runner.run import Run, carry_out, record
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv


@remoting_case("SendMessageProcessor")
def stored(t: RemotingContext) -> None:
    """A message is stored."""
    t.note("sent", t.send(t.topic()), 0)


@remoting_case("SendMessageProcessor")
def contradicted(t: RemotingContext) -> None:
    """A case expects a rejection, wrongly."""
    t.note("sent", t.send(t.topic()), 29)


@remoting_case("SendMessageProcessor")
def broken(t: RemotingContext) -> None:
    """A case fails before its end."""
    t.note("sent", t.send(t.topic()), 0)
    t.note("missing", t.send(t.topic())["nothing"])


@remoting_case("SendMessageProcessor", needs={Capability.SEVERAL_BROKERS})
def demanding(t: RemotingContext) -> None:
    """A case needs several brokers."""
    t.note("never", 1)


@remoting_case("BrokerConfig", settings={"autoCreateTopicEnable": "false"})
def configured(t: RemotingContext) -> None:
    """A broker with a key of its own does not create topics."""
    t.note("sent", t.send(t.new()), 17)


@remoting_case("PullMessageProcessor")
def waiting(t: RemotingContext) -> None:
    """A waiting pull returns at its deadline, without real waiting."""
    topic, group = t.topic(), t.group()
    pending = t.start_pull(topic, group, suspend_ms=60_000)
    watch = t.stopwatch()
    t.wait(70)
    t.note("pulled", pending(), 19)
    t.note("after", watch.between(70, 71))


@grpc_case("RouteActivity")
def routed(t: GrpcContext) -> None:
    """A route is returned."""
    t.note("route", t.call("QueryRoute", sv.QueryRouteRequest(topic=pb.Resource(name=t.topic()))), 20000)


class OneBroker(EmulatorTarget):
    """An emulator that claims to have only one broker."""

    capabilities = EmulatorTarget.capabilities - {Capability.SEVERAL_BROKERS}


def case(function: Callable[..., None]) -> Case:
    """Make a case of a decorated function, as if it was in a module `own` of the cases."""
    module = types.ModuleType("cases.own")
    function.__module__ = "cases.own"
    setattr(module, function.__name__, function)
    (found,) = cases_of(module)
    return found


def outcome(function: Callable[..., None], records: RecordedOutcomes) -> Outcome:
    """Run a case on an emulator of its own; the token of the run makes its names unique."""
    with EmulatorTarget() as target:
        return run_case(case(function), target, records, token="t1")


@pytest.fixture
def records(tmp_path: Path) -> RecordedOutcomes:
    return RecordedOutcomes(tmp_path)


def recorded(records: RecordedOutcomes, function: Callable[..., None]) -> None:
    """Record the emulator's current outcome."""
    records.store("5.3.3", "own", {function.__name__: outcome(function, records).notes}, "2026-01-31")


@pytest.mark.parametrize("function", [stored, configured, waiting, routed])
def test_a_case_with_the_recorded_notes_is_same(records: RecordedOutcomes, function: Callable[..., None]) -> None:
    """A run with other names and times makes the recorded notes and has the verdict SAME."""
    assert outcome(function, records).verdict is Verdict.UNRECORDED
    recorded(records, function)
    assert outcome(function, records).verdict is Verdict.SAME


def test_a_case_with_other_notes_than_recorded_differs(records: RecordedOutcomes) -> None:
    """A run with other notes than recorded has the verdict DIFFERS with both sides."""
    records.store("5.3.3", "own", {"stored": [("sent", {"code": 29})]}, "2026-01-31")
    found = outcome(stored, records)
    assert found.verdict is Verdict.DIFFERS
    assert not found.expected
    assert found.record is not None
    assert found.record.notes == [("sent", {"code": 29})]
    assert found.notes[0][1]["code"] == 0


def test_a_case_whose_stated_code_does_not_match_differs(records: RecordedOutcomes) -> None:
    """A case whose stated code does not match differs, even if the record has the same outcome."""
    recorded(records, contradicted)
    found = outcome(contradicted, records)
    assert found.verdict is Verdict.DIFFERS
    assert "code 29 was expected, 0 was returned" in found.reason


def test_a_case_that_fails_keeps_its_notes_and_names_the_failure(records: RecordedOutcomes) -> None:
    """A case that fails keeps its earlier notes and names the place of the failure."""
    found = outcome(broken, records)
    assert found.verdict is Verdict.ERROR
    assert "the response has no nothing" in found.reason
    assert [label for label, _ in found.notes] == ["sent"]


def test_with_another_version_the_failure_of_a_case_is_a_note(records: RecordedOutcomes) -> None:
    """With another version, the point of failure of a case is a note and can be recorded."""

    class OtherVersion(EmulatorTarget):
        recorded_version = "5.5.0"

    with OtherVersion() as target:
        found = run_case(case(broken), target, records, token="t1")
    assert found.verdict is Verdict.UNRECORDED
    label, value = found.notes[-1]
    assert label == "given up"
    assert "the response has no nothing" in value


def test_a_case_that_needs_more_than_the_target_offers_is_not_applicable(records: RecordedOutcomes) -> None:
    """A case that needs more than the target offers is not applicable and does not run."""
    with OneBroker() as target:
        found = run_case(case(demanding), target, records, token="t1")
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert found.reason == "needs several-brokers"
    assert found.notes == []


@pytest.mark.parametrize(("table", "verdict"), [("DELIBERATE", Verdict.DELIBERATE), ("GAPS", Verdict.GAP)])
def test_a_listed_difference_is_expected_and_stale_without_a_difference(
    records: RecordedOutcomes, monkeypatch: pytest.MonkeyPatch, table: str, verdict: Verdict
) -> None:
    """A listed difference has the verdict of its list and its reason; a listed case without difference fails."""
    monkeypatch.setattr(known_differences, table, {"own.stored": "because"})
    records.store("5.3.3", "own", {"stored": [("sent", {"code": 29})]}, "2026-01-31")
    found = outcome(stored, records)
    assert (found.verdict, found.reason, found.expected) == (verdict, "because", True)
    monkeypatch.setattr(known_differences, table, {})
    recorded(records, stored)
    monkeypatch.setattr(known_differences, table, {"own.stored": "because"})
    stale = outcome(stored, records)
    assert stale.verdict is Verdict.STALE
    assert not stale.expected


def test_every_listed_difference_names_an_existing_case_or_scenario() -> None:
    """Every listed difference names an existing case or scenario and has a sentence."""
    ids = {each.id for each in all_cases()}
    for table in (known_differences.DELIBERATE, known_differences.GAPS):
        for name, reason in table.items():
            assert name in ids or "scenarios." in name or "@" in name, name
            assert len(reason) > 20, name


def test_every_case_is_recorded() -> None:
    """Every case has a record of the reference version, and every record has a case."""
    records = RecordedOutcomes()
    cases = {each.id for each in all_cases()}
    recorded = {
        f"{noun}.{name}" for noun in records.nouns("5.3.3") for name in records.names("5.3.3", noun) if "@" not in name
    }
    assert cases == recorded


def test_a_case_without_a_sentence_is_refused() -> None:
    """A case without a sentence is rejected by an error with its name."""

    @remoting_case("X")
    def silent(t: RemotingContext) -> None:
        t.note("x", 1)

    with pytest.raises(CaseError, match=r"own\.silent has no sentence"):
        case(silent)


def test_concurrent_cases_do_not_affect_each_other(records: RecordedOutcomes) -> None:
    """Concurrent cases do not affect each other, and outcomes come in the order of the cases."""
    cases = [case(stored), case(waiting), case(configured), case(routed)]
    run = carry_out(cases, [EmulatorTarget()], records, jobs=4, each=lambda _: None)
    assert [each.id for each in run.outcomes] == [each.id for each in cases]
    assert {each.verdict for each in run.outcomes} == {Verdict.UNRECORDED}
    assert not run.good
    changed = record(run, [EmulatorTarget()], records)
    assert sorted(changed["emulator"]) == ["own.configured", "own.routed", "own.stored", "own.waiting"]
    assert carry_out(cases, [EmulatorTarget()], records, jobs=4, each=lambda _: None).good


def test_errors_and_contradictions_are_not_recorded(records: RecordedOutcomes) -> None:
    recorded(records, contradicted)
    cases = [case(broken), case(contradicted), case(demanding)]
    run = carry_out(cases, [OneBroker()], records, jobs=1, each=lambda _: None)
    assert record(run, [OneBroker()], records)["emulator"] == []


class MortalTarget(EmulatorTarget):
    """A target that fails after it has lent `lives` emulators."""

    def __init__(self, lives: int) -> None:
        self.lives = lives
        self.stopped = False

    @contextmanager
    def lend(
        self, settings: Mapping[str, str], *, alone: bool = False, encrypted: bool = False
    ) -> Iterator[Deployment]:
        self.lives -= 1
        with super().lend(settings, alone=alone, encrypted=encrypted) as place:
            yield place

    def check(self) -> None:
        if self.lives <= 0:
            raise TargetError("it died; the end of its log: out of memory")

    def stop(self) -> None:
        self.stopped = True


def test_a_target_that_fails_ends_the_run(records: RecordedOutcomes) -> None:
    """A target that fails ends the run: outcomes are kept, the reason is reported, the target is stopped."""
    target = MortalTarget(2)
    run = carry_out([case(stored)] * 5, [target], records, jobs=1, each=lambda _: None)
    assert len(run.outcomes) == 2
    assert "it died; the end of its log" in run.problem
    assert not run.good
    assert target.stopped


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Make SIGINT raise KeyboardInterrupt, even if the tests run in the background, where SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_run_keeps_its_outcomes_and_stops_its_targets(records: RecordedOutcomes) -> None:
    """Ctrl-C ends the run, keeps its outcomes and stops its targets."""
    many = 10_000  # takes longer than the delivery of a signal to the main thread
    target = MortalTarget(many)
    seen: list[Outcome] = []

    def interrupt(found: Outcome) -> None:
        seen.append(found)
        if len(seen) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    run = carry_out([case(stored)] * many, [target], records, jobs=1, each=interrupt)
    assert run.interrupted
    assert not run.good
    assert 2 <= len(run.outcomes) < many
    assert target.stopped


def test_an_outcome_expected_at_a_later_attempt_is_reported_as_repeated(records: RecordedOutcomes) -> None:
    """A case whose outcome is as expected only at a later attempt passes, and is reported as repeated."""
    recorded(records, stored)
    good = outcome(stored, records)
    bad = outcome(contradicted, records)
    found = first_expected(iter([bad, bad, good]).__next__, 3)
    assert (found.verdict, found.reason) == (Verdict.SAME, "at attempt 3")
    assert len(found.earlier_attempts) == 2
    assert all(each.startswith("differs: ") for each in found.earlier_attempts)
    for limit, many in ((None, False), (1, False), (0, True)):
        run = Run(["emulator"], [found, good], repeated_max=limit)
        assert (run.too_many_repeated, run.good) == (many, not many)
    assert first_expected(iter([bad, bad, good]).__next__, 2) is bad
    assert first_expected(iter([good]).__next__, 3) is good


class Real(EmulatorTarget):
    """A target that behaves like a broker in real time."""

    emulated = False


@pytest.mark.parametrize(("target", "attempts"), [(EmulatorTarget, 1), (Real, 3)])
def test_a_differing_case_is_repeated_only_with_real_brokers(
    records: RecordedOutcomes, target: type[EmulatorTarget], attempts: int
) -> None:
    """A case that differs is repeated with real brokers, but not with the emulator."""
    runs = []

    @remoting_case("SendMessageProcessor")
    def counted(t: RemotingContext) -> None:
        """A case contradicts its stated code."""
        runs.append(t)
        t.note("sent", t.send(t.topic()), 29)

    run = carry_out([case(counted)], [target()], records, jobs=1, each=lambda _: None, attempts=3)
    assert [found.verdict for found in run.outcomes] == [Verdict.DIFFERS]
    assert len(runs) == attempts
