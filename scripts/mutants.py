"""Try mutants of the engine and the protocols, and report the mutants that no test kills.

    python scripts/mutants.py [--seed N] [--number N] [--minutes N] [--workers N] [--record] [ROOM or FILE ...]
    python scripts/mutants.py --sample

Changed tests run once before, to record the functions that they call. Verdicts are kept in `.cache/mutants`, so that a
run with the same seed continues after an interruption. `--again` tries survivors again with the current tests. The exit
code is 0 if every mutant was killed or is known as equivalent.
"""

import argparse
import datetime
import os
import subprocess
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from mutation import named, record, tree
from mutation.call_map import TESTS, CallMap, measured
from mutation.forked import Fate, MutantVerdict
from mutation.mutant import Mutant
from mutation.operators import mutants
from mutation.results import Results
from mutation.rooms import Rooms
from mutation.sample import sample
from mutation.trials import OnVerdict, Trial, Trials

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "mutants"
CACHE = ROOT / ".cache" / "mutants"
SAMPLE_SECONDS = 1.0
"""Limit of processor time in seconds for each test of the fixed sample, without a mutant."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = _options(words)
    rooms = Rooms.read(DATA / "rooms.toml")
    equivalent = named.read(DATA / "equivalent.toml", "equivalent", "reason")
    if options.sample:
        return _sample(named.read(DATA / "sample.toml", "mutant", "test"))
    scratch = CACHE / "tree"
    tree.copy(ROOT, scratch)
    try:
        files = rooms.files(scratch, options.where)
    except ValueError as wrong:
        print(wrong, file=sys.stderr)
        return 2
    by_room: dict[str, list[Mutant]] = defaultdict(list)
    for file in files:
        by_room[str(rooms.of(file))] += mutants(file, (scratch / file).read_bytes())
    chosen = sample(by_room, options.number, options.seed)
    results = Results(CACHE / "results.jsonl")
    waiting = [mutant for mutant in chosen if _is_due(results.of(mutant), again=options.again)]
    if waiting:
        try:
            _try(waiting, results, scratch, options)
        except RuntimeError as wrong:
            print(wrong, file=sys.stderr)
            return 2
    report = record.Report()
    for mutant in chosen:
        verdict = results.of(mutant)
        if verdict is not None:
            report.add(str(rooms.of(mutant.file)), mutant, verdict, named.said(mutant, equivalent))
    print("\n".join(report.lines()))
    present = [mutant for room in by_room.values() for mutant in room]
    for entry in named.stale([each for each in equivalent if each.file in files], present):
        print(f"equivalent.toml: {entry.file} has no mutant {entry.old} -> {entry.new} any more; remove the entry")
    if options.record:
        # The last commit that changed the source code of the mutants.
        words = ["git", "log", "-1", "--format=%H", "--", *rooms.tops]
        commit = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        form = report.form(today, commit.stdout.strip(), options.seed)
        problems = record.problems(form, rooms.names)
        if problems:
            print("not recorded:", *problems, sep="\n  ")
            return 1
        record.write(DATA / "record.json", form)
    return 1 if report.survived else 0


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description="Try mutants and report those that no test kills")
    parser.add_argument(
        "where", nargs="*", metavar="ROOM or FILE", help="mutate these rooms, folders or files (default: all rooms)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed the choice of mutants (default 1)")
    parser.add_argument("--number", type=int, default=380, help="try this number of mutants (default 380)")
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="start no trial after this number of minutes (default 60)"
    )
    parser.add_argument("--workers", type=int, default=1, help="try mutants in this number of processes (default 1)")
    parser.add_argument(
        "--test-seconds", type=float, default=40.0, help="limit a trial to this processor time in seconds (default 40)"
    )
    parser.add_argument(
        "--tests", action="append", metavar="FILE", help="use only these test files or folders (default: all)"
    )
    parser.add_argument("--measure", action="store_true", help="measure all tests again, not only changed ones")
    parser.add_argument("--again", action="store_true", help="try mutants that survived earlier runs again")
    parser.add_argument("--sample", action="store_true", help="try only the fixed sample of tests/mutants/sample.toml")
    parser.add_argument("--record", action="store_true", help="write tests/mutants/record.json")
    return parser.parse_args(words)


def _sample(entries: Sequence[named.NamedMutant]) -> int:
    """Try each mutant of the fixed sample with its test. Returns 1 if one survives or does not exist any more."""
    found = [
        Trial(mutant, [entry.says], SAMPLE_SECONDS)
        for entry in entries
        for mutant in (mutants(entry.file, (ROOT / entry.file).read_bytes()) if (ROOT / entry.file).is_file() else ())
        if entry.is_meant(mutant)
    ]
    survived = []

    def on_verdict(mutant: Mutant, verdict: MutantVerdict) -> bool:
        print(f"{verdict.seconds:6.1f} s {verdict.fate.value:8} {mutant} {verdict.by}", flush=True)
        if verdict.fate is Fate.SURVIVED:
            survived.append(mutant)
        return True

    CACHE.mkdir(parents=True, exist_ok=True)
    Trials(ROOT, ROOT, CACHE / "sample.txt").run(found, on_verdict)
    gone = named.stale(entries, [trial.mutant for trial in found])
    for entry in gone:
        print(f"sample.toml: {entry.file} has no mutant {entry.old} -> {entry.new} any more; choose another one")
    print(f"{len(found)} of {len(entries)} mutants of the sample exist, {len(survived)} survived")
    return 1 if survived or gone else 0


def _is_due(verdict: MutantVerdict | None, *, again: bool) -> bool:
    return verdict is None or (again and verdict.fate is Fate.SURVIVED)


def _try(waiting: Sequence[Mutant], results: Results, scratch: Path, options: argparse.Namespace) -> None:
    """Try mutants in the scratch copy. Raises RuntimeError if the tests cannot be run."""
    if options.measure:
        (CACHE / "map.json").unlink(missing_ok=True)
    tests = CallMap(scratch, CACHE / "map.json", options.tests or TESTS)
    if tests.missing:
        print(f"measure {len(tests.missing)} test files", flush=True)
        out = CACHE / "measured.json"
        Trials(ROOT, scratch, CACHE / "measured.txt").measure(tests.missing, out)
        tests.add(measured(out), tests.missing)
    called: list[Trial] = []
    imported: list[Trial] = []
    for mutant in waiting:
        is_called = tests.is_called(mutant)
        # A mutant outside of called functions needs a new import and collection, so it gets fewer tests.
        chosen = tests.within(tests.of(mutant), options.test_seconds / (1 if is_called else 4))
        seconds = sum(map(tests.seconds.__getitem__, chosen))
        (called if is_called else imported).append(Trial(mutant, chosen, seconds, imported=not is_called))
    deadline = time.monotonic() + 60 * options.minutes

    def on_verdict(mutant: Mutant, verdict: MutantVerdict) -> bool:
        results.add(mutant, verdict)
        print(f"{verdict.seconds:6.1f} s {verdict.fate.value:8} {mutant} {verdict.by}", flush=True)
        return bool(time.monotonic() < deadline)

    codes = []
    for share in (called, imported):  # the quick ones first
        parts = [share[part :: options.workers] for part in range(options.workers)]
        children = [_worker(part, scratch, on_verdict) for part in parts if part]
        codes += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    results.read()
    if any(codes):
        raise RuntimeError("a worker has failed; its output is above")


def _worker(trials: Sequence[Trial], scratch: Path, on_verdict: OnVerdict) -> int:
    """Fork a process that tries these mutants, because it imports the package from the copy; return its id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        Trials(ROOT, scratch, CACHE / f"output-{os.getpid()}.txt").run(trials, on_verdict)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
