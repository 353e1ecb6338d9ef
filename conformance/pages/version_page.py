"""Page of the differences between a RocketMQ version and the reference version, made from the records alone.

`make docs` builds differences-VERSION.md into the documentation site for each version that has records of its own, and
a run writes it beside its report.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from ..deployment.target import REFERENCE_VERSION
from ..outcomes.recorded_outcomes import Notes, RecordedOutcomes, comparable
from ..scenario import RECORDS_FOLDER

HEAD = """\
# Differences between RocketMQ {reference} and {version}

Generated from the records of real brokers of both versions in the [conformance suite](conformance.md). The emulator
behaves as {reference}, so it differs from {version} in the same way. In all other cases and scenarios of the suite,
both versions behave the same.

Each row is one observation. A path leads to a value inside an observation: `0` is the first element, `*` stands for
several elements, and — for no value. *given up* marks a case that could not continue with that version. Long values are
shortened with `…`; `conformance/recorded/` contains them in full.
"""

_NOTHING = object()
_LONG = 150
"""Characters up to which a value is shown whole; of a longer one only both ends are shown."""
_END = 70
_WHOLE = 90
"""Characters up to which a list is shown as one value; the elements of a longer one are compared."""
_RUN = re.compile(r"(.)\1{7,}")
_OFTEN = 3
"""Number of cases with the same change from which it is listed once for all of them."""
_LABELS = 3
"""Number of labels with the same change that are named for one case."""


@dataclass(frozen=True, slots=True)
class ChangedNote:
    """One note that differs between two versions. `path`: the note's label, then keys and indexes inside its value."""

    path: tuple[str, ...]
    before: str
    after: str

    @property
    def name(self) -> str:
        """The last part of the path that is not an index."""
        return next((part for part in reversed(self.path) if not part.isdigit()), "")


def versions(records: RecordedOutcomes) -> list[str]:
    """All versions that have a page."""
    return [version for version in records.versions() if version != REFERENCE_VERSION]


def file_name(version: str) -> str:
    """The name of a version's page."""
    return f"differences-{version}.md"


def counts(version: str, records: RecordedOutcomes) -> tuple[int, int]:
    """Count the cases, and the pairs of scenario and SDK, in which a version differs from the reference version."""
    names = {noun: len(records.names(version, noun)) for noun in records.nouns(version)}
    of_scenarios = sum(count for noun, count in names.items() if noun.startswith(RECORDS_FOLDER))
    return sum(names.values()) - of_scenarios, of_scenarios


def page(version: str, records: RecordedOutcomes) -> str:
    """Render the whole page of a version."""
    cases: dict[str, dict[str, list[ChangedNote]]] = {}
    for noun in sorted(records.nouns(version), key=lambda noun: (noun.startswith(RECORDS_FOLDER), noun)):
        cases[noun] = {name: list(changes_of(version, records, noun, name)) for name in records.names(version, noun)}
    parts = [
        HEAD.format(version=version, reference=REFERENCE_VERSION),
        _count(*counts(version, records)),
        *_often(version, cases),
    ]
    for noun, table in cases.items():
        of_scenarios = f"scenarios of {noun.partition('/')[2]}"
        heading = of_scenarios if noun.startswith(RECORDS_FOLDER) else noun
        parts.append(f"## {heading}\n\n" + "\n".join(_table(version, table)) + "\n")
    return "\n".join(parts)


def changes_of(version: str, records: RecordedOutcomes, noun: str, name: str) -> Iterator[ChangedNote]:
    """Yield the changes of a version in one case."""
    here, there = records.record_of(REFERENCE_VERSION, noun, name), records.record_of(version, noun, name)
    yield from changes([] if here is None else here.notes, [] if there is None else there.notes)


def changes(here: Notes, there: Notes) -> Iterator[ChangedNote]:
    """Yield the differences of two lists of notes; notes with the same label are paired if their order allows."""
    before, now = comparable(here), comparable(there)
    labels = [note[0] for note in before], [note[0] for note in now]
    for kind, first, end, other, other_end in SequenceMatcher(None, *labels, autojunk=False).get_opcodes():
        if kind == "equal":
            for left, right in zip(before[first:end], now[other:other_end], strict=True):
                yield from _inside((left[0].strip(),), left[1], right[1])
        else:
            yield from (_change((label.strip(),), value, _NOTHING) for label, value in before[first:end])
            yield from (_change((label.strip(),), _NOTHING, value) for label, value in now[other:other_end])


