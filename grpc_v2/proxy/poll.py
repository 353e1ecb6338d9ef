"""One receive: waits on one or more brokers until one of them has messages or the poll time ends.

On a broker a receive waits in one of two ways. Usually it long-polls: the broker parks its pop. With pop-with-notify
(`popWithNotifyThreshold`, the emulator's own) the broker parks a notification, which receives no messages. The receive
pops when the notification reports messages. The way is chosen each time a receive starts to wait, by the number of
receives in flight.

A pop of upstream's proxy goes to one broker, whose response goes to the client (ConsumerProcessor, 5.3.3). Here a
receive that several brokers can serve queries all of them. It is empty only when the poll time has ended on each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.consume import Notification, NotificationResult, PopMessage, PopResult

from ..config.proxy_config import ProxyConfig
from ..proto import definition_pb2 as pb
from ..rules.status import Refusal, from_broker_error, proxy_exception
from .broker_poll import BrokerPoll, PollStep
from .fire_and_forget import FireAndForget
from .receive_metrics import ReceiveMetrics
from .rpc_call import RpcCall, RuledCall

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker

Deliver = Callable[["Broker", PopResult], bool]
"""(broker, the result of its pop) -> True if the client got any of its messages."""


def no_new_message() -> Refusal:
    """Return the response of a poll whose time has ended."""
    return Refusal(pb.MESSAGE_NOT_FOUND, "no new message")


def _no_match_message() -> Refusal:
    return Refusal(pb.MESSAGE_NOT_FOUND, "no match message")


def _polling_full() -> Refusal:
    return Refusal(pb.TOO_MANY_REQUESTS, "polling full")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PollSetup:
    """The values that all receives of one proxy share.

    `tick` advances the engine's time to now. `on_end` is called with each receive that has ended.
    """

    scheduler: Scheduler
    config: ProxyConfig
    metrics: ReceiveMetrics
    fire_and_forget: FireAndForget
    tick: Callable[[], None]
    on_end: "Callable[[Poll], None]"


class Poll:
    """One receive. `deliver` sends messages to the client and returns True if it got any."""

    __slots__ = (
        "_broker_polls",
        "_deliver",
        "_empty",
        "_pop",
        "_setup",
        "_used_notification",
        "call",
        "deadline_ms",
        "delivered",
        "open",
    )

    def __init__(
        self, setup: PollSetup, call: RpcCall, *, brokers: "Sequence[Broker]", pop: PopMessage, deliver: Deliver
    ) -> None:
        self.call = call
        self.deadline_ms = pop.born_ms + pop.poll_ms
        self.delivered = False
        """True if the client got messages."""
        self.open = True
        """True if the response is still pending."""
        self._setup = setup
        self._pop = pop
        self._deliver = deliver
        self._used_notification = False
        self._empty: list[BrokerPoll] | None = None
        """While the receive starts: the brokers whose first pop found nothing."""
        self._broker_polls = [BrokerPoll(call, broker, setup.fire_and_forget) for broker in brokers]

    def start(self) -> None:
        """Query each broker, until one has messages. Wait for notifications only after pops at all brokers."""
        self.call.server_call.on_cancel(self._cancelled)
        empty = self._empty = []
        for broker_poll in self._broker_polls:
            if not self.open:
                break
            if self._uses_notification:
                self._short_poll(broker_poll)
            else:
                self._wait(broker_poll)
        self._empty = None
        for broker_poll in empty:
            if self.open:
                self._wait(broker_poll)

    def end(self, refusal: Refusal | None) -> None:
        """End the receive with a response, or without one (None) if no client would get it."""
        self._close()
        if refusal is not None:
            self.call.refuse(refusal)

    def ends_with(self, broker_poll: BrokerPoll, outcome: Outcome) -> bool:
        """True if this outcome completes the response to the client, unless all its messages are filtered out."""
        if not broker_poll.active:
            return False
        if isinstance(outcome, NotificationResult):
            if outcome.has_msg or outcome.polling_full:
                return outcome.polling_full
        elif isinstance(outcome, PopResult):
            if outcome.messages or outcome.code is ResponseCode.POLLING_FULL:
                return True
            if broker_poll.step is PollStep.SHORT_POLL and self._setup.scheduler.now_ms < self.deadline_ms:
                return False
        return all(each is broker_poll or each.end_reason is not None for each in self._broker_polls)

    def discard(self) -> None:
        """End the receive without a response and without effects on brokers."""
        self.open = False
        for broker_poll in self._broker_polls:
            broker_poll.active = False

    def broker_stopped(self, broker: "Broker") -> None:
        """End the wait on a broker that stopped. If it was the last one, the client gets a response."""
        for broker_poll in self._broker_polls:
            if self.open and broker_poll.end_reason is None and broker_poll.broker is broker:
                broker_poll.note_outcome()
                text = f"the broker[{broker.name}] has stopped"
                self._end_wait(broker_poll, proxy_exception(pb.INTERNAL_SERVER_ERROR, text))

    def _cancelled(self) -> None:
        """Handle a cancel of the client.

        Upstream's pops continue to wait and receive a message, which then stays invisible for its invisible duration.
        """
        self._setup.tick()
        if not self.open:
            return
        if self._setup.config.end_polls_on_cancel or not any(
            broker_poll.waits_in_pop for broker_poll in self._broker_polls
        ):
            self._close()
            return
        for broker_poll in self._broker_polls:
            if not broker_poll.waits_in_pop:
                broker_poll.finish(no_new_message())
                broker_poll.cancel()

    # Choice of the next operation on a broker.

    @property
    def _uses_notification(self) -> bool:
        """True if a receive that starts to wait now waits for a notification.

        Receives of groups that consume in order do not: a broker does not wake notifications when an acknowledgement
        unblocks a queue (5.3.3).
        """
        setup = self._setup
        return not self._pop.order and setup.metrics.pops_in_progress <= setup.config.pop_with_notify_threshold

    def _short_poll(self, broker_poll: BrokerPoll) -> None:
        broker_poll.submit(_PollCall(self, broker_poll), self._pop_for(0), PollStep.SHORT_POLL)

    def _wait(self, broker_poll: BrokerPoll) -> None:
        left_ms = self.deadline_ms - self._setup.scheduler.now_ms
        if left_ms <= 0:
            self._end_wait(broker_poll, no_new_message())
        elif self._uses_notification and not broker_poll.notified_for_others:
            broker_poll.submit(_PollCall(self, broker_poll), self._notification_for(left_ms), PollStep.NOTIFICATION)
        else:
            broker_poll.submit(_PollCall(self, broker_poll), self._pop_for(left_ms), PollStep.LONG_POLL)

    def _pop_for(self, poll_ms: int) -> PopMessage:
        """Return the pop with the current time and the given poll time."""
        pop, now_ms = self._pop, self._setup.scheduler.now_ms
        if (pop.born_ms, pop.poll_ms) == (now_ms, poll_ms):
            return pop
        return replace(pop, born_ms=now_ms, poll_ms=poll_ms)

    def _notification_for(self, poll_ms: int) -> Notification:
        """Return a notification request for the messages of the pop, with the given poll time."""
        pop = self._pop
        if not self._used_notification:
            self._used_notification = True
            self._setup.metrics.pop_with_notify += 1
        now_ms = self._setup.scheduler.now_ms
        return Notification(pop.consumer_group, pop.topic, pop.queue_id, poll_ms, now_ms, for_pop=True)

    # Outcomes of operations.

    def proceed(self, broker_poll: BrokerPoll, outcome: Outcome) -> None:
        """Continue with an outcome, if it is still needed. An unexpected exception ends the receive."""
        broker_poll.note_outcome()
        if not broker_poll.active:
            return
        call = self.call
        call.run_guarded(_ON_OUTCOME[broker_poll.step], self, broker_poll, outcome)
        if self.open and call.server_call.finished and not call.server_call.cancelled:
            self.end(None)  # `run_guarded` sent a response to an unexpected exception

    def _on_short_poll(self, broker_poll: BrokerPoll, outcome: Outcome) -> None:
        if not isinstance(outcome, PopResult) or outcome.messages:
            self._on_pop(broker_poll, outcome)
        elif self._empty is not None:
            self._empty.append(broker_poll)
        else:
            self._wait(broker_poll)

    def _on_notification(self, broker_poll: BrokerPoll, outcome: Outcome) -> None:
        if not isinstance(outcome, NotificationResult):
            self._on_pop(broker_poll, outcome)
        elif outcome.polling_full:
            self.end(_polling_full())
        elif not outcome.has_msg:
            self._end_wait(broker_poll, no_new_message())
        else:
            # A notification that comes at once, although a pop has just found nothing, is about messages for other
            # clients. A second notification would come at once as well; a waiting pop reads past these messages.
            broker_poll.notified_for_others = broker_poll.submitting
            self._setup.metrics.notified += 1
            self._short_poll(broker_poll)

    def _on_pop(self, broker_poll: BrokerPoll, outcome: Outcome) -> None:
        if isinstance(outcome, EngineError):
            timed_out = outcome.code is ResponseCode.POLLING_TIMEOUT
            self._end_wait(broker_poll, no_new_message() if timed_out else from_broker_error(outcome))
        elif not isinstance(outcome, PopResult):
            raise AssertionError(f"a pop returned {type(outcome).__name__}")
        elif outcome.code is ResponseCode.POLLING_FULL:
            self.end(_polling_full())
        elif not outcome.messages:
            self._end_wait(broker_poll, no_new_message())
        elif self._deliver(broker_poll.broker, outcome):
            self.delivered = True
            self._close()
        elif self._continues_after_filtering and self._setup.scheduler.now_ms < self.deadline_ms:
            self._wait(broker_poll)
        else:
            self.end(_no_match_message())

    @property
    def _continues_after_filtering(self) -> bool:
        """True if the receive continues to wait after all found messages were filtered out. Upstream's does not."""
        return (len(self._broker_polls) > 1 or self._used_notification) and not self.call.server_call.cancelled

    def _end_wait(self, broker_poll: BrokerPoll, reason: Refusal) -> None:
        """End the wait on one broker, and the receive if it was the last wait."""
        broker_poll.finish(reason)
        ends = [each.end_reason for each in self._broker_polls if each.end_reason is not None]
        if len(ends) == len(self._broker_polls):
            quiet = [end for end in ends if end.code == pb.MESSAGE_NOT_FOUND]
            self.end((quiet or ends)[0])

    def _close(self) -> None:
        self.open = False
        self._setup.on_end(self)
        # A rule of faults may hold a call of the receive for longer; it then holds none of its brokers.
        broker_polls, self._broker_polls = self._broker_polls, []
        for broker_poll in broker_polls:
            broker_poll.active = False
        for broker_poll in broker_polls:
            broker_poll.cancel()

    @property
    def is_closed(self) -> bool:
        """True after the end of the receive."""
        return not self._broker_polls


