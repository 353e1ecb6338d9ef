"""Tests of the audit as a Spark job: the verdicts equal those in plain Python, for files of every format."""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark_rocketmq.audit import (
    AuditRules,
    Event,
    EventKind,
    JournalError,
    audit_events,
    audit_journals,
    sample,
    write_lines,
)
from pyspark_rocketmq.audit.events import COLUMNS
from pyspark_rocketmq.audit.job import SparkAudit
from pyspark_rocketmq.audit.page import page, sentence, table
from pyspark_rocketmq.audit.rules import FAILURES, VERDICTS, DeliveryFacts
from pyspark_rocketmq.audit.summary import summarize


@pytest.fixture(scope="session")
def session(spark_rocketmq_session: SparkSession) -> SparkSession:
    """The session that all tests of this process share."""
    return spark_rocketmq_session


def journal(chance: Random, run_id: str) -> list[Event]:
    """Create random events of one run with few topics, groups and messages, in any order."""
    numbered = chance.random() < 0.5
    return [
        Event(
            chance.randint(0, 12) * 1000,
            chance.choice([*EventKind, EventKind.STORED, EventKind.DELIVERED, EventKind.DELIVERED, EventKind.ACKED]),
            topic=chance.choice(["t1", "t1", "t2"]),
            message_id=chance.choice(["m1", "m1", "m2", "m3"]),
            group=chance.choice(["g1", "g1", "g2"]),
            seq=chance.randint(0, 12) + number // 4 if numbered else None,
            run_id=run_id,
            message_group=chance.choice([None, "a", "a", "b"]),
            keys=chance.choice([None, "k1", "k2"]),
            tags=chance.choice([None, "tea", "coffee"]),
            invisible_ms=chance.choice([None, None, *range(8)]),
            deliver_at_us=chance.choice([None, chance.randint(0, 12) * 1000]),
            expression=chance.choice([None, "*", "tea", " tea|| coffee", "||"]),
            consume_from=chance.choice([None, "first", "last"]),
        )
        for number in range(chance.randint(1, 20))
    ]


Row = tuple[tuple[str, str, str, str], dict[str, Any], str | None, frozenset[str]]


def by_spark(audit: SparkAudit) -> list[Row]:
    """Return names, facts, keys and verdicts of all accounts, sorted."""
    names = [field.name for field in fields(DeliveryFacts)]
    return sorted(
        (
            (row["run"], row["topic"], row["group"], row["id"]),
            {name: row[name] for name in names},
            row["key"],
            frozenset(row["verdicts"]),
        )
        for row in audit.accounts.collect()
    )


def by_python(events: Iterable[Event], rules: AuditRules | None = None) -> list[Row]:
    """Return the same data from the audit in memory."""
    names = [field.name for field in fields(DeliveryFacts)]
    return sorted(
        (
            (each.run_id, each.topic, each.group, each.message_id),
            {name: getattr(each.facts, name) for name in names},
            each.key,
            each.verdicts,
        )
        for each in audit_events(events, rules).accounts
    )


def written(path: Path, events: Iterable[Event]) -> Path:
    """Write a journal to a file."""
    with path.open("w") as file:
        write_lines(events, file)
    return path


# Each example contains many journals, as the runs of one file: a job takes seconds regardless of its size. The drawn
# value is only a seed, and a smaller seed is no simpler.
@settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
)
@given(
    seed=st.integers(0, 2**32),
    rules=st.builds(AuditRules, st.integers(0, 6), st.integers(0, 2), st.none() | st.integers(0, 12_000)),
)
def test_spark_and_memory_audits_return_the_same_facts_and_verdicts(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, seed: int, rules: AuditRules
) -> None:
    """For any journal, Spark counts the same facts and returns the same verdicts as the audit in memory."""
    chance = Random(seed)
    events = [event for number in range(400) for event in journal(chance, f"r{number}")]
    chance.shuffle(events)
    path = written(tmp_path_factory.mktemp("journal") / "journal.jsonl", events)
    with audit_journals(session, [path], rules) as audit:
        found = by_spark(audit)
    expected = by_python(events, rules)
    differing = [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]]
    assert differing[:1] == []
    assert audit.events == len(events)
    assert {verdict for *_, verdicts in expected for verdict in verdicts} == set(VERDICTS)


