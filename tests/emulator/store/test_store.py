"""The commit log, the consume queues, and queries of them."""

from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.operations.consume import PullResult, PullStatus
from rocketmq_testkit.emulator.operations.message_queries import MessagesResult, QueryMessage, ViewMessage
from rocketmq_testkit.emulator.operations.offsets import (
    GetEarliestStoreTime,
    GetMaxOffset,
    GetMinOffset,
    OffsetResult,
    SearchOffset,
    TimestampResult,
)


def test_offsets_are_dense_and_physical_offsets_grow(harness: EngineHarness) -> None:
    """Queue offsets count from 0 in each queue; physical offsets grow by the record size across all topics."""
    harness.topic("A")
    harness.topic("B")
    results = [harness.send(topic, b"body", UNIQ_KEY=f"K{n}") for n, topic in enumerate("ABAAB")]
    assert [(r.queue_offset, r.queue_id) for r in results] == [(0, 0), (0, 0), (1, 0), (2, 0), (1, 0)]
    positions = [r.physical_offset for r in results]
    assert positions == sorted(set(positions))
    record = harness.broker.store.log.record_at(positions[1])
    assert record is not None
    assert positions[2] == positions[1] + len(record)


def test_the_broker_adds_its_properties_and_removes_pop_ck(harness: EngineHarness) -> None:
    """The broker adds CLUSTER, MSG_REGION, TRACE_ON and a missing UNIQ_KEY, removes POP_CK and keeps the rest."""
    harness.topic("A")
    result = harness.send("A", POP_CK="x", TAGS="t", own="1")
    record = records.decode(harness.broker.store.record("A", 0, 0) or b"")
    found = record.property_map()
    assert found == {
        "TAGS": "t",
        "own": "1",
        "UNIQ_KEY": result.transaction_id,
        "CLUSTER": "DefaultCluster",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }
    assert record.born_host == records.pack_host(("10.0.0.1", 5000))
    assert result.msg_id == records.offset_message_id(records.pack_host(("127.0.0.1", 10911)), result.physical_offset)
    assert len(result.msg_id) == 32


@pytest.mark.parametrize(
    ("timestamp", "lower", "upper"),
    [(-5, 0, 0), (0, 0, 0), (5, 1, 0), (10, 1, 1), (15, 2, 1), (40, 4, 4), (45, 5, 4)],
)
def test_a_search_by_time_finds_the_first_at_or_after_or_the_last_before(
    harness: EngineHarness, timestamp: int, lower: int, upper: int
) -> None:
    """LOWER finds the first message at or after a time, UPPER the last at or before it (seen on 5.3.3)."""
    harness.topic("A")
    start = harness.now_ms
    for _ in range(5):
        harness.send("A")
        harness.advance(10)
    for wanted, at_upper in ((lower, False), (upper, True)):
        assert harness.ask(OffsetResult, SearchOffset("A", 0, start + timestamp, at_upper)).offset == wanted


def test_offset_queries_of_an_unknown_queue_return_0_without_error(harness: EngineHarness) -> None:
    """For an unknown queue both offsets are 0 and the earliest store time is -1, without an error."""
    assert harness.ask(OffsetResult, GetMaxOffset("none", 9)).offset == 0
    assert harness.ask(OffsetResult, GetMinOffset("none", 9)).offset == 0
    assert harness.ask(TimestampResult, GetEarliestStoreTime("none", 9)).timestamp == -1


def test_the_store_limit_deletes_the_oldest_segments_and_moves_the_min_offset() -> None:
    """The size limit deletes the oldest segments; a pull of a deleted offset gets PULL_OFFSET_MOVED and the minimum."""
    harness = make_harness(
        store_max_bytes=1024 * 1024, max_message_size=16 * 1024, mapped_file_size_commit_log=256 * 1024
    )
    harness.topic("A")
    for _ in range(400):
        harness.send("A", b"x" * 10_000)
    log = harness.broker.store.log
    assert log.stored_bytes <= log.max_bytes + log.segment_bytes
    low = harness.ask(OffsetResult, GetMinOffset("A", 0)).offset
    assert 0 < low < 400
    moved = harness.pull("A", 0).outcome
    assert isinstance(moved, PullResult)
    assert (moved.code, moved.status, moved.next_begin_offset) == (21, PullStatus.OFFSET_TOO_SMALL, low)
    found = harness.pull("A", low).outcome
    assert isinstance(found, PullResult)
    assert found.code == 0
    first = records.decode(found.records[0])
    assert (first.queue_offset, first.body) == (low, b"x" * 10_000)


