"""A request with any content gets a declared code without an unexpected exception, and the next client is served."""

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from grpc_harness import Client, GrpcHarness, a_message, a_receive, a_send, subscribing
from hypothesis import given, settings
from hypothesis import strategies as st
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.services import RPCS
from rocketmq_testkit.grpc_v2.transport import MethodKind
from stored_bytes import stored_records

HANDLE = "0 1700000000000 10000 0 0 broker-a 0 0 0"
TEXTS = st.sampled_from(
    ["", " ", "T", "F", "D", "X", "G", "GF", "a b", "%RETRY%G", "%DLQ%G", "TBW102", "CID_RMQ_SYS_A", "broker-a", "||",
     "A", "a > 1", "a >", "TAGS", "__SHARDINGKEY", "\x00", "é\u2028", HANDLE,
     HANDLE.replace(" 0 0 broker", " 999 1 broker"), "0 1 2 3", "djEgRCBicm9rZXItYSAxNzAwMDAwMDA1MDAxIG0tMQ==",
     "x" * 300]
)  # fmt: skip
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 2, 3, 5, 32, 99, 10_000, 60_000, 2**31 - 1, -(2**31)]), st.integers(-(2**31), 2**31 - 1)
)
LONGS = st.one_of(NUMBERS, st.integers(-(2**63), 2**63 - 1), st.sampled_from([1_700_000_000, 1_700_000_005]))
LEAVES: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=20),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_INT32: NUMBERS,
    FieldDescriptor.TYPE_INT64: LONGS,
    FieldDescriptor.TYPE_ENUM: st.integers(-1, 9),
    FieldDescriptor.TYPE_FLOAT: st.floats(width=32),
}
SETTINGS = [None, publishing("T"), subscribing("G", "T"), subscribing("GF", "F", push=True)]
SERVED = [rpc for rpc in RPCS if rpc.operations]


@st.composite
def filled(draw: st.DrawFn, kind: Callable[[], Message], depth: int = 6) -> Message:
    """A strategy for messages in which some fields are set, at every level."""
    message = kind()
    for field in message.DESCRIPTOR.fields:
        if depth and draw(st.integers(0, 9)) < 7:
            _fill(draw, message, field, depth)
    return message


def _fill(draw: st.DrawFn, message: Message, field: Any, depth: int) -> None:
    held = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        held.update(draw(st.dictionaries(TEXTS, TEXTS, max_size=2)))
    elif isinstance(held, Message):
        held.CopyFrom(draw(filled(type(held), depth - 1)))
        held.SetInParent()
    elif field.message_type is not None:
        for _ in range(draw(st.integers(0, 3))):
            added = held.add()
            added.CopyFrom(draw(filled(type(added), depth - 1)))
    elif not isinstance(held, (str, bytes, int, float)):
        held.extend(draw(st.lists(LEAVES[field.type], max_size=3)))
    else:
        setattr(message, field.name, draw(LEAVES[field.type]))


def a_harness() -> tuple[GrpcHarness, Client]:
    """Return a harness with topics and groups of each kind and with messages, and a client."""
    harness = GrpcHarness()
    for name, kind in (("T", ""), ("F", "FIFO"), ("D", "DELAY"), ("X", "TRANSACTION")):
        harness.topic(name, kind=kind)
    harness.group("G")
    harness.group("GF", consume_message_orderly=True)
    for number in range(3):
        harness.client("p").ask("SendMessage", a_send(a_message("T", message_id=f"m{number}")))
    return harness, harness.client("fuzz")


def assert_unharmed(harness: GrpcHarness, stored: dict[tuple[str, int], list[bytes]]) -> None:
    """Assert that no exception was logged, that stored messages are unchanged, and that another client is served."""
    harness.advance(25_000)
    assert harness.log == []
    after = stored_records(harness.broker)
    assert {place: after[place][: len(records)] for place, records in stored.items()} == stored
    response = harness.client("other").ask("SendMessage", a_send(a_message("T", b"after")))
    assert response.status.code == 20000
    bodies = harness.client("other").receive(a_receive("T", "after")).bodies
    assert b"after" in bodies


@pytest.mark.parametrize("rpc", SERVED, ids=lambda rpc: rpc.name)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_request_ends_with_a_declared_code(rpc: Any, data: st.DataObject) -> None:
    """Calls with fields of the right types and any values end with the codes that the table declares."""
    harness, client = a_harness()
    stored = stored_records(harness.broker)
    assert len(stored["T", 0]) == 3
    known = data.draw(
        st.sampled_from([None, publishing("T"), subscribing("G", "T"), subscribing("GF", "F", push=True)])
    )
    if known is not None:
        client.send_settings(known)
    for request in data.draw(st.lists(filled(rpc.request), min_size=1, max_size=3)):
        if rpc.kind is MethodKind.BIDI:
            stream = client.telemetry()
            if stream.call.on_message is not None:
                stream.send(request)  # type: ignore[arg-type]
        else:
            call = client.start(rpc.name, request)
            if rpc.kind is MethodKind.UNARY:
                assert call.finished
            else:
                harness.advance(20_000)
                assert call.finished
    assert_unharmed(harness, stored)


@pytest.mark.parametrize("rpc", SERVED, ids=lambda rpc: rpc.name)
@settings(max_examples=40, deadline=None)
@given(cut=st.integers(0, 10_000), flip=st.integers(0, 10_000), value=st.integers(0, 255), data=st.data())
def test_damaged_bytes_of_a_request_harm_no_other_client(
    rpc: Any, cut: int, flip: int, value: int, *, data: st.DataObject
) -> None:
    """A truncated request, or one with a changed byte, cannot be decoded or gets a response like any other."""
    encoded = bytearray(data.draw(filled(rpc.request)).SerializeToString())
    if encoded:
        encoded[flip % len(encoded)] = value
        del encoded[cut % (len(encoded) + 1) :]
    harness, client = a_harness()
    stored = stored_records(harness.broker)
    try:
        request = rpc.request.FromString(bytes(encoded))
    except DecodeError:
        return
    if rpc.kind is MethodKind.BIDI:
        client.telemetry(request)
    else:
        client.start(rpc.name, request)
    assert_unharmed(harness, stored)


def test_every_served_rpc_is_fuzzed() -> None:
    """Every RPC with an operation is fuzzed. The others respond the same to every request."""
    assert {rpc.name for rpc in RPCS} - {rpc.name for rpc in SERVED} == {
        "PullMessage",
        "UpdateOffset",
        "GetOffset",
        "QueryOffset",
    }
    assert sv.TelemetryCommand in [rpc.request for rpc in SERVED]
