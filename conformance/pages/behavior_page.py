"""Pages of all behaviors that cases and scenarios show, made from sentences, records and explained differences.

`index` is one page of counts, docs/behavior.md, which `make pages` writes. `pages` are the full lists for the
documentation site: one page for each room of cases, and one for the scenarios. `lists` are the same in one file, with
the differences of other versions, for the report of a run.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import ModuleType

from rocketmq_testkit.emulator.faults.upstream_defects import needed_for

from .. import cases, scenarios
from ..case import Case, cases_of
from ..deployment.target import REFERENCE_VERSION
from ..discovery import modules_of, noun_of
from ..outcomes.known_differences import DELIBERATE, GAPS
from ..outcomes.recorded_outcomes import RecordedOutcomes
from ..scenario import RECORDS_FOLDER, Scenario, scenarios_of
from . import version_page

NAME = "behavior.md"
"""File of the index, and of the whole list beside a report."""
FOLDER = "behavior"
"""Folder of the full lists in the documentation site."""
_COUNTS = """\
{cases} cases, which send requests themselves, and {scenarios} scenarios, which run through SDKs, compare the emulator
with recorded outcomes of Apache RocketMQ {reference}."""
INDEX_HEAD = """\
# Behaviors compared with a real broker

Made by `make pages` from the [conformance suite](conformance.md).

{counts}

The full list has one row for each behavior: the test that shows it, upstream's class and method, and the version and
date of the record. `make docs` builds it into the documentation site. `rocketmq-conformance run --report DIR` writes it
to `DIR/behavior.md`.

