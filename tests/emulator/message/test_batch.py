"""Batches: copying their messages without decoding stores the same records as decoding and merging their properties."""

import struct
from collections.abc import Sequence

import pytest
from engine_harness import EngineHarness, make_harness
from hypothesis import example, given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message.batch import LazyProperties, are_well_formed, split_batch, tag_of
from rocketmq_testkit.emulator.message.stored_record import decode, encode, encode_consecutive, form_of
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult

RESERVED = ("CLUSTER", "MSG_REGION", "TRACE_ON", "POP_CK")
NAMES = st.sampled_from(["TAGS", "KEYS", "MY_TAGS", "UNIQ_KEY", "WAIT", *RESERVED]) | st.text(max_size=4)
VALUES = st.sampled_from(["a", "Aa", "BB", "größe", "\x03", "", "TAGS"]) | st.text(max_size=6)
PAIRS = st.lists(st.tuples(NAMES, VALUES), max_size=4)


def encoded(text: str) -> bytes:
    return text.encode(errors="replace")


TEXTS = (
    PAIRS.map(lambda pairs: encoded("".join(f"{name}\x01{value}\x02" for name, value in pairs)))
    | st.text("ab\x01\x02\x03", max_size=8).map(encoded)
    | st.binary(max_size=8)
)
PARTS = st.lists(st.tuples(st.integers(-5, 5), st.binary(max_size=9), TEXTS), min_size=1, max_size=5)
SHARED = st.dictionaries(st.sampled_from(["WAIT", "TAGS", "X", "POP_CK", "MSG_REGION"]), VALUES, max_size=2)


def body_of(parts: Sequence[tuple[int, bytes, bytes]]) -> bytes:
    """Return the body of a batch as clients encode it, with property texts that clients would not write."""
    return b"".join(
        struct.pack(">iiiii", 22 + len(body) + len(text), 0, 0, flag, len(body))
        + body
        + struct.pack(">H", len(text))
        + text
        for flag, body, text in parts
    )


def store(harness: EngineHarness, parts: Sequence[tuple[int, bytes, bytes]], shared: dict[str, str]) -> SendResult:
    harness.topic("T")
    message = SendMessage(
        "PG", "T", 0, body_of(parts), dict(shared), ("10.0.0.1", 5000), harness.now_ms, flag=3, batch=True
    )
    return harness.ask(SendResult, message)


def stored(harness: EngineHarness) -> tuple[list[bytes], list[int]]:
    """Return the records of the queue and the tags codes of its units."""
    outcome = harness.pull("T").outcome
    assert isinstance(outcome, PullResult)
    return list(outcome.records), list(harness.broker.store.queues["T", 0].tags_codes)


@given(PARTS, SHARED)
@example([(0, b"a", b"TAGS\x01a\x02X\x01y\x02TAGS\x01b\x02")], {})
@example([(0, b"a", b"a\x01b\x02"), (0, b"b", b"c\x01d\x02TAGS\x01t\x02")], {"WAIT": "true"})
def test_copied_batch_messages_are_stored_like_merged_ones(
    parts: list[tuple[int, bytes, bytes]], shared: dict[str, str]
) -> None:
    """A broker with LMQs decodes all properties instead of copying; both kinds of broker store the same.

    If a name occurs twice, the copy contains both, and the last one counts.
    """
    quick, plain = make_harness(), make_harness(enable_lmq=True)

    responses = [store(harness, parts, shared) for harness in (quick, plain)]

    (copies, codes), (merged, merged_codes) = stored(quick), stored(plain)
    assert codes == merged_codes
    if any(len(pairs) != len(dict(pairs)) for pairs in map(pairs_of, parts)):
        assert [contents(each) for each in copies] == [contents(each) for each in merged]
    else:
        assert copies == merged
        assert responses[0] == responses[1]


BEGINNINGS = (0, 1, 7, 200, 1000)
"""Numbers of messages before the batches, so that a log file ends at different messages of a batch."""


@pytest.mark.parametrize("before", BEGINNINGS)
def test_a_copied_batch_continues_in_the_next_log_file(before: int) -> None:
    """Copied batches continue in the next log file like single messages, and no message is lost at the border."""
    keys = {"max_message_size": 20_000, "mapped_file_size_commit_log": 160_000}
    harnesses = make_harness(**keys), make_harness(enable_lmq=True, **keys)
    parts = [(0, f"{number}".encode() * 100, b"a\x01b\x02c\x01d\x02"[: number % 3 * 4]) for number in range(40)]

    for harness in harnesses:
        harness.topic("T")
        for _ in range(before):
            harness.send("T", b"x" * 20, UNIQ_KEY="k")
        for _ in range(30):
            store(harness, parts, {})

    copies, merged = (list(harness.broker.store.log.records_from(0)) for harness in harnesses)
    assert copies == merged
    assert len(copies) == before + 30 * len(parts)
    assert copies[-1][0] > 2 * 160_000
    queues = [harness.broker.store.queues["T", 0] for harness in harnesses]
    assert queues[0].physical == queues[1].physical
    assert queues[0].sizes == queues[1].sizes


