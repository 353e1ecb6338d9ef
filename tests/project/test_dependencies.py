"""The dependencies of the package, and the page with their reasons."""

import re
import tomllib
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import advisories
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ROW = re.compile(r"^\| (\S+)(?: \(extra `(\w+)`\))? \| (\S+) \| (.+) \|$", re.MULTILINE)
OF_USERS = ("speed", "yaml", "html", "conformance", "spark")
"""Extras that users install in addition to the runtime dependencies; the others are for development."""


def explained() -> dict[tuple[str, str], str]:
    """Return the table of ARCHITECTURE.md: (package, extra) -> lower bound."""
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("## Dependencies")[2].partition("\n## ")[0]
    rows = {(found[1], found[2] or ""): found[3] for found in ROW.finditer(text) if found[1] not in ("package", "---")}
    assert len(rows) >= 6
    return rows


def declared() -> dict[tuple[str, str], str]:
    """Return the lower bounds of pyproject.toml: (package, extra) -> lower bound."""
    extras = PROJECT["optional-dependencies"]
    lists = {"": PROJECT["dependencies"], **{extra: extras[extra] for extra in OF_USERS}}
    return {
        (requirement.partition(">=")[0], extra): requirement.partition(">=")[2]
        for extra, requirements in lists.items()
        for requirement in requirements
    }


def test_every_dependency_and_its_bound_are_in_the_table_of_reasons() -> None:
    """The table has the packages and the lower bounds of pyproject.toml, and no others."""
    assert explained() == declared()


def test_grpcio_is_no_runtime_dependency() -> None:
    """grpcio is not a runtime dependency: the emulator serves gRPC without it."""
    assert not any(requirement.startswith("grpcio") for requirement in PROJECT["dependencies"])


def test_no_bound_allows_a_version_with_an_advisory() -> None:
    """No lower bound allows a version with an advisory, unless the table says why its code never runs here."""
    assert [*advisories.left_open(advisories.bounds())] == []


def test_every_package_has_advisories_or_is_listed_without() -> None:
    """Each package with a lower bound has advisories or is listed as one without."""
    known = {each.package for each in advisories.ADVISORIES} | set(advisories.NONE_KNOWN)
    assert set(advisories.bounds()) == known
    assert not {each.package for each in advisories.ADVISORIES} & set(advisories.NONE_KNOWN)


def test_the_advisories_were_looked_up_within_half_a_year() -> None:
    """A table that is older than half a year fails with a sentence that says how to renew it."""
    assert [*advisories.outdated(datetime.now(UTC).date())] == []


@pytest.mark.parametrize(("days", "wrong"), [(0, None), (180, None), (181, "181 days ago"), (-1, "after today")])
def test_an_old_table_of_advisories_is_reported_with_the_way_to_renew_it(days: int, wrong: str | None) -> None:
    today = date(2027, 5, 1)
    looked_up = today - timedelta(days=days)
    found = [*advisories.outdated(today, looked_up)]
    assert len(found) == (wrong is not None)
    for sentence in found:
        assert sentence.startswith(f"LOOKED_UP={looked_up}: {wrong}; ")
        assert sentence.endswith("renew ADVISORIES and NONE_KNOWN, and set it to 2027-05-01")


def test_a_lower_bound_that_allows_an_advisory_is_reported() -> None:
    """A lower bound that allows an advisory is reported with the advisory and the fixed version."""
    (found,) = advisories.left_open({"orjson": "3.9.15"})
    assert found.startswith("orjson>=3.9.15 allows CVE-2025-67221 (")
    assert found.endswith("; raise it to 3.11.6")
    assert [*advisories.left_open({"Twisted": "24.7", "unknown": "0.1"})] == []
