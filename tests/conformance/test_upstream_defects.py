"""Defects of upstream: with them enabled, cases that differ on purpose have the recorded outcome of a real broker."""

import secrets

import pytest
from rocketmq_testkit.conformance.command import main
from rocketmq_testkit.conformance.discovery import all_cases
from rocketmq_testkit.conformance.outcomes import known_differences
from rocketmq_testkit.conformance.outcomes.outcome import Outcome, Verdict
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes, comparable
from rocketmq_testkit.conformance.runner.case_run import run_case
from rocketmq_testkit.conformance.scenario import record_key
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget
from rocketmq_testkit.emulator.faults.upstream_defects import UPSTREAM_DEFECTS, VERSIONS, defects_of, needed_for

CASES = {each.id: each for each in all_cases()}
SHOWN = sorted({case for each in UPSTREAM_DEFECTS.values() for case in each.shown_by if "@" not in case})
PAIRS = [(each.name, case) for each in UPSTREAM_DEFECTS.values() for case in each.shown_by if "@" not in case]


NEIGHBORS = ("grpc_route", "groups")
"""Nouns of affected cases, whose other cases must not change with the defects."""


def outcome(case: str, *defects: str) -> Outcome:
    """Return the outcome of a case with these defects enabled, compared with the record of the reference version."""
    return run_case(CASES[case], EmulatorTarget(defects=defects), RecordedOutcomes(), secrets.token_hex(4))


@pytest.mark.parametrize("case", SHOWN)
def test_a_case_of_the_table_has_the_recorded_outcome_with_its_defects_on(case: str) -> None:
    """The defects that name a case make its outcome the recorded one, and no longer a deliberate difference."""
    found = outcome(case, *(each.name for each in needed_for(case)))
    assert (found.verdict, found.reason) == (Verdict.SAME, "")


@pytest.mark.parametrize(("defect", "case"), PAIRS)
def test_each_defect_that_names_a_case_is_needed_for_its_recorded_outcome(defect: str, case: str) -> None:
    """Without one of its defects a case still differs, as the known differences say."""
    others = [each.name for each in needed_for(case) if each.name != defect]
    found = outcome(case, *others)
    assert (found.verdict, found.reason) == (Verdict.DELIBERATE, known_differences.DELIBERATE[case])


def test_every_deliberate_difference_is_caused_by_a_defect_of_the_table() -> None:
    """Each case or scenario that differs on purpose names its defects, and no other case is in the table."""
    named = {case for each in UPSTREAM_DEFECTS.values() for case in each.shown_by}
    assert named == set(known_differences.DELIBERATE)


def test_a_defect_is_listed_for_exactly_the_versions_with_its_recorded_outcome() -> None:
    """The record of a version differs from that of the reference version if the version lacks a defect of the case."""
    records = RecordedOutcomes()
    assert records.versions() == list(VERSIONS)
    for version in VERSIONS:
        has = {each.name for each in defects_of(version)}
        for case in known_differences.DELIBERATE:
            key = record_key(case) if "@" in case else tuple(case.split(".", 1))
            mine, reference = records.record_of(version, *key), records.record_of("5.3.3", *key)
            assert mine is not None
            assert reference is not None
            is_same = comparable(mine.notes) == comparable(reference.notes)
            assert is_same == all(each.name in has for each in needed_for(case)), (version, case)


def test_with_all_defects_of_a_version_each_case_has_the_outcome_of_its_broker(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With `--faults upstream:5.3.3` no case differs: neither those that a defect affects, nor others of their noun."""
    shown = {case for each in defects_of("5.3.3") for case in each.shown_by if "@" not in case}
    chosen = [*sorted(shown), *(f"{noun}." for noun in NEIGHBORS)]
    selected = [case for case in CASES if any(each in case for each in chosen)]
    assert main(["run", "--faults", "upstream:5.3.3", "--jobs", "1", "-k", " or ".join(chosen)]) == 0
    assert f"emulator: {len(selected)} same\n" in capsys.readouterr().out
    assert shown < set(selected)
