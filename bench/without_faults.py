"""Compares two trees of the emulator without rules of faults: the server's processor time of single sends.

    python bench/without_faults.py BEFORE AFTER [--pairs 5] [--sends 5000]

BEFORE and AFTER are git revisions of this project, or folders with a checkout. For each pair the emulators of both
trees run in processes of their own. One client sends one message after the other, over remoting and over gRPC, by turns
to either process. The processor time is that of the server alone, so the speed of the client has no influence. The
table has the ratio (after / before) of each pair, and the median. The bytecodes of one send follow, which do not vary,
if both trees have the clients for it (since `75419f03`).
The exit code is 1 if a median, or a ratio of bytecodes, is above 1.02.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rocketmq_testkit.conformance.clients import grpc_requests
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient, open_channel
from rocketmq_testkit.conformance.clients.grpc_response import Failure
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import RemotingClient
from servers import EmulatorCommand, Server, create_topic

ROOT = Path(__file__).resolve().parents[1]
GOAL = 1.02
"""Largest ratio."""
SLICE = 250
"""The number of sends to one process before the other one's turn."""
WARM_UP_SENDS = 2_000
TOPIC = "work"
BODY = bytes(100)
SERVER = "from rocketmq_testkit.fixtures.command import main; raise SystemExit(main())"
Send = Callable[[], None]


class Unusable(Exception):
    """A tree that cannot be measured; the text says why."""


@dataclass(frozen=True)
class Row:
    """Microseconds of the server for one send over a protocol, before and after, of each pair of processes."""

    name: str
    pairs: Sequence[tuple[float, float]]

    @property
    def ratios(self) -> list[float]:
        """The time after relative to that before, of each pair."""
        return [after / before for before, after in self.pairs]

    @property
    def ratio(self) -> float:
        """The median of the pairs."""
        return statistics.median(self.ratios)

    @property
    def is_good(self) -> bool:
        """True if the ratio meets its goal."""
        return self.ratio <= GOAL


@contextmanager
def tree(name: str) -> Iterator[Path]:
    """Yield the folder of a revision or a checkout, with its packages under their names in `.ns`. Raises Unusable."""
    with ExitStack() as stack:
        folder = Path(name)
        if not folder.is_dir():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            archive = subprocess.run(["git", "-C", ROOT, "archive", name], capture_output=True, check=False)
            if archive.returncode:
                said = archive.stderr.decode(errors="replace").strip()
                raise Unusable(f"{name}: neither a folder nor a git revision ({said}); use one of them, such as HEAD~1")
            subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        links = folder / "scripts" / "namespace_links.py"
        if not links.is_file():
            raise Unusable(f"{name}: has no {links.relative_to(folder)}; name a later revision of this project")
        subprocess.run([sys.executable, links], check=True)
        yield folder.resolve()


def emulator(checkout: Path) -> EmulatorCommand:
    """Start the emulator of a tree, with the interpreter and the libraries of this process."""
    return EmulatorCommand(command=[sys.executable, "-c", SERVER], PYTHONPATH=str(checkout / ".ns"))


def cpu_seconds(server: Server) -> float:
    """Return the processor time that a server has used, to the nanosecond."""
    (pid,) = server.pids
    return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3), which Python does not have


def by_turns(
    servers: Sequence[Server], works: Sequence[Callable[[int], None]], share: int, turns: int
) -> tuple[float, float]:
    """Let two servers work by turns, each first in every other turn; return the µs of each for a message.

    The work of a server handles the given number of messages, `share` in a turn.
    """
    found = [0.0, 0.0]
    for turn in range(turns):
        for at in (0, 1) if turn % 2 == 0 else (1, 0):
            begin = cpu_seconds(servers[at])
            works[at](share)
            found[at] += cpu_seconds(servers[at]) - begin
    first, second = (each / (turns * share) * 1e6 for each in found)
    return first, second


def remoting(server: Server, stack: ExitStack) -> Send:
    """Connect over remoting; returns a function that sends one message."""
    client = stack.enter_context(RemotingClient(server.broker))
    request = send_request(TOPIC, BODY, born_ms=int(time.time() * 1000))

    def send() -> None:
        if code := client.request(*request).code:
            raise RuntimeError(f"a send over remoting ended with code {code}")

    return send


