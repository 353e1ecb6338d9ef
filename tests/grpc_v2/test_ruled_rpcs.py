"""Each fault on each RPC over real gRPC, for valid requests and for requests that the proxy rejects on its own."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import count, islice
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from rocketmq_testkit.conformance.clients import grpc_requests as requests
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient, open_channel
from rocketmq_testkit.emulator.faults.fault import Fault
from rocketmq_testkit.emulator.faults.kinds.bytes_on_the_wire import (
    CorruptByte,
    DripFrame,
    GarbageBeforeFrame,
    SplitFrame,
    StallFrame,
    TruncateFrame,
)
from rocketmq_testkit.emulator.faults.kinds.connections import (
    CloseConnection,
    GoAway,
    HalfCloseConnection,
    IgnorePings,
    ResetConnection,
    WithholdWindow,
)
from rocketmq_testkit.emulator.faults.kinds.requests import DelayRequest, DropRequest, DuplicateRequest, Throttle
from rocketmq_testkit.emulator.faults.kinds.responses import (
    DelayResponse,
    DropResponse,
    DuplicateResponse,
    OversizedRemark,
    Respond,
    WrongOpaque,
)
from rocketmq_testkit.fixtures.emulator import Emulator
from rocketmq_testkit.fixtures.views.faults import RuleOptions
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.services import RPCS

SECONDS = 10
"""Longest wait for a response and for a rule to fire."""
BARRIER_SECONDS = 0.1
"""Longest wait for the response to a later request, on a connection that a fault may have broken."""
REFUSED = pb.TOO_MANY_REQUESTS


@dataclass(frozen=True, slots=True)
class Answer:
    """The responses to a request, and the name of the gRPC status with which the call ended."""

    codes: list[int]
    texts: list[str]
    status: str


class Clients:
    """Clients of one emulator. `side` is a client on its own connection, which prepares requests and meets no fault."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.side = GrpcClient(open_channel(emulator.endpoint))
        self.numbers = count(1)
        self.side.open("consumer", requests.subscribing("G", {"T": "*"})).command()

    def message_id(self) -> str:
        """Return a new message id."""
        return f"0102FC0000000139B80B12FD7F{next(self.numbers):06X}"

    def message(self, topic: str = "T", **system: Any) -> pb.Message:
        """Return a message."""
        return requests.message(topic, b"x", message_id=self.message_id(), **system)

    def handle(self) -> str:
        """Receive a message, and return its receipt handle."""
        received = self.side.start_receiving(self.receive(), client="consumer", deadline=SECONDS)()
        assert received.handles, received
        return received.handles[-1]

    def receive(self) -> sv.ReceiveMessageRequest:
        """Send a message, and return a request for one message."""
        self.side.call("SendMessage", sv.SendMessageRequest(messages=[self.message()]))
        return requests.receive("T", "G", broker="broker-a", max_messages=1, invisible_ms=600_000, poll_ms=None)

    def end(self) -> sv.EndTransactionRequest:
        """Send a half message, and return its commit."""
        half = self.message("X", message_type=pb.TRANSACTION)
        sent = self.side.call("SendMessage", sv.SendMessageRequest(messages=[half])).entries[0]
        return requests.end("X", sent.transaction_id, pb.COMMIT, message_id=sent.message_id)

    def recall(self) -> sv.RecallMessageRequest:
        """Send a message with a delivery time, and return its recall."""
        later = requests.timestamp(int(time.time() * 1000) + 600_000)
        delayed = self.message("D", message_type=pb.DELAY, delivery_timestamp=later)
        sent = self.side.call("SendMessage", sv.SendMessageRequest(messages=[delayed])).entries[0]
        return requests.recall("D", sent.recall_handle)

    def termination(self) -> sv.NotifyClientTerminationRequest:
        """Start a session of the client `leaving`, and return its termination."""
        self.side.open("leaving", requests.subscribing("H", {"T": "*"})).command()
        return requests.termination("H")

    def ask(
        self, rpc: str, request: Message, client: str, *, most: int = 100, lost: Callable[[], int] | None = None
    ) -> Answer:
        """Send a request on a new connection, and read at most `most` responses.

        `lost` returns how often a rule has fired that takes the response: after that the client does not wait for one,
        and sends a second request, whose response shows that the first one is lost.
        """
        declared = {each.name: each for each in RPCS}[rpc]
        ended = threading.Event()

        def sent() -> Iterator[Message]:
            yield request
            if rpc == "Telemetry":
                ended.wait(SECONDS)

        with GrpcClient(open_channel(self.emulator.endpoint)) as own:
            method = own.channel.stream_stream(
                declared.path,
                request_serializer=lambda each: each.SerializeToString(),
                response_deserializer=declared.response.FromString,  # type: ignore[attr-defined]  # a message class
            )
            responses = method(sent(), timeout=SECONDS, metadata=own.metadata(client), wait_for_ready=True)
            found: list[Any] = []
            status = "OK"
            if lost is not None:
                limit = time.monotonic() + SECONDS
                while not lost() and time.monotonic() < limit:
                    ended.wait(0.001)
            try:
                if lost is None:
                    found.extend(islice(responses, most))
                elif own.call("GetOffset", sv.GetOffsetRequest(), deadline=BARRIER_SECONDS) and not responses.done():
                    status = "LOST"  # the second request has its response
            except grpc.RpcError as error:
                status = error.code().name
            ended.set()
            responses.cancel()
        statuses = [each.status for each in found if each.HasField("status")]
        return Answer([each.code for each in statuses], [each.message for each in statuses], status)


