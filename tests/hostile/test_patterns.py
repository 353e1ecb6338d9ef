"""Every regular expression of the product takes steps in proportion to its input."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from regex_steps import StepCounter, TooManyStepsError

pytestmark = pytest.mark.sampled

ROOT = Path(__file__).parents[2]
ROOMS = ("emulator", "remoting", "grpc_v2", "fixtures", "spark")
SEARCHING = {"search", "split", "sub", "subn", "findall", "finditer"}
FUNCTIONS = {"compile", "match", "fullmatch", *SEARCHING}
CALLS = re.compile(rf"\bre\s*\.\s*(?:{'|'.join(sorted(FUNCTIONS))})\b")
GIVEN_BY_USERS = {"emulator/faults/criteria.py", "emulator/faults/criterion_checks.py", "spark/options/option.py"}
"""Files that compile a pattern of a user, who harms only the user's own rule or Spark job."""

PUMPED = (
    *("a", "0", " ", "\n", "/", "*", "'", '"', "\\", ".", ",", "-", "+", "%", "=", "_", "|", ":", "e", "F", "\u00e4"),
    *("//", "/*", "*/", "/**/", "//\n", "--\n", "''", '\\"', "\\'", "0.", "1e", "1 ", " ,", "a.", "{a", "1s", "0:"),
)
POISONS = ("", "\x00", "\n/", "!")
PREFIXES = ("", "1", "java.a")
SHORT, LONG = 16, 32


@dataclass(frozen=True)
class Found:
    """A pattern in a file. `searched` is True if the code searches for it at every position of a text."""

    place: str
    pattern: "re.Pattern[str]"
    searched: bool


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node


def _patterns(path: Path) -> Iterator[Found]:
    place = str(path.relative_to(ROOT))
    text = path.read_text()
    if not CALLS.search(text):
        return
    tree = ast.parse(text)
    searches = {ast.unparse(c.func.value).rpartition(".")[2] for c in _calls(tree) if c.func.attr in SEARCHING}  # type: ignore[attr-defined]  # an attribute
    for node in ast.walk(tree):
        call = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else node
        if not isinstance(call, ast.Call) or ast.unparse(call.func) not in {f"re.{name}" for name in FUNCTIONS}:
            continue
        function = ast.unparse(call.func).removeprefix("re.")
        try:
            pattern = ast.literal_eval(call.args[0])
        except ValueError:
            assert place in GIVEN_BY_USERS, f"{place}:{call.lineno} compiles what this test cannot see"
            continue
        flags = [ast.unparse(each) for each in call.args[1:] if function == "compile"]
        names: set[str] = set()
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {ast.unparse(target) for target in targets}
        searched = function in SEARCHING or bool(names & searches)
        compiled = re.compile(pattern, eval(flags[0], {"re": re}) if flags else 0)
        yield Found(f"{place}:{call.lineno}", compiled, searched)


def every_pattern() -> list[Found]:
    """Return all patterns of the product.

    A pattern in an assignment is found twice and kept once, as searched if it is.
    """
    found: dict[str, Found] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for each in _patterns(path):
                if each.place not in found or each.searched:
                    found[each.place] = each
    return list(found.values())


def _steps(pattern: "re.Pattern[str]", work: Callable[[StepCounter, str], object], text: str) -> int:
    counter = StepCounter(pattern)
    try:
        work(counter, text)
    except TooManyStepsError:
        return 10**9
    return counter.steps


def hostile_growth(found: Found) -> Iterator[str]:
    """Texts whose doubling takes clearly more than twice the steps."""
    works: list[Callable[[StepCounter, str], object]] = [StepCounter.match, StepCounter.full_match]
    if found.searched:
        works.append(StepCounter.find_all)
    for prefix, pumped, poison in product(PREFIXES, PUMPED, POISONS):
        texts = [prefix + pumped * count + poison for count in (SHORT, LONG)]
        for work in works:
            short, long = (_steps(found.pattern, work, text) for text in texts)
            if long > 2.4 * short + 60:
                yield f"{prefix!r} + {pumped!r} * n + {poison!r}: {short} steps, then {long}"


@pytest.mark.parametrize("found", every_pattern(), ids=lambda found: found.place)
def test_the_steps_of_a_pattern_grow_linearly_with_its_text(found: Found) -> None:
    """Twice the text takes twice the steps, for any run of a fragment behind any beginning and before any end."""
    assert list(hostile_growth(found)) == []


def test_exponential_and_quadratic_patterns_are_detected() -> None:
    """An exponential nested repeat and a quadratic search for blanks around a comma are detected."""
    comments = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*(?:[{}]|[^\s{}/]+|$)", re.DOTALL)
    assert any(hostile_growth(Found("", comments, False)))
    assert any(hostile_growth(Found("", re.compile(r"\s*,\s*"), True)))
    assert not any(hostile_growth(Found("", re.compile(r"\s*,\s*"), False)))


def test_the_step_counter_matches_as_python_does() -> None:
    """The step counter matches like `re`, for every kind of pattern in the product."""
    patterns = (
        r"(?:a|ab)*c?",
        r"(?>a|ab)c",
        r"a{2,4}?b",
        r"(?:a*+b|a)*",
        r"(?:ab?)+?b\Z",
        r"a(?!b)|ab",
        r"[^b]|\Z|a$",
    )
    for pattern, text in product(patterns, map("".join, product("abc", repeat=5))):
        found = re.compile(pattern).match(text)
        assert StepCounter(re.compile(pattern)).match(text) == (found and found.end())
        assert StepCounter(re.compile(pattern)).full_match(text) == bool(re.compile(pattern).fullmatch(text))
