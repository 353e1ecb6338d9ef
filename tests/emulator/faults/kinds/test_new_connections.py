"""Faults of new connections, which are refused, ignored, or fail in the TLS handshake, on the ports of an emulator."""

import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from connection_attempt import ConnectionAttempt
from fault_harness import FaultHarness, make_fault_harness
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.emulator.faults.fault import Fault
from rocketmq_testkit.emulator.faults.kinds.connections import FailTlsHandshake, IgnoreConnection, RefuseConnection
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.views.faults import Rule
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RemotingCommand

SERVERS = ("namesrv", "broker-a", "proxy")


@pytest.fixture(scope="module")
def running() -> Iterator[Emulator]:
    with Emulator(tls_mode="permissive") as started:
        started.topic("T")
        yield started


@pytest.fixture
def emulator(running: Emulator) -> Iterator[Emulator]:
    yield running
    running.faults.clear()


def connect(emulator: Emulator, server: str) -> socket.socket:
    """Open a connection to a server, and send nothing yet."""
    address = {"namesrv": emulator.namesrv, "broker-a": emulator.broker, "proxy": emulator.endpoint}[server]
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), 10)


def add(emulator: Emulator, fault: Fault, server: str) -> Rule:
    """Add a rule for the next connection to a server."""
    return emulator.faults.add(fault, broker=server, times=1)


def responds(emulator: Emulator, server: str) -> bool:
    """Return True if a new connection to a server gets a response to a request."""
    with connect(emulator, server) as raw:
        raw.sendall(_request(server))
        return bool(raw.recv(1))


def _request(server: str, body: bytes = b"x") -> bytes:
    if server == "proxy":
        return f.PREFACE + f.settings()
    code, ext, body = send_request("T", body, born_ms=1)  # a name server rejects it, which is a response as well
    return frame.encode(RemotingCommand(code, opaque=1, ext_fields=ext, body=body))


@pytest.mark.parametrize("server", SERVERS)
def test_a_refused_connection_is_reset_before_a_byte_is_read(emulator: Emulator, server: str) -> None:
    """The client has not written anything yet. The next connection is served."""
    rule = add(emulator, RefuseConnection(), server)
    with pytest.raises(ConnectionResetError), connect(emulator, server) as raw:  # connect itself may raise it
        raw.recv(1)
    assert (rule.matched, rule.fired) == (1, 1)
    assert responds(emulator, server)


@pytest.mark.parametrize("server", SERVERS)
def test_an_ignored_connection_stays_open_and_gets_no_response(emulator: Emulator, server: str) -> None:
    """This holds after the end of the rule. The next connection is served meanwhile."""
    rule = add(emulator, IgnoreConnection(), server)
    with connect(emulator, server) as raw:
        raw.sendall(_request(server, b"ignored"))
        assert responds(emulator, server)
        assert rule.fired == 1
        rule.remove()
        raw.sendall(_request(server, b"ignored"))
        assert responds(emulator, server)
        raw.setblocking(False)
        with pytest.raises(BlockingIOError):  # no bytes, and no end
            raw.recv(1)
    assert b"ignored" not in [message.body for message in emulator.topic("T").messages]


@pytest.mark.parametrize("server", SERVERS)
def test_a_tls_handshake_ends_with_a_fatal_alert(emulator: Emulator, server: str) -> None:
    """The client's TLS library reports an alert, not a lost connection. The next handshake succeeds."""
    context = ssl.create_default_context(cafile=emulator.ca_file)
    rule = add(emulator, FailTlsHandshake(), server)
    with connect(emulator, server) as raw, pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        context.wrap_socket(raw, server_hostname="localhost")
    assert rule.fired == 1
    with connect(emulator, server) as raw, context.wrap_socket(raw, server_hostname="localhost") as secured:
        assert secured.version()


@pytest.mark.parametrize("server", SERVERS)
def test_a_connection_without_tls_is_closed_by_a_fault_of_the_handshake(emulator: Emulator, server: str) -> None:
    """The server closes it at its first bytes, without a response."""
    rule = add(emulator, FailTlsHandshake(), server)
    with connect(emulator, server) as raw:
        raw.sendall(_request(server))
        assert _until_closed(raw) == b""
    assert rule.fired == 1
    assert responds(emulator, server)


def _until_closed(raw: socket.socket) -> bytes:
    """Return the bytes until the connection is closed, or reset because the server had not read all bytes."""
    try:
        return raw.recv(100)
    except ConnectionResetError:
        return b""


def test_an_open_connection_is_not_a_new_one(emulator: Emulator) -> None:
    """A rule about new connections does not affect connections that were open before."""
    with RemotingClient(emulator.broker) as client:
        emulator.faults.add(RefuseConnection(), broker="broker-a", optional=True)
        assert client.request(*send_request("T", b"x", born_ms=1)).code == 0


FAULTS: list[tuple[Callable[[], Fault], str]] = [
    (RefuseConnection, "refuse"),
    (IgnoreConnection, "ignore"),
    (FailTlsHandshake, "fail"),
]


def opened(
    harness: FaultHarness, protocol: str = "remoting", node: str = "broker-a", address: str = "10.0.0.8"
) -> ConnectionAttempt:
    """Open a connection in memory."""
    attempt = ConnectionAttempt()
    harness.plan.decisions.connected(protocol, node, address, attempt)
    return attempt


@pytest.mark.parametrize(("fault", "done"), FAULTS, ids=[done for _, done in FAULTS])
@pytest.mark.parametrize(
    ("criteria", "other"),
    [
        ({"protocol": "remoting"}, {"protocol": "grpc"}),
        ({"broker": "broker-a"}, {"node": "broker-b"}),
        ({"broker": ["namesrv", "broker-*"]}, {"node": "proxy"}),
        ({"address": "10.0.0.*"}, {"address": "10.0.1.8"}),
    ],
)
def test_protocol_broker_and_address_select_new_connections(
    fault: Callable[[], Fault], done: str, criteria: dict[str, Any], other: dict[str, str]
) -> None:
    harness = make_fault_harness()
    rule = harness.add(fault(), **criteria)
    assert (opened(harness).done, opened(harness, **other).done) == ([done], [])
    assert (rule.matched, rule.fired) == (1, 1)
    harness.plan.clear()
    assert opened(harness).done == []


@pytest.mark.parametrize(("fault", "done"), FAULTS, ids=[done for _, done in FAULTS])
def test_occurrence_options_select_new_connections(fault: Callable[[], Fault], done: str) -> None:
    """A rule with `nth` acts on the second connection, a rule with a start on those of the next second."""
    harness = make_fault_harness()
    second = harness.add(fault(), nth=2)
    assert [opened(harness).done for _ in range(3)] == [[], [done], []]
    later = harness.add(fault(), start="1s", end="2s")
    seen = []
    for _ in range(3):
        seen.append(opened(harness).done)
        harness.advance(1_000)
    assert seen == [[], [done], []]
    assert (second.fired, later.fired) == (1, 1)
