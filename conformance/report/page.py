"""The outcomes as one self-contained HTML page: cases and scenarios by target, differences side by side.

`page.html.jinja` has the page's form. This module computes the values that it shows.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib.resources import files
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from rocketmq_testkit.fixtures.pages.html_file import duration, percent, rendered

from .document import Document, entry_id

_SIGNS = {
    "same": ("good", "same"),
    "deliberate": ("known", "deliberate"),
    "known gap": ("known", "gap"),
    "not applicable": ("none", "n/a"),
}
"""(CSS class, word) of a cell, by verdict. A cell with another verdict has class `bad`, and the verdict as word."""

NAME = "index.html"


@dataclass(frozen=True, slots=True)
class _Target:
    """One row of the summary.

    `counts`: number and percentage of outcomes for each verdict. `likely_causes`: of the target's unexpected outcomes.
    `unlike_reference`: number of outcomes whose record for the target's version differs from the reference version's.
    """

    name: str
    about: str
    likely_causes: list[str]
    version: str
    _: KW_ONLY
    expected: str
    counts: list[tuple[int, str]]
    unlike_reference: int
    seconds: str


@dataclass(frozen=True, slots=True)
class _Cell:
    """One outcome of a case or scenario. `anchor` is empty if it has no details.

    `kind` is the CSS class: `good`, `known`, `none` or `bad`.
    """

    kind: str
    word: str
    seconds: str
    reason: str
    _: KW_ONLY
    anchor: str


@dataclass(frozen=True, slots=True)
class _Row:
    """A case or scenario with its outcomes; None stands for one that was not run.

    `wrong`: True if an outcome is unexpected.
    """

    name: str
    protocol: str
    sentence: str
    source: str
    _: KW_ONLY
    wrong: bool
    cells: list[_Cell | None]


@dataclass(frozen=True, slots=True)
class _Note:
    """One note of an outcome, its value as JSON."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class _Detail:
    """Details of an outcome.

    `recorded` is the heading of the recorded notes. `pairs` has recorded and seen notes side by side, with None on the
    side that has fewer; it is None if the document contains no notes of the outcome.
    """

    anchor: str
    expected: bool
    heading: str
    reason: str
    _: KW_ONLY
    recorded: str
    pairs: list[tuple[_Note | None, _Note | None]] | None


