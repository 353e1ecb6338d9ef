"""Calls: the interfaces of a request, of the client that sent it, and of the node that carries it out."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..kernel.errors import EngineError
from ..operations.base import Operation, Parked, Result
from .effects import Effect

Outcome = Result | EngineError
GRPC_CHANNEL = "grpc:"
"""Prefix of the channel ids of gRPC clients, for which the proxy sends requests."""


def is_through_proxy(channel_id: str) -> bool:
    """Return True if a channel id is that of a gRPC client."""
    return channel_id.startswith(GRPC_CHANNEL)


class Channel(Protocol):
    """A client's connection as the engine sees it."""

    @property
    def channel_id(self) -> str:
        """An id that is unique among all channels of an engine and stable while the connection lives."""

    @property
    def remote_address(self) -> tuple[str, int]:
        """The client's (address, port)."""

    @property
    def active(self) -> bool:
        """False once the connection is closed."""

    def push(self, effect: Effect) -> None:
        """Send an effect to the client, if the connection still allows it."""


class Call(Protocol):
    """One request on its way through the gate."""

    @property
    def channel(self) -> Channel:
        """The channel of the client that sent the request."""

    @property
    def label(self) -> str:
        """The request's name in its protocol (`SEND_MESSAGE_V2`, `ReceiveMessage`, `direct`), for the journal."""

    @property
    def number(self) -> int | None:
        """The request's number on its connection, for the journal: the opaque of remoting, the stream id of gRPC.

        Requests of one connection that are in flight at the same time have different numbers. None if a server, not a
        client, made the request.
        """

    @property
    def active(self) -> bool:
        """False once the client no longer waits for the response."""

    def reply(self, outcome: Outcome) -> None:
        """Send the outcome to the client. Called at most once."""


Handler = Callable[[Call, Any], Result | Parked]
"""Carries out an operation of one type."""
Handlers = Mapping[type[Operation], Handler]
"""The handler of each type of operation."""


class Node(Protocol):
    """A broker or a name server: something that carries out operations."""

    @property
    def name(self) -> str:
        """The name that the journal shows."""

    @property
    def handlers(self) -> Handlers:
        """The handler of each type of operation that the node supports."""
