"""Counts the bytecodes and calls of one request by room, as a table for `bench/profile.md`.

    PYTHONPATH=tests/support python bench/bytecodes.py [--functions 10] [--sends]

Only the server is counted: its code that handles the bytes of a remoting request, or the services of the proxy and the
engine for an RPC, without HTTP/2. The numbers do not vary with the load of the machine.

With `--sends` it prints only the bytecodes of a send for each protocol, remoting first, with those of the client in
memory. `bench/without_faults.py` runs it so with the packages and `tests/support` of each of two trees.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import protocol_client
from rocketmq_testkit import emulator

PACKAGES = Path(emulator.__file__).parents[1]
COUNTED = ("emulator", "remoting", "grpc_v2")
WARM_UPS = 20
BATCH = 32
"""The number of messages of a large pop or pull."""
LATER_MS, DELAY_LEVEL = 3_600_000, "18"
"""An hour until a delivery time, and the longest delay level."""
COMMIT = 8
COUNTS = 9
"""The number of sends of which `--sends` prints the median."""
SERVER = ("remoting/server/server_connection.py", "received")
"""File and name of the function in which a server handles the bytes of remoting requests."""


@dataclass
class Counts:
    """Bytecodes by file and function, and calls, of a piece of work."""

    bytecodes: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: int = 0

    def by_room(self) -> Counter[str]:
        """Return the bytecodes of each room."""
        found: Counter[str] = Counter()
        for (file, _), count in self.bytecodes.items():
            found["/".join(file.split("/")[:2]) if file.count("/") > 1 else file] += count
        return found


def count(work: Callable[[], object], *, server_only: bool) -> Counts:
    """Count the bytecodes of engine and protocols; `server_only`: only those below the server's `received`."""
    found = Counts()
    depth = 0

    def traced(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal depth
        frame.f_trace_opcodes = True
        code = frame.f_code
        path = Path(code.co_filename)
        if not path.is_relative_to(PACKAGES):
            return traced
        file = path.relative_to(PACKAGES).as_posix()
        if not file.startswith(COUNTED):
            return traced
        if event == "call":
            depth += (file, code.co_name) == SERVER
        if depth or not server_only:
            found.calls += event == "call"
            if event == "opcode":
                found.bytecodes[file, code.co_name] += 1
        if event == "return":
            depth -= (file, code.co_name) == SERVER
        return traced

    sys.settrace(traced)
    try:
        work()
    finally:
        sys.settrace(None)
    return found


Row = tuple[str, str, Callable[[ProtocolClient], Callable[[], object]], str]
"""Title, protocol, a function that prepares the request, and the kind of its topic's messages."""


def _send(client: ProtocolClient) -> Callable[[], object]:
    return client.put


def _pop(client: ProtocolClient) -> Callable[[], object]:
    client.put()
    return lambda: client.pop(count=1)


def _pop_many(client: ProtocolClient) -> Callable[[], object]:
    for _ in range(BATCH):
        client.put()
    return lambda: client.pop(count=BATCH)


def _pull(client: ProtocolClient) -> Callable[[], object]:
    if not isinstance(client, BrokerProtocolClient):
        raise TypeError("only clients of the broker's own protocol pull")
    broker_client = client
    first = client.put().offset
    for _ in range(BATCH - 1):
        client.put()
    return lambda: broker_client.pull(first)


def _ack(client: ProtocolClient) -> Callable[[], object]:
    client.put()
    [message] = client.take(count=1)
    return lambda: client.ack(message.handle)


def _ordered(client: ProtocolClient) -> Callable[[], object]:
    return lambda: client.put(message_group="one")


def _delayed(client: ProtocolClient) -> Callable[[], object]:
    return lambda: client.put(DELAY=DELAY_LEVEL)


def _timed(client: ProtocolClient) -> Callable[[], object]:
    deliver_ms = client.now_ms + LATER_MS
    return lambda: client.put(deliver_ms=deliver_ms)


def _half(client: ProtocolClient) -> Callable[[], object]:
    return lambda: client.put(half=True)


def _commit(client: ProtocolClient) -> Callable[[], object]:
    half = client.put(half=True)
    return lambda: client.start_end(half, COMMIT)


ROWS: tuple[Row, ...] = (
    *(
        (f"{protocol}, {name}", protocol, prepare, kind)
        for protocol in ("remoting", "grpc")
        for name, prepare, kind in (
            ("send", _send, ""),
            ("pop of 1", _pop, ""),
            (f"pop of {BATCH}", _pop_many, ""),
            ("ack", _ack, ""),
            ("half message", _half, "TRANSACTION"),
            ("commit", _commit, "TRANSACTION"),
        )
    ),
    (f"remoting, pull of {BATCH}", "remoting", _pull, ""),
    ("remoting, send with a delay level", "remoting", _delayed, "DELAY"),
    ("grpc, FIFO send", "grpc", _ordered, "FIFO"),
    ("grpc, send with a delivery time", "grpc", _timed, "DELAY"),
)


def measure(protocol: str, prepare: Callable[[ProtocolClient], Callable[[], object]], kind: str = "") -> Counts:
    """Count one request after requests that load all modules and compile all functions."""
    client = protocol_client(protocol)
    client.topic(kind=kind)
    for _ in range(WARM_UPS):
        prepare(client)()
    return count(prepare(client), server_only=protocol == "remoting")


def sends() -> list[int]:
    """Return the bytecodes of a send for each protocol: the median of several."""
    found = []
    for protocol in ("remoting", "grpc"):
        client = protocol_client(protocol)
        client.topic()
        for _ in range(WARM_UPS):
            client.put()
        counts = sorted(count(client.put, server_only=False).bytecodes.total() for _ in range(COUNTS))
        found.append(counts[COUNTS // 2])
    return found


def main() -> None:
    """Print a table for each row, or the sends."""
    parser = argparse.ArgumentParser(description="Count the bytecodes of requests by room.")
    most = "also print the N functions with the most bytecodes"
    parser.add_argument("--functions", type=int, default=0, metavar="N", help=most)
    parser.add_argument("--sends", action="store_true", help="print only the bytecodes of a send for each protocol")
    arguments = parser.parse_args()
    if arguments.sends:
        print(*sends(), sep="\n")
        return
    for title, protocol, prepare, kind in ROWS:
        found = measure(protocol, prepare, kind)
        total = found.bytecodes.total()
        print(f"{title}: {total:,} bytecodes, {found.calls} calls")
        shares = [f"{room} {share / total:.0%}" for room, share in found.by_room().most_common(8)]
        print(f"    {', '.join(shares)}")
        for (file, name), share in found.bytecodes.most_common(arguments.functions):
            print(f"    {share:5} {file} {name}")


if __name__ == "__main__":
    main()
