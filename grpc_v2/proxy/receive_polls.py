"""Receives in flight. Each waits on one or more brokers until one of them has messages or the poll time ends.

On a broker a receive waits in one of two ways. Usually it long-polls: the broker parks its pop. With pop-with-notify
(`popWithNotifyThreshold`, the emulator's own) the broker parks a notification, which receives no messages. The receive
pops when the notification reports messages. The way is chosen each time a receive starts to wait, by the number of
receives in flight.

A pop of upstream's proxy goes to one broker, whose response goes to the client (ConsumerProcessor, 5.3.3). Here a
receive that several brokers can serve queries all of them. It is empty only when the poll time has ended on each.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.gate.gate import Channel, Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations import (
    ForgetWaiting,
    Notification,
    NotificationResult,
    Operation,
    PopMessage,
    PopResult,
)

from ..proto import definition_pb2 as pb
from ..rules.status import Refusal, broker_refused, proxy_exception
from .receive_metrics import ReceiveMetrics
from .rpc_call import RpcCall, Then

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker

Take = Callable[["Broker", PopResult], bool]
"""(broker, the result of its pop) -> True if the client got any of its messages."""


def nothing_new() -> Refusal:
    """Return the response of a poll whose time has ended."""
    return Refusal(pb.MESSAGE_NOT_FOUND, "no new message")


def _nothing_fits() -> Refusal:
    return Refusal(pb.MESSAGE_NOT_FOUND, "no match message")


class Polls:
    """The receives of one proxy that have no response yet."""

    def __init__(self) -> None:
        self._open: dict[Poll, None] = {}
        self.metrics = ReceiveMetrics()

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, poll: "Poll") -> None:
        """Start a receive on its brokers."""
        metrics = self.metrics
        metrics.receives += 1
        self._open[poll] = None
        metrics.pops_in_progress = len(self._open)
        poll.start()
        if poll.open:
            metrics.is_long_polling += 1
        elif poll.delivered:
            metrics.is_short_polling_hit += 1

    def ended(self, poll: "Poll") -> None:
        """Remove a receive that has its response, or whose client has cancelled it."""
        self._open.pop(poll, None)
        self.metrics.pops_in_progress = len(self._open)

    def left(self, broker: "Broker") -> None:
        """End all waits on a broker that stopped."""
        for poll in list(self._open):
            poll.left(broker)

    def forget(self) -> None:
        """Discard all receives without a response, because the proxy stops."""
        for poll in self._open:
            poll.open = False
        self._open.clear()
        self.metrics.pops_in_progress = 0


class Poll:
    """One receive. `take` sends messages to the client and returns True if it got any."""

    __slots__ = ("_notified", "_pop", "_take", "_waits", "call", "deadline_ms", "delivered", "open")

    def __init__(self, call: RpcCall, brokers: "Sequence[Broker]", pop: PopMessage, take: Take) -> None:
        self.call = call
        self.deadline_ms = pop.born_ms + pop.poll_ms
        self.delivered = False
        """True if the client got messages."""
        self.open = True
        """True if the response is still pending."""
        self._pop = pop
        self._take = take
        self._notified = False
        self._waits = [_Wait(self, broker) for broker in brokers]

    def start(self) -> None:
        """Query each broker, until one has messages."""
        session = self.call.session
        if session is not None:
            session.polls[self] = None
        self.call.server_call.on_cancel(self._cancelled)
        for wait in self._waits:
            if self.open:
                wait.begin()

    def end(self, refusal: Refusal | None) -> None:
        """End the receive with a response, or without one (None) if no client would get it."""
        self._close()
        if refusal is not None:
            self.call.refuse(refusal)

    @property
    def notifies(self) -> bool:
        """True if a receive that starts to wait now waits for a notification.

        Receives of groups that consume in order do not: a broker does not wake notifications when an acknowledgement
        unblocks a queue (5.3.3).
        """
        proxy = self.call.proxy
        return not self._pop.order and len(proxy.polls) <= proxy.config.pop_with_notify_threshold

    @property
    def patient(self) -> bool:
        """True if the receive continues to wait after all found messages were filtered out. Upstream's does not."""
        return (len(self._waits) > 1 or self._notified) and not self.call.server_call.cancelled

    def pop_for(self, poll_ms: int) -> PopMessage:
        """Return the pop with the current time and the given poll time."""
        pop, now_ms = self._pop, self.call.proxy.now_ms
        if (pop.born_ms, pop.poll_ms) == (now_ms, poll_ms):
            return pop
        return replace(pop, born_ms=now_ms, poll_ms=poll_ms)

    def notification_for(self, poll_ms: int) -> Notification:
        """Return a notification request for the messages of the pop, with the given poll time."""
        pop = self._pop
        if not self._notified:
            self._notified = True
            self.call.proxy.polls.metrics.pop_with_notify += 1
        now_ms = self.call.proxy.now_ms
        return Notification(pop.consumer_group, pop.topic, pop.queue_id, poll_ms, now_ms, for_pop=True)

    def found(self, broker: "Broker", result: PopResult) -> bool:
        """Send a broker's messages to the client. Returns False if none of them is for this client."""
        if not self._take(broker, result):
            return False
        self.delivered = True
        self._close()
        return True

    def over(self) -> None:
        """End the receive if no broker has anything left to wait for."""
        if all(wait.end is not None for wait in self._waits):
            ends = [wait.end for wait in self._waits if wait.end is not None]
            quiet = [end for end in ends if end.code == pb.MESSAGE_NOT_FOUND]
            self.end((quiet or ends)[0])

    def left(self, broker: "Broker") -> None:
        """End the wait on a broker that stopped. If it was the last one, the client gets a response."""
        for wait in self._waits:
            if self.open and wait.end is None and wait.broker is broker:
                wait.left()

    def _cancelled(self) -> None:
        """Handle a cancel of the client.

        Upstream's pops continue to wait and receive a message, which then stays invisible for its invisible duration.
        """
        self.call.proxy.tick()
        if not self.open:
            return
        if self.call.proxy.config.end_polls_on_cancel or not any(wait.pops for wait in self._waits):
            self._close()
            return
        for wait in self._waits:
            if not wait.pops:
                wait.give_up()

    def _close(self) -> None:
        self.open = False
        self.call.proxy.polls.ended(self)
        if self.call.session is not None:
            self.call.session.polls.pop(self, None)
        # Without its parts it is freed at once, and with it the request, not when the cycle collector runs.
        waits, self._waits = self._waits, []
        for wait in waits:
            wait.close()


