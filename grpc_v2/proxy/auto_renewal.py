"""Messages received with auto_renew: the proxy stores their handles and renews their invisible durations.

5.3.3 stores them, and makes them visible soon after their client leaves. It never starts the thread that should renew
them (seen: it does not run), so that their 60 s end like any other invisible duration. With `renewScheduleEnable` they
are renewed as in upstream's code, but without its scan: each renewal runs at the instant at which it is due. The client
keeps the handle of the receive; the proxy applies the client's requests to the newest handle.
Source: DefaultReceiptHandleManager, ReceiptHandleGroup, MessageReceiptHandle, RenewStrategyPolicy (5.3.3).
"""

from collections.abc import Callable
from dataclasses import dataclass

from rocketmq_testkit.emulator.config.broker import DELAY_LEVELS
from rocketmq_testkit.emulator.faults.defects import Defects
from rocketmq_testkit.emulator.gate.call import Channel, Outcome
from rocketmq_testkit.emulator.gate.gate import Gate
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.kernel.timer_kind import TimerKind
from rocketmq_testkit.emulator.kernel.timer_per_instant import TimerPerInstant
from rocketmq_testkit.emulator.operations.consume import RENEWAL, ChangeInvisibleResult, ChangeInvisibleTime
from rocketmq_testkit.emulator.operations.groups import GroupConfig

from ..config.duration_lists import delays_ms
from ..config.proxy_config import ProxyConfig
from ..convert.receipt_handle import ReceiptHandle
from ..proto import definition_pb2 as pb
from ..rules.java_texts import no_channel
from ..rules.status import Refusal
from .fire_and_forget import FireAndForget
from .routes import Routes
from .sessions import Session

_MINUTE_MS = 60_000
RENEW_POLICY_MS = tuple(minutes * _MINUTE_MS for minutes in (1, 3, 5, 10, 30, 60))
"""Invisible duration (ms) of the first, second, ... renewal. The last value repeats."""
_PRUNE_ABOVE = 1024
_EXPONENT_MAX = 32

Key = tuple[str, str, str, str, int, int]
"""(group, message id, topic type, broker name, queue id, offset) of a message.

As in upstream, a message is not found if the client uses another message id for it.
"""


@dataclass(slots=True, eq=False)
class RenewableMessage:
    """A message received with auto_renew. `first_pop_ms` is the time of its pop, `handle` is its newest handle."""

    session: Session
    topic: str
    group: str
    message_id: str
    handle: ReceiptHandle
    first_pop_ms: int
    reconsume_times: int
    renewed: int = 0
    failed: int = 0

    @property
    def key(self) -> Key:
        """The key under which the message is found by the handle that the client has."""
        return _key(self.group, self.message_id, self.handle)

    def change(self, invisible_ms: int) -> ChangeInvisibleTime:
        """Return the operation that sets the invisible duration, starting now."""
        handle = self.handle
        topic = handle.real_topic(self.topic, self.group)
        return ChangeInvisibleTime(self.group, topic, handle.queue_id, handle.encode(), handle.offset, invisible_ms)


