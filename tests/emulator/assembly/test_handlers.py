"""`@handles`, by which a method of a service declares the operation that it handles."""

import re

import pytest
from rocketmq_testkit.emulator.assembly.handlers import handlers_of, handles, joined
from rocketmq_testkit.emulator.gate.call import Call
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.offsets import GetMaxOffset, GetMinOffset


class Offsets:
    """A service with two handlers."""

    @handles(GetMaxOffset)
    def maximum(self, call: Call, operation: GetMaxOffset) -> Done:
        """Return nothing."""
        return Done(operation.topic)

    @handles(GetMinOffset)
    def minimum(self, call: Call, operation: GetMinOffset) -> Done:
        """Return nothing."""
        return Done(operation.topic)


class OtherOffsets(Offsets):
    """A subclass that overrides one of the handlers."""

    def maximum(self, call: Call, operation: GetMaxOffset) -> Done:
        """Return nothing."""
        return Done("other")


def test_declared_methods_are_collected() -> None:
    """Each declared method is the handler of its operation, bound to its service."""
    service = Offsets()
    assert handlers_of(service) == {GetMaxOffset: service.maximum, GetMinOffset: service.minimum}


def test_overriding_method_handles_the_operation() -> None:
    """A subclass that overrides a declared method handles the operation itself."""
    service = OtherOffsets()
    assert handlers_of(service)[GetMaxOffset] == service.maximum


def test_second_handler_of_an_operation_is_rejected() -> None:
    """Two handlers of one operation are an error that names both methods."""
    both = "GetMaxOffset: handled by Offsets.maximum and OtherOffsets.maximum; an operation has one handler"
    with pytest.raises(ValueError, match=f"^{re.escape(both)}$"):
        handlers_of(Offsets(), OtherOffsets())
    with pytest.raises(ValueError, match="GetMaxOffset: handled by"):
        joined(handlers_of(Offsets()), handlers_of(Offsets()))
