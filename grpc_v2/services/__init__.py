"""The RPCs, one file per domain noun, and the table of all RPCs.

Each service is constructed with the parts of the proxy that it needs. It must not know HTTP/2. Rules about stored
messages belong to the engine.
"""

from ..config.pools import ProxyPool
from ..proxy.rpc_table import Rpc
from .ack import ACK_MESSAGE
from .clients import HEARTBEAT, NOTIFY_CLIENT_TERMINATION
from .dead_letter import FORWARD_MESSAGE_TO_DEAD_LETTER_QUEUE
from .invisible import CHANGE_INVISIBLE_DURATION
from .recall import RECALL_MESSAGE
from .receive import RECEIVE_MESSAGE
from .route import QUERY_ASSIGNMENT, QUERY_ROUTE
from .send import SEND_MESSAGE
from .telemetry import TELEMETRY
from .transaction import END_TRANSACTION
from .unimplemented import GET_OFFSET, PULL_MESSAGE, QUERY_OFFSET, UPDATE_OFFSET

RPCS: tuple[Rpc, ...] = (
    QUERY_ROUTE,
    HEARTBEAT,
    SEND_MESSAGE,
    QUERY_ASSIGNMENT,
    RECEIVE_MESSAGE,
    ACK_MESSAGE,
    FORWARD_MESSAGE_TO_DEAD_LETTER_QUEUE,
    PULL_MESSAGE,
    UPDATE_OFFSET,
    GET_OFFSET,
    QUERY_OFFSET,
    END_TRANSACTION,
    TELEMETRY,
    NOTIFY_CLIENT_TERMINATION,
    CHANGE_INVISIBLE_DURATION,
    RECALL_MESSAGE,
)
"""Every RPC of MessagingService that 5.3.3 defines, in the order of the service's declaration."""


def rpcs_of(pool: ProxyPool) -> tuple[str, ...]:
    """Return the names of the RPCs that a thread pool runs."""
    return tuple(rpc.name for rpc in RPCS if rpc.pool is pool)
