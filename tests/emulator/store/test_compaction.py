"""Topics with cleanup.policy=COMPACTION."""

from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.random_streams import RandomStreams
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import DeleteExpiredCommitLog
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.offsets import GetMinOffset, OffsetResult
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.topics import CreateTopic, DeleteTopic, TopicConfig
from rocketmq_testkit.remoting.client import batch_body

SMALL_FILES: dict[str, object] = {"compaction_cq_mapped_file_size": 460, "compaction_schedule_internal": 60_000}
IN_A_FILE = 9
ROUND_MS = 2 * 60_000 + 1000
"""Time by which full files have been compacted."""


def compacted(harness: EngineHarness, name: str = "T") -> str:
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig(name, 1, 1, 6), {"+cleanup.policy": "COMPACTION"}))
    return name


def pulled(harness: EngineHarness, topic: str, offset: int = 0, expression: str = "*") -> PullResult:
    outcome = harness.pull(topic, offset, expression=expression).outcome
    assert isinstance(outcome, PullResult)
    return outcome


@pytest.mark.parametrize("properties", [{}, {"KEYS": " "}, {"TAGS": "k"}])
def test_a_message_without_key_is_rejected_in_a_compacted_topic(
    harness: EngineHarness, properties: dict[str, Any]
) -> None:
    """A message without a key is rejected in a compacted topic, and accepted in any other."""
    compacted(harness)
    with pytest.raises(EngineError, match="Required message key is missing") as found:
        harness.send("T", **properties)
    assert found.value.code == ResponseCode.MESSAGE_ILLEGAL
    harness.send(harness.topic("U"), **properties)
    assert harness.send("T", KEYS="k").queue_offset == 0


def test_a_recreated_topic_without_the_attribute_accepts_messages_without_keys(harness: EngineHarness) -> None:
    compacted(harness)
    harness.engine.execute(harness.broker, DeleteTopic("T"))
    harness.send(harness.topic("T"))


def test_a_compacted_topic_is_read_without_a_filter(harness: EngineHarness) -> None:
    """A compacted topic is read without a filter, by pull and pop, even if a tag is requested."""
    compacted(harness)
    for tag in "ab":
        harness.send("T", KEYS="k", TAGS=tag)
    found = pulled(harness, "T", expression="b")
    assert [decode(each).property_map()["TAGS"] for each in found.records] == ["a", "b"]
    assert len(harness.popped("T", expression="b")) == 2


def test_with_compaction_disabled_filters_apply_to_a_compacted_topic() -> None:
    """With enableCompaction=false filters apply as in all topics."""
    harness = make_harness(enable_compaction=False)
    compacted(harness)
    for tag in "ab":
        harness.send("T", KEYS="k", TAGS=tag)
    assert len(pulled(harness, "T", expression="b").records) == 1


@pytest.mark.parametrize(("offset", "code", "following"), [(2, 19, 2), (3, 21, 0), (9, 21, 0), (-1, 0, 2)])
def test_a_read_beyond_the_end_of_a_compacted_topic_restarts_at_its_start(
    harness: EngineHarness, offset: int, code: int, following: int
) -> None:
    """The next offset of such a read is the start of the queue; in other topics it is the end."""
    compacted(harness)
    for _ in range(2):
        harness.send("T", KEYS="k")
    found = pulled(harness, "T", offset)
    assert (found.code, found.next_begin_offset) == (code, following)


def test_a_topic_stays_compacted_after_a_crash(harness: EngineHarness) -> None:
    compacted(harness)
    harness.broker.crash()
    with pytest.raises(EngineError, match="Required message key is missing"):
        harness.send("T")


# compaction


def filled(*messages: tuple[str, str], **keys: object) -> EngineHarness:
    """Create a harness with a compacted topic and messages of these keys and bodies."""
    harness = make_harness(1, **SMALL_FILES, **keys)
    compacted(harness)
    for key, body in messages:
        harness.send("T", body.encode(), KEYS=key)
    return harness


