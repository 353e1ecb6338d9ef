"""Faults of the store: appends that are refused or not confirmed, lost flushes, and slaves that lag."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...gate.call import Outcome
from ...gate.effects import Effect
from ...kernel.errors import EngineError
from ...kernel.response_code import ResponseCode
from ...message.properties import WAIT
from ...operations.base import Operation
from ...operations.consume import ChangeInvisibleTime
from ...operations.send import EndTransaction, RecallMessage, SendMessage, SendMessageBack, SendResult
from ..client_call import Response
from ..cluster_control import ClusterControl, StandingFault
from ..errors import FaultError, shown
from ..events import FiringContext, RequestEvent, ResponseEvent
from ..fault import Fault, kind
from ..parameters import OneOf, PositiveDurationCheck, parameter
from ..phase import Phase
from ..times import ms_of
from .standing import STANDING, StandingKind, lasting, of_brokers

DISK_FULL, PAGE_CACHE_BUSY, REPLICAS_NOT_ENOUGH = "disk_full", "page_cache_busy", "replicas_not_enough"
NOT_CONFIRMED: Mapping[str, ResponseCode] = {
    "flush_timeout": ResponseCode.FLUSH_DISK_TIMEOUT,
    "slave_timeout": ResponseCode.FLUSH_SLAVE_TIMEOUT,
    "slave_not_available": ResponseCode.SLAVE_NOT_AVAILABLE,
}
"""Reasons for which a stored message is not confirmed, and the code of the response."""
NOT_STORED: Mapping[str, str] = {
    REPLICAS_NOT_ENOUGH: "in-sync replicas not enough",
    "file_not_created": "create mapped file failed, server is busy or broken.",
}
"""Reasons for which a message is not stored, and the remark of the response (SendMessageProcessor, 5.3.3)."""
APPENDING = (SendMessage, SendMessageBack, EndTransaction, RecallMessage, ChangeInvisibleTime)
"""Operations that append to the log, so that a full disk refuses them."""


@kind(
    "refuse_append",
    layer="cluster",
    phases=(Phase.REQUEST, Phase.RESPONSE),
    operations=APPENDING,
    situation="A broker cannot store a message, or cannot confirm it: disk full or slow, slave behind or gone.",
)
class RefuseAppend(Fault):
    """Refuse to store a message, or store it and respond that it is not flushed or not replicated.

    Not stored: `disk_full`, `page_cache_busy`, `replicas_not_enough`, `file_not_created`. Stored: `flush_timeout` (the
    response comes after `syncFlushTimeout`), `slave_timeout` (after `slaveTimeout`), `slave_not_available`. With these
    three and with `replicas_not_enough`, messages with the property WAIT=false are stored and confirmed. With
    `disk_full` the request is carried out by a broker whose disk is full: rollbacks succeed, as with upstream.

    A real broker showed each reason but `slave_not_available`. No class of the store of 5.3.3 sets this status, because
    the store treats a missing slave as a late one. Brokers of version 4 return it.
    """

    reason: str = parameter(
        OneOf(DISK_FULL, PAGE_CACHE_BUSY, *NOT_STORED, *NOT_CONFIRMED), "reason of the error", default=DISK_FULL
    )

    def phase_for(self, chosen: str | None) -> Phase:
        """Return the phase: that of the response if the message is stored."""
        own = Phase.RESPONSE if self.reason in NOT_CONFIRMED else Phase.REQUEST
        if chosen not in (None, own.value):
            raise FaultError(
                f"phase={shown(chosen)}: with reason={self.reason!r}, refuse_append acts in the phase {own.value!r}"
            )
        return own

    def usable_operations(self) -> tuple[type[Operation] | type[Effect], ...]:
        """Return the operations that the reason can concern."""
        if self.reason == DISK_FULL:
            return APPENDING
        return (SendMessage, SendMessageBack) if self.reason == PAGE_CACHE_BUSY else (SendMessage,)

    def on_request(self, event: RequestEvent) -> bool:
        """Refuse the request, or let a store that refuses to append carry it out."""
        cluster, operation = event.firing.cluster, event.operation
        if self.reason == REPLICAS_NOT_ENOUGH and isinstance(operation, SendMessage) and _waits_for_none(operation):
            return False
        if self.reason == DISK_FULL:
            with cluster.full_disk(event.node):
                event.carry_out()
        elif self.reason == PAGE_CACHE_BUSY:
            event.refuse(cluster.page_cache_busy(through_proxy=getattr(operation, "through_proxy", False)))
        else:
            with cluster.failing_store(event.node, EngineError(ResponseCode.SYSTEM_ERROR, NOT_STORED[self.reason])):
                event.carry_out()
        return True

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Change the code of a send that was stored, and send the response when the broker stops waiting."""
        result, operation, firing = event.outcome, event.operation, event.firing
        assert isinstance(operation, SendMessage), "the reason limits the fault to this operation"
        if not isinstance(result, SendResult) or _waits_for_none(operation):
            return result
        waits_ms = 0
        if self.reason == "flush_timeout":
            waits_ms = firing.cluster.flush_timeout_ms(event.node)
        elif self.reason == "slave_timeout":
            waits_ms = firing.cluster.slave_timeout_ms(event.node)
        if waits_ms:
            event.intercept(partial(_send_later, firing, waits_ms))
        return replace(result, code=NOT_CONFIRMED[self.reason])


def _waits_for_none(operation: SendMessage) -> bool:
    """True if the sender wants no confirmation of flush and replicas (CommitLog.needHandleHA, 5.3.3)."""
    return operation.properties.get(WAIT) == "false"


def _send_later(firing: FiringContext, delay_ms: int, response: Response) -> None:
    firing.later(delay_ms, response.send)


@kind(
    "lose_flush",
    layer="cluster",
    phases=STANDING,
    situation="A disk or its controller reports writes as done that it loses when the power fails.",
)
class LoseFlush(StandingKind):
    """At the next crash with power loss, lose everything that a broker has stored since the begin of the fault.

    That includes messages that SYNC_FLUSH has confirmed. At the end of the fault, the whole log counts as flushed.
    """

    broker: str | None = of_brokers("name of the broker; by default all brokers")
    duration: str | None = lasting()

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Lose flushes from now on."""
        return cluster.lose_flushes(self.broker)


@kind(
    "slave_lag",
    layer="cluster",
    phases=STANDING,
    situation="A slave far away or overloaded receives the log of its master late.",
)
class SlaveLag(StandingKind):
    """Replicate each message later. A SYNC_MASTER waits for it, at most for `slaveTimeout`.

    The slave gets everything at the end of the rule. Tables of topics, groups and offsets are copied as usual.
    """

    delay: str = parameter(  # type: ignore[misc]  # `__init__` has the order; the inherited name `broker` is first
        PositiveDurationCheck(), "time by which the slave is behind"
    )
    broker: str | None = of_brokers("a slave, `broker-a:1`, or a master for all its slaves; by default all slaves")
    duration: str | None = lasting()

    if TYPE_CHECKING:  # type checkers would put the inherited name `broker` before `delay`

        def __init__(self, delay: str, broker: str | None = None, duration: str | None = None, **rule: Any) -> None: ...

    def check_brokers(self, cluster: ClusterControl) -> None:
        """Raise FaultError if there is no broker with the given name, or no slave that could lag."""
        StandingKind.check_brokers(self, cluster)  # not super(): a class with slots is created twice
        cluster.check_slave(self.broker)

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Delay the replication from now on."""
        return cluster.lag_slaves(self.broker, ms_of(self.delay))
