"""Expected deviations of a user's own broker, kept in a file of the user's build.

    {"pop.a_popped_message_is_hidden": {"reason": "our broker hides nothing", "seen": [["label", value]]},
     "timer.a_message_waits": {"reason": "no timer", "error": true}}

An outcome that differs as its entry says is expected. An outcome that differs in another way, or no longer differs, is
unexpected.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .outcome import Outcome, Verdict
from .recorded_outcomes import comparable


class ExpectedError(Exception):
    """A file of expected deviations cannot be used; the text says which file and why."""


def _refused(path: Path, wrong: str) -> ExpectedError:
    allowed = "the file is a JSON object of deviations by id"
    return ExpectedError(f"--expected={path}: {wrong}; {allowed}; write one with --record-expected")


class Expected:
    """Expected deviations by the id of a case, or by `scenario@sdk`."""

    def __init__(self, entries: Mapping[str, dict[str, Any]] | None = None, source: str = "") -> None:
        self._entries = dict(entries or {})
        self._source = source

    @classmethod
    def read(cls, path: Path | None) -> "Expected":
        """Read the deviations from a file; an empty set if `path` is None. Raises ExpectedError."""
        if path is None:
            return cls()
        try:
            content = json.loads(path.read_text())
        except OSError as error:
            raise _refused(path, f"cannot be read, {error.strerror}") from error
        except ValueError as error:
            raise _refused(path, f"not JSON, {error}") from error
        if not isinstance(content, dict):
            raise _refused(path, "not a JSON object")
        for id_, entry in content.items():
            if not isinstance(entry, dict) or not isinstance(entry.get("reason"), str):
                raise _refused(path, f"{id_} is not an object with a text `reason`")
            if not (isinstance(entry.get("seen"), list) or entry.get("error") is True):
                raise _refused(path, f'{id_} has neither a list `seen` nor "error": true')
        return cls(content, str(path))

    def judge(self, outcome: Outcome) -> Outcome:
        """Return the outcome, with its verdict changed if there is an entry for it."""
        entry = self._entries.get(outcome.id)
        if entry is None or outcome.verdict is Verdict.NOT_APPLICABLE:
            return outcome
        reason = entry["reason"] or "as expected"
        if outcome.verdict is Verdict.ERROR and entry.get("error") is True:
            return replace(outcome, verdict=Verdict.DELIBERATE, reason=f"{reason} ({outcome.reason})")
        if outcome.verdict is Verdict.DIFFERS and entry.get("seen") == comparable(outcome.notes):
            return replace(outcome, verdict=Verdict.DELIBERATE, reason=reason)
        if outcome.verdict is Verdict.SAME:
            reason = f"listed as a deviation in {self._source}, but the outcome is as recorded: remove it"
            return replace(outcome, verdict=Verdict.STALE, reason=reason)
        return outcome

    def put(self, outcomes: Iterable[Outcome], date: str) -> "Expected":
        """Take the deviations from a run's outcomes; known reasons stay, and so do entries of ids that were not run."""
        entries = dict(self._entries)
        for outcome in outcomes:
            entries.pop(outcome.id, None)
            known = self._entries.get(outcome.id, {}).get("reason") or f"recorded on {date}"
            if outcome.verdict is Verdict.ERROR:
                entries[outcome.id] = {"reason": known, "error": True}
            elif outcome.verdict in (Verdict.DIFFERS, Verdict.DELIBERATE) and outcome.notes:
                entries[outcome.id] = {"reason": known, "seen": comparable(outcome.notes)}
        return Expected(entries, self._source)

    def write(self, path: Path) -> int:
        """Write the file; returns the number of deviations."""
        text = json.dumps(dict(sorted(self._entries.items())), ensure_ascii=False, indent=1)
        path.write_text(text + "\n")
        return len(self._entries)