def consumed_offsets(harness: EngineHarness) -> list[int]:
    """Return the offsets that a consumer receives with successive pulls."""
    found: list[int] = []
    offset = 0
    while True:
        response = pulled(harness, "T", offset)
        if response.code != 0:
            return found
        found += [decode(each).queue_offset for each in response.records]
        offset = response.next_begin_offset


def counted(messages: int, keys: int) -> list[tuple[str, str]]:
    """Return messages whose keys rotate among `keys` values."""
    return [(f"k{number % keys}", f"m{number}") for number in range(messages)]


def test_a_pull_of_a_compacted_topic_returns_records_of_one_file_only() -> None:
    """A response has records of one file only, and the next one starts with the next file.

    A file has one message less than its index has units.
    """
    harness = filled(*counted(20, 3))
    first = pulled(harness, "T")
    assert (len(first.records), first.next_begin_offset, first.min_offset, first.max_offset) == (9, 9, 0, 20)
    assert consumed_offsets(harness) == list(range(20))


def test_compaction_keeps_the_last_message_of_each_key_in_full_files() -> None:
    """Compaction of full files keeps the last message of each key; messages of the last file do not count yet.

    The queue itself still starts with its first message.
    """
    harness = filled(*counted(20, 3))
    harness.advance(60_000)
    assert consumed_offsets(harness) == list(range(20))
    harness.advance(ROUND_MS)
    assert consumed_offsets(harness) == [15, 16, 17, 18, 19]
    found = pulled(harness, "T")
    assert (found.min_offset, found.max_offset, found.next_begin_offset) == (15, 20, 18)
    assert pulled(harness, "T", 17).next_begin_offset == 18
    assert [message.queue_offset for message in harness.popped("T")] == [15, 16, 17]
    assert harness.ask(OffsetResult, GetMinOffset("T", 0)).offset == 0


def test_each_compaction_round_continues_from_the_one_before() -> None:
    """Each round continues from the one before: a repeated key removes a message that an earlier round kept."""
    harness = filled(*counted(20, 3))
    harness.advance(ROUND_MS)
    for number in range(20, 30):
        harness.send("T", b"m", KEYS=f"k{number % 2}")
    assert consumed_offsets(harness) == [*range(15, 30)]
    harness.advance(ROUND_MS)
    # The last message of k2 is from the first round; k0 and k1 were sent again, in the file that is full now.
    assert consumed_offsets(harness) == [17, 25, 26, *range(27, 30)]


def test_several_keys_of_a_message_are_compacted_as_one_text() -> None:
    """Several keys of a message count as one text, different from each single key."""
    harness = filled(("a", "1"), ("b", "2"), ("a b", "3"), ("b", "4"), *counted(6, 1))
    harness.advance(ROUND_MS)
    assert consumed_offsets(harness) == [0, 2, 3, 8, 9]


def test_compaction_deletes_the_key_of_a_message_with_empty_body() -> None:
    """A message with an empty body deletes its key and is deleted itself."""
    harness = filled(("a", "1"), ("b", "2"), ("a", ""), *counted(7, 1))
    harness.advance(ROUND_MS)
    assert consumed_offsets(harness) == [1, 8, 9]


def test_a_compaction_that_would_leave_no_message_deletes_none() -> None:
    """If no message would remain, all stay, because upstream's round fails then."""
    harness = filled(*[("a", "")] * 9, ("a", "1"))
    harness.advance(ROUND_MS)
    assert consumed_offsets(harness) == list(range(10))


def test_compacted_records_have_offsets_in_the_log_of_their_queue() -> None:
    """Records have offsets in the log of their queue, from 0 on, in files of at least five times their index."""
    harness = filled(*counted(10, 3), compaction_mapped_file_size=1)
    records = [decode(each) for each in (*pulled(harness, "T").records, *pulled(harness, "T", IN_A_FILE).records)]
    sizes = [record.size for record in records]
    assert sum(sizes) + 8 <= 2300 or len(records) < 10
    places, base = [], 0
    for number, size in enumerate(sizes):
        if number and number % IN_A_FILE == 0:
            base = 2300
        places.append(base)
        base += size
    assert [record.physical_offset for record in records] == places


