"""Scenarios that differ from a real broker on purpose have its recorded outcome with upstream's defects on."""

import pytest
from rocketmq_testkit.conformance.command import main
from rocketmq_testkit.emulator.faults.upstream_defects import UPSTREAM_DEFECTS

SHOWN = sorted({case for each in UPSTREAM_DEFECTS.values() for case in each.shown_by if "@" in case})


@pytest.mark.sampled
@pytest.mark.parametrize("shown", SHOWN)
def test_a_scenario_of_the_table_has_the_recorded_outcome_with_all_defects_on(
    shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the defects it differs, as the usual run of all scenarios requires. A minute, most of it waiting."""
    scenario, _, sdk = shown.partition("@")
    assert main(["run", "--faults", "upstream:5.3.3", "--sdk", sdk, "--jobs", "1", "-k", scenario]) == 0
    assert "emulator: 1 same\n" in capsys.readouterr().out
