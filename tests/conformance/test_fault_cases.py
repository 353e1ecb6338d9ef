"""Cases that cause a situation by a fault of the emulator, and by configuration keys of a real broker."""

import secrets
from collections.abc import Mapping
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.case import Case
from rocketmq_testkit.conformance.deployment.target import COMMON_SETTINGS, REFERENCE_VERSION, Capability
from rocketmq_testkit.conformance.discovery import all_cases
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.runner.case_run import context_of
from rocketmq_testkit.conformance.targets.apache_target import ApacheTarget
from rocketmq_testkit.conformance.targets.emulator import EmulatorDeployment, EmulatorTarget
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.views.faults import Rule

ROOT = Path(__file__).resolve().parents[2]
CASES = {each.id: each for each in all_cases() if each.mark.fault}


class Observed(EmulatorDeployment):
    """An emulator that keeps a list of the rules that a case has added."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__(emulator)
        self.rules: list[Rule] = []

    def fault(self, rule: Mapping[str, object]) -> Rule:
        """Add a rule, and keep it."""
        [added] = self.emulator.faults.load([rule])
        self.rules.append(added)
        return added


def run(case: Case) -> list[tuple[str, bool]]:
    """Run a case on an emulator; return for each of its rules (kind, True if the rule fired)."""
    with Emulator(profile="faithful", config={**COMMON_SETTINGS, **case.mark.settings}) as emulator:
        deployment = Observed(emulator)
        with context_of(case.mark.protocol)(deployment, secrets.token_hex(4)) as context:
            case.run(context)
        return [(kind_of(rule), rule.fired > 0) for rule in deployment.rules]


def kind_of(rule: Rule) -> str:
    """Return the kind of fault of a rule."""
    then = rule.definition["then"]
    return then if isinstance(then, str) else next(iter(then))


@pytest.mark.parametrize("case", CASES)
def test_a_case_of_a_fault_adds_one_rule_of_its_kind_which_fires(case: str) -> None:
    """Only the fault distinguishes the emulator of such a case from that of any other case."""
    assert run(CASES[case]) == [(CASES[case].mark.fault, True)]


@pytest.mark.parametrize(
    ("situation", "kinds"),
    [
        ("broker down", ["stop_broker"]),
        ("name server down", ["stop_name_server"]),
        ("slow or full disk", ["refuse_append"]),
        ("GO_AWAY in both protocols", ["respond", "go_away"]),
        ("route missing, stale or dead", ["hide_route", "stale_route", "route_to_dead_broker"]),
        ("busy", ["respond", "throttle"]),
    ],
)
def test_a_situation_that_a_real_broker_can_be_in_is_recorded(situation: str, kinds: list[str]) -> None:
    """Each kind has cases with a record of the reference version, and the page of kinds shows cases and date."""
    page = (ROOT / "docs" / "fault-kinds.md").read_text()
    records = RecordedOutcomes()
    for kind in kinds:
        cases = [each for each in CASES.values() if each.mark.fault == kind]
        assert cases, (situation, kind)
        section = page.partition(f"\n### {kind}\n")[2].partition("\n### ")[0]
        for case in cases:
            record = records.record_of(REFERENCE_VERSION, case.noun, case.name)
            assert record is not None, case.id
            assert record.notes, case.id
            assert f"Compared with {REFERENCE_VERSION} (" in section
            assert record.date in section
            assert f"`{case.id}`" in section


@pytest.mark.parametrize("case", CASES)
def test_only_a_real_broker_has_the_keys_that_stand_for_the_fault(case: str) -> None:
    """Only real brokers get the keys `real`. With a target that cannot be configured the case is not applicable."""
    mark = CASES[case].mark
    assert CASES[case].settings_of(EmulatorTarget()) == mark.settings
    assert CASES[case].settings_of(ApacheTarget("5.3.3")) == {**mark.settings, **mark.real}
    assert Capability.CONFIGURE in CASES[case].needs
