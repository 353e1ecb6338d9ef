"""What a case's side of a place does when the place is not as it should be."""

import socket
import threading

import pytest
from rocketmq_testkit.conformance.targets.address import AddressPlace
from rocketmq_testkit.conformance.targets.target import Access, TargetError
from rocketmq_testkit.conformance.worlds.remoting import Remoting
from rocketmq_testkit.remoting import frame
from rocketmq_testkit.remoting.command import RESPONSE, RemotingCommand


def _answer_once(server: socket.socket, body: bytes) -> None:
    """Take one connection and answer its first request with success and a body."""
    connection, _ = server.accept()
    with connection, connection.makefile("rb") as stream:
        length, word = (int.from_bytes(stream.read(4)) for _ in range(2))
        serialize_type, header_length = word >> 24, word & 0xFFFFFF
        header = stream.read(header_length)
        stream.read(length - 4 - header_length)
        asked = frame.decode(serialize_type, header, b"")
        connection.sendall(frame.encode(RemotingCommand(0, opaque=asked.opaque, flag=RESPONSE, body=body)))
        stream.read()


def test_a_name_server_without_brokers_is_said_so() -> None:
    """A broker that is gone ends the run with a sentence, as a target that died does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        body = b'{"brokerAddrTable":{},"clusterAddrTable":{}}'
        threading.Thread(target=_answer_once, args=(server, body), daemon=True).start()
        namesrv = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(TargetError, match=f"the name server {namesrv} knows no broker"):
            Remoting(AddressPlace(Access(namesrv, "127.0.0.1:1")), "t1")
