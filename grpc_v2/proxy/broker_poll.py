"""The part of a receive on one broker: a Call of the gate that submits one operation after another.

It passes each outcome on and keeps the state of the wait. It must not know how a receive continues.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

from rocketmq_testkit.emulator.gate.gate import Gate, Outcome
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import DropInactiveRequests
from rocketmq_testkit.emulator.operations.consume import PopMessage

from ..rules.status import Refusal
from .fire_and_forget import FireAndForget
from .rpc_call import RpcCall, RuledCall

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker


class PollStep(IntEnum):
    """The purpose of the operation in flight."""

    SHORT_POLL = 0  # a pop that does not wait
    NOTIFICATION = 1  # a notification, which waits and receives no messages
    LONG_POLL = 2  # a pop that waits


class Receive(Protocol):
    """The receive that a wait on a broker is part of."""

    def end(self, refusal: Refusal | None) -> None:
        """End the receive with a response, or without one (None)."""

    def ends_with(self, broker_poll: "BrokerPoll", outcome: Outcome) -> bool:
        """True if this outcome of a broker completes the response to the client."""


class BrokerPoll(RuledCall):
    """The wait of one receive on one broker. `on_outcome` gets the outcome of each operation.

    It implements `ClientCall` of `emulator/faults`: a rule of faults that ends the operation ends the receive.
    """

    __slots__ = (
        "_fire_and_forget",
        "_gate",
        "_on_outcome",
        "_receive",
        "_waiting",
        "active",
        "broker",
        "end_reason",
        "notified_for_others",
        "step",
        "submitting",
        "waits_in_pop",
    )

    def __init__(
        self,
        call: RpcCall,
        broker: "Broker",
        *,
        fire_and_forget: FireAndForget,
        on_outcome: "Callable[[BrokerPoll, Outcome], None]",
        receive: Receive,
    ) -> None:
        self._rpc_call = call
        self._receive: Receive | None = receive
        self.broker = broker
        self.active = True
        """True if the outcome is still needed."""
        self.end_reason: Refusal | None = None
        """The reason why the wait on this broker has ended; None while it continues."""
        self.step = PollStep.SHORT_POLL
        self.submitting = False
        """True while an operation is being submitted: an outcome is then immediate."""
        self.waits_in_pop = False
        """True if the operation that waits on the broker is a pop."""
        self.notified_for_others = False
        """True if the last notification was about messages for other clients."""
        self._gate: Gate = call.rpc.gate
        self._fire_and_forget = fire_and_forget
        self._on_outcome: Callable[[BrokerPoll, Outcome], None] | None = on_outcome
        self._waiting = False

    def submit(self, operation: Operation, step: PollStep) -> None:
        """Submit the next operation."""
        self.step = step
        self._waiting = self.submitting = True
        self.waits_in_pop = isinstance(operation, PopMessage)
        self._gate.submit(self.broker, self, operation)
        self.submitting = False

    def reply(self, outcome: Outcome) -> None:
        """Pass on the outcome of the last operation, if it is still needed."""
        on_outcome = self._on_outcome
        self._waiting = self.waits_in_pop = False
        if on_outcome is not None and self.active:
            on_outcome(self, outcome)

    def finish(self, reason: Refusal) -> None:
        """End the wait on this broker."""
        self.end_reason = reason
        self.active = False

    def broker_stopped(self) -> None:
        """Record that the broker has dropped the operation, because it stopped."""
        self._waiting = self.waits_in_pop = False

    def cancel(self) -> None:
        """Make the broker drop the waiting operation, whose outcome is no longer needed."""
        if self._waiting:
            self._waiting = False
            self._fire_and_forget.submit(self.broker, self.channel, self.label, DropInactiveRequests())

    def close(self) -> None:
        """Cancel, and drop the references that would keep the receive in memory."""
        self.cancel()
        self._on_outcome = None
        self._receive = None

    # for rules of faults

    def ends_with(self, outcome: Outcome) -> bool:
        """True if this outcome completes the response to the client."""
        return self._receive is not None and self.active and self._receive.ends_with(self, outcome)

    def refuse(self, code: int, remark: str) -> None:
        """End the receive with a Code."""
        if self._receive is not None:
            self._receive.end(Refusal(code, remark))

    def fail(self, status: int, text: str) -> None:
        """End the receive with a status of gRPC."""
        super().fail(status, text)
        if self._receive is not None:
            self._receive.end(None)

    def abandon(self) -> None:
        """End the receive without a response."""
        super().abandon()
        if self._receive is not None:
            self._receive.end(None)