def grpc(server: Server, stack: ExitStack) -> Send:
    """Connect over gRPC; returns a function that sends one message."""
    client = stack.enter_context(GrpcClient(open_channel(server.endpoint)))
    request = sv.SendMessageRequest(messages=[grpc_requests.message(TOPIC, BODY, message_id="m")])

    def send() -> None:
        response = client.call("SendMessage", request)
        if isinstance(response, Failure) or response.status.code != pb.OK:
            raise RuntimeError(f"a send over gRPC ended with {response}")

    return send


def repeated(send: Send) -> Callable[[int], None]:
    """Return a function that sends a number of messages."""

    def work(messages: int) -> None:
        for _ in range(messages):
            send()

    return work


PROTOCOLS: Mapping[str, Callable[[Server, ExitStack], Send]] = {"remoting": remoting, "gRPC": grpc}


def measure(before: Path, after: Path, protocol: str, sends: int) -> tuple[float, float]:
    """Measure one pair of new processes: return the microseconds of a send before and after."""
    with ExitStack() as stack:
        servers = [stack.enter_context(emulator(checkout)) for checkout in (before, after)]
        for server in servers:
            create_topic(server, TOPIC)
        sending = [PROTOCOLS[protocol](server, stack) for server in servers]
        for send in sending:
            for _ in range(min(sends, WARM_UP_SENDS)):
                send()
        return by_turns(servers, [repeated(send) for send in sending], SLICE, max(1, sends // SLICE))


def can_count(checkout: Path) -> bool:
    """True if a tree has the clients with which `bytecodes.py` sends in memory."""
    return (checkout / "tests" / "support" / "protocol_client.py").is_file()


def bytecodes(checkout: Path) -> dict[str, int]:
    """Return the bytecodes of one send over each protocol."""
    path = os.pathsep.join(map(str, (checkout / ".ns", checkout / "tests" / "support")))
    words = [sys.executable, str(Path(__file__).with_name("bytecodes.py")), "--sends"]
    done = subprocess.run(
        words,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
    )
    return dict(zip(PROTOCOLS, map(int, done.stdout.split()), strict=True))


def table_of_bytecodes(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Return the bytecodes as Markdown."""
    lines = ["| sends over | bytecodes before | after | ratio | goal |", "|---|---:|---:|---:|---:|"]
    for name, count in before.items():
        lines.append(f"| {name} | {count:,} | {after[name]:,} | {after[name] / count:.3f} | {GOAL} |")
    return "\n".join(lines) + "\n"


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    lines = [
        "| sends over | before, µs | after, µs | ratio of each pair | median | goal |",
        "|---|---:|---:|---|---:|---:|",
    ]
    for row in rows:
        before, after = (statistics.median(times) for times in zip(*row.pairs, strict=True))
        ratios = ", ".join(f"{each:.3f}" for each in row.ratios)
        lines.append(f"| {row.name} | {before:.1f} | {after:.1f} | {ratios} | {row.ratio:.3f} | {GOAL} |")
    return "\n".join(lines) + "\n"


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; return exit code 1 if the later tree is too slow."""
    parser = argparse.ArgumentParser(description="Compare two trees of the emulator without rules of faults.")
    parser.add_argument("before", help="git revision, or folder with a checkout")
    parser.add_argument("after", help="git revision, or folder with a checkout")
    parser.add_argument("--pairs", type=int, default=5, help="number of pairs of processes (default 5)")
    parser.add_argument("--sends", type=int, default=5_000, help="sends to each process (default 5000)")
    options = parser.parse_args(words)
    try:
        with tree(options.before) as before, tree(options.after) as after:
            rows = [
                Row(name, [measure(before, after, name, options.sends) for _ in range(options.pairs)])
                for name in PROTOCOLS
            ]
            print(table(rows))
            counts = [bytecodes(each) for each in (before, after) if can_count(each)]
    except Unusable as error:
        parser.error(str(error))
    if len(counts) < 2:
        print("bytecodes are not compared: a tree has no tests/support/protocol_client.py, because it is too old")
        return 0 if all(row.is_good for row in rows) else 1
    print(table_of_bytecodes(*counts), end="")
    is_short = all(counts[1][name] <= GOAL * count for name, count in counts[0].items())
    return 0 if is_short and all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