def _inside(path: tuple[str, ...], left: Any, right: Any) -> Iterator[ChangedNote]:
    if left == right:
        return
    if isinstance(left, dict) and isinstance(right, dict) and (left.keys() & right.keys() or not (left and right)):
        for key in sorted(left.keys() | right.keys()):
            yield from _inside((*path, key), left.get(key, _NOTHING), right.get(key, _NOTHING))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right) and _is_long(left, right):
        for place, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _inside((*path, str(place)), one, other)
    elif _is_of_texts(left) and _is_of_texts(right) and _is_long(left, right):
        yield _change((*path, "only here"), _without(left, right), _without(right, left))
    else:
        yield _change(path, left, right)


def _is_long(*values: Any) -> bool:
    return any(len(json.dumps(value)) > _WHOLE for value in values)


def _is_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _without(values: Sequence[str], others: Sequence[str]) -> Any:
    return [each for each in values if each not in others] or _NOTHING


def _change(path: tuple[str, ...], left: Any, right: Any) -> ChangedNote:
    return ChangedNote(path, _shown(left), _shown(right))


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "—"
    text = _RUN.sub(r"\1\1\1…", json.dumps(value, ensure_ascii=False, sort_keys=True))
    if len(text) > _LONG:
        text = f"{text[:_END]}…{text[-_END:]}"
    return f"`{text}`".replace("|", "\\|")


def _count(of_cases: int, of_scenarios: int) -> str:
    return f"{of_cases} cases and {of_scenarios} pairs of scenario and SDK differ.\n"


def _often(version: str, cases: Mapping[str, Mapping[str, Sequence[ChangedNote]]]) -> Iterator[str]:
    """Yield a table of the changes that are equal in several cases."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for table in cases.values():
        for found in table.values():
            # Count once per case: a numbered name differs each time it is created.
            seen.update({(each.name, _unnumbered(each.before), _unnumbered(each.after)) for each in found})
    rows = [(change, count) for change, count in seen.items() if count >= _OFTEN]
    if not rows:
        return
    yield "## Changes in several cases\n"
    yield f"| observation | {REFERENCE_VERSION} | {version} | cases |\n|---|---|---|---:|"
    for (name, before, after), count in sorted(rows, key=lambda row: (-row[1], row[0])):
        yield f"| {_escaped(name)} | {before} | {after} | {count} |"
    yield ""


def _unnumbered(text: str) -> str:
    return re.sub(r"(\{[a-z ]+) \d+\}", r"\1}", text)


def _table(version: str, table: Mapping[str, Sequence[ChangedNote]]) -> Iterator[str]:
    yield f"| case | observation | {REFERENCE_VERSION} | {version} |"
    yield "|---|---|---|---|"
    for name, found in table.items():
        shown = name
        for path, before, after in _together(found):
            yield f"| {shown} | {_escaped(path)} | {before} | {after} |"
            shown = ""


def _together(found: Sequence[ChangedNote]) -> Iterator[tuple[str, str, str]]:
    """Group changes that differ only in their indexes, and changes shared by many labels."""
    rows: dict[tuple[tuple[str, ...], str, str], list[tuple[str, ...]]] = {}
    for each in found:
        inside = tuple("*" if part.isdigit() else part for part in each.path[1:])
        rows.setdefault((inside, each.before, each.after), []).append(each.path)
    for (inside, before, after), paths in rows.items():
        of_labels: dict[str, list[tuple[str, ...]]] = {}
        for path in paths:
            of_labels.setdefault(path[0], []).append(path)
        if len(of_labels) > _LABELS:
            label = f"{', '.join(list(of_labels)[:_LABELS])} and {len(of_labels) - _LABELS} more"
            yield ": ".join((label, *inside)), before, after
            continue
        for label, mine in of_labels.items():
            yield ": ".join(mine[0] if len(set(mine)) == 1 else (label, *inside)), before, after


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("\n", " ")
