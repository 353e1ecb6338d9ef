"""The interface of calls and responses that rules act on, implemented by both protocol layers."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, cast, runtime_checkable

from ..gate.call import Call, Channel, Outcome

Piece = tuple[int, bytes]
"""A pause in ms of the emulator's time, and the bytes to send after it."""
Later = Callable[[int, Callable[[], None]], object]
"""Runs an action after some ms of the emulator's time."""


class Line(Protocol):
    """A client's connection, as faults act on it."""

    @property
    def is_open(self) -> bool:
        """False once the connection is closed."""

    def pace(self, pieces: Sequence[Piece], later: Later) -> None:
        """Send pieces with pauses. Later output of the connection waits behind them."""

    def close(self) -> None:
        """Close the connection once its output is written."""

    def reset(self) -> None:
        """Reset the connection (TCP RST). Unwritten output is discarded."""

    def half_close(self) -> None:
        """Close the sending direction of the connection once its output is written. Reading continues."""


@runtime_checkable
class GrpcLine(Line, Protocol):
    """A client's HTTP/2 connection, as faults act on it."""

    def go_away(self, *, finish: bool) -> None:
        """Send GOAWAY. `finish`: open streams are completed, else the connection is closed at once."""

    def withhold_window(self) -> None:
        """Give the client no more flow-control credit, so that it cannot send further bodies of requests."""

    def ignore_pings(self) -> None:
        """Respond to no PING from now on."""


class Response(Protocol):
    """A response on its way to the client."""

    @property
    def line(self) -> Line:
        """The connection on which the response is sent."""

    def send(self, copies: int = 1) -> None:
        """Send the response, and further copies of it: of a gRPC response, its messages before its end."""

    def encoded(self) -> bytes:
        """Return the bytes that `send` would write. The response counts as sent: write them, or parts of them."""

    def misaddressed(self) -> bytes:
        """Return the response with the id of a request that the client never sent (opaque, or stream id)."""

    def set_remark(self, remark: str) -> None:
        """Replace the text of the response."""

    def corrupt_digests(self, message_ids: Collection[str]) -> None:
        """Make the body digests of these messages wrong. gRPC only: a proxy computes digests when it responds."""

    def refuse(self, code: int, remark: str) -> None:
        """Send a refusal with a code of the protocol in place of the response."""


ResponseHandler = Callable[[Response], None]
"""Gets the response in place of the client."""


class ClientCall(Call, Protocol):
    """A client's request over one of the protocols, or a part of it. A direct call of a test is no ClientCall."""

    @property
    def protocol(self) -> str:
        """`remoting` or `grpc`."""

    @property
    def client_id(self) -> str | None:
        """The client id that the request names, None if it names none."""

    @property
    def client_language(self) -> str:
        """The language of the client's SDK, such as `JAVA`."""

    @property
    def client_version(self) -> str:
        """The version of the client's SDK, such as `5.3.3`; empty if it is not known."""

    @property
    def responding_rules(self) -> set[str]:
        """Names of the rules that act on the response of this request already, for requests of several operations."""

    def ends_with(self, outcome: Outcome) -> bool:
        """True if the client gets its response after this outcome. False for oneway requests."""

    @property
    def line(self) -> Line:
        """The client's connection."""

    def intercept(self, handler: ResponseHandler) -> None:
        """Pass the response of this request to the handler instead of sending it."""

    def refuse(self, code: int, remark: str) -> None:
        """Respond with a code of the protocol: a response code of remoting, or the `Code` of a gRPC response."""

    def fail(self, status: int, text: str) -> None:
        """End the call with a status of gRPC itself. gRPC only."""

    def abandon(self) -> None:
        """End the request without a response, and release the server's resources for it."""


def client_call(call: Call) -> ClientCall | None:
    """Return the call if it is the request of a client, else None.

    Not `isinstance`, which would compute each property of the call.
    """
    return cast(ClientCall, call) if getattr(call, "protocol", None) is not None else None


class GhostCall:
    """A request that a rule carries out in a client's name, without its knowledge. The outcome is discarded."""

    __slots__ = ("channel", "label")

    active = False
    number = None

    def __init__(self, channel: Channel, label: str) -> None:
        self.channel = channel
        self.label = label

    def reply(self, outcome: Outcome) -> None:
        """Do nothing: no client waits for the outcome."""
