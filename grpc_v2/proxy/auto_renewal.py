"""Messages taken with auto_renew: what the proxy remembers of them, and how their invisible time is renewed.

5.3.3 remembers them and gives them back when their client leaves, but never starts the thread that should renew them
(seen: it does not run), so that their 60 s pass like any others. With `renewScheduleEnable` they are renewed as
upstream's code has it, without its scan: each at the instant at which it becomes due. The client keeps the handle that
it was given, and what it does with it is done with the newest. Source: DefaultReceiptHandleManager, ReceiptHandleGroup,
MessageReceiptHandle, RenewStrategyPolicy (5.3.3).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.config.broker import DELAY_LEVELS
from rocketmq_testkit.emulator.gate.gate import Channel, Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.timer_per_instant import Agenda
from rocketmq_testkit.emulator.operations.consume import ChangeInvisibleResult, ChangeInvisibleTime
from rocketmq_testkit.emulator.operations.groups import GroupConfig

from ..config.duration_lists import delays_ms
from ..convert.receipt_handle import ReceiptHandle

if TYPE_CHECKING:
    from .proxy import Proxy
    from .sessions import Session

_MINUTE_MS = 60_000
RENEW_POLICY_MS = tuple(minutes * _MINUTE_MS for minutes in (1, 3, 5, 10, 30, 60))
"""How long the first, second, ... renewal lasts; the last one goes on."""
_PRUNE_ABOVE = 1024
_EXPONENT_MAX = 32

Key = tuple[str, str, str, str, int, int]
"""(group, message id, topic digit, broker name, queue id, offset) of a message: what clients call by another id is not
found, as upstream does not."""


@dataclass(slots=True, eq=False)
class Renewable:
    """A message that was taken with auto_renew. `first_pop_ms` is when; `handle` is its newest handle."""

    session: "Session"
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
        """What finds it when only the handle of the client is known."""
        return _key(self.group, self.message_id, self.handle)

    def change(self, invisible_ms: int) -> ChangeInvisibleTime:
        """The operation that hides it for another time from now on."""
        handle = self.handle
        topic = handle.real_topic(self.topic, self.group)
        return ChangeInvisibleTime(self.group, topic, handle.queue_id, handle.encode(), handle.offset, invisible_ms)


class Renewals:
    """The renewable messages of all clients of a proxy."""

    def __init__(self, proxy: "Proxy") -> None:
        self._proxy = proxy
        self._agenda: Agenda[Renewable] = Agenda(proxy.engine.scheduler, "renewal", self._due)

    def remember(
        self,
        session: "Session",
        topic: str,
        group: str,
        message_id: str,
        handle: ReceiptHandle,
        reconsume_times: int,
    ) -> None:
        """Note a message that a client has taken; those whose time is over are dropped now and then."""
        found = Renewable(session, topic, group, message_id, handle, handle.pop_time, reconsume_times)
        known = session.renewable
        self._drop(known.get(found.key))
        known[found.key] = found
        if len(known) > _PRUNE_ABOVE:
            now_ms = self._proxy.now_ms
            for old in [old for old in known.values() if old.handle.is_expired(now_ms)]:
                self._drop(old)
        if self._proxy.config.renew_schedule_enable:
            self._schedule(found)

    def take(self, session: "Session | None", group: str, message_id: str, handle: ReceiptHandle) -> ReceiptHandle:
        """Renew a message no more, because its client does something with it; the handle to do it with."""
        found = None if session is None else session.renewable.get(_key(group, message_id, handle))
        if found is None:
            return handle
        self._drop(found)
        return found.handle

    def give_back(self, session: "Session", label: str) -> None:
        """A client is gone: what it has not acknowledged becomes visible soon."""
        delay_ms = self._proxy.config.invisible_time_millis_when_clear
        for found in list(session.renewable.values()):
            self._drop(found)
            broker = self._proxy.routes.named(found.handle.broker_name)
            self._proxy.tell(broker, session.channel, label, found.change(delay_ms))

    def forget(self, session: "Session") -> None:
        """Renew nothing more of a client, and do nothing about it."""
        for found in list(session.renewable.values()):
            self._drop(found)

    def _schedule(self, found: Renewable) -> None:
        self._agenda.add(found, found.handle.next_visible_ms - self._proxy.config.renew_ahead_time_millis)

    def _drop(self, found: Renewable | None) -> None:
        if found is not None:
            self._agenda.discard(found)
            found.session.renewable.pop(found.key, None)

    def _due(self, items: list[Renewable]) -> None:
        for found in items:
            self._renew(found)

    def _renew(self, found: Renewable) -> None:
        proxy = self._proxy
        config = proxy.config
        if found.handle.is_expired(proxy.now_ms):
            self._drop(found)
            return
        if proxy.now_ms - found.first_pop_ms < config.renew_max_time_millis:
            invisible_ms = RENEW_POLICY_MS[min(found.renewed, len(RENEW_POLICY_MS) - 1)]
        else:
            # It has been held for too long: the group's retry policy says when it comes again.
            self._drop(found)
            group = proxy.group_config(found.group)
            if group is None:
                return
            invisible_ms = retry_delay_ms(group, found.reconsume_times)
        broker = proxy.routes.named(found.handle.broker_name)
        proxy.engine.gate.submit(broker, _Renewal(self, found), found.change(invisible_ms))

    def renewed(self, found: Renewable, outcome: Outcome) -> None:
        """Go on with the new handle, or, after a refusal, once more or not at all."""
        if found.session.renewable.get(found.key) is not found:
            return
        config = self._proxy.config
        if isinstance(outcome, ChangeInvisibleResult):
            found.handle = found.handle.changed(outcome)
            found.renewed += 1
            found.failed = 0
            self._schedule(found)
            return
        found.failed += 1
        passing = isinstance(outcome, EngineError) and outcome.code is ResponseCode.SYSTEM_ERROR
        if passing and found.failed < config.max_renew_retry_times:
            self._agenda.add(found, self._proxy.now_ms + config.renew_schedule_period_millis)
        else:
            self._drop(found)


class _Renewal:
    """One renewal, as the gate sees it."""

    __slots__ = ("_found", "_renewals")
    label = "RenewMessage"
    active = True

    def __init__(self, renewals: Renewals, found: Renewable) -> None:
        self._renewals = renewals
        self._found = found

    @property
    def channel(self) -> Channel:
        """The client's channel."""
        return self._found.session.channel

    def reply(self, outcome: Outcome) -> None:
        """Note what became of it."""
        self._renewals.renewed(self._found, outcome)


def retry_delay_ms(group: GroupConfig, reconsume_times: int) -> int:
    """When a message that failed so often comes again. Source: CustomizedRetryPolicy, ExponentialRetryPolicy."""
    retry = group.retry_policy
    times = max(reconsume_times, 0)
    if retry.kind == "EXPONENTIAL":
        return int(min(retry.max_ms, retry.initial_ms * retry.multiplier ** min(times, _EXPONENT_MAX)))
    delays = retry.next_ms or delays_ms(DELAY_LEVELS)
    return delays[min(times + 2, len(delays) - 1)]


def _key(group: str, message_id: str, handle: ReceiptHandle) -> Key:
    return group, message_id, handle.topic_type, handle.broker_name, handle.queue_id, handle.offset
