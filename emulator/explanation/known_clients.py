"""Client ids and SDKs of connections, in the texts of explanations and histories."""

from ..history.history import History
from ..inspection.inspection import Inspection


class KnownClients:
    """The clients that are or were connected, read once."""

    def __init__(self, look: Inspection, history: History) -> None:
        self._history = history
        connected = look.connections()
        self._senders = {each.address: each.client for each in connected}
        self._sdks = {each.client: f"{each.language} {each.version}".strip() for each in connected}
        self._channels = {each.channel: each.client for each in connected}

    def of_channel(self, channel: str) -> str | None:
        """Return the client id of a connection, the connection itself if it never registered, None if it is empty."""
        return self._channels.get(channel) or self._history.client_of(channel) or channel or None

    def is_connected(self, channel: str) -> bool:
        """True if the client of a connection is connected, by this connection or by another one."""
        return channel in self._channels or self._history.client_of(channel) in self._sdks

    def sender(self, address: str) -> str:
        """Return the client id of a producer by the address in its messages (`host:port`).

        A producer that is not connected any more is named by its address. A message of the test itself has port 0, and
        its sender is `direct`, as in the journal.
        """
        if address.endswith(":0"):
            return "direct"
        return self._senders.get(address, address)

    def sdk(self, client: str | None) -> str:
        """Return language and version of a connected client's SDK; empty for other clients."""
        return "" if client is None else self._sdks.get(client, "")
