"""Which half messages are to be committed: a file for each micro-batch, written before the first of them is.

From the moment that the file is there, the batch is decided: a run of it that finds the file sends nothing and commits
what is left. The folder is the query's own below `txnLogPath`, which driver and executors have to see.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import RocketMQError

KEPT = 16
"""So many micro-batches back files are kept; Spark replays the last one alone."""


@dataclass(frozen=True)
class Half:
    """A half message: its broker and topic, its place among half messages and in the log, and its id."""

    broker: str
    topic: str
    table_offset: int
    log_offset: int
    uniq_key: str


class TransactionLog:
    """The files of one query."""

    def __init__(self, path: str, query_id: str) -> None:
        self._folder = Path(path) / query_id

    def has(self, batch_id: int) -> bool:
        """Whether a batch is decided."""
        return self._file(batch_id).exists()

    def decide(self, batch_id: int, halves: Iterable[Half]) -> None:
        """Write down that these are to be committed; it is there whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        target = self._file(batch_id)
        draft = target.with_suffix(".draft")
        with draft.open("w") as file:
            json.dump([asdict(each) for each in halves], file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        for old in (self._file(batch_id - KEPT), self._done(batch_id - KEPT)):
            old.unlink(missing_ok=True)

    def left(self, batch_id: int) -> list[Half]:
        """What is to be committed and not known to be. Errors: RocketMQError for a file that cannot be read."""
        path = self._file(batch_id)
        try:
            halves = [Half(**each) for each in json.loads(path.read_text())]
        except (ValueError, TypeError, OSError) as error:
            raise RocketMQError(f"option txnLogPath: {path} cannot be read ({error})") from error
        done = set(self._finished(batch_id))
        return [each for each in halves if each.uniq_key not in done]

    def finished(self, batch_id: int, halves: Iterable[Half]) -> None:
        """Add to those that are known to be committed. A line that a crash cut off names no message."""
        with self._done(batch_id).open("a") as file:
            file.write("".join(f"{each.uniq_key}\n" for each in halves))

    def _finished(self, batch_id: int) -> Iterator[str]:
        path = self._done(batch_id)
        if path.exists():
            yield from path.read_text().split("\n")

    def _file(self, batch_id: int) -> Path:
        return self._folder / f"{batch_id}.json"

    def _done(self, batch_id: int) -> Path:
        return self._folder / f"{batch_id}.done"
