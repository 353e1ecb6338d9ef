"""The call of the transport below an RPC, as far as the proxy uses it."""

from collections.abc import Callable
from typing import Any, Protocol

from ..transport.grpc.call import ConnectionControl


class TransportCall(Protocol):
    """A call of one method of the server."""

    def listen(self, on_message: Callable[[Any], None], on_half_close: Callable[[], None]) -> None:
        """Call functions with each message of a stream of requests, and after the last one."""

    @property
    def number(self) -> int:
        """The id of the call's stream."""

    @property
    def path(self) -> str:
        """`/package.Service/Method`."""

    @property
    def metadata(self) -> dict[str, str]:
        """Request headers by lower-case name."""

    @property
    def peer(self) -> tuple[str, int]:
        """The client's (address, port)."""

    @property
    def local(self) -> tuple[str, int]:
        """The (address, port) at which the client reached the server."""

    @property
    def authority(self) -> str:
        """The `host:port` that the client dialed."""

    @property
    def secure(self) -> bool:
        """True if the call uses TLS."""

    @property
    def control(self) -> ConnectionControl:
        """The connection, for faults."""

    @property
    def deadline_ms(self) -> int | None:
        """The client's timeout, in ms from the arrival of the request. None means no timeout."""

    @property
    def cancelled(self) -> bool:
        """True if the client no longer waits for the response."""

    @property
    def finished(self) -> bool:
        """True if the response is complete."""

    def send(self, message: bytes) -> None:
        """Send one message of a stream."""

    def reply(self, message: bytes) -> None:
        """Send the only message of a response and end the call."""

    def finish(self, status: int = 0, message: str = "") -> None:
        """End the call with a gRPC status and its text."""

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` if the client cancels before the response is complete."""
