"""Compares the emulator with a bare Twisted server that returns the same bytes: start, memory and processor time.

    python bench/bare.py [--messages 8000] [--pairs 3] [--only TEXT]

The bare server (`bench/bare_server.py`) is the floor of a server in Python. The client of `bench/outstanding.py` sends
the same requests to both by turns, and each pair has new processes. Processor time is that of the server alone.
"""

import argparse
import base64
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from bare_server import Record
from google.protobuf.message import Message
from outstanding import (
    BODY,
    CLIENT,
    GROUP,
    RECEIVED,
    ROWS,
    TOPIC,
    TURNS,
    WARM_UP_MESSAGES,
    Work,
    grpc_send_request,
    remoting_send,
)
from rocketmq_testkit.conformance.clients import grpc_requests
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient, open_channel
from rocketmq_testkit.conformance.clients.receipt_handles import built_handle
from rocketmq_testkit.conformance.clients.remoting_consumption import ack_request, pop_request, pull_request
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.remoting.client import RemotingClient, decode_messages
from rocketmq_testkit.remoting.wire import header_json
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from servers import EmulatorCommand, Server, create_topic, resident_mib
from without_faults import by_turns

OPAQUE = 987_654_321
"""Stands in a recorded header, to find the place of the opaque."""
STARTS = 9
SERVER = Path(__file__).with_name("bare_server.py")
Row = tuple[str, str, str, str]
"""Name, figure of the emulator, figure of the bare server, ratio."""


class BareServer:
    """`bench/bare_server.py` in a process of its own."""

    name = "bare Twisted"
    namesrv = ""

    def __init__(self, record: Record) -> None:
        begin = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("the process has no pipes")
        self._process.stdin.write(record.text())
        self._process.stdin.close()
        ready = json.loads(self._process.stdout.readline())
        self.start_ms = (time.perf_counter() - begin) * 1000
        self.broker, self.endpoint = ready["broker"], ready["endpoint"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(10)

    @property
    def pids(self) -> list[int]:
        return [self._process.pid]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _remoting(response: RemotingCommand) -> tuple[str, str, str]:
    """Return the parts of a response: header up to the opaque, header after it, and body."""
    if response.code:
        raise RuntimeError(f"the emulator refused a recorded request: {response}")
    before, _, after = header_json.encode(replace(response, opaque=OPAQUE)).partition(str(OPAQUE).encode())
    return _base64(before), _base64(after), _base64(response.body)


def _message(message: Message) -> str:
    return _base64(message.SerializeToString())


def recorded(server: Server) -> Record:
    """Record the responses of an emulator with stored messages to each request of `outstanding.ROWS`."""
    record = Record()
    with RemotingClient(server.broker, timeout=60) as remoting:
        for code, ext, body in (
            send_request(TOPIC, BODY, born_ms=int(time.time() * 1000), tag="a", keys="k"),
            pull_request(TOPIC, GROUP),
        ):
            record.remoting[str(int(code))] = _remoting(remoting.request(code, ext, body))
        code, ext, body = pop_request(TOPIC, GROUP)
        popped = remoting.request(code, ext, body)
        record.remoting[str(int(code))] = _remoting(popped)
        first = decode_messages(popped.body)[0]
        handle = built_handle(first, popped.ext_fields or {}, "broker-a")
        code, ext, body = ack_request(TOPIC, GROUP, handle, first.queue_offset, first.queue_id)
        record.remoting[str(int(code))] = _remoting(remoting.request(code, ext, body))
    with GrpcClient(open_channel(server.endpoint)) as grpc:
        send = grpc_send_request()
        record.grpc[_message(send)] = [_message(grpc.call("SendMessage", send, client=CLIENT))]
        grpc.open(CLIENT, grpc_requests.subscribing(GROUP, {TOPIC: "*"}))
        receive = grpc_requests.receive(TOPIC, GROUP, broker="broker-a", max_messages=RECEIVED)
        parts = list(grpc.open_receive(receive, client=CLIENT, deadline=60))
        record.grpc[_message(receive)] = [_message(part) for part in parts]
        received = next(part.message.system_properties for part in parts if part.HasField("message"))
        ack = grpc_requests.ack(TOPIC, GROUP, (received.message_id, received.receipt_handle))
        record.others = [_message(grpc.call("AckMessage", ack, client=CLIENT))]
    return record


def measure(row: Callable[[Server, ExitStack], Work], messages: int) -> tuple[float, float]:
    """Measure one pair of new processes: return the microseconds of a message of the emulator and the bare server."""
    share = max(messages // TURNS, 64)
    with ExitStack() as stack:
        emulator = stack.enter_context(EmulatorCommand())
        create_topic(emulator, TOPIC)
        remoting_send(64, emulator, stack)(WARM_UP_MESSAGES + (TURNS + 4) * (share + RECEIVED))
        bare = stack.enter_context(BareServer(recorded(emulator)))
        servers: Sequence[Server] = (emulator, bare)
        works = [row(server, stack) for server in servers]
        for work in works:
            work(WARM_UP_MESSAGES)
        return by_turns(servers, works, share, TURNS)


def starts(times: int) -> list[Row]:
    """Measure a start until the ready line, and the resident memory before any client; the medians count."""
    found: list[tuple[float, ...]] = []
    for _ in range(times):
        with EmulatorCommand() as emulator, BareServer(Record()) as bare:
            found.append((emulator.start_ms, bare.start_ms, resident_mib(emulator), resident_mib(bare)))
    ours_ms, bare_ms, ours_mib, bare_mib = map(statistics.median, zip(*found, strict=True))
    return [
        ("start until the ready line, ms", f"{ours_ms:.0f}", f"{bare_ms:.0f}", f"{ours_ms / bare_ms:.1f}"),
        ("resident memory, idle, MiB", f"{ours_mib:.0f}", f"{bare_mib:.0f}", f"{ours_mib / bare_mib:.1f}"),
    ]


def floors(messages: int, pairs: int, only: str = "") -> list[Row]:
    """Measure each row whose name contains `only`; of several pairs the medians count."""
    rows = [] if only else starts(STARTS)
    for name, (make, _) in ROWS.items():
        if only in name:
            print(f"... {name}", file=sys.stderr, flush=True)
            ours, floor = (
                statistics.median(times) for times in zip(*[measure(make, messages) for _ in range(pairs)], strict=True)
            )
            rows.append((f"{name}, server CPU µs/message", f"{ours:.1f}", f"{floor:.1f}", f"{ours / floor:.1f}"))
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    head = "| with a bare server | emulator | bare Twisted | ratio |\n|---|---:|---:|---:|\n"
    return head + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="Compare the emulator with a bare Twisted server.")
    parser.add_argument("--messages", type=int, default=8_000, help="messages to each process (default 8000)")
    parser.add_argument("--pairs", type=int, default=3, help="number of pairs of processes (default 3)")
    parser.add_argument("--only", default="", help="run only rows whose name contains this text")
    options = parser.parse_args(words)
    print(table(floors(options.messages, options.pairs, options.only)), end="")


if __name__ == "__main__":
    main()