def test_a_waiting_pull_gets_the_whole_batch() -> None:
    """A waiting pull gets all messages of a batch, after the whole batch is stored."""
    harness = make_harness()
    harness.topic("T")
    waiting = harness.pull("T", suspend_ms=15_000)
    assert waiting.outcome is None

    store(harness, [(0, b"one", b""), (0, b"two", b"")], {})

    assert isinstance(waiting.outcome, PullResult)
    assert [decode(record).body for record in waiting.outcome.records] == [b"one", b"two"]


def pairs_of(part: tuple[int, bytes, bytes]) -> list[tuple[str, str]]:
    """Return the name-value pairs of a text, including duplicate names."""
    found = [each.partition("\x01") for each in part[2].decode(errors="replace").split("\x02")]
    return [(name, value) for name, _, value in found if name and value]


def contents(data: bytes) -> tuple[object, ...]:
    """Return the contents of a record without its position."""
    record = decode(data)
    return record.queue_id, record.flag, record.queue_offset, record.sys_flag, record.body, record.property_map()


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_a_usual_property_text_is_unchanged_by_decoding_and_encoding(texts: list[bytes]) -> None:
    """A usual text is unchanged by decoding and encoding, except for duplicate names."""
    if not are_well_formed(texts, RESERVED):
        return
    for text in texts:
        pairs = pairs_of((0, b"", text))
        assert "".join(f"{name}\x01{value}\x02" for name, value in pairs).encode() == text
        assert not {name for name, _ in pairs} & set(RESERVED)
        assert tag_of(text) == props.decode(text.decode()).get("TAGS")
        assert dict(LazyProperties(text)) == props.decode(text.decode())


@pytest.mark.parametrize(
    "text",
    [
        b"a\x01b",
        b"a\x01\x02",
        b"\x01b\x02",
        b"a\x01b\x02\x01c\x02",
        b"a\x02",
        b"a\x01b\x01c\x02",
        b"a\x01\x03b\x02",
        b"a\x01\xff\x02",
        b"CLUSTER\x01x\x02",
    ],
)
def test_a_property_text_with_malformed_or_reserved_pairs_is_not_usual(text: bytes) -> None:
    """For such a text the broker decodes the properties of the whole batch."""
    assert are_well_formed([b"a\x01b\x02", b""], RESERVED)
    assert not are_well_formed([b"a\x01b\x02", text], RESERVED)


def test_a_split_batch_has_the_messages_that_it_was_built_from() -> None:
    parts = [(1, b"one", b"a\x01b\x02"), (2, b"", b"")]

    assert split_batch(body_of(parts)) == parts


def test_a_duplicate_property_name_stays_in_the_stored_text() -> None:
    """A duplicate name stays in the stored text, as upstream; its reader uses the last one."""
    harness = make_harness()
    store(harness, [(0, b"a", b"X\x01y\x02X\x01z\x02")], {"WAIT": "true"})

    [record] = stored(harness)[0]
    assert decode(record).properties.startswith("X\x01y\x02X\x01z\x02WAIT\x01true\x02CLUSTER\x01")
    assert decode(record).property_map()["X"] == "z"


def test_a_waiting_filtered_pull_is_woken_by_the_matching_message_of_a_batch() -> None:
    """A pull that waits with a property filter is woken by the first message of a batch that matches."""
    harness = make_harness(enable_property_filter=True)
    harness.topic("T")
    harness.send("T")
    waiting = harness.pull("T", 1, suspend_ms=1000, expression="colour = 'red'", kind="SQL92")

    store(harness, [(0, b"blue", b"colour\x01blue\x02"), (0, b"red", b"colour\x01red\x02")], {})

    assert isinstance(waiting.outcome, PullResult)
    assert [decode(each).body for each in waiting.outcome.records] == [b"red"]


@pytest.mark.parametrize("host", [b"\x7f\x00\x00\x01" + bytes(4), bytes(16) + bytes(4)], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("sys_flag", [0, 1, 0x40])
def test_consecutive_records_are_encoded_like_single_ones(host: bytes, sys_flag: int) -> None:
    """The bits of the system flag are kept, and the bits of the hosts' address families are added."""
    parts = [(1, b"first", b"a\x01b"), (2, b"second", b"")]
    together = encode_consecutive(b"T", 3, 10, 1000, sys_flag, 5, host, 6, host, 7, 8, parts)
    apart, offset = b"", 1000
    for at, (flag, body, text) in enumerate(parts):
        single = encode(
            form_of(b"T", len(host), len(host)), 3, flag, 10 + at, offset, sys_flag, 5, host, 6, host, 7, 8, body, text
        )
        apart, offset = apart + single, offset + len(single)
    assert together == apart
