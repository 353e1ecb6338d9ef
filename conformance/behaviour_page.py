"""Page of every behavior that a case or a scenario shows, made from their sentences, records and explained differences.

`make pages` writes docs/behaviour.md; a test compares the file with this module.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import ModuleType

from . import cases, scenarios
from .case import Case, cases_of, modules_of
from .explained import DELIBERATE, GAPS
from .scenario import TRUTH_FOLDER, Scenario, scenarios_of
from .targets.target import REFERENCE_VERSION
from .truth import Truth

HEAD = """\
# What a broker does, behaviour by behaviour

Made by `make pages` from the [conformance suite](conformance.md): {cases} cases, which speak to a broker by themselves,
and {scenarios} scenarios, which are stories of applications and go through SDKs.

Each row is one behaviour: what is true; the keys of `broker.conf` that it takes, where they are not those that the
suite always has (`beside.` is a second broker's); the test that shows it, and by which protocol; class and method of
upstream that it comes from; and the version and day of the real broker that was seen doing it, of scenarios with each
SDK that can express them. A second version is one that does *otherwise*; how, is in {differences}.

By its name the test is run against the emulator, or against a
[broker of yours](conformance.md#run-against-your-own-broker): `rocketmq-conformance run -k NAME`, a scenario
with `--sdk all` or the names of some. Where the emulator does something else than {reference} for ever, as in
{deliberate} rows, the reason stands behind **Here otherwise**.
"""
_COLUMNS = "| behaviour | test | protocol | upstream | seen |\n|---|---|---|---|---|"
_BOTH = "both"
_EITHER = ("behaviour", "emulator")
"""Folders of tests that need no network."""
_ENDINGS = ("ing", "ed", "s")


def page(truth: Truth, tests: Sequence[str]) -> str:
    """Render the whole page. Raises CaseError.

    `tests`: paths of all test files, relative to the folder that contains docs/.
    """
    of_cases = {module: cases_of(module) for module in modules_of(cases)}
    of_scenarios = {module: scenarios_of(module) for module in modules_of(scenarios)}
    parts = [_head(truth, sum(map(len, of_cases.values())), sum(map(len, of_scenarios.values())))]
    parts.append(_contents("Cases", {module: (_noun(module), len(found)) for module, found in of_cases.items()}))
    parts.append(
        _contents("Scenarios", {module: (_of_scenarios(module), len(found)) for module, found in of_scenarios.items()})
    )
    for module, mine in of_cases.items():
        rows = [_row(case, [_note(case.id)], _seen(truth, case.noun, {case.name: ""})) for case in mine]
        parts.append(_section(_noun(module), "cases", module, rows, tests))
    for module, stories in of_scenarios.items():
        rows = [_row_of_scenario(each, truth) for each in stories]
        parts.append(_section(_of_scenarios(module), "scenarios", module, rows, tests))
    return "\n".join(parts)


def _head(truth: Truth, cases: int, scenarios: int) -> str:
    others = [version for version in truth.versions() if version != REFERENCE_VERSION]
    links = " and ".join(f"[differences-{version}.md](differences-{version}.md)" for version in others)
    return HEAD.format(
        cases=cases,
        scenarios=scenarios,
        differences=links or "no page yet",
        reference=REFERENCE_VERSION,
        deliberate=len(DELIBERATE),
    )


def _noun(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _of_scenarios(module: ModuleType) -> str:
    return f"scenarios of {_noun(module)}"


def _about(module: ModuleType) -> str:
    """Return the first sentence of a module's docstring."""
    first, dot, _ = " ".join((module.__doc__ or "").split()).partition(". ")
    return _escaped(f"{first}." if dot else first)


def _contents(heading: str, modules: Mapping[ModuleType, tuple[str, int]]) -> str:
    rows = [
        f"| [{title}](#{title.replace(' ', '-')}) | {_about(module)} | {count} |"
        for module, (title, count) in modules.items()
    ]
    return "\n".join((f"## {heading}\n", "| noun | what | rows |\n|---|---|---:|", *rows, ""))


def _section(title: str, folder: str, module: ModuleType, rows: Iterable[str], tests: Sequence[str]) -> str:
    noun = _noun(module)
    parts = [f"## {title}\n", f"{_about(module)} [Source](../conformance/{folder}/{noun}.py)."]
    if found := list(tests_of(noun, tests)):
        links = ", ".join(f"[{PurePath(*PurePath(path).parts[1:])}](../{path})" for path in found)
        parts.append(f"Tests of the same noun, without a broker beside them: {links}.")
    return "\n".join((*parts, "", _COLUMNS, *rows, ""))


def tests_of(noun: str, tests: Iterable[str]) -> Iterator[str]:
    """Yield the test files named after a noun: every word of the file name is a word of the noun, ignoring endings."""
    words = {_stem(word) for word in noun.split("_")}
    protocol = "grpc_v2" if noun.startswith("grpc_") else "remoting"
    for path in tests:
        folder, name = PurePath(path).parent.name, PurePath(path).stem.removeprefix("test_")
        if folder in (*_EITHER, protocol) and {_stem(word) for word in name.split("_")} <= words:
            yield path


def _stem(word: str) -> str:
    return next((word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)), word)


def _row_of_scenario(each: Scenario, truth: Truth) -> str:
    file = f"{TRUTH_FOLDER}/{each.noun}"
    names = {name for version in truth.versions() for name in truth.names(version, file)}
    sdks = {name: name.partition("@")[2] for name in sorted(names) if name.partition("@")[0] == each.name}
    notes = [_note(each.id), *(_note(each.id_with(sdk), sdk) for sdk in sdks.values())]
    notes += [f"Without {sdk}: {_escaped(reason)}." for sdk, reason in each.mark.without.items()]
    return _row(each, notes, _seen(truth, file, sdks))


def _row(each: Case | Scenario, notes: Iterable[str], seen: str) -> str:
    settings = ", ".join(f"`{key}={value}`" for key, value in each.mark.settings.items())
    behaviour = " ".join(filter(None, (_escaped(each.sentence), settings and f"({settings})", *notes)))
    name = f"{TRUTH_FOLDER}.{each.id}" if isinstance(each, Scenario) else each.id
    return f"| {behaviour} | `{name}` | {each.mark.protocol or _BOTH} | {_escaped(each.mark.source)} | {seen} |"


def _note(outcome_id: str, sdk: str = "") -> str:
    """Explain why the emulator deviates, or which feature it still lacks."""
    who = f" with {sdk}" if sdk else ""
    if reason := DELIBERATE.get(outcome_id):
        return f"**Here otherwise**{who}: {_escaped(reason)}."
    gap = GAPS.get(outcome_id)
    return f"**Not here yet**{who}: {_escaped(gap)}." if gap else ""


def _seen(truth: Truth, file: str, names: Mapping[str, str]) -> str:
    """Versions and days of records. `names`: names of the records, with their SDKs."""
    parts = []
    for version in sorted(truth.versions(), key=lambda each: (each != REFERENCE_VERSION, each)):
        days: dict[str, list[str]] = {}
        for name, sdk in names.items():
            record = truth.of(version, file, name)
            if record is not None and record.version == version:
                days.setdefault(record.date, []).append(sdk)
        said = version if version == REFERENCE_VERSION else f"{version} *otherwise*"
        parts += [f"{said} {date} {', '.join(days[date])}".rstrip() for date in sorted(days)]
    return "; ".join(parts) or "not yet"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("\n", " ")
