"""Locks of queues for orderly consumption."""

from dataclasses import KW_ONLY

from ..kernel.value_class import frozen_view
from .brokers import stores_of
from .engine_parts import EngineParts


@frozen_view
class LockView:
    """A queue that a client has locked."""

    group: str
    broker: str
    topic: str
    queue_id: int
    _: KW_ONLY
    client: str
    until_ms: int
    """The end of the lock, unless the client renews it."""


def read_locks(parts: EngineParts, of: str | None = None) -> list[LockView]:
    """Return the unexpired locks of all running masters, by group and queue: all, or those of one group."""
    found = [
        LockView(group, queue.broker_name, queue.topic, queue.queue_id, client=owner, until_ms=until_ms)
        for broker in stores_of(parts.brokers).values()
        if broker.running
        for group, queue, owner, until_ms in broker.locks.held(of)
    ]
    return sorted(found, key=lambda lock: (lock.group, lock.topic, lock.broker, lock.queue_id))
