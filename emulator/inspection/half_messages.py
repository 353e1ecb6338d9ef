"""Half messages of transactions that are not decided."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY

from ..cluster.broker import Broker
from ..kernel.java_numbers import parse_long
from ..kernel.value_class import frozen_view
from ..message import properties as props
from ..transaction.half_message import check_immunity_ms
from ..transaction.transaction_check import NO_OPS_PAUSE_MS
from .brokers import stores_of
from .engine_parts import EngineParts
from .messages import CopyState, MessageWithCopies
from .stored_copies import StoredCopy, decoded

HOUR_MS = 3_600_000


@frozen_view
class HalfView:
    """A half message, with its checks so far."""

    message_id: str
    topic: str
    producer_group: str
    born_at_ms: int
    """The time at which the producer created the message, by the producer's clock."""
    _: KW_ONLY
    checks: int
    """The checks that the broker counts. Rounds that skip a message with CHECK_IMMUNITY_TIME_IN_SECONDS count, too."""
    checks_max: int
    """The number of checks after which the broker discards the message (`transactionCheckMax`)."""
    next_check_ms: int | None
    """The time of the next check; None if there will be none."""


def read_half_messages(parts: EngineParts) -> list[HalfView]:
    """Return the half messages without a decision, the oldest first."""
    found = [view for broker in stores_of(parts.brokers).values() for view in _of_broker(broker)]
    return sorted(found, key=lambda view: (view.born_at_ms, view.message_id))


def read_half_message(parts: EngineParts, message: MessageWithCopies) -> HalfView | None:
    """Return a half message without a decision, see `Inspection.half_message`. The newest of several counts."""
    halves = [copy.place for copy in message.copies if copy.state is CopyState.HALF]
    brokers = stores_of(parts.brokers)
    found = [
        view
        for name in sorted({place.broker for place in halves} & brokers.keys())
        for view in _of_broker(brokers[name], sorted(each.queue_offset for each in halves if each.broker == name))
        if view.message_id == message.message_id
    ]
    return max(found, key=lambda view: view.born_at_ms, default=None)


def _of_broker(broker: Broker, offsets: Sequence[int] | None = None) -> Iterator[HalfView]:
    for stored in broker.checks.undecided(offsets):
        copy = decoded(broker, stored)
        if copy is not None:
            properties = copy.properties
            checks = _number(properties.get(props.TRANSACTION_CHECK_TIMES, "0"))
            yield HalfView(
                copy.message_id,
                copy.origin,
                properties.get(props.PRODUCER_GROUP, ""),
                copy.parts.born_timestamp,
                checks=checks,
                checks_max=broker.config.transaction_check_max,
                next_check_ms=_next_check_ms(broker, copy, checks),
            )


def _next_check_ms(broker: Broker, copy: StoredCopy, checks: int) -> int | None:
    """Return the time of the next check: that of the first round at which the message is old enough.

    A round that begins with op messages first reads all of them and then waits (TransactionChecks).
    """
    config, round_ms = broker.config, broker.checks.next_round_ms
    born_ms, text = copy.parts.born_timestamp, copy.properties.get(props.CHECK_IMMUNITY_TIME_IN_SECONDS)
    if round_ms is None or not broker.running or checks >= config.transaction_check_max:
        return None
    immune_ms = config.transaction_time_out
    if text is not None:
        immune_ms = check_immunity_ms(text, immune_ms)
    # A message that was stored in the same instant as the round begins is checked in the next one.
    first_ms = max(born_ms + immune_ms, copy.view.stored_at_ms + 1)
    interval_ms = config.transaction_check_interval
    rounds = max(-(-(first_ms - round_ms) // interval_ms), 0)
    check_ms = round_ms + rounds * interval_ms
    # Rounds that skip an immune message count as checks, too.
    if check_ms - born_ms > config.file_reserved_time * HOUR_MS or (
        text is not None and checks + rounds >= config.transaction_check_max
    ):
        return None
    waits = check_ms - born_ms <= immune_ms or (rounds == 0 and broker.checks.has_unread_ops)
    return check_ms + (NO_OPS_PAUSE_MS if waits else 0)


def _number(text: str) -> int:
    try:
        return parse_long(text)
    except ValueError:
        return 0
