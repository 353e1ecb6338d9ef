"""The table of kinds of faults, and the creation of faults by name."""

import inspect
from typing import Any

import pytest
from fault_samples import parameters_of
from rocketmq_testkit import faults as public
from rocketmq_testkit.emulator.faults import kinds  # noqa: F401 - fills the table of kinds
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.fault import KINDS, Fault, create
from rocketmq_testkit.emulator.faults.kind_declaration import LAYERS
from rocketmq_testkit.emulator.faults.phase import Phase

METHODS = {
    Phase.REQUEST: "on_request",
    Phase.RESPONSE: "on_response",
    Phase.PUSH: "on_push",
    Phase.CONNECT: "on_connect",
    Phase.STANDING: "begin",
}


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_kind_acts_in_each_phase_that_it_declares_and_in_no_other(name: str) -> None:
    """A kind overrides the methods of exactly its phases; a fault that lasts for a time overrides `start`."""
    cls = KINDS[name]
    overridden = {phase for phase, method in METHODS.items() if getattr(cls, method) is not getattr(Fault, method)}
    declared = set(cls.KIND.phases)
    assert overridden == ({Phase.STANDING} if Phase.STANDING in declared else declared)
    assert cls.KIND.layer in LAYERS
    assert cls.KIND.situation.endswith(".")
    assert (cls.__doc__ or "").partition("\n")[0].endswith(".")


@pytest.mark.parametrize("name", sorted(KINDS))
def test_the_parameters_of_a_fault_make_an_equal_fault(name: str) -> None:
    """Parameters with their defaults are omitted, and each parameter has a description and a schema."""
    fault = create(name, parameters_of(name))
    assert fault.parameters() == parameters_of(name)
    assert create(name, fault.parameters()) == fault
    for each in KINDS[name].KIND.parameters.values():
        assert each.metadata["about"]
        assert each.metadata["check"].schema()


@pytest.mark.parametrize("name", sorted(KINDS))
def test_the_signature_of_a_kind_has_the_types_and_defaults_of_its_parameters(name: str) -> None:
    """`inspect.signature`, `help` and editors show this signature for `rocketmq_testkit.faults.<kind>`."""
    shown = inspect.signature(getattr(public, name)).parameters
    declared = KINDS[name].KIND.parameters
    assert list(shown) == list(declared)
    assert {each: shown[each].annotation for each in shown} == {each: field.type for each, field in declared.items()}
    assert [each for each in shown if shown[each].default is inspect.Parameter.empty] == KINDS[name].KIND.required


@pytest.mark.parametrize("name", sorted(KINDS))
def test_each_kind_is_public_under_its_name(name: str) -> None:
    """`from rocketmq_testkit import faults` has each kind."""
    assert getattr(public, name) is KINDS[name]
    assert name in public.__all__


@pytest.mark.parametrize(
    ("name", "parameters", "text"),
    [
        ("drop_respons", {}, "fault='drop_respons': there is no such fault; did you mean drop_response?"),
        ("drop_response", {"hov": "close"}, "hov: no parameter of drop_response; did you mean how?"),
        ("delay_request", {}, "delay_request: the parameter duration is missing; add it, such as duration='200ms'"),
        ("throttle", {}, "throttle: the parameter per_second is missing; add it, such as per_second="),
        ("delay_request", {"duration": 5}, "duration=5: a duration needs a unit; use '5ms' or '5s'"),
        ("truncate_frame", {"how": "cut"}, "how='cut': there is no such how; there are close, reset"),
        ("truncate_frame", {"at": 1.5}, "at=1.5: not a whole number of at least -1048576; use 1"),
        ("duplicate_request", {"copies": 0}, "copies=0: not a whole number from 1 to 100; use 1"),
        ("throttle", {"per_second": "fast"}, "per_second='fast': not a number from 0.001 to 1000000; use 10"),
        ("go_away", {"finish": 1}, "finish=1: neither true nor false; use true"),
        ("drop_response", {"how": ""}, "how='': not a response code; use a name such as 'SYSTEM_BUSY', or its number"),
        ("respond", {"code": "X", "remark": ""}, "remark='': not a text; use 'too busy'"),
        ("delay_response", {}, "delay_response without a delay; give a duration, such as duration='200ms'"),
    ],
)
def test_a_wrong_fault_is_rejected_with_one_sentence(name: str, parameters: dict[str, Any], text: str) -> None:
    """The sentence has the wrong value and a correct one."""
    with pytest.raises(FaultError) as caught:
        create(name, parameters)
    assert str(caught.value).startswith(text), str(caught.value)


def test_a_fault_acts_in_its_first_phase_unless_another_is_chosen() -> None:
    """A phase in which the fault does not act is rejected with the phases in which it acts."""
    close = create("close_connection", {})
    assert close.phase_for(None) is close.KIND.phases[0]
    assert close.phase_for("response") is Phase.RESPONSE
    with pytest.raises(
        FaultError, match=r"^phase='push': close_connection does not act in this phase; it acts in requ"
    ):
        close.phase_for("push")