def test_a_compaction_file_is_full_when_its_bytes_or_its_index_are() -> None:
    """A file is full when its bytes are, even if its index has room; a message larger than a file is in none."""
    harness = filled(
        ("a", "x" * 1500), ("a", "y"), ("b", "x" * 1500), ("c", "z" * 3000), ("d", "d"), compaction_mapped_file_size=1
    )
    assert len(pulled(harness, "T").records) == 2
    assert consumed_offsets(harness) == [0, 1, 2, 4]
    harness.advance(ROUND_MS)
    assert consumed_offsets(harness) == [1, 2, 4]


def test_batch_messages_without_keys_are_not_read_from_a_compacted_topic() -> None:
    """Messages of a batch without keys are stored and take offsets, but are not read."""
    harness = filled(("a", "1"))
    operation = SendMessage("PG", "T", 0, batch_body([(b"b", {})]), {}, ("10.0.0.1", 5000), harness.now_ms, batch=True)
    harness.engine.execute(harness.broker, operation)
    harness.send("T", b"2", KEYS="b")
    assert consumed_offsets(harness) == [0, 2]


def test_compacted_messages_do_not_reappear_after_a_crash_or_in_a_new_topic() -> None:
    """Compacted messages do not reappear after a crash, nor in a new topic of the same name."""
    harness = filled(*counted(20, 3), flush_disk_type="SYNC_FLUSH")
    harness.advance(ROUND_MS)
    harness.broker.crash()
    assert consumed_offsets(harness) == [15, 16, 17, 18, 19]
    harness.engine.execute(harness.broker, DeleteTopic("T"))
    compacted(harness)
    harness.send("T", KEYS="k")
    assert consumed_offsets(harness) == [0]


def test_a_consumer_of_a_compacted_topic_continues_after_deleted_log_files() -> None:
    """After the log has deleted files, a consumer continues at the first remaining message, or at the end."""
    harness = filled(max_message_size=16 * 1024, mapped_file_size_commit_log=256 * 1024, file_reserved_time=0)
    for number in range(60):
        harness.send("T", b"x" * 10_000, KEYS=f"k{number}")
    assert consumed_offsets(harness) == list(range(60))
    harness.ask(Done, DeleteExpiredCommitLog())
    harness.advance(60_000)
    assert consumed_offsets(harness) == list(range(50, 60))
    found = pulled(harness, "T", 3)
    assert (decode(found.records[0]).queue_offset, found.min_offset) == (50, 50)

    harness.topic("U")
    for _ in range(60):
        harness.send("U", b"x" * 10_000)
    harness.ask(Done, DeleteExpiredCommitLog())
    harness.advance(60_000)
    found = pulled(harness, "T", 55)
    assert (found.records, found.next_begin_offset, found.min_offset, found.max_offset) == ([], 60, 60, 60)
    assert (pulled(harness, "T", 60).code, pulled(harness, "T", 61).next_begin_offset) == (19, 60)
    harness.send("T", KEYS="k")
    assert consumed_offsets(harness) == [60]


steps = st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 40_000), st.booleans()), max_size=60)


@given(steps=steps)
def test_compaction_does_not_depend_on_reads_in_between(steps: list[tuple[int, bool, int, bool]]) -> None:
    """Compaction depends on the times of storing only, not on reads in between."""
    often, seldom = filled(), filled()
    for key, empty, ms, looks in steps:
        for harness in (often, seldom):
            harness.send("T", b"" if empty else b"m", KEYS=f"k{key}")
            harness.advance(ms)
        if looks:
            consumed_offsets(often)
    assert consumed_offsets(often) == consumed_offsets(seldom)


@given(st.integers(0, 1 << 64), st.text(), st.integers(1, 1000))
def test_a_fixed_random_number_does_not_change_the_stream_of_its_name(seed: int, name: str, bound: int) -> None:
    """A fixed random number is always the same and does not change the stream of its name."""
    chance = RandomStreams(seed)
    number = chance.fixed(name, bound)
    assert 0 <= number < bound
    assert chance.states() == {}
    chance.stream(name).below(bound)
    assert chance.fixed(name, bound) == number
