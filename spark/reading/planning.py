"""Division of queue ranges into tasks.

A task costs Spark some 30 ms, in which several thousand messages could be read. So small ranges share a task, and only
large ones are split.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

from ..options.offsets import Range

TASK_SIZE = 20_000
"""Number of offsets that justifies a task of its own."""

SPREAD_SIZE = 200_000
"""Minimum of offsets per task for a read with twice as many tasks as the driver has processors.

The further tasks compensate for slower ones; in smaller reads a second round of tasks costs too much.
"""

SPLIT_FRACTION_MIN = 0.1
"""A remainder of a range smaller than this fraction of a task is not split off."""


@dataclass
class RangePartition(InputPartition):
    """The ranges of one task, and the addresses of their brokers, by broker name, at planning time."""

    ranges: tuple[Range, ...]
    addresses: Mapping[str, str]


def plan(ranges: Iterable[Range], least: int | None = None, most: int | None = None) -> list[tuple[Range, ...]]:
    """Return the ranges of each task, sorted by queue and offset. Together they contain every offset once.

    Empty ranges are left out. `least` and `most` bound the number of tasks, which never exceeds the number of offsets.
    The default of `most` is the number of processors, or twice that for large reads, and at least `least`.
    """
    whole = sorted(each for each in ranges if each.size)
    total = sum(each.size for each in whole)
    if not total:
        return []
    most = most if most is not None else max(_most(total), least or 1)
    tasks = min(max(-(-total // TASK_SIZE), least or 1), most, total)
    exact = least is not None and tasks == least
    found: list[tuple[Range, ...]] = []
    task: list[Range] = []
    taken = 0
    for each in whole:
        start = each.start
        while start < each.end:
            room = (len(found) + 1) * total // tasks - taken
            take = min(room, each.end - start)
            rest = each.end - start - take
            if not exact and 0 < rest < SPLIT_FRACTION_MIN * total / tasks and len(found) + 1 < tasks:
                take += rest
            task.append(Range(each.queue, start, start + take))
            start += take
            taken += take
            if taken >= (len(found) + 1) * total // tasks:
                found.append(tuple(task))
                task = []
    if task:
        found.append(tuple(task))
    return found


def _most(total: int) -> int:
    processors = os.cpu_count() or 1
    return 2 * processors if total >= 2 * processors * SPREAD_SIZE else processors
