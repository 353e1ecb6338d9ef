"""The page with the differences of another RocketMQ version from the reference version."""

from pathlib import Path

import pytest
from rocketmq_testkit.conformance.discovery import all_cases, all_scenarios
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import Notes, RecordedOutcomes
from rocketmq_testkit.conformance.pages.version_page import changes, counts, page, versions
from rocketmq_testkit.conformance.scenario import record_key


def rows(here: Notes, there: Notes) -> list[tuple[str, str, str]]:
    """Return the rows for the differences between two lists of notes: (label and path, here, there)."""
    return [(": ".join(each.path), each.before, each.after) for each in changes(here, there)]


def table(tmp_path: Path, here: Notes, there: Notes) -> list[str]:
    """Return the rows of a page with one case."""
    records = RecordedOutcomes(tmp_path)
    records.store("5.3.3", "send", {"a_case": here}, "2026-01-31")
    records.store("9.9.9", "send", {"a_case": there}, "2026-01-31")
    assert versions(records) == ["9.9.9"]
    return page("9.9.9", records).rpartition("|---|---|---|---|\n")[2].splitlines()


@pytest.mark.parametrize("version", versions(RecordedOutcomes()))
def test_the_page_has_every_record_of_the_version(version: str) -> None:
    """Each case and scenario with a different record of the version has a row under the heading of its noun."""
    records = RecordedOutcomes()
    sections = {text.partition("\n")[0]: text for text in page(version, records).split("\n## ")[1:]}
    for noun in records.nouns(version):
        heading = noun.replace("scenarios/", "scenarios of ")
        named = [name for name in records.names(version, noun) if f"\n| {name} | " not in sections[heading]]
        assert named == [], noun
    of_cases, of_scenarios = counts(version, records)
    assert f"{of_cases} cases and {of_scenarios} pairs of scenario and SDK differ." in page(version, records)


def test_records_of_other_versions_belong_to_existing_cases_and_sdks() -> None:
    """Records of other versions belong to existing cases, scenarios and SDKs."""
    known = {(each.noun, each.name) for each in all_cases()}
    known |= {record_key(each.id_with(sdk)) for each in all_scenarios() for sdk in registry.names()}
    records = RecordedOutcomes()
    recorded = {
        (noun, name)
        for version in versions(records)
        for noun in records.nouns(version)
        for name in records.names(version, noun)
    }
    assert recorded - known == set()


def test_a_change_is_shown_by_its_path_through_keys_and_lists() -> None:
    """A change is shown by its path through keys and long lists; equal parts are not shown."""
    here = [("sent", {"code": 0, "ext": {"id": "x"}}), ("all", [{"body": "b" * 99, "tag": None}, {}])]
    there = [("sent", {"code": 29, "ext": {"id": "x", "new": "n"}}), ("all", [{"body": "b" * 99}, {}])]
    assert rows(here, there) == [
        ("sent: code", "`0`", "`29`"),
        ("sent: ext: new", "—", '`"n"`'),
        ("all: 0: tag", "`null`", "—"),
    ]


def test_values_without_anything_in_common_are_shown_whole() -> None:
    """Values without anything in common are shown whole; members of an empty object are shown as missing."""
    here: Notes = [("settings", {"fifo": True}), ("properties", {"A": "1", "B": "2"})]
    assert rows(here, [("settings", {"grpc": "INTERNAL"}), ("properties", {})]) == [
        ("settings", '`{"fifo": true}`', '`{"grpc": "INTERNAL"}`'),
        ("properties: A", '`"1"`', "—"),
        ("properties: B", '`"2"`', "—"),
    ]


def test_a_short_list_is_shown_as_one_value() -> None:
    assert rows([("queues", [0, 1, 2])], [("queues", [2, 1, 0])]) == [("queues", "`[0, 1, 2]`", "`[2, 1, 0]`")]


def test_of_long_lists_of_names_only_names_in_one_list_are_shown() -> None:
    names = [f"name {number}" for number in range(20)]
    assert rows([("names", names)], [("names", [*names[1:], "new", "newer"])]) == [
        ("names: only here", '`["name 0"]`', '`["new", "newer"]`')
    ]


def test_notes_are_matched_by_their_labels() -> None:
    """Notes are matched by their labels, so that an additional note changes nothing behind it."""
    here: Notes = [("sent", 0), ("between", 1), ("pulled", 19)]
    assert rows(here, [("sent", 0), ("pulled", 26)]) == [("between", "`1`", "—"), ("pulled", "`19`", "`26`")]
    assert rows(here, [("sent", 0), ("given up", "why")]) == [
        ("between", "`1`", "—"),
        ("pulled", "`19`", "—"),
        ("given up", "—", '`"why"`'),
    ]


def test_long_values_are_cut() -> None:
    """Long values are cut: repeated characters to three, other text to its two ends."""
    [(_, before, after)] = rows([("name", "g" * 200)], [("name", "".join(map(str, range(200))))])
    assert before == '`"ggg…"`'
    assert len(after) < 150
    assert after.startswith('`"0123')
    assert after.endswith('198199"`')


def test_bars_stars_and_line_breaks_in_a_row_are_escaped(tmp_path: Path) -> None:
    """Bars, stars and line breaks of notes are escaped, so that they do not end a cell; the case is named once."""
    label = "a|b*\nc"
    assert table(tmp_path, [(label, "x|y"), ("z", 1)], [(label, "x"), ("z", 2)]) == [
        '| a_case | a\\|b\\* c | `"x\\|y"` | `"x"` |',
        "|  | z | `1` | `2` |",
    ]


def test_an_equal_change_at_several_places_of_a_list_is_one_row(tmp_path: Path) -> None:
    here = [("all", [{"body": "b" * 50, "properties": {"A": "1"}} for _ in range(3)])]
    there = [("all", [{"body": "b" * 50, "properties": {}} for _ in range(3)])]
    assert table(tmp_path, here, there) == ['| a_case | all: \\*: properties: A | `"1"` | — |']


def test_an_equal_change_at_many_labels_is_one_row(tmp_path: Path) -> None:
    """An equal change at many labels is one row, at the place of the first, with three labels and a count of others."""
    here: Notes = [(label, {"code": 0, "version": 1}) for label in "abcde"]
    there: Notes = [(label, {"code": 0, "version": 2}) for label in "abcde"]
    assert table(tmp_path, here, there) == ["| a_case | a, b, c and 2 more: version | `1` | `2` |"]


def test_a_change_in_several_cases_is_listed_first_with_its_count(tmp_path: Path) -> None:
    """A change in several cases is listed first with its number of cases; numbers in names do not matter."""
    records = RecordedOutcomes(tmp_path)
    names = ("one", "two", "three")
    records.store("5.3.3", "pop", {name: [("copies", {"body": "x"})] for name in names}, "2026-01-31")
    copies = {name: [("copies", {"body": "x", "G": f"{{group {number}}}"})] for number, name in enumerate(names)}
    records.store("9.9.9", "pop", copies, "2026-01-31")
    text = page("9.9.9", records)
    assert "3 cases and 0 pairs of scenario and SDK differ.\n" in text
    assert '| G | — | `"{group}"` | 3 |\n' in text