@pytest.mark.parametrize(
    ("body", "properties", "code"),
    [(b"x" * (4 << 20), {}, 0), (b"x" * ((4 << 20) + 1), {}, 13), (b"m", {"p": "y" * 32_800}, 13)],
)
def test_a_body_beyond_4_mib_or_properties_beyond_32767_bytes_are_rejected(
    harness: EngineHarness, body: bytes, properties: dict[str, Any], code: int
) -> None:
    """A body of 4 MiB is accepted; one byte more, or properties beyond 32767 bytes, is MESSAGE_ILLEGAL."""
    harness.topic("A")
    if code == 0:
        assert harness.send("A", body, **properties).code == 0
        return
    with pytest.raises(EngineError, match="msg body length limit 4194304B") as refused:
        harness.send("A", body, **properties)
    assert refused.value.code == code
    assert harness.broker.store.max_offset("A", 0) == 0


def test_a_view_returns_the_record_that_begins_at_a_physical_offset(harness: EngineHarness) -> None:
    """A view returns the record at a physical offset; inside a record or beyond the end there is none."""
    harness.topic("A")
    harness.send("A", b"one")
    result = harness.send("A", b"two")
    found = harness.engine.execute(harness.broker, ViewMessage(result.physical_offset))
    assert isinstance(found, MessagesResult)
    assert records.decode(found.records[0]).body == b"two"
    for wrong in (result.physical_offset + 1, 1 << 40, -1):
        with pytest.raises(EngineError, match="can not find message by the offset"):
            harness.engine.execute(harness.broker, ViewMessage(wrong))


def test_a_message_is_found_by_each_word_of_keys_and_by_its_unique_key(harness: EngineHarness) -> None:
    """A message is found by each word of KEYS and by its unique key, case-sensitive; the newest, oldest first."""
    harness.topic("A")
    for n in range(5):
        harness.send("A", b"%d" % n, KEYS=f"all k{n}", UNIQ_KEY=f"U{n}")
        harness.advance(1500)

    def query(key: str, most: int = 32, *, unique: bool = False) -> list[bytes]:
        operation = QueryMessage("A", key, most, 0, end_timestamp=2**63 - 1, unique_key=unique)
        result = harness.engine.execute(harness.broker, operation)
        assert isinstance(result, MessagesResult)
        return [records.decode(record).body for record in result.records]

    assert query("k3") == [b"3"]
    assert query("U4", unique=True) == [b"4"]
    assert query("all", 2) == [b"3", b"4"]
    for missing in ("K3", "all k3", "none"):
        with pytest.raises(EngineError, match="maybe time range not correct"):
            query(missing)
    with pytest.raises(EngineError, match="Illegal Capacity: -1"):
        query("k3", -1)
    harness.send("A", b"late", KEYS="k3")
    assert query("k3") == [b"3", b"late"]


@given(st.text())
def test_string_hash_is_javas(text: str) -> None:
    """The hash is the 31-polynomial over UTF-16 units, wrapped to signed 32 bits, as in Java."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2], "big")) % 2**32
    assert props.string_hash(text) == (value - 2**32 if value >= 2**31 else value)
    assert props.string_hash("TagA") == 2598919


@given(st.dictionaries(st.text(min_size=1), st.text(min_size=1)))
def test_properties_are_unchanged_by_encoding_and_decoding(properties: dict[str, str]) -> None:
    """Properties without separator characters are unchanged by encoding and decoding."""
    clean = {k: v for k, v in properties.items() if not set(k + v) & {"\x01", "\x02"}}
    assert props.decode(props.encode(clean)) == clean


@given(
    st.binary(max_size=64),
    st.text("abc%|_-", min_size=1, max_size=200),
    st.sampled_from(["1.2.3.4", "::1", "fe80::1"]),
    st.integers(-(2**31), 2**31 - 1),
)
def test_a_record_decodes_to_the_encoded_fields(body: bytes, topic: str, host: str, flag: int) -> None:
    """A record decodes to what was encoded, for both host families and any topic length."""
    born, store = records.pack_host((host, 7)), records.pack_host(("127.0.0.1", 8))
    form = records.form_of(topic.encode(), len(born), len(store))
    data = records.encode(form, 3, flag, 4, 5, 0, 6, born, 7, store, 8, 9, body, b"k\x01v\x02")
    record = records.decode(data)
    assert len(data) == records.encoded_size(born, store, topic.encode(), len(body), 4)
    assert (record.body, record.topic, record.flag) == (body, topic, flag)
    assert (record.born_host, record.store_host) == (born, store)
    assert (record.queue_id, record.queue_offset, record.physical_offset) == (3, 4, 5)
    assert (record.born_timestamp, record.store_timestamp) == (6, 7)
    assert records.store_timestamp(data) == 7
    assert record.property_map() == {"k": "v"}
    assert records.unpack_host(record.born_host) == (host, 7)
