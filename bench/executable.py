"""Measure the size of the executable and the time of its starts, beside the installed command.

    python bench/executable.py [OTHER ...]

needs `make executable`. The commands start by turns, 22 times each, of which the first turn is not counted: the command
as pip installs it, with compiled modules, in the environment of the build; the executable with an empty cache; the
executable with a filled cache; and the commands OTHER. The table has the time until the ready line (median and
shortest), the median of its ratio to the installed command in the same turn, and the processor time (median and
shortest).
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXECUTABLE = ROOT / "dist" / "rocketmq-emulator"
INSTALLED = ROOT / "build" / "executable" / "venv" / "bin" / "rocketmq-emulator"
WORDS = [word for name in ("namesrv", "broker", "grpc", "control") for word in (f"--{name}-port", "0")]
"""Options: a free port for each server."""
STARTS = 21
"""Measured starts of each command."""


def start(command: str, cache: Path) -> tuple[float, float]:
    """Return milliseconds until the ready line, and milliseconds of processor time until then."""
    environment = {**os.environ, "ROCKETMQ_EMULATOR_CACHE": str(cache)}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [command, "--profile", "fast", *WORDS], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    wall = time.perf_counter() - begin
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    # utime and stime, fields 14 and 15 of proc_pid_stat(5); the first two are cut off.
    processor = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    process.terminate()
    process.wait()
    process.stdout.close()
    return wall * 1000, processor * 1000


def main(others: list[str]) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        filled, empty = Path(folder) / "filled", Path(folder) / "empty"
        ways = [  # name in the table, command, folder of its cache
            ("installed command", str(INSTALLED), filled),
            ("one file, empty cache", str(EXECUTABLE), empty),
            ("one file, unpacked before", str(EXECUTABLE), filled),
            *((other, other, filled) for other in others),
        ]
        found: dict[str, list[tuple[float, float]]] = {name: [] for name, _, _ in ways}
        for turn in range(STARTS + 1):
            for name, command, cache in ways:
                shutil.rmtree(empty, ignore_errors=True)
                taken = start(command, cache)
                if turn:
                    found[name].append(taken)
        unpacked = sum(each.stat().st_size for each in filled.rglob("*") if each.is_file())
        files = sum(each.is_file() for each in filled.rglob("*"))
    print(f"one file {EXECUTABLE.stat().st_size / 1e6:.1f} MB, unpacked {unpacked / 1e6:.1f} MB in {files} files\n")
    print("| start until the ready line, ms | median | least | ratio | CPU median | CPU least |")
    print("|---|---:|---:|---:|---:|---:|")
    of_command = [wall for wall, _ in found["installed command"]]
    for name, times in found.items():
        walls, processor = [wall for wall, _ in times], [cpu for _, cpu in times]
        ratio = statistics.median(mine / its for mine, its in zip(walls, of_command, strict=True))
        print(
            f"| {name} | {statistics.median(walls):.0f} | {min(walls):.0f} | {ratio:.2f} "
            f"| {statistics.median(processor):.0f} | {min(processor):.0f} |"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