class Renewals:
    """The renewable messages of all clients of a proxy."""

    def __init__(
        self,
        *,
        scheduler: Scheduler,
        config: ProxyConfig,
        gate: Gate,
        fire_and_forget: FireAndForget,
        routes: Routes,
        defects: Defects,
    ) -> None:
        self._scheduler = scheduler
        self._config = config
        self._defects = defects
        self._gate = gate
        self._fire_and_forget = fire_and_forget
        self._routes = routes
        self._timers: TimerPerInstant[RenewableMessage] = TimerPerInstant(scheduler, TimerKind.RENEWAL, self._due)
        self._by_session: dict[Session, dict[Key, RenewableMessage]] = {}

    def messages_of(self, session: Session) -> list[RenewableMessage]:
        """Return the messages of a client, in the order in which it received them."""
        return list(self._by_session.get(session, {}).values())

    def store(self, found: RenewableMessage) -> None:
        """Store a message that a client received. If it has more than 1024, drop those that are expired."""
        known = self._by_session.get(found.session)
        if known is None:
            known = self._by_session[found.session] = {}
        key = found.key
        replaced = known.pop(key, None)
        if replaced is not None:
            self._timers.discard(replaced)
        known[key] = found
        if len(known) > _PRUNE_ABOVE:
            now_ms = self._scheduler.now_ms
            for old in [old for old in known.values() if old.handle.is_expired(now_ms)]:
                self._drop(old)
        if self._config.renew_schedule_enable:
            self._schedule(found)

    def stop_renewing(
        self, session: Session | None, group: str, message_id: str, handle: ReceiptHandle
    ) -> ReceiptHandle:
        """Stop renewing a message, because its client sent a request for it. Returns the handle for that request."""
        known = None if session is None else self._by_session.get(session)
        found = None if known is None else known.get(_key(group, message_id, handle))
        if found is None:
            return handle
        self._drop(found)
        return found.handle

    def check_channel(self, session: Session | None) -> None:
        """Raise INTERNAL_SERVER_ERROR for a client without a telemetry stream, if `telemetry_stream_needed` is on.

        DefaultReceiptHandleManager.removeReceiptHandle looks messages up by the channel of the client, which is null.
        """
        if session is None and self._defects.telemetry_stream_needed:
            raise Refusal(pb.INTERNAL_SERVER_ERROR, no_channel())

    def make_visible(self, session: Session, label: str) -> None:
        """Let the unacknowledged messages of a departed client become visible after `invisibleTimeMillisWhenClear`.

        `label` is the name of these changes in the journal.
        """
        delay_ms = self._config.invisible_time_millis_when_clear
        for found in self.messages_of(session):
            self._drop(found)
            broker = self._routes.master_named(found.handle.broker_name)
            self._fire_and_forget.submit(broker, session.channel, label, found.change(delay_ms))

    def drop_session(self, session: Session) -> None:
        """Stop renewing the messages of a client, without making them visible."""
        for found in self.messages_of(session):
            self._drop(found)

    def _schedule(self, found: RenewableMessage) -> None:
        self._timers.add(found, found.handle.next_visible_ms - self._config.renew_ahead_time_millis)

    def _drop(self, found: RenewableMessage) -> None:
        self._timers.discard(found)
        known = self._by_session.get(found.session)
        if known is not None:
            known.pop(found.key, None)
            if not known:
                del self._by_session[found.session]

    def _due(self, items: list[RenewableMessage]) -> None:
        for found in items:
            self._renew(found)

    def _renew(self, found: RenewableMessage) -> None:
        config, now_ms = self._config, self._scheduler.now_ms
        if found.handle.is_expired(now_ms):
            self._drop(found)
            return
        if now_ms - found.first_pop_ms < config.renew_max_time_millis:
            invisible_ms = RENEW_POLICY_MS[min(found.renewed, len(RENEW_POLICY_MS) - 1)]
        else:
            # The maximum renewal time is over. The group's retry policy sets the last invisible duration.
            self._drop(found)
            group = self._routes.group_config(found.group)
            if group is None:
                return
            invisible_ms = retry_delay_ms(group, found.reconsume_times)
        broker = self._routes.master_named(found.handle.broker_name)
        self._gate.submit(broker, _Renewal(found, self._renewed), found.change(invisible_ms))

    def _renewed(self, found: RenewableMessage, outcome: Outcome) -> None:
        """Store the new handle and schedule the next renewal.

        After SYSTEM_ERROR the renewal is retried, up to `maxRenewRetryTimes`. Any other failure drops the message.
        """
        if self._by_session.get(found.session, {}).get(found.key) is not found:
            return
        config = self._config
        if isinstance(outcome, ChangeInvisibleResult):
            found.handle = found.handle.changed(outcome, self._defects)
            found.renewed += 1
            found.failed = 0
            self._schedule(found)
            return
        found.failed += 1
        is_transient = isinstance(outcome, EngineError) and outcome.code is ResponseCode.SYSTEM_ERROR
        if is_transient and found.failed < config.max_renew_retry_times:
            self._timers.add(found, self._scheduler.now_ms + config.renew_schedule_period_millis)
        else:
            self._drop(found)


class _Renewal:
    """One renewal, as a Call of the gate."""

    __slots__ = ("_found", "_on_outcome")
    label = RENEWAL
    active = True
    number = None

    def __init__(self, found: RenewableMessage, on_outcome: Callable[[RenewableMessage, Outcome], None]) -> None:
        self._found = found
        self._on_outcome = on_outcome

    @property
    def channel(self) -> Channel:
        """The client's channel."""
        return self._found.session.channel

    def reply(self, outcome: Outcome) -> None:
        """Pass on the outcome of the renewal."""
        self._on_outcome(self._found, outcome)


def retry_delay_ms(group: GroupConfig, reconsume_times: int) -> int:
    """Return the delay (ms) before the next delivery. Source: CustomizedRetryPolicy, ExponentialRetryPolicy."""
    retry = group.retry_policy
    times = max(reconsume_times, 0)
    if retry.kind == "EXPONENTIAL":
        return int(min(retry.max_ms, retry.initial_ms * retry.multiplier ** min(times, _EXPONENT_MAX)))
    delays = retry.next_ms or delays_ms(DELAY_LEVELS)
    return delays[min(times + 2, len(delays) - 1)]


def _key(group: str, message_id: str, handle: ReceiptHandle) -> Key:
    return group, message_id, handle.topic_type, handle.broker_name, handle.queue_id, handle.offset