NOWHERE = "no such topic!"


@dataclass(frozen=True, slots=True)
class Row:
    """An RPC: a valid request, one that the proxy rejects with `code`, and its client.

    `operation` is the name of the engine's operation, which a rule may use in place of the RPC's name.
    """

    operation: str
    valid: Callable[[Clients], Message]
    refused: Message
    code: int
    _: KW_ONLY
    client: str = "consumer"
    refused_client: str | None = None


ROWS: dict[str, Row | None] = {
    "QueryRoute": Row("GetRouteInfo", lambda clients: requests.route("T"), requests.route(NOWHERE), pb.ILLEGAL_TOPIC),
    "QueryAssignment": Row(
        "GetRouteInfo",
        lambda clients: requests.assignment("T", "G"),
        requests.assignment(NOWHERE, "G"),
        pb.ILLEGAL_TOPIC,
    ),
    "Heartbeat": Row(
        "Heartbeat", lambda clients: requests.heartbeat("G"), requests.heartbeat("no group!"), pb.ILLEGAL_CONSUMER_GROUP
    ),
    "SendMessage": Row(
        "SendMessage",
        lambda clients: sv.SendMessageRequest(messages=[clients.message()]),
        sv.SendMessageRequest(messages=[requests.message(NOWHERE, b"x", message_id="id")]),
        pb.ILLEGAL_TOPIC,
    ),
    "ReceiveMessage": Row(
        "PopMessage",
        Clients.receive,
        requests.receive("T", "no group!", broker="broker-a", max_messages=1, invisible_ms=600_000, poll_ms=None),
        pb.ILLEGAL_CONSUMER_GROUP,
    ),
    "AckMessage": Row(
        "AckMessage",
        lambda clients: requests.ack("T", "G", ("id", clients.handle())),
        requests.ack("T", "G", ("id", "no handle")),
        pb.INTERNAL_SERVER_ERROR,
    ),
    "ForwardMessageToDeadLetterQueue": Row(
        "SendMessageBack",
        lambda clients: requests.forward("T", "G", clients.handle(), message_id="id"),
        requests.forward("T", "G", "no handle", message_id="id"),
        pb.INTERNAL_SERVER_ERROR,
    ),
    "ChangeInvisibleDuration": Row(
        "ChangeInvisibleTime",
        lambda clients: requests.change("T", "G", clients.handle(), 600_000, message_id="id"),
        requests.change("T", "G", "no handle", 600_000, message_id="id"),
        pb.INTERNAL_SERVER_ERROR,
    ),
    "EndTransaction": Row(
        "EndTransaction",
        Clients.end,
        requests.end(NOWHERE, "id", pb.COMMIT, message_id="id"),
        pb.ILLEGAL_TOPIC,
    ),
    "RecallMessage": Row("RecallMessage", Clients.recall, requests.recall(NOWHERE, "handle"), pb.ILLEGAL_TOPIC),
    "NotifyClientTermination": Row(
        "UnregisterClient",
        Clients.termination,
        requests.termination("G"),
        pb.UNRECOGNIZED_CLIENT_TYPE,
        client="leaving",
        refused_client="unknown",
    ),
    "Telemetry": Row(
        "Telemetry",
        lambda clients: sv.TelemetryCommand(settings=requests.subscribing("K", {"T": "*"})),
        sv.TelemetryCommand(settings=requests.subscribing("K", {"T": "*"})),
        pb.CLIENT_ID_REQUIRED,
        client="talking",
        refused_client="",
    ),
    # The emulator never executes these RPCs, so it accepts no rules about them.
    "PullMessage": None,
    "UpdateOffset": None,
    "GetOffset": None,
    "QueryOffset": None,
}
FIRES = object()
"""The rule fires, and the client gets a response; its code does not matter."""
LOST: tuple[list[int], str] = ([], "LOST")
BROKEN: tuple[list[int], str] = ([], "UNAVAILABLE")
CASES: list[tuple[Fault, str, Any]] = [
    (Respond("TOO_MANY_REQUESTS"), "request", ([REFUSED], "OK")),
    (Respond(status="RESOURCE_EXHAUSTED"), "request", ([], "RESOURCE_EXHAUSTED")),
    (DropRequest(), "request", LOST),
    (DropRequest("close"), "request", BROKEN),
    (DelayRequest("20ms"), "request", FIRES),
    (DuplicateRequest(), "request", FIRES),
    (Throttle(1, code="TOO_MANY_REQUESTS"), "request", FIRES),
    (CloseConnection(), "request", BROKEN),
    (ResetConnection(), "request", BROKEN),
    (GoAway(), "request", FIRES),
    (WithholdWindow(), "request", FIRES),
    (DelayResponse("20ms"), "response", FIRES),
    (DelayResponse(bytes_per_second=100_000), "response", FIRES),
    (DropResponse(), "response", LOST),
    (DropResponse("reset"), "response", BROKEN),
    (DropResponse("TOO_MANY_REQUESTS"), "response", ([REFUSED], "OK")),
    (DuplicateResponse(), "response", FIRES),
    (OversizedRemark(5_000), "response", FIRES),
    (WrongOpaque(), "response", None),
    (TruncateFrame(at=5), "response", BROKEN),
    (CorruptByte(at=3), "response", None),
    (StallFrame("20ms"), "response", FIRES),
    (DripFrame(bytes_per_second=100_000, piece=50), "response", FIRES),
    (SplitFrame(20), "response", FIRES),
    (GarbageBeforeFrame(), "response", None),
    (CloseConnection(), "response", BROKEN),
    (HalfCloseConnection(), "response", BROKEN),
    (GoAway(), "response", FIRES),
    (IgnorePings(), "response", FIRES),
]
"""Faults with their phase and the expected (codes, status) of the client; None if only the firing is certain."""


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    topics = ["T:NORMAL:1", "X:TRANSACTION:1", "D:DELAY:1"]
    with Emulator(topics=topics, config={"recallMessageEnable": True}) as emulator:
        emulator.group("G")
        found = Clients(emulator)
        yield found
        found.side.close()


