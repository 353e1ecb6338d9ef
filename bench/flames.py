"""Draws where a server spends its processor time: a flame graph of each workload, and a table of shares by room.

    python bench/flames.py [--seconds 8] [--only TEXT] [--folder bench/flames]

Each workload of `bench/outstanding.py` runs against an emulator of its own, while py-spy samples its stack 500 times a
second. A sample counts for the innermost function of this project's packages, together with the libraries and the
C code that it calls. The graphs are SVG files, which a browser opens. `pip install py-spy` provides the sampler.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from outstanding import RECEIVED, ROWS, WARM_UP_MESSAGES, Row
from servers import EmulatorCommand, Server
from without_faults import cpu_seconds

RATE = 500
"""Samples a second."""
ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "bench" / "flames"
STORED = 250_000
"""Messages for a workload that reads them, more than it can read while it is sampled."""
SHARE_MIN = 0.04
"""Smallest share in the table."""
BATCH = 256
"""The messages of one call of a workload."""
_ROOM = re.compile(r"/((?:emulator|grpc_v2|remoting|fixtures)/\w+)/[\w/]*\.py:")
EVENT_LOOP = "event loop and sockets"
"""Samples without a function of this project but those that run the loop."""


class NoSampler(Exception):
    """py-spy is missing or failed; the text says what to do."""


def file_name(row: str) -> str:
    """Return the name of a row's file, such as `grpc-send-32-outstanding.svg`."""
    return re.sub(r"[^a-z0-9]+", "-", row.lower()).strip("-") + ".svg"


def room_of(stack: str) -> str:
    """Return the room of the innermost function of this project in a stack of py-spy, outermost function first."""
    for function in reversed(stack.split(";")):
        found = _ROOM.search(function)
        if found:
            return EVENT_LOOP if found[1] == "fixtures/host" else found[1]
    return EVENT_LOOP


def rooms(stacks: str) -> Counter[str]:
    """Return the samples by room, from lines `stack count`."""
    found: Counter[str] = Counter()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        found[room_of(stack)] += int(count)
    return found


def sample(sampler: str, server: Server, kind: str, seconds: float, *, path: Path) -> None:
    """Write the samples of a server as `kind`, a format of py-spy. Raises NoSampler."""
    (pid,) = server.pids
    words = [sampler, "record", "--pid", str(pid), "--rate", str(RATE), "--duration", str(max(1, round(seconds)))]
    done = subprocess.run(
        [*words, "--format", kind, "--full-filenames", "--output", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NoSampler(f"py-spy failed: {done.stderr.strip()}; it may have to run as root to read another process")


def without_folders(graph: str) -> str:
    """Return a graph whose files have the paths of this project, or those in the folder of their library."""
    graph = re.sub(r"\(/[^ )<]*/(?:site-packages|lib/python3\.\d+)/", "(", graph).replace(f"({ROOT}/", "(")
    graph = re.sub(r">[^<]* record --pid [^<]*<", ">Flame graph<", graph)  # the command, with paths of this machine
    return re.sub(r"\(/[^ )<]*\.\.<", "(..<", graph)  # a browser shortens labels again


def draw(sampler: str, row: Row, seconds: float, graph: Path) -> tuple[float, Counter[str]]:
    """Draw a workload. Returns the µs of the server for each message and the samples by room. Raises NoSampler."""
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        server = stack.enter_context(EmulatorCommand())
        row.prepare(server, STORED)
        work = row.work(server, stack)
        work(min(WARM_UP_MESSAGES, 20 * RECEIVED) if row.is_stored else WARM_UP_MESSAGES)
        ended = threading.Event()

        def run() -> float:
            """Return the µs of each message until the end."""
            begin, done = cpu_seconds(server), 0
            while not ended.is_set():
                work(BATCH)
                done += BATCH
            return (cpu_seconds(server) - begin) / done * 1e6

        thread = stack.enter_context(ThreadPoolExecutor(1))
        working = thread.submit(run)
        try:
            raw = Path(folder) / "stacks"
            sample(sampler, server, "flamegraph", seconds, path=graph)
            sample(sampler, server, "raw", seconds, path=raw)
            graph.write_text(without_folders(graph.read_text(encoding="utf-8")), encoding="utf-8")
        finally:
            ended.set()
        return working.result(), rooms(raw.read_text())


def line(name: str, micros: float, samples: Mapping[str, int]) -> str:
    """Return a row of the table: the rooms with at least SHARE_MIN of the samples."""
    whole = sum(samples.values())
    shares = sorted(samples.items(), key=lambda each: -each[1])
    named = ((f"`{room}`" if "/" in room else room, count / whole) for room, count in shares)
    shown = ", ".join(f"{room} {share:.0%}" for room, share in named if share >= SHARE_MIN)
    return f"| [{name}](flames/{file_name(name)}) | {micros:.0f} | {shown} |"


def main(words: Sequence[str] | None = None) -> None:
    """Draw each workload and print the table."""
    parser = argparse.ArgumentParser(description="Draw flame graphs of the emulator's processor time.")
    parser.add_argument("--seconds", type=float, default=8, help="seconds of each recording (default 8)")
    parser.add_argument("--only", default="", help="run only rows whose name contains this text")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the graphs (default bench/flames)")
    options = parser.parse_args(words)
    sampler = shutil.which("py-spy") or shutil.which("py-spy", path=str(Path(sys.executable).parent))
    if sampler is None:
        parser.error("py-spy is not installed: pip install py-spy")
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| row | µs | shares |\n|---|---:|---|")
    try:
        for name, row in ROWS.items():
            if options.only in name:
                micros, samples = draw(sampler, row, options.seconds, options.folder / file_name(name))
                print(line(name, micros, samples), flush=True)
    except NoSampler as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
