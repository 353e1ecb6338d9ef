"""Files of records, which hold the outcomes of real brokers."""

import json
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import FOLDER, RecordedOutcomes, RecordedOutcomesError

NOTES = [("sent", {"code": 0}), ("pulled", [1, "é"])]
OTHER = [("sent", {"code": 29})]


def test_a_stored_record_is_read_again_with_notes_version_and_date(tmp_path: Path) -> None:
    RecordedOutcomes(tmp_path).store("5.3.3", "send", {"a": NOTES}, "2026-01-31")
    record = RecordedOutcomes(tmp_path).record_of("5.3.3", "send", "a")
    assert record is not None
    assert (record.version, record.date, record.notes) == ("5.3.3", "2026-01-31", NOTES)
    assert RecordedOutcomes(tmp_path).record_of("5.3.3", "send", "b") is None


def test_another_version_has_records_only_where_it_differs(tmp_path: Path) -> None:
    """Another version has records only where it differs from the reference; a record without difference is removed."""
    records = RecordedOutcomes(tmp_path)
    records.store("5.3.3", "send", {"a": NOTES, "b": NOTES}, "2026-01-31")
    assert records.store("5.5.0", "send", {"a": NOTES, "b": OTHER}, "2026-02-01") == ["b"]
    assert records.names("5.5.0", "send") == ["b"]
    same, other = records.record_of("5.5.0", "send", "a"), records.record_of("5.5.0", "send", "b")
    assert same is not None
    assert other is not None
    assert (same.version, other.version) == ("5.3.3", "5.5.0")
    assert records.reference(same, "send", "a") is None
    reference = records.reference(other, "send", "b")
    assert reference is not None
    assert reference.notes == NOTES
    assert records.store("5.5.0", "send", {"b": NOTES}, "2026-02-02") == ["b"]
    assert not (tmp_path / "5.5.0" / "send.json").exists()


def test_a_record_keeps_its_date_unless_its_notes_change(tmp_path: Path) -> None:
    """A record keeps its date unless its notes change, and only changed records are named."""
    records = RecordedOutcomes(tmp_path)
    records.store("5.3.3", "send", {"a": NOTES}, "2026-01-31")
    assert records.store("5.3.3", "send", {"a": NOTES}, "2026-03-01") == []
    assert records.store("5.3.3", "send", {"a": OTHER}, "2026-03-02") == ["a"]


def test_each_note_is_one_line_of_the_json_file(tmp_path: Path) -> None:
    """Each note is one line of the JSON file, so that a changed note is one line of a diff."""
    RecordedOutcomes(tmp_path).store("5.3.3", "send", {"a": NOTES}, "2026-01-31")
    text = (tmp_path / "5.3.3" / "send.json").read_text()
    assert sum('"sent"' in line or '"pulled"' in line for line in text.splitlines()) == 2
    assert json.loads(text)["a"]["date"] == "2026-01-31"


def test_a_broken_record_file_is_reported_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "5.3.3").mkdir()
    (tmp_path / "5.3.3" / "send.json").write_text("<<<<<<<")
    with pytest.raises(RecordedOutcomesError, match=r"send\.json is no JSON"):
        RecordedOutcomes(tmp_path).record_of("5.3.3", "send", "a")


def test_every_record_of_the_project_has_a_date_and_notes() -> None:
    """Every record of the project has a date and notes of label and value."""
    records = RecordedOutcomes()
    for version in records.versions():
        for noun in records.nouns(version):
            for name in records.names(version, noun):
                record = records.record_of(version, noun, name)
                assert record is not None
                assert len(record.date) == 10
                assert record.notes, f"{version} {noun} {name} holds nothing"
    assert list(FOLDER.glob("5.3.3/*.json"))
