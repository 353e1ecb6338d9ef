"""Extreme values in an RPC's fields cause no unexpected exception, and other clients can still read everything.

Requests are derived from the messages' descriptors: a new RPC or field needs no edit here.
"""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from everything import read_everything
from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import Message
from grpc_harness import Client, GrpcHarness, a_message, a_receive, a_send, subscribing
from remoting_harness import Port
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.grpc_v2.services import RPCS
from rocketmq_testkit.grpc_v2.transport import MethodKind

INTS = [0, -1, 1, 2**31 - 1, -(2**31)]
TEXTS = ["", " ", "\x00", "x" * 300, "x" * 40_000, "\U0001f600", "%RETRY%G", "||", "9" * 5000, "\u2028", "G:T", "1 2 3"]
EXTREMES: dict[int, list[Any]] = {
    Field.TYPE_STRING: TEXTS,
    Field.TYPE_BYTES: [b"", b"\xff\xfe", b"x" * 70_000],
    Field.TYPE_BOOL: [False, True],
    Field.TYPE_INT32: INTS,
    Field.TYPE_INT64: [*INTS, 2**31, 2**63 - 1, -(2**63), 253_402_300_800, 315_576_000_001],
    Field.TYPE_ENUM: [0, 1, -1, 99, 2**31 - 1],
    Field.TYPE_FLOAT: [0.0, float("nan"), float("inf"), -float("inf"), 3.4e38],
}
USUAL = {"topic": "T", "group": "G", "message_id": "0102FC0000000139B80B12FD7F00000001", "expression": "*",
         "client_id": "fuzz", "receipt_handle": "0 1700000000000 60000 0 0 broker-a 0 0"}  # fmt: skip
BLOCKS_MAX = 3_000_000
DEPTH_MAX = 6
Path = tuple[str, ...]


def fill(message: Message, outer: str = "", depth: int = 0) -> Message:
    """Set every field of a message to a usual value, and the first field of each oneof; return the message."""
    for field in message.DESCRIPTOR.fields:
        oneof = field.containing_oneof
        if depth > DEPTH_MAX or (oneof is not None and len(oneof.fields) > 1 and message.WhichOneof(oneof.name)):
            continue
        held = getattr(message, field.name)
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            fill(held if isinstance(held, Message) else held.add(), field.name, depth + 1)
        elif field.type == Field.TYPE_STRING and isinstance(held, str):
            setattr(message, field.name, USUAL.get(outer if field.name == "name" else field.name, ""))
    return message


def leaves(message: Message, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the value of every plain field; paths lead into the first item of each list."""
    for field in message.DESCRIPTOR.fields:
        held = getattr(message, field.name)
        inner = None if field.message_type is None else held if isinstance(held, Message) else (list(held) or [None])[0]
        if isinstance(inner, Message):
            if len(path) <= DEPTH_MAX:
                yield from leaves(inner, (*path, field.name))
        elif field.message_type is None:
            yield (*path, field.name), field


def odd_requests(kind: Any) -> Iterator[Message]:
    """Yield requests in which one field has an extreme value of its type."""
    for path, field in leaves(fill(kind())):
        for value in EXTREMES[field.type]:
            request = fill(kind())
            place: Any = request
            for name in path[:-1]:
                place = getattr(place, name)
                place = place if isinstance(place, Message) else place[0]
            if isinstance(getattr(place, path[-1]), str | bytes | int | float):
                setattr(place, path[-1], value)
            else:
                getattr(place, path[-1]).append(value)
            yield request


def a_harness() -> tuple[GrpcHarness, list[Client]]:
    """Return a harness with a topic, a group and a message, and clients of each kind."""
    harness = GrpcHarness()
    harness.topic("T")
    harness.topic("S")
    harness.group("G")
    harness.client("p").ask("SendMessage", a_send(a_message("T", b"before")))
    clients = [harness.client("unknown"), harness.client("fuzz"), harness.client("consumer")]
    clients[1].send_settings(publishing("T"))
    clients[2].send_settings(subscribing("G", "T"))
    return harness, clients


@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.name)
def test_extreme_field_values_harm_no_other_client(rpc: Any) -> None:
    """Each call with an extreme value gets a response or waits.

    Then everything can be read, and other clients send and receive.
    """
    harness, clients = a_harness()
    blocks = sys.getallocatedblocks()
    for request in odd_requests(rpc.request):
        for client in clients:
            if rpc.kind is MethodKind.BIDI:
                client.telemetry(request)  # type: ignore[arg-type]  # the request of the only RPC of this kind
            else:
                client.start(rpc.name, request)
    harness.advance(60_000)
    assert harness.log == []
    port = Port(harness.engine)
    read_everything(port)
    assert port.log == []
    after = harness.client("after")
    assert after.ask("SendMessage", a_send(a_message("S", b"after"))).status.code == 20000
    assert b"after" in after.receive(a_receive("S", "other")).bodies
    assert sys.getallocatedblocks() - blocks < BLOCKS_MAX
