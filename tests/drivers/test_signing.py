"""Every driver signs with the keys that it is given, as its protocol has it."""

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
from rocketmq_testkit.conformance.context.authorization import authorization
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.drivers.process import Addresses, start
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
"""SDKs that know no plaintext."""
REMOTING = [name for name in registry.names() if registry.recipe(name).protocol == "remoting"]


class Listener(socketserver.ThreadingTCPServer):
    """A name server and broker in one, which says yes to everything and keeps the sends."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.sends: queue.Queue[RemotingCommand] = queue.Queue()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.server_address[1]}"

    def answer(self, asked: RemotingCommand) -> RemotingCommand:
        """A route to itself, or success."""
        if asked.code in SENDS:
            self.sends.put(asked)
        body = b""
        if asked.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            broker = {"brokerAddrs": {"0": self.address}, "brokerName": "b", "cluster": "c"}
            queues = {"brokerName": "b", "perm": 6, "readQueueNums": 1, "writeQueueNums": 1, "topicSysFlag": 0}
            route = {"brokerDatas": [broker], "queueDatas": [queues], "filterServerTable": {}}
            body = json.dumps(route, separators=(",", ":")).encode()  # Go's SDK knows no blanks in JSON
        fields = {"msgId": "0" * 32, "queueId": "0", "queueOffset": "0"}
        return RemotingCommand(0, opaque=asked.opaque, flag=RESPONSE, ext_fields=fields, body=body)


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        splitter = frame.FrameSplitter()
        listener = self.server
        assert isinstance(listener, Listener)
        with suppress(ConnectionError):  # drivers end without a farewell
            while data := self.request.recv(65536):
                for serialize_type, header, body in splitter.feed(data):
                    asked = frame.decode(serialize_type, header, body)
                    if not asked.is_response:
                        self.request.sendall(frame.encode(listener.answer(asked)))


@contextmanager
def listening() -> Iterator[Listener]:
    """A listener that ends with the block."""
    with Listener() as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield listener
        listener.shutdown()


class Refusing(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio is published without types
    """A proxy that keeps the headers of calls, and serves none."""

    def __init__(self) -> None:
        self.heard: queue.Queue[dict[str, str]] = queue.Queue()

    def service(self, call: grpc.HandlerCallDetails) -> None:
        """Called for each call."""
        self.heard.put(dict(call.invocation_metadata))


@pytest.mark.parametrize("sdk", REMOTING)
def test_a_remoting_sdk_signs_its_sends(sdk: str) -> None:
    """The access key and the signature over all fields and the body are in the request."""
    with listening() as listener, start(sdk, Addresses(listener.address, "", credentials=KEYS)) as driver:
        driver.call("producer", as_="p", topics=["t"])
        driver.post("send", on="p", topic="t", body=b"hello")
        asked = listener.sends.get(timeout=SECONDS)
    fields = dict(asked.ext_fields or {})
    assert fields["AccessKey"] == "own-key"
    assert fields["Signature"] == signature("own-secret", fields, asked.body)


@pytest.mark.parametrize("sdk", GRPC)
def test_a_grpc_sdk_signs_its_calls(sdk: str) -> None:
    """The access key and the signature over date and time are in the headers of the first call."""
    refusing = Refusing()
    server = grpc.server(ThreadPoolExecutor(2), handlers=[refusing])
    if sdk in ENCRYPTING:
        pem = Authority().issue(["127.0.0.1"])  # which they do not look at
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
    """A place that asks for no keys gets none."""
    with listening() as listener, start("java-remoting", Addresses(listener.address, "")) as driver:
        driver.call("producer", as_="p", topics=["t"])
        driver.post("send", on="p", topic="t", body=b"hello")
        asked = listener.sends.get(timeout=SECONDS)
    assert not {"AccessKey", "Signature"} & set(asked.ext_fields or {})