class _PollCall(RuledCall):
    """One operation of a receive on a broker, as the gate and the rules of faults see it.

    Calls go in one direction: from here to the receive, from the receive to the part on the broker, from there to the
    gate. It implements `ClientCall` of `emulator/faults`: a rule that ends the operation ends the receive.
    """

    __slots__ = ("_broker_poll", "_poll")

    def __init__(self, poll: Poll, broker_poll: BrokerPoll) -> None:
        self._rpc_call = poll.call
        self._poll = poll
        self._broker_poll = broker_poll

    @property
    def active(self) -> bool:  # type: ignore[override]  # other calls of RPCs are active until their end
        """True if the outcome is still needed."""
        return self._broker_poll.active

    def reply(self, outcome: Outcome) -> None:
        """Continue the receive with the outcome."""
        self._poll.proceed(self._broker_poll, outcome)

    def ends_with(self, outcome: Outcome) -> bool:
        """True if this outcome completes the response to the client."""
        return self._poll.ends_with(self._broker_poll, outcome)

    def refuse(self, code: int, remark: str) -> None:
        """End the receive with a Code."""
        if not self._poll.is_closed:
            self._poll.end(Refusal(code, remark))

    def fail(self, status: int, text: str) -> None:
        """End the receive with a status of gRPC."""
        super().fail(status, text)
        if not self._poll.is_closed:
            self._poll.end(None)

    def abandon(self) -> None:
        """End the receive without a response."""
        super().abandon()
        if not self._poll.is_closed:
            self._poll.end(None)


_ON_OUTCOME: Mapping[PollStep, Callable[[Poll, BrokerPoll, Outcome], None]] = {
    PollStep.SHORT_POLL: Poll._on_short_poll,
    PollStep.NOTIFICATION: Poll._on_notification,
    PollStep.LONG_POLL: Poll._on_pop,
}
"""The method that continues a receive with the outcome of each kind of operation."""
