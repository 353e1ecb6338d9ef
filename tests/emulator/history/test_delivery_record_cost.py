"""The cost of the delivery record in executed bytecodes, the same on each machine. `bench/history.py` measures time."""

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from protocol_client import ProtocolClient
from protocol_clients import protocol_client
from remoting_protocol_client import RemotingProtocolClient
from rocketmq_testkit import emulator, grpc_v2, remoting
from rocketmq_testkit.conformance.clients.remoting_consumption import pop_request, pull_request


def _folder(package: Any, *names: str) -> str:
    return str(Path(package.__file__).resolve().parent.joinpath(*names))


pytestmark = pytest.mark.pure
HISTORY = _folder(emulator, "history")
PRODUCT = (_folder(emulator), _folder(grpc_v2), _folder(remoting))
_kinds: dict[str, str] = {}
Work = Callable[[], object]


def _kind_of(file: str) -> str:
    """Return `history` for a source file of the delivery record, `product` for one of the server, `test` for others."""
    if file not in _kinds:
        path = str(Path(file).resolve())
        _kinds[file] = "history" if path.startswith(HISTORY) else "product" if path.startswith(PRODUCT) else "test"
    return _kinds[file]


def bytecodes(work: Work) -> Mapping[str, int]:
    """Return the numbers of bytecodes that the server executes in `work`, by `history` and `product`."""
    found: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            found[_kind_of(frame.f_code.co_filename)] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return {kind: found[kind] for kind in ("history", "product")}


def filled(name: str, entries: int = 65_536) -> ProtocolClient:
    """Return a protocol client of a topic with 200 messages."""
    e = protocol_client(name, delivery_record_max_entries=entries)
    e.topic()
    e.group()
    e.fill_topic(200)
    return e


def a_send(e: ProtocolClient) -> Work:
    return e.put


def a_pop(e: ProtocolClient) -> Work:
    if isinstance(e, RemotingProtocolClient):
        peer, request = e.peer(), pop_request("T", "G", max_messages=1, born_ms=e.now_ms)
        return lambda: peer.ask(*request)
    return lambda: e.take(count=1)


def a_pull(e: ProtocolClient) -> Work:
    assert isinstance(e, RemotingProtocolClient)
    peer, request = e.peer(), pull_request("T", "G", 0, 32, expression="*")
    return lambda: peer.ask(*request)


def an_acknowledgement(e: ProtocolClient) -> Work:
    taken = iter(e.take(count=32))
    return lambda: e.ack(next(taken).handle)


def cost(step: Callable[[ProtocolClient], Work], name: str, entries: int) -> Mapping[str, int]:
    """Return the bytecodes of one step after others have filled all caches."""
    work = step(filled(name, entries))
    for _ in range(3):
        work()
    return bytecodes(work)


@pytest.mark.parametrize("name", ["engine", "remoting", "grpc"])
def test_a_send_executes_no_bytecode_of_the_history(name: str) -> None:
    """A send executes the same number of bytecodes with and without a delivery record."""
    cost(a_send, name, 0)  # fills the caches of the process
    with_record, without = (cost(a_send, name, entries) for entries in (65_536, 0))
    assert with_record == without
    assert with_record["history"] == 0


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("remoting", a_pull),
        ("remoting", a_pop),
        ("remoting", an_acknowledgement),
        ("grpc", a_pop),
        ("grpc", an_acknowledgement),
    ],
)
def test_a_delivery_costs_at_most_three_percent_more(name: str, step: Callable[[ProtocolClient], Work]) -> None:
    """The code of the delivery record is at most three percent of a request with its response."""
    cost(step, name, 0)
    with_record, without = (cost(step, name, entries) for entries in (65_536, 0))
    assert with_record["product"] == without["product"]
    assert without["history"] < with_record["history"] <= with_record["product"] * 0.03, with_record
