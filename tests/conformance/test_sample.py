"""The sample of pairs (scenario, SDK) that CI runs, and the record of the last run of all pairs, the whole matrix."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from rocketmq_testkit.conformance.discovery import all_scenarios
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.outcomes.outcome import Verdict
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.runner import matrix_record
from rocketmq_testkit.conformance.runner.active_drivers import ActiveDrivers
from rocketmq_testkit.conformance.runner.matrix_record import (
    MatrixRecord,
    MatrixRecordError,
    changed,
    digest_of,
    form_of,
    problem,
    recorded_sdks,
    text_of,
)
from rocketmq_testkit.conformance.runner.sample import SHARE, ScenarioSample, drawn, kinds
from rocketmq_testkit.conformance.runner.scenario_tasks import scenario_tasks
from rocketmq_testkit.conformance.scenario import Scenario, record_key
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget

RECORDS = RecordedOutcomes()
SCENARIOS = all_scenarios()
TAKES_PART = [(each, recorded_sdks(each, RECORDS)) for each in SCENARIOS]
DRAWN = drawn(TAKES_PART)
PAIRS = [each.id_with(sdk) for each, sdks in TAKES_PART for sdk in sdks]
EMPTY = MatrixRecord("", "", {}, {}, sdks={})


def protocols(sdks: list[str]) -> set[str]:
    return {registry.recipe(sdk).protocol for sdk in sdks}


def document(without: str = "", bad: str = "", early: str = "") -> dict[str, Any]:
    """Return the document of a run of the whole matrix.

    `without`: a pair that did not run; `bad`: a pair with an unexpected outcome; `early`: why the run ended early.
    """
    outcomes = [
        {"id": id_, "target": "emulator", "verdict": Verdict.SAME.value, "expected": id_ != bad}
        for id_ in PAIRS
        if id_ != without
    ]
    return {"date": "2026-01-31", "product": "rocketmq-testkit 1", "problem": early, "outcomes": outcomes}


def matrix(folder: Path, **change: Any) -> MatrixRecord:
    """Return the record of a whole matrix, with some fields changed."""
    file = folder / "matrix.json"
    file.write_text(text_of(form_of(document(), SCENARIOS, RECORDS)))
    return replace(MatrixRecord.read(file), **change)


def ran(sample: ScenarioSample) -> set[tuple[str, str]]:
    """Return the recorded pairs that a run with this sample executes."""
    return {(each.id, sdk) for each, sdks in TAKES_PART for sdk in sdks if not sample.omits(each, sdk)}


# The sample.


def test_every_scenario_has_an_sdk_of_each_protocol_that_can_take_part() -> None:
    for scenario, sdks in TAKES_PART:
        chosen = [sdk for sdk in sdks if (scenario.id, sdk) in DRAWN]
        assert protocols(chosen) == protocols(sdks), scenario.id


@pytest.mark.parametrize("sdk", registry.names())
def test_every_sdk_has_a_sixth_of_its_scenarios_and_each_kind_of_consumer(sdk: str) -> None:
    own = [each for each, sdks in TAKES_PART if sdk in sdks]
    chosen = [each for each in own if (each.id, sdk) in DRAWN]
    assert len(chosen) * SHARE >= len(own)
    assert {kind for each in chosen for kind in kinds(each)} == {kind for each in own for kind in kinds(each)}


def test_the_sample_is_smaller_than_half_of_the_matrix() -> None:
    assert len(DRAWN) < len(PAIRS) / 2


def test_the_sample_does_not_depend_on_the_order_of_scenarios_or_sdks() -> None:
    assert drawn([(each, sdks[::-1]) for each, sdks in reversed(TAKES_PART)]) == DRAWN


def test_a_new_scenario_changes_no_choice_of_the_others() -> None:
    """A new scenario can change the sixth of the scenarios of an SDK, but not the first SDKs of another scenario."""
    whole = {pair for pair in DRAWN if pair[0] != SCENARIOS[0].id}
    assert len(whole ^ drawn(TAKES_PART[1:])) <= len(registry.names())


# The record.


def test_the_record_of_the_matrix_is_current() -> None:
    """`make matrix` has recorded every pair, apart from a few new ones, which each run of CI executes."""
    assert problem(SCENARIOS, RECORDS, MatrixRecord.read()) == ""


def test_the_record_states_its_date_its_version_and_its_number_of_outcomes() -> None:
    form = json.loads(matrix_record.FILE.read_text())
    assert len(form["date"].split("-")) == 3
    assert form["product"].startswith("rocketmq-testkit ")
    assert form["outcomes"] == sum(len(row) - 1 for row in form["scenarios"].values())
    assert text_of(form) == matrix_record.FILE.read_text()


def test_a_record_that_lacks_too_much_is_stale_and_says_what_to_do(tmp_path: Path) -> None:
    assert problem(SCENARIOS, RECORDS, matrix(tmp_path)) == ""
    assert problem(SCENARIOS, RECORDS, EMPTY) == (
        f"matrix of no day: {len(PAIRS)} pairs of scenario and SDK are new or have changed since, such as {PAIRS[0]}; "
        "at most 120 may run beside the sample; run `make matrix` and commit matrix.json"
    )


@pytest.mark.parametrize(
    ("bad", "problem_text"),
    [
        ({"without": "plain.x@python"}, None),
        ({"without": PAIRS[0]}, "1 pairs did not run, such as "),
        ({"bad": PAIRS[0]}, "1 pairs have an unexpected outcome, such as "),
        ({"early": "interrupted"}, "the run ended early: interrupted; only a whole matrix is recorded"),
    ],
)
def test_only_a_whole_matrix_with_expected_outcomes_is_recorded(
    bad: Mapping[str, str], problem_text: str | None
) -> None:
    if problem_text is None:
        assert form_of(document(**bad), SCENARIOS, RECORDS)["outcomes"] == len(PAIRS)
        return
    with pytest.raises(MatrixRecordError, match=problem_text):
        form_of(document(**bad), SCENARIOS, RECORDS)


# The pairs of a run.


def test_a_run_omits_all_pairs_outside_the_sample_if_nothing_changed(tmp_path: Path) -> None:
    assert ran(ScenarioSample(SCENARIOS, RECORDS, matrix(tmp_path))) == DRAWN


def test_without_a_record_a_run_omits_nothing() -> None:
    assert ran(ScenarioSample(SCENARIOS, RECORDS, EMPTY)) == {
        (each.id, sdk) for each, sdks in TAKES_PART for sdk in sdks
    }


def test_a_changed_scenario_and_a_changed_sdk_run_whole(tmp_path: Path) -> None:
    whole = matrix(tmp_path)
    scenario, sdks = TAKES_PART[0]
    other_source = replace(whole, digests={**whole.digests, scenario.id: "0"})
    assert ran(ScenarioSample(SCENARIOS, RECORDS, other_source)) == DRAWN | {(scenario.id, sdk) for sdk in sdks}
    assert changed(SCENARIOS, RECORDS, other_source) == [scenario.id_with(sdk) for sdk in sdks]
    other_sdk = replace(whole, versions={**whole.versions, "rust": "0"})
    assert ran(ScenarioSample(SCENARIOS, RECORDS, other_sdk)) == DRAWN | {
        (each.id, "rust") for each, sdks in TAKES_PART if "rust" in sdks
    }


def test_a_recorded_outcome_that_changes_changes_the_digest_of_its_scenario(tmp_path: Path) -> None:
    """The digest of a scenario depends on the recorded notes of each SDK and on its source."""
    scenario, other = SCENARIOS[0], replace(SCENARIOS[0], run=SCENARIOS[1].run)
    records = RecordedOutcomes(tmp_path)
    digests = [digest_of(scenario, records), digest_of(other, records)]
    for number in (1, 2):
        noun, name = record_key(scenario.id_with("rust"))
        records.store("5.3.3", noun, {name: [("offset", number)]}, "2026-01-31")
        digests.append(digest_of(scenario, records))
    assert len(set(digests)) == 4


def test_an_omitted_pair_whose_driver_lost_a_verb_is_still_an_error(tmp_path: Path) -> None:
    """Pairs outside the sample are checked against the features of the drivers, too."""
    [(scenario, _)] = [pair for pair in TAKES_PART if not {"python"} & set(pair[1]) and "rust" in pair[1]][:1]

    class Omitting(ScenarioSample):
        def __init__(self) -> None:
            pass

        def omits(self, scenario: Scenario, sdk: str) -> bool:
            return True

    records = RecordedOutcomes(tmp_path)
    noun, name = record_key(scenario.id_with("python"))
    records.store("5.3.3", noun, {name: [("offset", 1)]}, "2026-01-31")
    tasks = scenario_tasks(
        [scenario], ["python"], EmulatorTarget(), records, active_drivers=ActiveDrivers(), sample=Omitting()
    )
    [lost] = [outcome for task in (*tasks.own, *tasks.common) for outcome in task()]
    assert (lost.verdict, lost.reason.endswith("but a record exists")) == (Verdict.ERROR, True)


def test_the_work_of_a_sample_has_each_of_its_pairs_once(tmp_path: Path) -> None:
    sample = ScenarioSample(SCENARIOS, RECORDS, matrix(tmp_path))
    tasks = scenario_tasks(
        SCENARIOS, registry.names(), EmulatorTarget(), RECORDS, active_drivers=ActiveDrivers(), sample=sample
    )
    *common, lost = tasks.common
    pieces = [cast("partial[Any]", task).args for task in (*tasks.own, *common)]
    pairs = [(each.id, sdk) for group, sdks in pieces for each in group for sdk in sdks]
    omitted = [(each.id, sdk) for each, sdk in cast("partial[Any]", lost).args[0]]
    assert len(pairs) == len(set(pairs))
    assert len(pairs) + len(omitted) == len(SCENARIOS) * len(registry.names())
    assert set(pairs) >= DRAWN
    assert not DRAWN & set(omitted)
