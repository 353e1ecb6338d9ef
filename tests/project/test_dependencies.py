"""What the package depends on, and the page that says why."""

import re
import tomllib
from datetime import UTC, date, datetime
from pathlib import Path

import advisories

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ROW = re.compile(r"^\| (\S+)(?: \(extra `(\w+)`\))? \| (\S+) \| (.+) \|$", re.MULTILINE)
OF_USERS = ("speed", "conformance", "spark")
"""Extras that users install beside the runtime dependencies; the others are of whoever works on the project."""


def explained() -> dict[tuple[str, str], str]:
    """The table of ARCHITECTURE.md: the lower bound by package and extra."""
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("## Dependencies")[2].partition("\n## ")[0]
    rows = {(found[1], found[2] or ""): found[3] for found in ROW.finditer(text) if found[1] not in ("package", "---")}
    assert len(rows) >= 6
    return rows


def declared() -> dict[tuple[str, str], str]:
    """The same as pyproject.toml has it."""
    extras = PROJECT["optional-dependencies"]
    lists = {"": PROJECT["dependencies"], **{extra: extras[extra] for extra in OF_USERS}}
    return {
        (requirement.partition(">=")[0], extra): requirement.partition(">=")[2]
        for extra, requirements in lists.items()
        for requirement in requirements
    }


def test_every_dependency_has_its_reason() -> None:
    """The table has the packages and the lower bounds of pyproject.toml, and no others."""
    assert explained() == declared()


def test_what_the_client_side_needs_is_no_dependency() -> None:
    """grpcio comes with an extra: the emulator serves gRPC without it."""
    assert not any(requirement.startswith("grpcio") for requirement in PROJECT["dependencies"])


def test_no_bound_allows_a_version_with_an_advisory() -> None:
    """Except where the table says why the code in question never runs here."""
    assert [*advisories.left_open(advisories.bounds())] == []


def test_every_package_was_looked_up() -> None:
    """Each with a lower bound has advisories or is listed as one without, and the table says when that was."""
    known = {each.package for each in advisories.ADVISORIES} | set(advisories.NONE_KNOWN)
    assert set(advisories.bounds()) == known
    assert not {each.package for each in advisories.ADVISORIES} & set(advisories.NONE_KNOWN)
    assert date(2026, 11, 1) <= advisories.LOOKED_UP <= datetime.now(UTC).date()


def test_a_bound_that_is_too_low_is_named() -> None:
    """With the advisory, and with the version that fixes it."""
    (found,) = advisories.left_open({"orjson": "3.9.15"})
    assert found.startswith("orjson>=3.9.15 allows CVE-2025-67221 (")
    assert found.endswith("; raise it to 3.11.6")
    assert [*advisories.left_open({"Twisted": "24.7", "unknown": "0.1"})] == []
