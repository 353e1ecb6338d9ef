"""Reads the reports of test runs: totals, failures, unexpected skips, and one closing line."""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

EXPECTED_SKIPS: frozenset[str] = frozenset()
"""Tests that may be skipped, as `module::test`. Each needs a reason here; a missing toolchain is not a reason."""


@dataclass
class RunVerdict:
    """The results of all tests of one or several runs. `skipped` maps each test to its reason."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    expected_failures: int = 0
    _: KW_ONLY
    seconds: float = 0.0

    @property
    def unexpected(self) -> dict[str, str]:
        """The skipped tests that are not in EXPECTED_SKIPS."""
        return {name: why for name, why in self.skipped.items() if name not in EXPECTED_SKIPS}

    @property
    def good(self) -> bool:
        """True if a test passed, none failed, and none was skipped unexpectedly."""
        return self.passed > 0 and not self.failed and not self.unexpected

    def line(self, seconds: float | None = None) -> str:
        """Return the closing line in pytest's own form."""
        counts = (
            (len(self.failed), "failed"),
            (self.passed, "passed"),
            (len(self.skipped), "skipped"),
            (self.expected_failures, "xfailed"),
        )
        text = ", ".join(f"{count} {word}" for count, word in counts if count) or "no tests ran"
        return f" {text} in {self.seconds if seconds is None else seconds:.2f}s ".center(80, "=")


def read(files: Iterable[Path]) -> RunVerdict:
    """Return the verdict on JUnit files as pytest writes them. Raises ElementTree.ParseError for other files."""
    verdict = RunVerdict()
    for file in files:
        for case in ElementTree.parse(file).getroot().iter("testcase"):
            _count(case, verdict)
    return verdict


def unexpected_outcomes(file: Path) -> Iterator[str]:
    """Yield lines for the unexpected outcomes of a conformance run, so that the end of a log shows them.

    Outcomes that were expected only at a later attempt are listed as well.
    """
    if not file.is_file():
        return
    for outcome in json.loads(file.read_text())["outcomes"]:
        if outcome.get("earlier"):
            yield f"REPEATED {outcome['id']}: {' | '.join(outcome['earlier'])}"
        if not outcome["expected"]:
            yield f"{outcome['verdict'].upper()} {outcome['id']}: {outcome['reason']}".rstrip(": ")
            for what, seen in (("recorded", outcome.get("recorded", {}).get("seen")), ("seen", outcome.get("seen"))):
                if seen is not None:
                    yield f"    {what}: {json.dumps(seen, ensure_ascii=False)}"


def _count(case: ElementTree.Element, verdict: RunVerdict) -> None:
    name = f"{case.get('classname', '')}::{case.get('name', '')}"
    verdict.seconds += float(case.get("time", "0"))
    skip = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        verdict.failed.append(name)
    elif skip is None:
        verdict.passed += 1
    elif skip.get("type") == "pytest.xfail":
        verdict.expected_failures += 1
    else:
        verdict.skipped[name] = skip.get("message", "")
