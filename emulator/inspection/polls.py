"""Long polls that wait for messages."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from typing import Any, Literal

from ..cluster.broker import Broker
from ..kernel.value_class import frozen_view
from ..pop.pop_long_polling import PollingRequest
from .engine_parts import EngineParts

PollKind = Literal["pull", "pop", "notification"]


@frozen_view
class PollView:
    """A request that waits at a broker."""

    channel: str
    group: str
    broker: str
    topic: str
    _: KW_ONLY
    queue_id: int | None
    """None if the request reads any queue of the topic."""
    since_ms: int
    until_ms: int
    kind: PollKind
    client: str | None = None
    """The client id of the connection; None if it is not known."""


def read_polls(parts: EngineParts) -> list[PollView]:
    """Return the waiting requests of all running brokers, slaves included, the oldest first."""
    client_of = parts.history.client_of
    waiting = (view for broker in parts.brokers if broker.running for view in _of_broker(broker))
    found = [replace(view, client=client_of(view.channel)) for view in waiting]
    return sorted(found, key=lambda view: (view.since_ms, view.channel, view.topic, view.queue_id or 0))


def _of_broker(broker: Broker) -> Iterator[PollView]:
    """Yield the waiting pulls, the pulls that wait because of cold data, the pops and the notification requests."""
    for until_ms, held in broker.pulls.hold.waiting():
        if held.call.active:
            pull = held.operation
            yield PollView(
                held.channel_id,
                pull.consumer_group,
                broker.name,
                pull.topic,
                queue_id=pull.queue_id,
                since_ms=held.since_ms,
                until_ms=until_ms,
                kind="pull",
            )
    for suspended in broker.pulls.cold_hold.waiting():
        if suspended.call.active:
            pull = suspended.operation
            yield PollView(
                suspended.call.channel.channel_id,
                pull.consumer_group,
                broker.name,
                pull.topic,
                queue_id=pull.queue_id,
                since_ms=suspended.since_ms,
                until_ms=suspended.until_ms,
                kind="pull",
            )
    for polling in broker.pops.polling.waiting():
        if polling.call.active:
            yield _view(broker, polling, "pop")
    for waiting in broker.notifications.polling.waiting():
        if waiting.call.active:
            yield _view(broker, waiting, "notification")


def _view(broker: Broker, polling: PollingRequest[Any], kind: PollKind) -> PollView:
    operation, end_ms = polling.operation, polling.order_key[0]
    return PollView(
        polling.channel_id,
        operation.consumer_group,
        broker.name,
        operation.topic,
        queue_id=operation.queue_id if operation.queue_id >= 0 else None,
        since_ms=end_ms - operation.poll_ms,
        until_ms=end_ms,
        kind=kind,
    )