def life(message_id: str, *kinds: str, start: int = 0, **more: Any) -> list[Event]:
    """Return events of a message, a millisecond apart."""
    return [
        Event(start + number * 1000, EventKind(kind), "orders", message_id, group="shop", **more)
        for number, kind in enumerate(kinds)
    ]


JOURNAL = [
    *life("good", "stored", "delivered", "acked", keys="1001"),
    *life("lost", "stored", start=50_000, keys="1002"),
    *life("twice", "stored", "delivered", "acked", "delivered", start=60_000, keys="1001"),
    *life("slow", "stored", start=70_000),
    *life("slow", "delivered", "acked", start=90_000_000),
    *life("<never>", "delivered", "acked", start=80_000),
]


def rows_of(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return events as values by column."""
    return [{name: getattr(event, field) for name, (field, _) in COLUMNS.items()} for event in events]


def test_journals_of_several_formats_are_audited_as_one(session: SparkSession, tmp_path: Path) -> None:
    """JSON Lines, compressed JSON Lines, Parquet with other column types, and a folder are audited as one journal."""
    written(tmp_path / "first.jsonl", JOURNAL[:4])
    (tmp_path / "deep").mkdir()
    with gzip.open(tmp_path / "deep" / "second.jsonl.gz", "wt") as file:
        write_lines(JOURNAL[4:8], file)
    types = ", ".join(f"{name} {'int' if type_ is int else 'string'}" for name, (_, type_) in COLUMNS.items())
    third = session.createDataFrame([(*row.values(), 7) for row in rows_of(JOURNAL[8:])], types + ", bodyCRC int")
    third.drop("deliverAtUs", "run_id").write.parquet(str(tmp_path / "third.parquet"))

    with audit_journals(session, [tmp_path]) as audit:
        found = by_spark(audit)

    assert found == by_python(JOURNAL)
    assert {key[3]: set(verdicts) for key, _, _, verdicts in found} == {
        "good": set(),
        "lost": {"lost"},
        "twice": {"duplicated"},
        "slow": {"late"},
        "<never>": {"unexpected"},
    }


def test_sums_and_page_show_topics_groups_keys_and_findings(session: SparkSession, tmp_path: Path) -> None:
    """The sums list topics, groups and the worst keys; the page is self-contained, with SVG plots."""
    with audit_journals(session, [written(tmp_path / "journal.jsonl", JOURNAL)]) as audit:
        found = summarize(audit, FAILURES)

    [line] = found.lines
    assert (line.topic, line.group, line.messages, line.deliveries) == ("orders", "shop", 5, 5)
    assert {name: count for name, count in line.verdicts.items() if count} == {
        "lost": 1,
        "duplicated": 1,
        "unexpected": 1,
        "late": 1,
    }
    assert line.latencies_us == [1000, 89_930_000, 89_930_000]
    assert {each.key: each.messages for each in found.keys} == {"1001": 1, "1002": 1}
    assert sum(each.visible for each in found.moments) == 4
    assert sum(each.delivered for each in found.moments) == 4
    assert sum(each.failed for each in found.moments) == 2
    assert sum(found.delays.values()) == 3
    assert found.topics == {"orders": {"stored": 4}}
    assert [each.message_id for each in found.findings] == ["lost", "twice", "<never>", "slow"]
    said = "13 events, 5 messages for groups: 1 lost, 1 duplicated, 1 unexpected"
    assert sentence(found) == said
    assert table(found).splitlines()[1].split()[:4] == ["orders", "shop", "5", "5"]
    text = page(found, ["journal.jsonl"])
    assert said in text
    assert text.count("<svg") == 3
    assert "&lt;never&gt;" in text
    assert "<never>" not in text
    for outside in ("http:", "https:", "src=", "<link", "<script", "url(", "@import"):
        assert outside not in text


def test_a_malformed_line_stops_the_audit_or_is_skipped_and_counted(session: SparkSession, tmp_path: Path) -> None:
    """A malformed line raises an error that names file, reason and line; with `skip_malformed` the rest is audited."""
    path = written(tmp_path / "journal.jsonl", JOURNAL)
    with path.open("a") as file:
        file.write('{"ts_us": 1, "event": "stored", "topic": "or')

    with (
        pytest.raises(JournalError, match=r"1 lines are not events, such as one of .*journal.jsonl: .*JSON.*\"or"),
        audit_journals(session, [path]),
    ):
        pass
    with audit_journals(session, [path], skip_malformed=True) as audit:
        assert audit.skipped == 1
        assert by_spark(audit) == by_python(JOURNAL)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"event": "stored", "topic": "t", "msgId": "m"}, "there is no ts_us"),
        ({"ts_us": 1, "event": "mislaid", "topic": "t", "msgId": "m"}, "no such event; there are stored"),
        ({"ts_us": "soon", "event": "stored", "topic": "t", "msgId": "m"}, "not an object of JSON"),
        ({"ts_us": 1, "event": "stored", "topic": ""}, "there is no topic"),
        ({"ts_us": 1, "event": "stored", "topic": "t"}, "there is no msgId"),
        ({"ts_us": 1, "event": "acked", "topic": "t", "msgId": "m"}, "there is no group"),
        ({"ts_us": 1, "event": "acked", "topic": "t", "msgId": "m", "group": "g", "seq": -1}, "seq is out of range"),
    ],
)
def test_a_malformed_line_is_reported_in_the_words_of_the_audit_in_memory(
    session: SparkSession, tmp_path: Path, line: dict[str, Any], problem: str
) -> None:
    """A malformed line is reported in the same words as by the audit in memory."""
    path = tmp_path / "journal.jsonl"
    path.write_text(json.dumps(line))
    with pytest.raises(JournalError, match=problem), audit_journals(session, [path]):
        pass


def test_unusable_journal_files_are_refused_by_name(session: SparkSession, tmp_path: Path) -> None:
    """A missing file, unknown format, empty folder, wrong column type or partly numbered run is rejected."""
    session.createDataFrame([("soon",)], "ts_us string").write.parquet(str(tmp_path / "x.parquet"))
    half = [JOURNAL[0], Event(1, EventKind.STORED, "orders", "m", seq=4)]
    (tmp_path / "empty").mkdir()
    (tmp_path / "journal.csv").write_text("")
    (tmp_path / "no.parquet").mkdir()
    (tmp_path / "text.parquet").write_text("nonsense")
    (tmp_path / "text.jsonl.gz").write_text("nonsense")
    (tmp_path / "empty.jsonl").write_text("")
    for path, problem in (
        (tmp_path / "none.jsonl", "there is no such journal"),
        (tmp_path / "empty", "no journal in this folder"),
        (tmp_path / "journal.csv", "the name of a journal ends with"),
        (tmp_path / "x.parquet", "x.parquet: the column ts_us is string; in a journal it is bigint"),
        (tmp_path / "no.parquet", "no.parquet: cannot be read as Parquet"),
        (tmp_path / "text.parquet", "text.parquet: cannot be read as Parquet"),
        (tmp_path / "text.jsonl.gz", "text.jsonl.gz: cannot be read as gzip"),
        (tmp_path / "empty.jsonl", "there is no event in the journal"),
        (written(tmp_path / "half.jsonl", half), "1 of 2 events have a seq"),
    ):
        with pytest.raises(JournalError, match=problem), audit_journals(session, [path]):
            pass


def test_every_fault_of_a_sample_is_found_and_no_other(session: SparkSession, tmp_path: Path) -> None:
    """Lost, duplicated, recovered, unexpected, late and overtaken messages are found among sound ones."""
    messages, every = 60_000, 2003
    sample.journal(session, messages, every).write.parquet(str(tmp_path / "sample.parquet"))
    with audit_journals(session, [tmp_path / "sample.parquet"]) as audit:
        found = summarize(audit, FAILURES, keys=5, findings=3)
    assert found.messages == messages
    counts = {verdict: found.count(verdict) for verdict in VERDICTS if found.count(verdict)}
    assert counts == sample.expected(messages, every)
    assert len(found.keys) == 5
    assert [each.verdicts[0] for each in found.findings] == ["lost"] * 3


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that a job's files are removed at its end."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    yield
    assert list(scratch.iterdir()) == []
