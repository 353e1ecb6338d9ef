"""The outcomes of a run as one JSON document, the source of the other file formats.

    {"format": 3, "product": "rocketmq-testkit 0.1.0", "command": "rocketmq-conformance run", "date": "2026-01-31",
     "seconds": 12.3, "problem": "",
     "targets": [{"name": "emulator", "about": "...", "version": "5.3.3", "likely_causes": []}],
     "entries": {"send.a_message_is_stored":
                     {"noun": "send", "sentence": "...", "source": "...", "protocol": "remoting"}},
     "outcomes": [{"id": "...", "target": "emulator", "verdict": "same", "expected": true, "seconds": 0.1, "reason": "",
                   "seen": [["label", value]], "recorded": {"version": "5.3.3", "date": "...", "seen": [...]}}]}

`earlier` (optional) contains the results of earlier attempts. `seen` is present in the outcome and in `recorded` only
in three cases: they differ, nothing is recorded, or the record of the target's version differs from the reference
version's. In the last case `reference` is the reference version's record.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from ..outcomes.outcome import Outcome
from ..outcomes.recorded_outcomes import comparable
from ..runner.run import Run

FORMAT = 3

Document = dict[str, Any]


class DocumentError(Exception):
    """A file is not a report of this command; the text says which file and why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Fields of a case or scenario that do not depend on its outcomes."""

    noun: str
    sentence: str
    source: str
    protocol: str


@dataclass(frozen=True, slots=True)
class About:
    """Description of a target in one line, and the version whose records it is compared with."""

    line: str
    version: str


def document(run: Run, about: Mapping[str, About], entries: Mapping[str, Entry], command: str) -> Document:
    """Build the document of a run. `about`: by target; `entries`: by id without SDK name."""
    used = {entry_id(outcome.id) for outcome in run.outcomes}
    return {
        "format": FORMAT,
        "product": f"rocketmq-testkit {metadata.version('rocketmq-testkit')}",
        "command": command,
        "date": run.date,
        "seconds": round(run.seconds, 1),
        "problem": run.problem or ("interrupted" if run.interrupted else ""),
        "targets": [
            {
                "name": name,
                "about": about[name].line,
                "version": about[name].version,
                "likely_causes": run.likely_causes.get(name, []),
            }
            for name in run.targets
        ],
        "entries": {
            id_: {"noun": each.noun, "sentence": each.sentence, "source": each.source, "protocol": each.protocol}
            for id_, each in entries.items()
            if id_ in used
        },
        "outcomes": [_outcome(outcome) for outcome in run.outcomes],
    }


def entry_id(outcome_id: str) -> str:
    """Return the id of an outcome's case or scenario: the outcome's id without the SDK."""
    return outcome_id.partition("@")[0]


def _outcome(outcome: Outcome) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": outcome.id,
        "target": outcome.target,
        "verdict": outcome.verdict.value,
        "expected": outcome.expected,
        "seconds": round(outcome.seconds, 3),
        "reason": outcome.reason,
    }
    if outcome.earlier_attempts:
        shown["earlier"] = list(outcome.earlier_attempts)
    seen = comparable(outcome.notes)
    if outcome.record is not None:
        shown["recorded"] = {"version": outcome.record.version, "date": outcome.record.date}
        if outcome.reference is not None:
            known = outcome.reference
            shown["reference"] = {"version": known.version, "date": known.date, "seen": comparable(known.notes)}
        if seen != comparable(outcome.record.notes) or outcome.reference is not None:
            shown["recorded"]["seen"] = comparable(outcome.record.notes)
            shown["seen"] = seen
    elif seen:
        shown["seen"] = seen
    return shown


def write(path: Path, content: Document) -> None:
    """Write a document to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def read(paths: Iterable[Path]) -> Document:
    """Merge files into one document; later outcomes replace those of the same id and target. Raises DocumentError."""
    merged: Document = {"format": FORMAT, "date": "", "seconds": 0.0, "targets": [], "entries": {}}
    merged |= {"product": "", "command": "", "problem": ""}
    outcomes: dict[tuple[str, str], dict[str, Any]] = {}
    for path in paths:
        content = _read(path)
        for name, joint in (("product", ", "), ("command", "; ")):
            if content[name] not in merged[name].split(joint):
                merged[name] = joint.join(filter(None, (merged[name], content[name])))
        merged["date"] = max(merged["date"], content["date"])
        merged["seconds"] += content["seconds"]
        merged["problem"] = "; ".join(filter(None, (merged["problem"], content["problem"])))
        known = {each["name"] for each in merged["targets"]}
        merged["targets"] += [each for each in content["targets"] if each["name"] not in known]
        merged["entries"].update(content["entries"])
        outcomes.update({(each["id"], each["target"]): each for each in content["outcomes"]})
    merged["outcomes"] = list(outcomes.values())
    return merged


def _refused(path: Path, wrong: str) -> DocumentError:
    allowed = "`rocketmq-conformance run --json FILE` writes such documents"
    return DocumentError(f"{path}: {wrong}; {allowed}; name one of those")


def _read(path: Path) -> Document:
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise _refused(path, f"cannot be read, {error.strerror}") from error
    except ValueError as error:
        raise _refused(path, f"not JSON, {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _refused(path, f"not a document of format {FORMAT}")
    return content
