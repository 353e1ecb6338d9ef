"""A client's connection on the server side, without the socket: splits bytes into requests, decides when to close."""

from ..wire.errors import ProtocolError
from ..wire.frame import FrameSplitter
from ..wire.proxy_protocol import ProxyPrologue
from .dispatcher import RemotingDispatcher
from .server_channel import RemotingChannel

_FIRST_BYTES = 32
"""The number of bytes kept from the start of a connection, to recognize the protocol of a client at the wrong port."""


class ServerConnection:
    """Reads a client's bytes and dispatches its requests.

    All responses to one piece of received bytes leave in one write. An unexpected exception closes only this
    connection.
    """

    def __init__(self, dispatcher: RemotingDispatcher, channel: RemotingChannel) -> None:
        self.channel = channel
        self._dispatcher = dispatcher
        self._splitter = FrameSplitter()
        self._prologue: ProxyPrologue | None = ProxyPrologue()
        self._first = b""

    def continue_on(self, dispatcher: RemotingDispatcher, channel: RemotingChannel) -> None:
        """Let another dispatcher serve the further requests, on a new channel, after a reset of the emulator.

        The old channel becomes inactive.
        """
        channel.remote_address = self.channel.remote_address
        self.channel.active = False
        self._dispatcher, self.channel = dispatcher, channel

    def received(self, data: bytes) -> bool:
        """Handle received bytes.

        Returns False if the connection must be closed: the bytes are not the remoting protocol, or an unexpected
        exception was raised.
        """
        channel, handle = self.channel, self._dispatcher.handle
        channel.start_collecting()
        try:
            if self._prologue is not None:
                rest = self._read_prologue(data)
                if rest is None:
                    return True
                data = rest
                self._first = data[:_FIRST_BYTES]
            for serialize_type, header, body in self._splitter.feed(data):
                handle(channel, serialize_type, header, body)
        except ProtocolError as error:
            self._dispatcher.report_unreadable(channel, str(error), self._first)
            return False
        except Exception as bug:
            self._dispatcher.report_bug(bug)
            self._dispatcher.report_unreadable(channel, f"{type(bug).__name__}: {bug}", b"")
            return False
        finally:
            channel.flush()
        return True

    def closed(self) -> None:
        """Notify the dispatcher that the connection was closed."""
        self._dispatcher.closed(self.channel)

    def _read_prologue(self, data: bytes) -> bytes | None:
        """Return the bytes after the prologue of the PROXY protocol, None as long as the prologue is incomplete."""
        prologue = self._prologue
        assert prologue is not None
        rest = prologue.feed(data)
        if rest is not None:
            self._prologue = None
            if prologue.source is not None:
                self.channel.remote_address = prologue.source
        return rest
