"""Log of the half messages to commit: a file for each micro-batch, written before the first commit.

Once the file exists, the batch is decided: a retry of the batch that finds the file sends nothing, and commits the
remaining messages. The folder belongs to the query and is below `txnLogPath`, which driver and executors must share.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path

from ..errors import RocketMQError

KEPT = 16
"""Number of micro-batches whose files are kept; Spark only retries the last one."""


@dataclass(frozen=True)
class Half:
    """A half message: its broker and topic, its offsets in the half-message queue and in the commit log, and its id."""

    broker: str
    topic: str
    table_offset: int
    log_offset: int
    _: KW_ONLY
    uniq_key: str


class TransactionLog:
    """The files of one query."""

    def __init__(self, path: str, query_id: str) -> None:
        self._folder = Path(path) / query_id

    def has(self, batch_id: int) -> bool:
        """True if a batch is decided."""
        return self._file(batch_id).exists()

    def decide(self, batch_id: int, halves: Iterable[Half]) -> None:
        """Write the half messages to commit; the file is written atomically."""
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

    def uncommitted(self, batch_id: int) -> list[Half]:
        """Return the half messages not known to be committed. Raises RocketMQError for an unreadable file."""
        path = self._file(batch_id)
        try:
            halves = [Half(**each) for each in json.loads(path.read_text())]
        except (ValueError, TypeError, OSError, RecursionError) as error:
            raise RocketMQError(f"option txnLogPath: {path} cannot be read ({error})") from error
        done = set(self._finished(batch_id))
        return [each for each in halves if each.uniq_key not in done]

    def mark_committed(self, batch_id: int, halves: Iterable[Half]) -> None:
        """Record committed half messages. A line truncated by a crash matches no message."""
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
