"""Records of deliveries without the messages that were popped and not written to the client."""

from collections.abc import Iterable

from .delivery_record import DeliveryEntry
from .record_kind import RecordKind

_NOT_DELIVERED = (RecordKind.SKIPPED, RecordKind.NOT_WRITTEN)


def written_runs(records: Iterable[DeliveryEntry]) -> list[DeliveryEntry]:
    """Return the records of one queue, with POPPED only for messages that were written.

    The broker records a pop before the proxy filters its messages. The proxy does so at the same instant of the
    engine's time, so a record of a message that it did not write applies to the pop of that instant and connection.
    """
    runs: list[DeliveryEntry] = []
    popped: dict[tuple[int, int], list[int]] = {}
    """The indexes of the pops of an instant and connection in `runs`; a later part of a pop is appended to `runs`."""
    for record in records:
        key = (record.at_ms, record.link)
        if record.kind in _NOT_DELIVERED and key in popped:
            for index in list(popped[key]):
                runs[index], rest = _without(runs[index], record)
                if rest is not None:
                    popped[key].append(len(runs))
                    runs.append(rest)
        elif record.kind is RecordKind.POPPED:
            popped.setdefault(key, []).append(len(runs))
        runs.append(record)
    return [run for run in runs if run.length > 0]


def _without(run: DeliveryEntry, skipped: DeliveryEntry) -> tuple[DeliveryEntry, DeliveryEntry | None]:
    """Return the part of a run before the skipped messages (maybe empty), and the part after them (None if empty)."""
    end, skipped_end = run.first + run.length, skipped.first + skipped.length
    if skipped_end <= run.first or skipped.first >= end:
        return run, None
    before = run._replace(length=max(skipped.first - run.first, 0))
    after = run._replace(first=skipped_end, length=end - skipped_end) if skipped_end < end else None
    return before, after
