"""Callbacks of the engine's owner for acts of clients that may be mistakes of their users.

The acts are rare, so that an ordinary request costs no call: a heartbeat, a client's first request of a queue, the
start of a group, a late acknowledgement. A callback changes nothing and submits no request.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY

from ..gate.call import Call, Node
from ..history.events import RefusedRequest
from ..kernel.errors import EngineError
from ..kernel.value_class import frozen_value, parts
from ..message.receipt import parse_for_record
from ..operations.clients import Heartbeat
from ..operations.consume import AckMessage, PopMessage, PullMessage


@frozen_value
class LateAcknowledgement:
    """An acknowledgement that arrived after the invisible duration of its message. Times are engine time in ms."""

    node: str
    channel: str
    group: str
    topic: str
    """The topic that stores the message, which may be a retry topic."""
    _: KW_ONLY
    queue_id: int
    offset: int
    popped_ms: int
    until_ms: int
    """The end of the invisible duration."""


@frozen_value
class PopStart:
    """The first offset of a group in a queue, as its first pop has determined it."""

    group: str
    topic: str
    queue_id: int
    offset: int


@parts
class ClientWatch:
    """The callbacks. The default of each does nothing."""

    heartbeat: Callable[[Node, Call, Heartbeat], None] = lambda node, call, beat: None
    """Called after a heartbeat was carried out, also with one that changes nothing."""
    first_request: Callable[[Node, Call, PullMessage | PopMessage], None] = lambda node, call, operation: None
    """Called with the first accepted pull of each queue, and the first accepted pop of each topic, of each client."""
    pop_started: Callable[[Node, Call, PopStart], None] = lambda node, call, start: None
    """Called with each queue in which a pop has begun to read for a new group."""
    late_acknowledgement: Callable[[LateAcknowledgement], None] = lambda late: None
    """Called with an acknowledgement that the broker has accepted, or the proxy refused, after its time."""
    refused: Callable[[RefusedRequest], None] = lambda request: None
    """Called with each request that was refused, before the client gets the error."""


SILENT = ClientWatch()
"""A watch that does nothing."""


def late_acknowledgement(node: Node, call: Call, operation: AckMessage, now_ms: int) -> LateAcknowledgement | None:
    """Return the facts of an acknowledgement whose invisible duration has ended by its receipt handle, else None."""
    try:
        receipt = parse_for_record(operation.extra_info)
    except EngineError:
        return None
    if receipt.next_visible_ms >= now_ms:
        return None
    return LateAcknowledgement(
        node=node.name,
        channel=call.channel.channel_id,
        group=operation.consumer_group,
        topic=operation.topic,
        queue_id=operation.queue_id,
        offset=operation.offset,
        popped_ms=receipt.pop_time,
        until_ms=receipt.next_visible_ms,
    )
