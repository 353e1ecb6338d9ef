"""Cases that share one broker in sequence, and new brokers after a failed case."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.case import Case, remoting_case
from rocketmq_testkit.conformance.context.remoting import RemotingContext
from rocketmq_testkit.conformance.deployment.target import Deployment
from rocketmq_testkit.conformance.outcomes.outcome import Verdict
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.runner.case_tasks import PIECE_MAX, tasks_with_own_deployment
from rocketmq_testkit.conformance.runner.run import carry_out
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget

KEYS = {"autoCreateTopicEnable": "false"}


class Costly(EmulatorTarget):
    """A target that starts like a real broker, one at a time, and records each start."""

    name = "costly"
    emulated = False
    own_deployments_max = 1

    def __init__(self) -> None:
        self.started: list[dict[str, str]] = []
        self.in_use = 0

    @contextmanager
    def lend(
        self, settings: Mapping[str, str], *, alone: bool = False, encrypted: bool = False
    ) -> Iterator[Deployment]:
        """Lend a new emulator and record it."""
        self.started.append(dict(settings))
        with super().lend(settings, alone=alone, encrypted=encrypted) as deployment:
            self.in_use += 1
            yield deployment
            self.in_use -= 1


class Lines:
    """Cases that record, by name, the deployment of each run.

    An address would not tell deployments apart: the port of one that has ended may be given to a later one.
    """

    def __init__(self) -> None:
        self.seen: dict[str, list[Deployment]] = {}

    def case(self, name: str, *, fails: int = 0, tidy: bool = True, settings: Mapping[str, str] | None = None) -> Case:
        """Return a case whose first `fails` runs fail."""

        def run(t: RemotingContext) -> None:
            """A broker is available."""
            runs = self.seen.setdefault(name, [])
            runs.append(t.deployment)
            t.note("code", t.send(t.topic()).code)
            if len(runs) <= fails:
                raise ValueError("too slow")

        mark = remoting_case("BrokerStartup", settings=settings, alone=not tidy, tidy=tidy)(run).__rocketmq_case__  # type: ignore[attr-defined]  # put there by the decorator
        return Case("own", name, "A broker is there.", mark, run=run)


@pytest.fixture
def lines() -> Lines:
    return Lines()


def run(cases: Sequence[Case], target: Costly, folder: Path, attempts: int = 2) -> list[Verdict]:
    return [
        each.verdict
        for each in carry_out(
            cases, [target], RecordedOutcomes(folder), jobs=2, each=lambda _: None, attempts=attempts
        ).outcomes
    ]


def test_tidy_cases_with_the_same_settings_have_one_broker(lines: Lines, tmp_path: Path) -> None:
    target = Costly()
    names = ("one", "with_a_key", "alone", "two", "with_it_too")
    RecordedOutcomes(tmp_path).store("5.3.3", "own", {name: [("code", 0)] for name in names}, "2026-11-23")
    cases = [
        lines.case("one"),
        lines.case("with_a_key", settings=KEYS),
        lines.case("alone", tidy=False),
        lines.case("two"),
        lines.case("with_it_too", settings=KEYS),
    ]

    verdicts = run(cases, target, tmp_path, attempts=1)

    assert set(verdicts) == {Verdict.SAME}
    assert sorted(map(len, target.started)) == [0, 0, 1]
    assert lines.seen["one"] == lines.seen["two"]
    assert lines.seen["with_a_key"] == lines.seen["with_it_too"]
    assert lines.seen["alone"] != lines.seen["one"]
    assert target.in_use == 0


def test_a_failed_case_and_the_next_case_get_new_brokers(lines: Lines, tmp_path: Path) -> None:
    target = Costly()
    RecordedOutcomes(tmp_path).store("5.3.3", "own", {name: [("code", 0)] for name in ("a", "b", "c")}, "2026-11-23")

    verdicts = run([lines.case("a"), lines.case("b", fails=1), lines.case("c")], target, tmp_path)

    assert verdicts == [Verdict.SAME] * 3
    [a], [b1, b2], [c] = (lines.seen[name] for name in "abc")
    assert a == b1
    assert len({a, b2, c}) == len(target.started) == 3


def test_at_most_piece_max_cases_share_a_costly_broker(lines: Lines, tmp_path: Path) -> None:
    cases = [lines.case(f"case{number}") for number in range(PIECE_MAX + 1)]
    records = RecordedOutcomes(tmp_path)

    assert len(tasks_with_own_deployment(cases, Costly(), records, 1)) == 2
    assert len(tasks_with_own_deployment(cases, EmulatorTarget(), records, 1)) == len(cases)
