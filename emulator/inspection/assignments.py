"""Assignments of queues to members."""

from collections.abc import Sequence
from dataclasses import KW_ONLY

from ..client.queue_uses import ANY_QUEUE
from ..kernel.value_class import frozen_view
from ..operations.clients import BROADCASTING, MessageQueue
from .brokers import stores_of
from .engine_parts import EngineParts
from .strategies import agreeing, owners

POP = "POP"
"""The strategy of members that may pop any queue."""
NOT_KNOWN = "not known"
"""The strategy if none, or more than one, explains the requests."""
Uses = dict[tuple[str, str, int], int]
"""The time of the last request (ms since the epoch) by client, broker and queue id."""


@frozen_view
class AssignmentView:
    """A queue and the member that should request it.

    Pulling members divide the queues by a strategy that no request names. The view is derived from their requests: the
    member that requested a queue last counts as its owner. A strategy that gives each requested queue to its owner
    explains the requests. If only one does, the view names it. A queue that no member has requested has the owner on
    which all these strategies agree.
    """

    group: str
    broker: str
    topic: str
    queue_id: int
    """-1 if the member may pop any queue of the topic on the broker."""
    _: KW_ONLY
    client: str | None
    """The member's client id; None if no member requested the queue and the requests explain no single owner."""
    strategy: str
    """`AVG`, `AVG_BY_CIRCLE`, `CONSISTENT_HASH`, `BROADCASTING`, `POP`, or `not known`."""
    requested_ms: int | None
    """The time of the member's last request for the queue, or of the end of its long poll; None if there was none."""


class AssignmentInspection:
    """Reads the assignments of groups from the requests of their members."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def read(self, group: str, topic: str) -> list[AssignmentView]:
        """Return the assignments of a topic to a group, see `Inspection.assignments`."""
        queues = self._parts.name_server.read_queues(topic) or []
        uses = self._uses(group, topic)
        members = self._members(group)
        popping = sorted({client for client, is_grpc in members.items() if is_grpc} | _popping(uses))
        found = [
            AssignmentView(
                group,
                broker,
                topic,
                ANY_QUEUE,
                client=client,
                strategy=POP,
                requested_ms=uses.get((client, broker, ANY_QUEUE)),
            )
            for broker in sorted({queue.broker_name for queue in queues})
            for client in popping
        ]
        pulling = sorted(client for client in members if client not in popping)
        if self._broadcasts(group):
            return found + [
                AssignmentView(
                    group,
                    queue.broker_name,
                    topic,
                    queue.queue_id,
                    client=client,
                    strategy=BROADCASTING,
                    requested_ms=requested_ms,
                )
                for queue in queues
                for client in pulling
                for requested_ms in [uses.get((client, queue.broker_name, queue.queue_id))]
            ]
        return found + (_divided(group, queues, pulling, uses) if pulling else [])

    def _uses(self, group: str, topic: str) -> Uses:
        """Return the time of the last request (ms) of each queue by each connected member."""
        found: Uses = {}
        brokers = stores_of(self._parts.brokers)
        for channel, (node, using_group, used_topic), queue_id, use in self._parts.deliveries.uses():
            broker = brokers.get(node)
            if (using_group, used_topic) == (group, topic) and use.requested and broker is not None:
                member = broker.clients.connected_consumer(group, channel)
                if member is not None:
                    found[member.client_id, node, queue_id] = use.requested_ms
        return found

    def _members(self, group: str) -> dict[str, bool]:
        """Return the client ids of the members; the value is True for gRPC clients."""
        return {
            member.client_id: member.through_proxy
            for broker in stores_of(self._parts.brokers).values()
            if broker.running and group in broker.clients.consumers
            for member in broker.clients.consumers[group].members.values()
        }

    def _broadcasts(self, group: str) -> bool:
        found = [broker.clients.consumers.get(group) for broker in stores_of(self._parts.brokers).values()]
        return any(each is not None and each.message_model == BROADCASTING for each in found)


def _popping(uses: Uses) -> set[str]:
    return {client for client, _, queue_id in uses if queue_id == ANY_QUEUE}


_NEVER = (-1, "")
"""A time and a client id that precede those of every request."""


def _divided(group: str, queues: Sequence[MessageQueue], clients: Sequence[str], uses: Uses) -> list[AssignmentView]:
    """Return the assignment of each queue to the pulling member that requested it last.

    A queue that no member has requested has the owner on which all strategies that explain the requests agree, or None.
    """
    members, by_number = set(clients), {(queue.broker_name, queue.queue_id): queue for queue in queues}
    last: dict[MessageQueue, tuple[int, str]] = {}
    for (user, broker, queue_id), at_ms in uses.items():
        used = by_number.get((broker, queue_id))
        if used is not None and user in members and (at_ms, user) > last.get(used, _NEVER):
            last[used] = (at_ms, user)
    observed = {queue: last[queue][1] for queue in queues if queue in last}
    strategies = agreeing(queues, clients, observed)
    divisions = [owners(each, queues, clients) for each in strategies]
    views = []
    for queue in queues:
        client = observed.get(queue)
        expected = {division.get(queue) for division in divisions}
        if client is None and len(expected) == 1:
            client = expected.pop()
        requested_ms = None if client is None else uses.get((client, queue.broker_name, queue.queue_id))
        strategy = strategies[0] if len(strategies) == 1 else NOT_KNOWN
        views.append(
            AssignmentView(
                group,
                queue.broker_name,
                queue.topic,
                queue.queue_id,
                client=client,
                strategy=strategy,
                requested_ms=requested_ms,
            )
        )
    return views
