"""Client ids by connection, also of closed connections."""

from ..gate.gate import GRPC_CHANNEL, is_through_proxy

NAMES_MAX = 4_096
"""The maximum number of connections; above it the connection that registered first is removed."""


class ClientNames:
    """The client ids that remoting connections registered last. The channel id of a gRPC client contains its own."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def copy(self) -> "ClientNames":
        """Return an independent copy."""
        made = ClientNames()
        made._names = self._names.copy()
        return made

    def note(self, channel_id: str, client_id: str) -> None:
        """Record the client id of a connection."""
        names = self._names
        if names.get(channel_id) == client_id or is_through_proxy(channel_id):
            return
        names[channel_id] = client_id[:255]  # longer ones come from hostile clients
        if len(names) > NAMES_MAX:
            del names[next(iter(names))]

    def of(self, channel_id: str) -> str | None:
        """Return the client id of a connection, None if it is not known."""
        if is_through_proxy(channel_id):
            return channel_id.removeprefix(GRPC_CHANNEL)
        return self._names.get(channel_id)