The emulator differs from {reference} permanently in {deliberate} outcomes; the full list states the reason of each, and
the [defects of upstream](conformance.md#defects-of-upstream) that cause the recorded outcome. With these defects on,
the emulator differs in none.
"""
LIST_HEAD = """\
Each row is one behavior:

- **behavior**: the statement, and in parentheses the keys of `broker.conf` that it requires beyond those of the suite
  (`second-broker.` marks a key of a second broker),
- **test**: the case or scenario that shows it,
- **protocol**: the protocol that it uses,
- **upstream**: the class and method of upstream that it comes from,
- **observed**: the version of the real broker and the day of its record; for scenarios with each SDK that can express
  them. *differs* marks a version that behaves differently ({differences}).

Run a test by its name against the emulator or against
[your own broker](conformance.md#run-against-your-own-broker): `rocketmq-conformance run -k NAME`. A scenario
also needs `--sdk all` or the names of SDKs. Where the emulator differs from {reference} permanently, the reason follows
**Emulator differs**, and the defects that faults can switch on follow **Defect**.
"""
VERSIONS_HEAD = """\
## Other versions

The emulator behaves as {reference}, so it differs from another version as {reference} does. The page
`differences-VERSION.md` lists these differences. It is built and written together with the full list of behaviors.

| version | cases that differ | pairs of scenario and SDK that differ |
|---|---:|---:|
"""
_COLUMNS = "| behavior | test | protocol | upstream | observed |\n|---|---|---|---|---|"
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_BOTH = "both"
_OF_BOTH_PROTOCOLS = ("behaviour", "emulator")
"""Folders in `tests/` whose tests belong to cases of either protocol."""
_ENDINGS = ("ing", "ed", "s")


def index(records: RecordedOutcomes, *, site: bool = False) -> str:
    """Render the index: the rooms of cases with their nouns, the scenarios, other versions. Raises CaseError.

    Nouns link to their sources, on the site to the pages of `pages`.
    """
    parts = [
        INDEX_HEAD.format(counts=_counts(), reference=REFERENCE_VERSION, deliberate=len(DELIBERATE)),
    ]
    for room, modules in _rooms().items():
        rows = [_index_row(module, room, len(cases_of(module)), site) for module in modules]
        parts.append(f"## {room}\n\n{_about_room(room)}\n\n" + _index_table("cases", rows))
    rows = [_index_row(module, RECORDS_FOLDER, len(scenarios_of(module)), site) for module in modules_of(scenarios)]
    parts.append("## Scenarios\n\n" + _index_table("scenarios", rows))
    parts.append(VERSIONS_HEAD.format(reference=REFERENCE_VERSION) + "\n".join(_version_rows(records, site)) + "\n")
    return "\n".join(parts)


def pages(records: RecordedOutcomes, tests: Sequence[str]) -> dict[str, str]:
    """Render the full lists by file name inside FOLDER. Raises CaseError.

    `tests`: paths of all test files, relative to the folder that contains docs/.
    """
    found = {}
    for room, modules in _rooms().items():
        sections = [_cases(module, records, tests) for module in modules]
        found[f"{room}.md"] = "\n".join((f"# Behaviors: {room}\n", f"{_about_room(room)}\n", _head("../"), *sections))
    sections = [_stories(module, records, tests) for module in modules_of(scenarios)]
    found[f"{RECORDS_FOLDER}.md"] = "\n".join(("# Behaviors: scenarios\n", _head("../"), *sections))
    return found


def whole(records: RecordedOutcomes) -> str:
    """Render all lists as one page, without links to sources. Raises CaseError."""
    parts = ["# Behaviors compared with a real broker\n", f"{_counts()}\n", _head("")]
    for modules in _rooms().values():
        parts += [_cases(module, records, (), links=False) for module in modules]
    parts += [_stories(module, records, (), links=False) for module in modules_of(scenarios)]
    return "\n".join(parts)


def lists(records: RecordedOutcomes) -> dict[str, str]:
    """Render the files that a run writes beside its report, by name and without links. Raises CaseError."""
    texts = {NAME: whole(records)}
    for version in version_page.versions(records):
        texts[version_page.file_name(version)] = version_page.page(version, records)
    return {name: _LINK.sub(r"\1", text) for name, text in texts.items()}


def _rooms() -> dict[str, list[ModuleType]]:
    """Modules of cases by the name of their room, in order of names."""
    rooms: dict[str, list[ModuleType]] = {}
    for module in modules_of(cases):
        rooms.setdefault(module.__name__.split(".")[-2], []).append(module)
    return dict(sorted(rooms.items()))


def _counts() -> str:
    of_cases = sum(len(cases_of(module)) for module in modules_of(cases))
    of_scenarios = sum(len(scenarios_of(module)) for module in modules_of(scenarios))
    return _COUNTS.format(cases=of_cases, scenarios=of_scenarios, reference=REFERENCE_VERSION)


def _head(up: str) -> str:
    """Return the text above a full list; `up` is the path from its folder to docs/."""
    versions = version_page.versions(RecordedOutcomes())
    links = " and ".join(f"[{name}]({up}{name})" for name in map(version_page.file_name, versions))
    differences = links or "no other version is recorded"
    return LIST_HEAD.format(differences=differences, reference=REFERENCE_VERSION).replace(
        "(conformance.md", f"({up}conformance.md"
    )


def _about_room(room: str) -> str:
    """Return the first sentence of a room's docstring."""
    return _about(sys.modules[f"{cases.__name__}.{room}"])


def _index_row(module: ModuleType, room: str, count: int, site: bool) -> str:
    noun = noun_of(module)
    target = f"{FOLDER}/{room}.md#{noun}" if site else f"../{_source(module)}"
    return f"| [{noun}]({target}) | {_about(module)} | {count} |"


def _index_table(what: str, rows: Iterable[str]) -> str:
    return "\n".join((f"| file | content | {what} |\n|---|---|---:|", *rows, ""))


def _version_rows(records: RecordedOutcomes, site: bool) -> Iterator[str]:
    for version in version_page.versions(records):
        of_cases, of_scenarios = version_page.counts(version, records)
        shown = f"[{version}]({version_page.file_name(version)})" if site else version
        yield f"| {shown} | {of_cases} | {of_scenarios} |"


def _source(module: ModuleType) -> str:
    """Return the path of a module's file from the folder that contains docs/."""
    return "/".join(module.__name__.split(".")[1:]) + ".py"


def _about(module: ModuleType) -> str:
    """Return the first sentence of a module's docstring."""
    first, dot, _ = " ".join((module.__doc__ or "").split()).partition(". ")
    return _escaped(f"{first}." if dot else first)


def _cases(module: ModuleType, records: RecordedOutcomes, tests: Sequence[str], *, links: bool = True) -> str:
    rows = [_row(case, [_note(case.id)], _seen(records, case.noun, {case.name: ""})) for case in cases_of(module)]
    return _section(noun_of(module), module, rows, tests, links=links)


def _stories(module: ModuleType, records: RecordedOutcomes, tests: Sequence[str], *, links: bool = True) -> str:
    rows = [_row_of_scenario(each, records) for each in scenarios_of(module)]
    title = noun_of(module) if links else f"scenarios of {noun_of(module)}"
    return _section(title, module, rows, tests, links=links)


def _section(title: str, module: ModuleType, rows: Iterable[str], tests: Sequence[str], *, links: bool) -> str:
    parts = [f"## {title}\n", f"{_about(module)} [Source](../../{_source(module)})." if links else _about(module)]
    if found := list(tests_of(noun_of(module), tests)):
        names = ", ".join(f"[{PurePath(*PurePath(path).parts[1:])}](../../{path})" for path in found)
        parts.append(f"Tests of the emulator alone: {names}.")
    return "\n".join((*parts, "", _COLUMNS, *rows, ""))


def tests_of(noun: str, tests: Iterable[str]) -> Iterator[str]:
    """Yield the test files named after a noun: every word of the file name is a word of the noun, ignoring endings."""
    words = {_stem(word) for word in noun.split("_")}
    protocol = "grpc_v2" if noun.startswith("grpc_") else "remoting"
    for path in tests:
        folder, name = PurePath(path).parts[1], PurePath(path).stem.removeprefix("test_")
        if folder in (*_OF_BOTH_PROTOCOLS, protocol) and {_stem(word) for word in name.split("_")} <= words:
            yield path


def _stem(word: str) -> str:
    return next((word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)), word)


def _row_of_scenario(each: Scenario, records: RecordedOutcomes) -> str:
    file = f"{RECORDS_FOLDER}/{each.noun}"
    names = {name for version in records.versions() for name in records.names(version, file)}
    sdks = {name: name.partition("@")[2] for name in sorted(names) if name.partition("@")[0] == each.name}
    notes = [_note(each.id), *(_note(each.id_with(sdk), sdk) for sdk in sdks.values())]
    notes += [f"Without {sdk}: {_escaped(reason)}." for sdk, reason in each.mark.without.items()]
    return _row(each, notes, _seen(records, file, sdks))


def _row(each: Case | Scenario, notes: Iterable[str], seen: str) -> str:
    keys = each.mark.real_settings if isinstance(each, Case) else each.mark.settings
    settings = ", ".join(f"`{key}={value}`" for key, value in keys.items())
    behavior = " ".join(filter(None, (_escaped(each.sentence), settings and f"({settings})", *notes)))
    name = f"{RECORDS_FOLDER}.{each.id}" if isinstance(each, Scenario) else each.id
    return f"| {behavior} | `{name}` | {each.mark.protocol or _BOTH} | {_escaped(each.mark.source)} | {seen} |"


def _note(outcome_id: str, sdk: str = "") -> str:
    """Explain why the emulator deviates, or which feature it still lacks."""
    who = f" with {sdk}" if sdk else ""
    if reason := DELIBERATE.get(outcome_id):
        defects = ", ".join(f"`{each.name}`" for each in needed_for(outcome_id))
        return f"**Emulator differs**{who}: {_escaped(reason)}. **Defect**: {defects}."
    gap = GAPS.get(outcome_id)
    return f"**Not implemented yet**{who}: {_escaped(gap)}." if gap else ""


def _seen(records: RecordedOutcomes, file: str, names: Mapping[str, str]) -> str:
    """Versions and days of records. `names`: names of the records, with their SDKs."""
    parts = []
    for version in sorted(records.versions(), key=lambda each: (each != REFERENCE_VERSION, each)):
        days: dict[str, list[str]] = {}
        for name, sdk in names.items():
            record = records.record_of(version, file, name)
            if record is not None and record.version == version:
                days.setdefault(record.date, []).append(sdk)
        said = version if version == REFERENCE_VERSION else f"{version} *differs*"
        parts += [f"{said} {date} {', '.join(days[date])}".rstrip() for date in sorted(days)]
    return "; ".join(parts) or "not yet"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("\n", " ")