class _Wait:
    """The part of a poll on one broker: a Call that submits one operation after another."""

    __slots__ = ("_asking", "_poll", "_then", "_waiting", "_was_full_of_others", "broker", "end", "pops")

    def __init__(self, poll: Poll, broker: "Broker") -> None:
        self._poll = poll
        self.broker = broker
        self._then: Then | None = None
        self._asking = False
        self._waiting = False
        self._was_full_of_others = False
        self.end: Refusal | None = None
        """The reason why the wait on this broker has ended; None while it continues."""
        self.pops = False
        """True if the operation that waits on the broker is a pop."""

    # Call of the gate

    @property
    def channel(self) -> Channel:
        """The client's channel."""
        return self._poll.call.channel

    @property
    def label(self) -> str:
        """The RPC's name."""
        return self._poll.call.rpc.name

    @property
    def active(self) -> bool:
        """True if the outcome is still needed."""
        return self._poll.open and self.end is None

    def reply(self, outcome: Outcome) -> None:
        """Continue with the outcome of the last operation."""
        then = self._then
        self._waiting = self.pops = False
        if then is None or not self.active:
            return
        call = self._poll.call
        call.guard(then, outcome)
        if self._poll.open and call.server_call.finished and not call.server_call.cancelled:
            self._poll.end(None)  # the guard sent a response to an unexpected exception

    # steps of the wait

    def begin(self) -> None:
        """Submit the first operation."""
        if self._poll.notifies:
            self._look()
        else:
            self._wait_on()

    def give_up(self) -> None:
        """Stop waiting on this broker."""
        self.end = nothing_new()
        self.forget()

    def left(self) -> None:
        """End the wait, because the broker stopped."""
        self._waiting = self.pops = False
        self._over(proxy_exception(pb.INTERNAL_SERVER_ERROR, f"the broker[{self.broker.name}] has stopped"))

    def forget(self) -> None:
        """Make the broker drop the waiting operation, whose outcome is no longer needed."""
        if self._waiting:
            self._waiting = False
            call = self._poll.call
            call.proxy.tell(self.broker, call.channel, call.rpc.name, ForgetWaiting())

    def close(self) -> None:
        """Want nothing any more."""
        self.forget()
        self._then = None

    def _look(self) -> None:
        self._ask(self._poll.pop_for(0), self._looked)

    def _looked(self, outcome: Outcome) -> None:
        if isinstance(outcome, PopResult) and not outcome.messages:
            self._wait_on()
        else:
            self._popped(outcome)

    def _wait_on(self) -> None:
        poll = self._poll
        left_ms = poll.deadline_ms - poll.call.proxy.now_ms
        if left_ms <= 0:
            self._over(nothing_new())
        elif poll.notifies and not self._was_full_of_others:
            self._ask(poll.notification_for(left_ms), self._notified)
        else:
            self._ask(poll.pop_for(left_ms), self._popped)

    def _notified(self, outcome: Outcome) -> None:
        if not isinstance(outcome, NotificationResult):
            self._popped(outcome)
        elif outcome.polling_full:
            self._poll.end(Refusal(pb.TOO_MANY_REQUESTS, "polling full"))
        elif not outcome.has_msg:
            self._over(nothing_new())
        else:
            # A notification that comes at once, although a pop has just found nothing, is about messages for other
            # clients. A second notification would come at once as well; a waiting pop reads past these messages.
            self._was_full_of_others = self._asking
            self._poll.call.proxy.polls.metrics.notified += 1
            self._look()

    def _popped(self, outcome: Outcome) -> None:
        poll = self._poll
        if isinstance(outcome, EngineError):
            timed_out = outcome.code is ResponseCode.POLLING_TIMEOUT
            self._over(nothing_new() if timed_out else broker_refused(outcome))
        elif not isinstance(outcome, PopResult):
            raise AssertionError(f"a pop answered {type(outcome).__name__}")
        elif outcome.code is ResponseCode.POLLING_FULL:
            poll.end(Refusal(pb.TOO_MANY_REQUESTS, "polling full"))
        elif not outcome.messages:
            self._over(nothing_new())
        elif not poll.found(self.broker, outcome):
            if poll.patient and poll.call.proxy.now_ms < poll.deadline_ms:
                self._wait_on()
            else:
                poll.end(_nothing_fits())

    def _ask(self, operation: Operation, then: Then) -> None:
        self._then = then
        self._waiting = self._asking = True
        self.pops = isinstance(operation, PopMessage)
        self._poll.call.proxy.engine.gate.submit(self.broker, self, operation)
        self._asking = False

    def _over(self, why: Refusal) -> None:
        self.end = why
        self._poll.over()
