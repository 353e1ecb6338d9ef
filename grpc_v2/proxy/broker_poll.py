"""The part of a receive on one broker: it submits one operation after another, and keeps the state of the wait.

It must not know how a receive continues: it never calls the receive, which gives it the call for each operation.
"""

from enum import IntEnum
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.gate.call import Call
from rocketmq_testkit.emulator.gate.gate import Gate
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import DropInactiveRequests
from rocketmq_testkit.emulator.operations.consume import PopMessage

from ..rules.status import Refusal
from .fire_and_forget import FireAndForget
from .rpc_call import RpcCall

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker


class PollStep(IntEnum):
    """The purpose of the operation in flight."""

    SHORT_POLL = 0  # a pop that does not wait
    NOTIFICATION = 1  # a notification, which waits and receives no messages
    LONG_POLL = 2  # a pop that waits


class BrokerPoll:
    """The wait of one receive on one broker."""

    __slots__ = (
        "_call",
        "_fire_and_forget",
        "_gate",
        "_waiting",
        "active",
        "broker",
        "end_reason",
        "notified_for_others",
        "step",
        "submitting",
        "waits_in_pop",
    )

    def __init__(self, call: RpcCall, broker: "Broker", fire_and_forget: FireAndForget) -> None:
        self._call = call
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
        self._waiting = False

    def submit(self, call: Call, operation: Operation, step: PollStep) -> None:
        """Submit the next operation, whose outcome goes to the call."""
        self.step = step
        self._waiting = self.submitting = True
        self.waits_in_pop = isinstance(operation, PopMessage)
        self._gate.submit(self.broker, call, operation)
        self.submitting = False

    def note_outcome(self) -> None:
        """Record that the last operation has an outcome, or that a stopped broker has dropped it."""
        self._waiting = self.waits_in_pop = False

    def finish(self, reason: Refusal) -> None:
        """End the wait on this broker."""
        self.end_reason = reason
        self.active = False

    def cancel(self) -> None:
        """Make the broker drop the waiting operation, whose outcome is no longer needed."""
        if self._waiting:
            self._waiting = False
            call = self._call
            self._fire_and_forget.submit(self.broker, call.channel, call.rpc.name, DropInactiveRequests())
