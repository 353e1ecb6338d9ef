"""The connection of a client, as its requests see it."""

from typing import Protocol

from rocketmq_testkit.emulator.faults.client_call import Line
from rocketmq_testkit.emulator.gate.call import Channel


class CallChannel(Channel, Line, Protocol):
    """The connection of a client: the gate's channel, and the way back for responses."""

    @property
    def peer_address(self) -> tuple[str, int]:
        """The client's end of the TCP connection; it becomes the born host of messages."""

    @property
    def local_address(self) -> tuple[str, int]:
        """The server's end of the TCP connection."""

    def send(self, frame: bytes) -> None:
        """Send a frame to the client."""
