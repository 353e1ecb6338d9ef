"""The outcomes as one self-contained HTML page: cases and scenarios by target, differences side by side."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from .document import Document, entry_id

_SIGNS = {
    "same": ("good", "same"),
    "deliberate": ("known", "deliberate"),
    "known gap": ("known", "gap"),
    "not applicable": ("none", "n/a"),
}


NAME = "index.html"


def write(folder: Path, content: Document, lists: Mapping[str, str] | None = None) -> Path:
    """Write `index.html` and the texts of `lists` (by file name) into a folder. Return the path of `index.html`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (lists or {}).items():
        (folder / name).write_text(text)
    path = folder / NAME
    path.write_text(page(content, lists or ()))
    return path


def page(content: Document, lists: Iterable[str] = ()) -> str:
    """Render the whole page, with links to the files of `lists`."""
    style = files(__package__).joinpath("page.css").read_text()
    script = files(__package__).joinpath("page.js").read_text()
    title = f"RocketMQ conformance of {', '.join(each['name'] for each in content['targets'])}, {content['date']}"
    body = "\n".join([*_summary(content), *_links(lists), *_cases(content), *_scenarios(content), *_details(content)])
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>\n{style}</style></head>\n'
        f"<body><h1>{escape(title)}</h1>\n{body}\n<script>\n{script}</script></body></html>\n"
    )


def _facts(content: Document) -> Iterator[str]:
    minutes, seconds = divmod(round(content["seconds"]), 60)
    facts = {
        "product": content["product"],
        "command": content["command"],
        "date": content["date"],
        "duration": f"{minutes} min {seconds} s" if minutes else f"{content['seconds']:.1f} s",
    }
    yield '<table class="facts"><tbody>'
    yield from (f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in facts.items())
    yield "</tbody></table>"


def _summary(content: Document) -> Iterator[str]:
    yield from _facts(content)
    if content["problem"]:
        yield f'<p class="problem">The run ended early: {escape(content["problem"])}</p>'
    verdicts = sorted({each["verdict"] for each in content["outcomes"]}, key=_severity)
    yield '<table class="summary"><thead><tr><th>target</th><th>compared with</th><th>as expected</th>'
    yield "".join(f"<th>{escape(each)}</th>" for each in verdicts)
    yield "<th>as recorded, but unlike the reference version</th><th>seconds in total</th></tr></thead><tbody>"
    for target in content["targets"]:
        mine = [each for each in content["outcomes"] if each["target"] == target["name"]]
        counts = Counter(each["verdict"] for each in mine)
        about = f"<br><small>{escape(target['about'])}</small>" if target["about"] != target["name"] else ""
        about += "".join(f"<br><small>likely cause: {escape(each)}</small>" for each in target["likely_causes"])
        yield f'<tr><th>{escape(target["name"])}{about}</th><td class="number">{escape(target["version"])}</td>'
        yield f'<td class="number">{_percent(sum(each["expected"] for each in mine), len(mine))}</td>'
        yield "".join(
            f'<td class="number">{counts[each]}<br><small>{_percent(counts[each], len(mine))}</small></td>'
            if counts[each]
            else "<td></td>"
            for each in verdicts
        )
        other = sum("reference" in each for each in mine)
        seconds = sum(each["seconds"] for each in mine)
        yield f'<td class="number">{other or ""}</td><td class="number">{seconds:.1f}</td></tr>'
    yield "</tbody></table>"
    yield '<p class="filter"><label><input type="checkbox" id="only"> only unexpected outcomes</label>'
    yield ' <label>find <input type="search" id="find" placeholder="part of a name or sentence"></label></p>'


def _links(lists: Iterable[str]) -> Iterator[str]:
    if links := ", ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in lists):
        yield f"<p>All behaviors with upstream's class and the date of the record: {links}</p>"


def _percent(part: int, whole: int) -> str:
    """Format a percentage, rounded down, so that 100 % means all."""
    return f"{part * 1000 // whole / 10:.1f} %" if whole else ""


def _severity(verdict: str) -> tuple[bool, str]:
    return verdict in _SIGNS, verdict


def _cases(content: Document) -> Iterator[str]:
    targets = [each["name"] for each in content["targets"]]
    table = _by_id(each for each in content["outcomes"] if "@" not in each["id"])
    if not table:
        return
    yield "<h2>Cases</h2>"
    for noun, ids in groupby(table, key=lambda id_: id_.partition(".")[0]):
        yield f"<h3>{escape(noun)}</h3>{_table(len(targets))}<thead><tr><th>case</th>"
        yield "".join(f"<th>{escape(name)}</th>" for name in targets) + "</tr></thead><tbody>"
        for id_ in ids:
            entry = content["entries"].get(id_, {})
            yield from _row(id_, entry, [table[id_].get(name) for name in targets])
        yield "</tbody></table>"


