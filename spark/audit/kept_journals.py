"""Journal files of emulators, such as those of failed tests, as events."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rocketmq_testkit.fixtures.journal import journal_file
from rocketmq_testkit.fixtures.journal.journal_file import UnreadableJournal

from .events import Event, JournalError, write_lines
from .journal_converter import events_from_journal


def events_of_file(path: str | Path) -> list[Event]:
    """Return the message events in a journal file of an emulator, in order; their `run_id` is the test or the file.

    Raises JournalError, also if the file lacks entries or messages.
    """
    found = _events(Path(path))
    if found is None:
        raise JournalError(f"{path}: not a journal file of an emulator; export one, or read events with read_lines")
    return found


def _events(path: Path) -> list[Event] | None:
    """Return the events of a journal file, None for a file of events."""
    try:
        found = journal_file.read(path)
    except UnreadableJournal as wrong:
        raise JournalError(str(wrong)) from None
    if found is None:
        return None
    header = found.header
    if header["first"]:
        raise JournalError(
            f"{path}: its first entry has the index {header['first']}, so the audit would be incomplete; an emulator "
            "of the session has entries of other tests, and one that drops entries needs a higher journalMaxEntries"
        )
    if header["partial"]:
        raise JournalError(f"{path}: entries or messages were left out; export the whole journal, with messages")
    run = header.get("test") or str(path)
    return [replace(event, run_id=run) for event in events_from_journal(found.entries, found.messages)]


def as_events(names: Iterable[str], folder: Path) -> list[str]:
    """Return the names of files of events: of a journal file, that of a new file with its events in `folder`.

    Other files and remote ones keep their names. Raises JournalError.
    """
    result = []
    for number, name in enumerate(names):
        path = Path(name)
        found = _events(path) if "://" not in name and path.is_file() else None
        if found is None:
            result.append(name)
            continue
        written = folder / f"journal-{number}.jsonl"
        with written.open("w") as file:
            write_lines(found, file)
        result.append(str(written))
    return result
