"""The page that lists every behavior."""

import re
from pathlib import Path

import pages
import pytest
from rocketmq_testkit.conformance import behaviour_page, explained
from rocketmq_testkit.conformance.case import Case, all_cases
from rocketmq_testkit.conformance.scenario import TRUTH_FOLDER, Scenario, all_scenarios
from rocketmq_testkit.conformance.truth import Truth

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (.*) \| `([a-z0-9_.]+)` \| (remoting|grpc|both) \| (.+) \| (.+) \|$", re.MULTILINE)
BYTES_MAX = 600 * 1024
"""Forges show larger files as plain text, or not at all."""


def made() -> str:
    """Return the page as it would be generated now."""
    return behaviour_page.page(Truth(), pages.test_files())


def rows_of(page: str) -> dict[str, tuple[str, str, str]]:
    """Return behavior, source and seen outcomes by the name of the test."""
    return {test: (behaviour, source, seen) for behaviour, test, _, source, seen in ROW.findall(page)}


def test_the_page_is_current() -> None:
    """`make pages` changes nothing."""
    here, new = (ROOT / "docs" / "behaviour.md").read_text().splitlines(), made().splitlines()
    # A short comparison: pytest's comparison of two long texts takes minutes.
    if here != new:
        before = rows_of("\n".join(here))
        changed = [test for test, row in rows_of("\n".join(new)).items() if before.get(test) != row]
        pytest.fail(f"cases, records or tests have changed: run `make pages`. Rows: {', '.join(changed[:3])}, ...")


def test_every_case_and_scenario_is_named_once() -> None:
    """Every case and scenario has one row with its sentence, its source and its seen outcomes."""
    page = made()
    known: dict[str, Case | Scenario] = {each.id: each for each in all_cases()}
    known |= {f"{TRUTH_FOLDER}.{each.id}": each for each in all_scenarios()}
    assert sorted(test for _, test, *_ in ROW.findall(page)) == sorted(known)
    for behaviour, test, protocol, source, seen in ROW.findall(page):
        assert protocol == (known[test].mark.protocol or "both"), test
        plain = behaviour.replace("\\", "").replace("&lt;", "<")
        assert plain.startswith(known[test].sentence), test
        assert source == known[test].mark.source, test
        assert re.match(r"5\.\d+\.\d+ .*\d{4}-\d\d-\d\d|not yet$", seen), test
        assert all(f"`{key}={value}`" in behaviour for key, value in known[test].mark.settings.items()), test


def test_every_record_is_named_with_its_version_and_day() -> None:
    """Every record of a case, or of a scenario and SDK, is listed with its version and date."""
    truth, rows = Truth(), rows_of(made())
    for version in truth.versions():
        for noun in truth.nouns(version):
            for name in truth.names(version, noun):
                record = truth.of(version, noun, name)
                assert record is not None
                test, _, sdk = name.partition("@")
                seen = rows[f"{noun.replace('/', '.')}.{test}"][2]
                assert any(
                    part.startswith(version) and record.date in part and (not sdk or re.search(rf"\b{sdk}(,|$)", part))
                    for part in seen.split("; ")
                ), (version, noun, name)


def test_every_difference_has_its_reason_there() -> None:
    """Every explained difference is in the row of its case, with its reason."""
    rows = rows_of(made())
    for table, said in ((explained.DELIBERATE, "**Here otherwise**"), (explained.GAPS, "**Not here yet**")):
        for name, reason in table.items():
            test, _, sdk = name.partition("@")
            row = rows[f"{TRUTH_FOLDER}.{test}" if sdk else test]
            assert f"{said}{f' with {sdk}' if sdk else ''}: {reason}." in row[0]


def test_links_lead_somewhere() -> None:
    """Links of the page lead to existing headings and files."""
    page = made()
    anchors = {heading.replace(" ", "-") for heading in re.findall(r"^## (.+)$", page, re.MULTILINE)}
    links = re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page)
    assert {anchor for file, anchor in links if not file} <= anchors
    assert [file for file, _ in links if file and not (ROOT / "docs" / file).is_file()] == []


def test_a_forge_can_show_it() -> None:
    """The page is small enough for forges to show it."""
    assert len(made().encode()) < BYTES_MAX


@pytest.mark.parametrize(
    ("noun", "files"),
    [
        ("pop", ["tests/behaviour/test_pop.py", "tests/emulator/pop/test_pop.py"]),
        (
            "pop_buffer",
            ["tests/behaviour/test_pop.py", "tests/emulator/pop/test_pop.py", "tests/emulator/pop/test_pop_buffer.py"],
        ),
        ("grpc_ack", ["tests/grpc_v2/test_ack.py"]),
        ("long_poll", ["tests/behaviour/test_long_polling.py"]),
        ("ack", ["tests/remoting/test_ack.py"]),
        ("tag", []),
    ],
)
def test_tests_belong_to_a_noun_by_their_names(noun: str, files: list[str]) -> None:
    """A test file belongs to a noun if every word of its name is part of the noun.

    Tests of one protocol belong only to nouns of that protocol.
    """
    known = [
        "tests/behaviour/test_long_polling.py",
        "tests/behaviour/test_pop.py",
        "tests/clients/test_pop.py",
        "tests/emulator/pop/test_pop.py",
        "tests/emulator/pop/test_pop_buffer.py",
        "tests/grpc_v2/test_ack.py",
        "tests/remoting/test_ack.py",
    ]
    assert list(behaviour_page.tests_of(noun, known)) == files
