"""A small client of the remoting protocol: one connection, no threads, no background work.

For tests and tools; the caller handles heartbeats, rebalances and retries. It must not know the server's rooms or the
engine's services.
"""

from .connection import ConnectionLost, RemotingClient, RemotingTimeout, ext_texts
from .messages import ReceivedMessage, batch_body, decode_messages, properties_text
from .signing import Credentials, signature

__all__ = [
    "ConnectionLost",
    "Credentials",
    "ReceivedMessage",
    "RemotingClient",
    "RemotingTimeout",
    "batch_body",
    "decode_messages",
    "ext_texts",
    "properties_text",
    "signature",
]
