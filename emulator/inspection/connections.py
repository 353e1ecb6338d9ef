"""Connections of clients."""

from ..kernel.value_class import frozen_value


@frozen_value
class ConnectionView:
    """A connected client."""

    client: str
    channel: str
    protocol: str
    """`remoting` or `grpc`."""
    language: str
    version: str
    """The version of the SDK; empty if the client did not send it."""
    address: str
    """`host:port`."""
    since_ms: int
    last_heartbeat_ms: int | None
    groups: tuple[str, ...]
