"""The command `make fault-matrix`: records the reactions of SDKs to faults."""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from rocketmq_testkit.emulator.faults.fault import KINDS

from ..drivers import registry
from .matrix import SdkRun, Unstable, empty_cells, sdks
from .record import ReactionRecord
from .situation import Situation
from .situations import situation
from .workload import NotFired


def main(words: Sequence[str] | None = None) -> int:
    """Run the chosen part of the matrix and record it. Exit code 1 if a chosen cell stays empty."""
    parser = argparse.ArgumentParser(prog="make fault-matrix", description="Record the reactions of SDKs to faults.")
    parser.add_argument("--kinds", metavar="NAME,...", help="kinds of faults (default: all)")
    parser.add_argument("--sdks", metavar="NAME,...", help=f"SDKs (default: {','.join(sdks())})")
    parser.add_argument(
        "--times", type=int, metavar="N", help="observe each cell N times, and record two classes of time if they occur"
    )
    options = parser.parse_args(words)
    try:
        kinds = options.kinds.split(",") if options.kinds else list(KINDS)
        situations = [situation(name) for name in kinds]
        chosen = [registry.recipe(name).name for name in options.sdks.split(",")] if options.sdks else sdks()
    except LookupError as error:
        parser.error(str(error))
    record = ReactionRecord()
    complaints = [line for sdk in chosen for line in _record(sdk, situations, record, options.times)]
    complaints += [line for line in empty_cells(record, kinds) if any(f" with {sdk}:" in line for sdk in chosen)]
    print("\n".join(complaints))
    return 1 if complaints else 0


def _record(sdk: str, situations: Sequence[Situation], record: ReactionRecord, times: int | None) -> list[str]:
    complaints = []
    with SdkRun(sdk) as run:
        for each in situations:
            recorded = record.cell(sdk, each.kind)
            try:
                cell = run.confirmed(each, recorded) if times is None else run.repeated(each, times)
            except (NotFired, Unstable) as failure:
                complaints.append(str(failure))
                continue
            print(f"{sdk}: {each.kind}: {cell.form()}{'' if cell == recorded else ' (new)'}", flush=True)
            record.put(sdk, run.hello, f"{datetime.now(UTC):%Y-%m-%d}", each.kind, cell=cell)
    return complaints


if __name__ == "__main__":
    sys.exit(main())
