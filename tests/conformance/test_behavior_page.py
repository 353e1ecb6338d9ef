"""The lists of every behavior, and their index in docs/."""

import re
from functools import cache
from pathlib import Path

import pages
import pytest
from rocketmq_testkit.conformance.case import Case
from rocketmq_testkit.conformance.discovery import all_cases, all_scenarios
from rocketmq_testkit.conformance.outcomes import known_differences
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.pages import behavior_page, version_page
from rocketmq_testkit.conformance.scenario import RECORDS_FOLDER, Scenario

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (.*) \| `([a-z0-9_.]+)` \| (remoting|grpc|both) \| (.+) \| (.+) \|$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]*)#?([^)]*)\)")
INDEX_BYTES_MAX = 40 * 1024
"""Limit of the index, which is to stay one short page."""


@cache
def made() -> dict[str, str]:
    """Return the lists as they would be built now, by file name."""
    return behavior_page.pages(RecordedOutcomes(), pages.test_files())


def rows() -> list[tuple[str, str, str, str, str]]:
    """Return behavior, test, protocol, source and record of all rows."""
    return ROW.findall("\n".join(made().values()))


def rows_by_test() -> dict[str, tuple[str, str, str]]:
    """Return behavior, source and record by the name of the test."""
    return {test: (behavior, source, seen) for behavior, test, _, source, seen in rows()}


def test_the_index_of_behaviors_is_current() -> None:
    """`make pages` changes nothing in docs/behavior.md."""
    page = (ROOT / "docs" / behavior_page.NAME).read_text()
    assert page == behavior_page.index(RecordedOutcomes()), (
        "cases, records or docstrings have changed: run `make pages`"
    )
    assert len(page.encode()) < INDEX_BYTES_MAX


def test_the_index_has_the_number_of_rows_of_each_list() -> None:
    """For each noun the index has the number of rows of its list, and it names every file that is built."""
    page = behavior_page.index(RecordedOutcomes(), site=True)
    counted = {
        (file, noun): int(count)
        for file, noun, count in re.findall(r"\(behavior/(.+)#(.+)\) \|.*\| (\d+) \|$", page, re.M)
    }
    found = {
        (file, section.partition("\n")[0]): len(ROW.findall(section))
        for file, text in made().items()
        for section in text.split("\n## ")[1:]
    }
    assert counted == found
    assert {file for file, _ in counted} == set(made())
    assert all(f"]({version_page.file_name(version)})" in page for version in version_page.versions(RecordedOutcomes()))


def test_docs_contains_only_the_index_of_behaviors() -> None:
    """docs/ contains only the index, not the lists, which would change with every case."""
    listed = [path.name for path in (ROOT / "docs").rglob("*") if path.name.startswith(("behavio", "differences-"))]
    assert listed == [behavior_page.NAME]


def test_every_case_and_scenario_has_one_row() -> None:
    """Every case and scenario has one row with its sentence, its source and its record, or `not yet`."""
    known: dict[str, Case | Scenario] = {each.id: each for each in all_cases()}
    known |= {f"{RECORDS_FOLDER}.{each.id}": each for each in all_scenarios()}
    assert sorted(test for _, test, *_ in rows()) == sorted(known)
    for behavior, test, protocol, source, seen in rows():
        assert protocol == (known[test].mark.protocol or "both"), test
        plain = behavior.replace("\\", "").replace("&lt;", "<")
        assert plain.startswith(known[test].sentence), test
        assert source == known[test].mark.source, test
        assert re.match(r"5\.\d+\.\d+ .*\d{4}-\d\d-\d\d|not yet$", seen), test
        assert all(f"`{key}={value}`" in behavior for key, value in known[test].mark.settings.items()), test


def test_the_lists_of_a_report_have_the_rows_of_all_pages() -> None:
    """One file has the rows of all pages, and one file per version its differences; no file has links."""
    found = behavior_page.lists(RecordedOutcomes())
    assert sorted(ROW.findall(found.pop(behavior_page.NAME))) == sorted(rows())
    assert list(found) == [version_page.file_name(version) for version in version_page.versions(RecordedOutcomes())]
    assert [LINK.findall(text) for text in found.values()] == [[]] * len(found)


def test_every_record_is_listed_with_its_version_and_date() -> None:
    records, found = RecordedOutcomes(), rows_by_test()
    for version in records.versions():
        for noun in records.nouns(version):
            for name in records.names(version, noun):
                record = records.record_of(version, noun, name)
                assert record is not None
                test, _, sdk = name.partition("@")
                seen = found[f"{noun.replace('/', '.')}.{test}"][2]
                assert any(
                    part.startswith(version) and record.date in part and (not sdk or re.search(rf"\b{sdk}(,|$)", part))
                    for part in seen.split("; ")
                ), (version, noun, name)


def test_every_explained_difference_is_in_the_row_of_its_case_with_its_reason() -> None:
    found = rows_by_test()
    for table, said in (
        (known_differences.DELIBERATE, "**Emulator differs**"),
        (known_differences.GAPS, "**Not implemented yet**"),
    ):
        for name, reason in table.items():
            test, _, sdk = name.partition("@")
            row = found[f"{RECORDS_FOLDER}.{test}" if sdk else test]
            assert f"{said}{f' with {sdk}' if sdk else ''}: {reason}." in row[0]


def test_links_of_index_and_lists_lead_to_existing_files_or_built_pages() -> None:
    built = {version_page.file_name(version) for version in version_page.versions(RecordedOutcomes())}
    texts = {"": behavior_page.index(RecordedOutcomes())} | {
        f"{behavior_page.FOLDER}/{file}": text for file, text in made().items()
    }
    for name, text in texts.items():
        folder = (ROOT / "docs" / name).parent if name else ROOT / "docs"
        targets = {target for target, _ in LINK.findall(text)}
        missing = {target for target in targets if not (folder / ".." / folder.name / target).resolve().is_file()}
        assert {Path(target).name for target in missing} <= built, name


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
def test_a_test_file_belongs_to_a_noun_that_has_all_words_of_its_name(noun: str, files: list[str]) -> None:
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
    assert list(behavior_page.tests_of(noun, known)) == files
