"""Strategies by which clients divide the queues of a topic among the members of a group.

Remoting clients do so on their own, and no request names the strategy. `agreeing` finds those that explain the requests
of the members. Source: AllocateMessageQueueAveragely, AllocateMessageQueueAveragelyByCircle,
AllocateMessageQueueConsistentHash, ConsistentHashRouter (5.3.3).
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from hashlib import md5

from ..client.assignments import STRATEGIES as OF_BROKERS
from ..operations.clients import MessageQueue

CONSISTENT_HASH = "CONSISTENT_HASH"
VIRTUAL_NODES = 10
"""The points of each client on the ring, by default."""
Owners = dict[MessageQueue, str]
"""The client id of the owner of each queue."""


def owners(strategy: str, queues: Sequence[MessageQueue], clients: Sequence[str]) -> Owners:
    """Return the owner of each queue by a strategy of `STRATEGIES`; a queue without an owner is missing."""
    if strategy == CONSISTENT_HASH:
        return _by_hash(queues, clients)
    allocate, ordered = OF_BROKERS[strategy], sorted(clients)
    return {queue: client for client in ordered for queue in allocate(sorted(queues), ordered, client)}


def agreeing(queues: Sequence[MessageQueue], clients: Sequence[str], observed: Mapping[MessageQueue, str]) -> list[str]:
    """Return the strategies that give each observed queue to its observed owner; none without observation."""
    if not observed:
        return []
    found = {strategy: owners(strategy, queues, clients) for strategy in STRATEGIES}
    return [name for name, owned in found.items() if all(owned.get(queue) == observed[queue] for queue in observed)]


STRATEGIES = (*OF_BROKERS, CONSISTENT_HASH)


def _by_hash(queues: Sequence[MessageQueue], clients: Sequence[str]) -> Owners:
    ring = sorted((_hash(f"{client}-{index}"), client) for client in clients for index in range(VIRTUAL_NODES))
    points = [point for point, _ in ring]
    return {queue: ring[bisect_left(points, _hash(_text(queue))) % len(ring)][1] for queue in queues} if ring else {}


def _text(queue: MessageQueue) -> str:
    """Return the text of a queue in Java (MessageQueue.toString)."""
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"


def _hash(text: str) -> int:
    """Return the first four bytes of the MD5 sum as a number."""
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4], "big")
