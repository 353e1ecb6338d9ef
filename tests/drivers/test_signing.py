"""Every driver signs requests with the given access keys as its protocol requires."""

import json
import queue
import re
import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import grpc
import pytest
from rocketmq_testkit.conformance.clients.grpc_signature import authorization
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, start
from rocketmq_testkit.fixtures.network.certificates import Authority
from rocketmq_testkit.remoting.client import Credentials, signature
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RESPONSE, RemotingCommand

KEYS = Credentials("own-key", "own-secret")
SECONDS = 20.0
SENDS = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2)
GRPC = [name for name in registry.names() if registry.recipe(name).protocol == "grpc"]
ENCRYPTING = ("java-grpc-5.0",)
"""SDKs without plaintext connections."""
REMOTING = [name for name in registry.names() if registry.recipe(name).protocol == "remoting"]


class Listener(socketserver.ThreadingTCPServer):
    """A name server and broker in one, which accepts every request and records the sends."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.sends: queue.Queue[RemotingCommand] = queue.Queue()

    @property
    def address(self) -> str:
        """The address of the listener."""
        return f"127.0.0.1:{self.server_address[1]}"

    def response(self, asked: RemotingCommand) -> RemotingCommand:
        """Return the response to a request: a route to this listener, or success."""
        if asked.code in SENDS:
            self.sends.put(asked)
        body = b""
        if asked.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            broker = {"brokerAddrs": {"0": self.address}, "brokerName": "b", "cluster": "c"}
            queues = {"brokerName": "b", "perm": 6, "readQueueNums": 1, "writeQueueNums": 1, "topicSysFlag": 0}
            route = {"brokerDatas": [broker], "queueDatas": [queues], "filterServerTable": {}}
            body = json.dumps(route, separators=(",", ":")).encode()  # Go's SDK does not parse blanks in JSON
        fields = {"msgId": "0" * 32, "queueId": "0", "queueOffset": "0"}
        return RemotingCommand(0, opaque=asked.opaque, flag=RESPONSE, ext_fields=fields, body=body)


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        splitter = frame.FrameSplitter()
        listener = self.server
        assert isinstance(listener, Listener)
        with suppress(ConnectionError):  # drivers close connections without notice
            while data := self.request.recv(65536):
                for serialize_type, header, body in splitter.feed(data):
                    asked = frame.decode(serialize_type, header, body)
                    if not asked.is_response:
                        self.request.sendall(frame.encode(listener.response(asked)))


@contextmanager
def listening() -> Iterator[Listener]:
    """Run a listener while the block runs."""
    with Listener() as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield listener
        listener.shutdown()


def first_send(listener: Listener, driver: Driver) -> RemotingCommand:
    """Return the first send of a producer, which tries ten times.

    An SDK ends a send with an error after its own limit of 3 s, within which a JVM that has just started may load the
    code of a send, if the machine has other load.
    """
    for _ in range(10):
        attempt = driver.post("send", on="p", topic="t", body=b"hello")
        while not attempt.done() or not listener.sends.empty():
            with suppress(queue.Empty):
                return listener.sends.get(timeout=0.1)
    raise AssertionError(f"no send has arrived; the last attempt ended with {attempt.result()}")


class Refusing(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio is published without types
    """A proxy that records the headers of calls and serves none."""

    def __init__(self) -> None:
        self.heard: queue.Queue[dict[str, str]] = queue.Queue()

    def service(self, call: grpc.HandlerCallDetails) -> None:
        """Record the headers of a call."""
        self.heard.put(dict(call.invocation_metadata))


@pytest.mark.parametrize("sdk", REMOTING)
def test_a_remoting_sdk_signs_its_sends(sdk: str) -> None:
    """A remoting send has the access key and the signature over all fields and the body."""
    with listening() as listener, start(sdk, Addresses(listener.address, "", credentials=KEYS)) as driver:
        driver.call("producer", as_="p", topics=["t"])
        asked = first_send(listener, driver)
    fields = dict(asked.ext_fields or {})
    assert fields["AccessKey"] == "own-key"
    assert fields["Signature"] == signature("own-secret", fields, asked.body)


@pytest.mark.parametrize("sdk", GRPC)
def test_a_grpc_sdk_signs_its_calls(sdk: str) -> None:
    """The first gRPC call has the access key and the signature over date and time in its headers."""
    refusing = Refusing()
    server = grpc.server(ThreadPoolExecutor(2), handlers=[refusing])
    if sdk in ENCRYPTING:
        pem = Authority().issue(["127.0.0.1"])  # the SDKs do not verify it
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(pem, pem)]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with start(sdk, Addresses("", f"127.0.0.1:{port}", credentials=KEYS)) as driver:
            driver.post("producer", as_="p", topics=["t"])
            heard = refusing.heard.get(timeout=SECONDS)
    finally:
        server.stop(None)
    expected = authorization(KEYS, heard["x-mq-date-time"])["authorization"]
    for part in ("Credential", "Signature"):
        wanted, found = (re.search(rf"{part}=([\w-]+)", each) for each in (expected, heard["authorization"]))
        assert wanted is not None
        assert found is not None, heard["authorization"]
        assert found[1].lower() == wanted[1].lower(), heard["authorization"]


def test_without_keys_nothing_is_signed() -> None:
    """Without keys, requests are not signed."""
    with listening() as listener, start("java-remoting", Addresses(listener.address, "")) as driver:
        driver.call("producer", as_="p", topics=["t"])
        asked = first_send(listener, driver)
    assert not {"AccessKey", "Signature"} & set(asked.ext_fields or {})