def test_each_rpc_has_a_row() -> None:
    assert ROWS.keys() == {rpc.name for rpc in RPCS}


def _check(clients: Clients, rpc: str, row: Row, name: str, *, refused: bool, case: tuple[Fault, str, Any]) -> None:
    fault, phase, expected = case
    request = row.refused if refused else row.valid(clients)
    client = row.client if not refused or row.refused_client is None else row.refused_client
    criteria: RuleOptions = {"operation": name, "protocol": "grpc"}
    if isinstance(fault, CloseConnection | GoAway | IgnorePings):
        criteria["phase"] = phase
    copies = 2 if isinstance(fault, DuplicateResponse) else 1
    silent = expected is LOST or expected is None
    with clients.emulator.faults.add(fault, **criteria) as rule:
        lost = (lambda: rule.fired) if silent else None
        most = copies if rpc == "Telemetry" and not refused else 100
        answer = clients.ask(rpc, request, client, most=most, lost=lost)
        shown = f"{fault} of {name}: {answer}"
        assert rule.fired == 1, shown
    if expected is FIRES:
        assert len(answer.codes) == copies, shown
        assert not refused or set(answer.codes) == {row.code}, shown
        assert not isinstance(fault, OversizedRemark) or len(answer.texts[0]) == 5_000, shown
    elif expected is not None:
        assert (answer.codes, answer.status) == expected, shown


@pytest.mark.parametrize("rpc", [name for name, row in ROWS.items() if row is not None])
def test_each_fault_acts_on_a_valid_request(clients: Clients, rpc: str) -> None:
    """The rules name the RPC and its operation in turn."""
    row = ROWS[rpc]
    assert row is not None
    for number, case in enumerate(CASES):
        _check(clients, rpc, row, (rpc, row.operation)[number % 2], refused=False, case=case)


@pytest.mark.parametrize("rpc", [name for name, row in ROWS.items() if row is not None])
def test_each_fault_acts_on_a_request_that_the_proxy_refuses(clients: Clients, rpc: str) -> None:
    """The rules name the RPC; without a rule the client gets the proxy's rejection."""
    row = ROWS[rpc]
    assert row is not None
    client = row.client if row.refused_client is None else row.refused_client
    assert clients.ask(rpc, row.refused, client).codes == [row.code]
    for case in CASES:
        _check(clients, rpc, row, rpc, refused=True, case=case)