def write(folder: Path, content: Document, lists: Mapping[str, str] | None = None) -> Path:
    """Write `index.html` and the lists of all behaviors into a folder. Return the path of `index.html`.

    `lists`: the texts of these lists by file name, as `behavior_page.lists` returns them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (lists or {}).items():
        (folder / name).write_text(text)
    path = folder / NAME
    path.write_text(page(content, lists or ()))
    return path


def page(content: Document, lists: Iterable[str] = ()) -> str:
    """Render the whole page, with links to the lists of all behaviors. `lists`: their file names."""
    names = [each["name"] for each in content["targets"]]
    verdicts = sorted({each["verdict"] for each in content["outcomes"]}, key=_severity)
    sdks = list(dict.fromkeys(each["id"].partition("@")[2] for each in content["outcomes"] if "@" in each["id"]))
    return rendered(
        __package__,
        "page.html.jinja",
        title=f"RocketMQ conformance of {', '.join(names)}, {content['date']}",
        facts=_facts(content),
        script=files(__package__).joinpath("page.js").read_text(),
        problem=content["problem"],
        verdicts=verdicts,
        targets=[_target(each, content, verdicts) for each in content["targets"]],
        lists=list(lists),
        cases=_cases(content, names),
        sdks=sdks,
        scenarios=_scenarios(content, names, sdks),
        details=[*_details(content)],
    )


def _facts(content: Document) -> dict[str, str]:
    outcomes = content["outcomes"]
    expected = sum(each["expected"] for each in outcomes)
    return {
        "product": content["product"],
        "target": "; ".join(f"{each['name']}, compared with RocketMQ {each['version']}" for each in content["targets"]),
        "command": content["command"],
        "date": content["date"],
        "duration": duration(content["seconds"]),
        "as expected": f"{percent(expected, len(outcomes))} of {len(outcomes):,} outcomes" if outcomes else "",
    }


def _target(target: Mapping[str, Any], content: Document, verdicts: Iterable[str]) -> _Target:
    mine = [each for each in content["outcomes"] if each["target"] == target["name"]]
    counts = Counter(each["verdict"] for each in mine)
    return _Target(
        name=target["name"],
        about=target["about"],
        likely_causes=target["likely_causes"],
        version=target["version"],
        expected=percent(sum(each["expected"] for each in mine), len(mine)),
        counts=[(counts[each], percent(counts[each], len(mine))) for each in verdicts],
        unlike_reference=sum("reference" in each for each in mine),
        seconds=f"{sum(each['seconds'] for each in mine):.1f}",
    )


def _severity(verdict: str) -> tuple[bool, str]:
    return verdict in _SIGNS, verdict


def _cases(content: Document, targets: Sequence[str]) -> dict[str, list[_Row]]:
    """Return the rows of cases by the first part of their ids, each with an outcome for each target."""
    table = _by_id(each for each in content["outcomes"] if "@" not in each["id"])
    rows = {id_: _row(id_, content, [found.get(name) for name in targets]) for id_, found in table.items()}
    return {noun: [rows[id_] for id_ in ids] for noun, ids in groupby(rows, key=lambda id_: id_.partition(".")[0])}


def _scenarios(content: Document, targets: Sequence[str], sdks: Sequence[str]) -> list[_Row]:
    """Return the rows of scenarios, each with an outcome for each SDK and target."""
    table = _by_id(each for each in content["outcomes"] if "@" in each["id"])
    columns = [(sdk, name) for sdk in sdks for name in targets]
    return [
        _row(id_, content, [table.get(f"{id_}@{sdk}", {}).get(name) for sdk, name in columns])
        for id_ in dict.fromkeys(map(entry_id, table))
    ]


def _by_id(outcomes: Iterable[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for each in outcomes:
        table.setdefault(each["id"], {})[each["target"]] = each
    return dict(sorted(table.items()))


def _row(id_: str, content: Document, outcomes: list[dict[str, Any] | None]) -> _Row:
    entry = content["entries"].get(id_, {})
    return _Row(
        name=id_.partition(".")[2].replace("_", " "),
        protocol=entry.get("protocol", ""),
        sentence=entry.get("sentence", ""),
        source=entry.get("source", ""),
        wrong=any(each is not None and not each["expected"] for each in outcomes),
        cells=[None if each is None else _cell(each) for each in outcomes],
    )


def _cell(outcome: dict[str, Any]) -> _Cell:
    kind, word = _SIGNS.get(outcome["verdict"], ("bad", outcome["verdict"]))
    if outcome["expected"] and "reference" in outcome:
        kind, word = "known", f"as {outcome['recorded']['version']}"
    return _Cell(
        kind=kind,
        word=word,
        seconds="" if outcome["verdict"] == "not applicable" else f"{outcome['seconds']:.2f} s",
        reason=outcome["reason"],
        anchor=_anchor(outcome) if _has_detail(outcome) else "",
    )


def _has_detail(outcome: dict[str, Any]) -> bool:
    return "seen" in outcome or (bool(outcome["reason"]) and outcome["verdict"] != "not applicable")


def _anchor(outcome: dict[str, Any]) -> str:
    return f"{outcome['target']}-{outcome['id']}".replace(" ", "_")


def _details(content: Document) -> Iterator[_Detail]:
    shown = [each for each in content["outcomes"] if _has_detail(each)]
    for each in sorted(shown, key=lambda outcome: (outcome["expected"], outcome["id"])):
        known = each.get("reference") if each["expected"] and "reference" in each else each.get("recorded")
        pairs = None
        if "seen" in each:
            recorded = [] if known is None else known["seen"]
            pairs = [(_note(left), _note(right)) for left, right in zip_longest(recorded, each["seen"])]
        yield _Detail(
            anchor=_anchor(each),
            expected=each["expected"],
            heading=f"{each['id']} on {each['target']}: {each['verdict']}",
            reason=each["reason"],
            recorded="no record" if known is None else f"recorded from {known['version']} on {known['date']}",
            pairs=pairs,
        )


def _note(note: Any) -> _Note | None:
    return None if note is None else _Note(note[0], json.dumps(note[1], ensure_ascii=False, indent=1, sort_keys=True))
