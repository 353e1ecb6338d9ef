"""A name server without topics that records its requests."""

import socket

from one_connection import OneConnection
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RESPONSE, VERSION_5_3_3, RemotingCommand


class Listener(OneConnection):
    """Rejects every request."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[RemotingCommand] = []
        """The received requests, in order."""

    def serve(self, client: socket.socket) -> None:
        """Respond to requests until the connection is closed."""
        splitter = frame.FrameSplitter()
        while data := client.recv(65536):
            for kind, header, body in splitter.feed(data):
                request = frame.decode(kind, header, body)
                self.requests.append(request)
                code = ResponseCode.TOPIC_NOT_EXIST
                response = RemotingCommand(code, "JAVA", VERSION_5_3_3, request.opaque, RESPONSE, "no", None, b"")
                client.sendall(frame.encode(response))
