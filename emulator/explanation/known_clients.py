"""Client ids and SDKs of connections, in the texts of explanations and histories."""

from functools import cached_property

from ..history.history import History
from ..inspection.inspection import Inspection

DIRECT = "direct"
"""The name that direct calls of a test have as a connection and as a sender, also in the journal."""


class KnownClients:
    """The clients that are or were connected, read once."""

    def __init__(self, inspection: Inspection, history: History) -> None:
        self._history = history
        connected = inspection.connections()
        self._senders = {each.address: each.client for each in connected}
        self._sdks = {each.client: f"{each.language} {each.version}".strip() for each in connected}
        self._channels = {each.channel: each.client for each in connected}
        self._past_sdks: dict[str, str] = {}
        """Language and version of the SDKs of clients that have left, by client id."""

    def of_channel(self, channel: str) -> str | None:
        """Return the client id of a connection, given its name.

        Returns the name itself if no client has registered on this connection, and None for an empty name.
        """
        return self._channels.get(channel) or self._history.client_of(channel) or channel or None

    def is_connected(self, channel: str) -> bool:
        """True if the client of a connection is connected, by this connection or by another one."""
        return channel in self._channels or self._history.client_of(channel) in self._sdks

    def sender(self, address: str) -> str:
        """Return the client id of a producer by the address in its messages (`host:port`).

        A producer that never registered is named by its address. A message of the test itself has port 0, and its
        sender is `direct`, as in the journal.
        """
        if address.endswith(":0"):
            return DIRECT
        return self._senders.get(address) or self._past_senders.get(address, address)

    @cached_property
    def _past_senders(self) -> dict[str, str]:
        """The client that registered last from each address."""
        return {each.address: each.client for each in self._history.clients}

    def sdk(self, client: str | None) -> str:
        """Return language and version of a client's SDK, also of one that has left; empty if it is not known."""
        if client is None or client in self._sdks:
            return "" if client is None else self._sdks[client]
        if client not in self._past_sdks:
            seen = self._history.clients.named(client)
            self._past_sdks[client] = "" if seen is None else seen.sdk
        return self._past_sdks[client]
