"""Runs schedules in one process for hours. The run can be stopped and continued; a file has its results.

    python tests/simulation long_run FILE [COUNT]          run up to COUNT short schedules (default 1,000,000)
    python tests/simulation long_run FILE whole [COUNT]    run whole schedules
    python tests/simulation long_run FILE operations [COUNT]
                                                           run schedules of all operations
    python tests/simulation long_run FILE merge            add the results in FILE to record.json

If FILE exists, its run continues, with schedules of the same kind.

FILE is JSON: the commit, the first number, the number of schedules that ran, the failed ones with their errors, and the
processor time in s. It is written each minute, and at the end. SIGTERM ends the run after the current schedule.
"""

import gc
import json
import signal
import sys
import time
from dataclasses import KW_ONLY, asdict, dataclass, field
from datetime import date
from pathlib import Path

import schedule_record
import short_schedules
from schedule_record import RECORD, Kind

COUNT = 1_000_000
EVERY_S = 60.0
"""Seconds between two writes of the file."""
WARM_UP = 40
"""Number of schedules after which all modules are loaded; then their objects are frozen for the garbage collector."""
COLLECT_AFTER = 100_000
"""Number of new objects after which the garbage collector runs: a schedule then takes a quarter less time."""


@dataclass
class LongRun:
    """The results of one run. `failed` has the error of each failed schedule, by its number."""

    commit: str
    first: int
    count: int = 0
    failed: dict[int, str] = field(default_factory=dict)
    _: KW_ONLY
    cpu_s: float = 0.0

    @classmethod
    def load(cls, path: Path) -> "LongRun":
        """Return the results in a file."""
        content = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**content, "failed": {int(number): error for number, error in content["failed"].items()}})

    def save(self, path: Path) -> None:
        """Replace the file atomically."""
        written = path.with_suffix(".new")
        written.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        written.replace(path)


def begun(path: Path, kind: Kind = "short") -> LongRun:
    """Return the run in a file; if there is no file, a new run that starts after all recorded numbers."""
    if path.exists():
        return LongRun.load(path)
    return LongRun(short_schedules.commit(), schedule_record.next_number(RECORD, kind))


def continue_run(path: Path, most: int, every_s: float = EVERY_S, *, kind: Kind = "short") -> LongRun:
    """Run schedules until `most` have run or SIGTERM arrives."""
    run, stopped = begun(path, kind), list[int]()
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    written = time.monotonic()
    before_s, begun_s = run.cpu_s, time.process_time()
    at_start = run.count
    while run.count < most and not stopped:
        number = run.first + run.count
        if error := short_schedules.failure(number):
            run.failed[number] = error
        run.count += 1
        if run.count == at_start + WARM_UP:
            gc.collect()
            gc.freeze()
            gc.set_threshold(COLLECT_AFTER, 5, 5)
        run.cpu_s = round(before_s + time.process_time() - begun_s, 1)
        if time.monotonic() - written >= every_s:
            run.save(path)
            written = time.monotonic()
    run.save(path)
    return run


def merge(path: Path, record: Path) -> int:
    """Add a run to the record and its failures to `found_schedules.txt`; return the number of recorded schedules."""
    run = LongRun.load(path)
    for number, error in run.failed.items():
        short_schedules.keep(number, error)
    entry = schedule_record.Run(date.today().isoformat(), run.commit, run.first, run.count, failed=sorted(run.failed))
    return schedule_record.add(entry, record)


def main(words: list[str]) -> int:
    """Run, continue or merge. Returns 1 if a schedule has failed."""
    path = Path(words[0])
    if words[1:] == ["merge"]:
        print(f"{merge(path, RECORD)} recorded schedules")
        return 0
    is_named = words[1:2] in (["whole"], ["operations"])
    kind: Kind = short_schedules.KINDS[words[1]] if is_named else "short"
    numbers = words[2:] if is_named else words[1:]
    run = continue_run(path, int(numbers[0]) if numbers else COUNT, kind=kind)
    print(f"{run.count} schedules from number {run.first} in {run.cpu_s} s, {len(run.failed)} failed")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
