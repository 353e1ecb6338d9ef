"""Lines at the bottom of a terminal that change in place, drawn by rich: a bar with an ETA, one line for each build.

It is loaded only where the output is a terminal. It must not decide what is shown in a log.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

DONE = "{task.completed} of {task.total}"
LAST = "{task.fields[last]}"


class LiveLines:
    """A context manager that shows its lines until it exits; other output of the process appears above them.

    `total`: number of outcomes of a run; None if no run is shown. All methods may be called from any thread.
    """

    def __init__(self, out: TextIO, total: int | None = None) -> None:
        self._console = Console(file=out)
        self._run = Progress(
            BarColumn(bar_width=30),
            TextColumn(DONE, markup=False),
            TimeElapsedColumn(),
            TextColumn("ETA", markup=False),
            TimeRemainingColumn(),
            TextColumn(LAST, markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=self._console,
        )
        self._builds = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}: building", markup=False),
            TimeElapsedColumn(),
            console=self._console,
        )
        self._task = None if total is None else self._run.add_task("", total=total, last="")
        self._live = Live(
            Group(self._builds, self._run),
            console=self._console,
            transient=True,
            # A stream that is no terminal, such as a log, is left alone.
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=sys.stderr.isatty(),
        )

    @property
    def possible(self) -> bool:
        """True if the terminal can move its cursor."""
        return not self._console.is_dumb_terminal

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def print(self, line: str) -> None:
        """Print a line that stays, above the moving ones."""
        self._console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def advance(self, id_: str) -> None:
        """Count an outcome of the run and show its id."""
        if self._task is not None:
            self._run.update(self._task, advance=1, last=id_)

    @contextmanager
    def building(self, name: str) -> Iterator[None]:
        """Show a line for the build of a driver within the block; a line that stays says how long the build took."""
        begin = time.monotonic()
        task = self._builds.add_task(name, total=None)
        try:
            yield
        finally:
            self._builds.remove_task(task)
        self.print(f"{name}: built in {time.monotonic() - begin:.0f} s")