def _scenarios(content: Document) -> Iterator[str]:
    """Yield one table with a column for each SDK, subdivided by target if there are several."""
    targets = [each["name"] for each in content["targets"]]
    table = _by_id(each for each in content["outcomes"] if "@" in each["id"])
    if not table:
        return
    sdks = list(dict.fromkeys(each["id"].partition("@")[2] for each in content["outcomes"] if "@" in each["id"]))
    yield f"<h2>Scenarios</h2>{_table(len(sdks) * len(targets))}<thead>"
    if len(targets) == 1:
        yield "<tr><th>scenario</th>" + "".join(f"<th>{escape(sdk)}</th>" for sdk in sdks) + "</tr>"
    else:
        yield '<tr><th rowspan="2">scenario</th>'
        yield "".join(f'<th colspan="{len(targets)}">{escape(sdk)}</th>' for sdk in sdks) + "</tr>"
        yield "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in targets) * len(sdks) + "</tr>"
    yield "</thead><tbody>"
    for id_ in dict.fromkeys(map(entry_id, table)):
        outcomes = [table.get(f"{id_}@{sdk}", {}).get(name) for sdk in sdks for name in targets]
        yield from _row(id_, content["entries"].get(id_, {}), outcomes)
    yield "</tbody></table>"


def _table(count: int) -> str:
    """Return the table's start tag, with equal column widths for all tables, even if the filter hides columns."""
    columns = f'<colgroup><col class="what">{"<col>" * count}</colgroup>'
    return f'<table class="outcomes" style="min-width: calc(28rem + {count} * 5rem)">{columns}'


def _by_id(outcomes: Iterable[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for each in outcomes:
        table.setdefault(each["id"], {})[each["target"]] = each
    return dict(sorted(table.items()))


def _row(id_: str, entry: dict[str, Any], outcomes: list[dict[str, Any] | None]) -> Iterator[str]:
    wrong = any(each is not None and not each["expected"] for each in outcomes)
    name = id_.partition(".")[2].replace("_", " ")
    yield f'<tr class="{"wrong" if wrong else "right"}"><td><b>{escape(name)}</b>'
    yield f" <small>{escape(entry.get('protocol', ''))}</small><br>{escape(entry.get('sentence', ''))}"
    yield f"<br><small>{escape(entry.get('source', ''))}</small></td>"
    yield "".join(map(_cell, outcomes)) + "</tr>"


def _cell(outcome: dict[str, Any] | None) -> str:
    if outcome is None:
        return '<td class="none"></td>'
    kind, word = _SIGNS.get(outcome["verdict"], ("bad", outcome["verdict"]))
    if outcome["expected"] and "reference" in outcome:
        kind, word = "known", f"as {outcome['truth']['version']}"
    seconds = "" if outcome["verdict"] == "not applicable" else f"<br><small>{outcome['seconds']:.2f} s</small>"
    title = f' title="{escape(outcome["reason"])}"' if outcome["reason"] else ""
    text = f'<a href="#{_anchor(outcome)}">{escape(word)}</a>' if _has_detail(outcome) else escape(word)
    return f'<td class="{kind}"{title}>{text}{seconds}</td>'


def _has_detail(outcome: dict[str, Any]) -> bool:
    return "seen" in outcome or (bool(outcome["reason"]) and outcome["verdict"] != "not applicable")


def _anchor(outcome: dict[str, Any]) -> str:
    return escape(f"{outcome['target']}-{outcome['id']}".replace(" ", "_"))


def _details(content: Document) -> Iterator[str]:
    shown = [each for each in content["outcomes"] if _has_detail(each)]
    if shown:
        yield "<h2>Differences</h2>"
    for each in sorted(shown, key=lambda outcome: (outcome["expected"], outcome["id"])):
        truth = each.get("truth")
        yield f'<details id="{_anchor(each)}"{"" if each["expected"] else " open"}>'
        yield f"<summary>{escape(each['id'])} on {escape(each['target'])}: {escape(each['verdict'])}</summary>"
        if each["reason"]:
            yield f"<p>{escape(each['reason'])}</p>"
        if "seen" in each:
            left_side = each.get("reference") if each["expected"] and "reference" in each else truth
            recorded = [] if left_side is None else left_side["seen"]
            about = "no record"
            if left_side is not None:
                about = f"recorded from {left_side['version']} on {left_side['date']}"
            yield f'<table class="sides"><thead><tr><th>{escape(about)}</th><th>seen</th></tr></thead><tbody>'
            for left, right in _side_by_side(recorded, each["seen"]):
                kind = "same" if left == right else "differs"
                yield f'<tr class="{kind}"><td>{_note(left)}</td><td>{_note(right)}</td></tr>'
            yield "</tbody></table>"
        yield "</details>"


def _side_by_side(recorded: list[Any], seen: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Pair the notes of two lists by position."""
    for number in range(max(len(recorded), len(seen))):
        left = recorded[number] if number < len(recorded) else None
        right = seen[number] if number < len(seen) else None
        yield left, right


def _note(note: Any) -> str:
    if note is None:
        return "<i>none</i>"
    value = json.dumps(note[1], ensure_ascii=False, indent=1, sort_keys=True)
    return f"<b>{escape(note[0])}</b><pre>{escape(value)}</pre>"
