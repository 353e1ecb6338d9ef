"""Clients that are or were registered, by connection: their ids, SDKs and addresses, and when they left."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, replace

from ..gate.call import GRPC_CHANNEL, is_through_proxy
from ..kernel.value_class import frozen_value

CONNECTIONS_MAX = 4_096
"""The maximum number of connections; above it the connection that registered first is removed."""
TEXT_MAX = 255
"""The longest text of a client that is kept; longer ones come from hostile clients."""


@frozen_value
class SeenClient:
    """A client as it last registered on one connection."""

    client: str
    language: str
    version: str
    """The version that the SDK states; empty if it states none."""
    address: str
    """`host:port`."""
    _: KW_ONLY
    left_ms: int | None = None
    """The time at which its connection was closed, or its session ended; None if that has not happened."""

    @property
    def sdk(self) -> str:
        """Language and version of the SDK."""
        return f"{self.language} {self.version}".strip()


class SeenClients:
    """The clients that remoting connections and sessions of the proxy registered last."""

    def __init__(self) -> None:
        self._seen: dict[str, SeenClient] = {}
        self._open: set[str] = set()
        """The connections that are open."""

    def copy(self, *, with_connections: bool = False) -> "SeenClients":
        """Return an independent copy. Its connections are open only `with_connections`."""
        made = SeenClients()
        made._seen = self._seen.copy()
        if with_connections:
            made._open = self._open.copy()
        return made

    def note(self, channel_id: str, client: SeenClient) -> None:
        """Record the client of a connection."""
        seen = self._seen
        self._open.add(channel_id)
        if seen.get(channel_id) == client:
            return
        texts = {name: getattr(client, name)[:TEXT_MAX] for name in ("client", "language", "version", "address")}
        seen[channel_id] = replace(client, **texts)
        if len(seen) > CONNECTIONS_MAX:
            first = next(iter(seen))
            del seen[first]
            self._open.discard(first)

    def has(self, channel_id: str) -> bool:
        """True if a client is registered on a connection and has not left."""
        found = self._seen.get(channel_id)
        return found is not None and found.left_ms is None

    def left(self, channel_id: str, now_ms: int) -> None:
        """Record that a connection was closed, or that a session ended."""
        found = self._seen.get(channel_id)
        self._open.discard(channel_id)
        if found is not None and found.left_ms is None:
            self._seen[channel_id] = replace(found, left_ms=now_ms)

    def gone(self, client_id: str, now_ms: int) -> None:
        """Record that all connections of a client were closed."""
        for channel_id in [channel for channel, each in self._seen.items() if each.client == client_id]:
            self.left(channel_id, now_ms)

    def is_connected(self, client_id: str) -> bool:
        """True if a client has a connection or session that has not ended, even if it is in no group any more."""
        return any(self._seen[channel_id].client == client_id for channel_id in self._open)

    def of(self, channel_id: str) -> str | None:
        """Return the client id of a connection, None if it is not known."""
        if is_through_proxy(channel_id):
            return channel_id.removeprefix(GRPC_CHANNEL)
        found = self._seen.get(channel_id)
        return None if found is None else found.client

    def on(self, channel_id: str) -> SeenClient | None:
        """Return the client of a connection, None if it is not known."""
        return self._seen.get(channel_id)

    def named(self, client_id: str) -> SeenClient | None:
        """Return a client as it left last, or as it is registered; None if it is not known."""
        found = [each for each in reversed(self._seen.values()) if each.client == client_id]
        return max(found, key=lambda each: (each.left_ms is None, each.left_ms or 0), default=None)

    def __iter__(self) -> Iterator[SeenClient]:
        """Yield a client for each connection, in the order of their first registrations."""
        return iter(list(self._seen.values()))
