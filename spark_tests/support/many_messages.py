"""Fast storage of many messages in a chosen queue."""

from collections.abc import Mapping, Sequence

from real_broker import RealBroker
from rocketmq_testkit.conformance.clients.remoting_sends import batch_request
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient

BATCH = 500


def fill(
    emulator: Emulator | RealBroker,
    topic: str,
    bodies: Sequence[bytes],
    queue: int = 0,
    *,
    tags: Sequence[str] = ("",),
    properties: Mapping[str, str] | None = None,
) -> None:
    """Store messages in one queue of the first broker, alternating between these tags."""
    with RemotingClient(emulator.broker, timeout=30) as client:
        for start in range(0, len(bodies), BATCH):
            part = bodies[start : start + BATCH]
            messages = [
                (body, {**(properties or {}), "TAGS": tags[at % len(tags)]}) for at, body in enumerate(part, start)
            ]
            response = client.request(*batch_request(topic, messages, born_ms=1, queue=queue))
            assert response.code == 0, response.remark
    if not isinstance(emulator, Emulator):
        emulator.settle()
