"""Phases of rules, and the criteria that are known in each phase."""

import pytest
from rocketmq_testkit.emulator.faults.criteria import CRITERIA, OF_ALL_PHASES, Criteria
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.phase import KNOWN_CRITERIA, Phase

VALUES = {
    "property": {"a": "b"},
    "where": bool,
    "phase": "request",
    "protocol": "grpc",
    "version": "5.3.3",
    "start": "1s",
    "end": "2s",
    "address": "::1",
}


@pytest.mark.parametrize("phase", Phase)
def test_a_criterion_is_accepted_in_the_phases_that_know_it_and_rejected_in_others(phase: Phase) -> None:
    """Criteria of time are known in every phase, and each criterion is known in at least one phase."""
    assert set().union(*KNOWN_CRITERIA.values()) | OF_ALL_PHASES == set(CRITERIA)
    for name in CRITERIA:
        criteria = Criteria(**{name: VALUES.get(name, "x")})  # type: ignore[arg-type]  # values of several types
        if name in KNOWN_CRITERIA[phase] | OF_ALL_PHASES:
            criteria.check_phase(phase)
        else:
            with pytest.raises(FaultError, match=rf"^{name}=.*: not known in the phase '{phase.value}'; there are "):
                criteria.check_phase(phase)


def test_the_phase_connect_has_no_criteria_of_requests_and_the_phase_push_none_of_sdks() -> None:
    assert KNOWN_CRITERIA[Phase.CONNECT] == {"protocol", "broker", "address"}
    assert KNOWN_CRITERIA[Phase.REQUEST] == KNOWN_CRITERIA[Phase.RESPONSE] == set(CRITERIA) - OF_ALL_PHASES
    assert KNOWN_CRITERIA[Phase.REQUEST] - KNOWN_CRITERIA[Phase.PUSH] == {"language", "version"}
    assert not KNOWN_CRITERIA[Phase.STANDING]
