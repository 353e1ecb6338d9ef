"""Clients of a case with a target in an unusual state, and the stopwatch of a case."""

import socket
import threading

import pytest
from rocketmq_testkit.conformance.context.remoting import RemotingContext
from rocketmq_testkit.conformance.deployment.target import Access, TargetError
from rocketmq_testkit.conformance.targets.address import AddressDeployment
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RESPONSE, RemotingCommand


def _answer_once(server: socket.socket, body: bytes) -> None:
    """Accept one connection and respond to its first request with success and a body."""
    connection, _ = server.accept()
    with connection, connection.makefile("rb") as stream:
        length, word = (int.from_bytes(stream.read(4)) for _ in range(2))
        serialize_type, header_length = word >> 24, word & 0xFFFFFF
        header = stream.read(header_length)
        stream.read(length - 4 - header_length)
        asked = frame.decode(serialize_type, header, b"")
        connection.sendall(frame.encode(RemotingCommand(0, opaque=asked.opaque, flag=RESPONSE, body=body)))
        stream.read()


def test_a_name_server_without_brokers_ends_the_run_with_a_sentence() -> None:
    """A name server without brokers ends the run with a sentence, as a failed target does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        body = b'{"brokerAddrTable":{},"clusterAddrTable":{}}'
        threading.Thread(target=_answer_once, args=(server, body), daemon=True).start()
        namesrv = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(TargetError, match=f"the name server {namesrv} knows no broker"):
            RemotingContext(AddressDeployment(Access(namesrv, "127.0.0.1:1")), "t1")


def test_a_stopwatch_can_be_read_for_a_past_instant() -> None:
    """A stopwatch can be read for a past instant, so that the time of the reading does not matter."""
    with EmulatorTarget() as target, target.lend({}) as deployment, RemotingContext(deployment, "run1") as t:
        watch, began = t.stopwatch(), t.now_ms()
        t.wait(5)
        assert watch.stopped_at(began + 2000).between(1.9, 2.1) == "1.9 to 2.1 s"
        assert watch.stopped_at(None).between(5, 6) == watch.between(5, 6) == "5 to 6 s"
