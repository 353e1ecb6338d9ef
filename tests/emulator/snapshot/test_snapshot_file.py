"""The snapshot file: its bytes, and the errors for invalid files."""

import gzip
import pickle
from io import BytesIO
from pathlib import Path
from struct import pack
from zlib import crc32

import pytest
from engine_harness import START_MS, EngineHarness, bodies, make_harness
from harness_with_data import harness_with_data
from hypothesis import given, settings
from hypothesis import strategies as st
from rocketmq_testkit.emulator.message.receipt import Receipt
from rocketmq_testkit.emulator.operations.cluster import GetKvConfig, KvResult
from rocketmq_testkit.emulator.snapshot.durable_state import EngineState
from rocketmq_testkit.emulator.snapshot.snapshot_file import (
    MAGIC,
    VERSION,
    SnapshotError,
    read_snapshot,
    write_snapshot,
)
from snapshot_files import begun, saved
from stored import committed, stored_bodies

VERSION_1 = Path(__file__).with_name("snapshot_version_1.bin")


SNAPSHOT = saved(harness_with_data().engine)


def complaint(data: bytes) -> str:
    """Return the error for an invalid file."""
    with pytest.raises(SnapshotError) as raised:
        read_snapshot(BytesIO(data))
    return str(raised.value)


# bytes


def test_equal_states_give_equal_snapshot_bytes() -> None:
    """Equal states give equal bytes, in another engine and in a second snapshot of the same one."""
    harness = harness_with_data()
    assert saved(harness.engine) == saved(harness.engine) == SNAPSHOT


def test_a_snapshot_of_an_unused_broker_takes_less_than_2000_bytes() -> None:
    assert len(saved(make_harness().engine)) < 2_000


def test_a_snapshot_of_version_1_restores_the_same_state() -> None:
    """A file of version 1 can still be used and restores the same state."""
    engine = begun(VERSION_1.read_bytes())
    harness = EngineHarness(engine, engine.brokers[0])
    assert (harness.now_ms, engine.random_streams.seed) == (START_MS + 1_234, 3)
    assert (harness.broker.config.pop_polling_size, "B" in harness.broker.topics.batched) == (5, True)
    found = harness.broker.groups.find("H")
    assert found is not None
    assert found.retry_max_times == 3
    assert harness.ask(KvResult, GetKvConfig("n", "k"), engine.name_server).value == "vä"
    assert (committed(harness), committed(harness, group="H")) == (2, 0)
    assert stored_bodies(harness, "RMQ_SYS_TRANS_HALF_TOPIC") == [b"half"]
    assert harness.popped("A", order=True, group="H", queue=0) == []
    harness.ack("A", Receipt(0, START_MS, 30_000, 0, "0", "broker-a", 0, 0))
    harness.advance(60_000)
    assert stored_bodies(harness, "A") == [b"0", b"2", b"4", b"delayed", b"timed"]
    assert stored_bodies(harness, "%RETRY%G_A") == [b"2"]
    assert bodies(harness.popped("A", order=True, group="H", queue=0)) == [b"0", b"2", b"4", b"delayed", b"timed"]


def test_a_snapshot_can_be_written_to_and_read_from_a_compressed_stream() -> None:
    """A snapshot is read and written sequentially, so that a compressed stream can be used."""
    small = BytesIO()
    with gzip.open(small, "wb") as out:
        write_snapshot(harness_with_data().engine.state(), out)
    small.seek(0)
    with gzip.open(small, "rb") as source:
        assert saved_again(read_snapshot(source)) == SNAPSHOT


def saved_again(state: EngineState) -> bytes:
    """Return the bytes of a state that was read."""
    out = BytesIO()
    write_snapshot(state, out)
    return out.getvalue()


# invalid files


@pytest.mark.parametrize(
    ("data", "begin"),
    [(b"PK\x03\x04 a zip file", "PK"), (pickle.dumps({"a": 1}), "x80"), (b"brokerName=broker-a\n", "broker")],
    ids=["zip", "pickle", "text"],
)
def test_a_file_of_another_kind_is_rejected_by_its_first_bytes(data: bytes, begin: str) -> None:
    """A file of another kind is recognized by its first bytes and not read further."""
    said = complaint(data)
    assert said.startswith("it is no snapshot, since it begins with b'")
    assert begin in said
    assert said.endswith("give a file that a snapshot was saved to")


def test_a_snapshot_of_a_newer_version_is_rejected_with_the_known_versions() -> None:
    """The error for a newer version names the known versions and what to do."""
    said = complaint(SNAPSHOT[:8] + pack(">I", VERSION + 1) + SNAPSHOT[12:])
    assert said == (
        f"its format is version {VERSION + 1}, and versions up to {VERSION} are known here; "
        "update rocketmq-testkit, or save the snapshot with an older one"
    )


@given(st.integers(0, len(SNAPSHOT) - 1))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_truncated_snapshot_is_rejected(end: int) -> None:
    """A file truncated at any byte, even an empty one, is rejected."""
    assert complaint(SNAPSHOT[:end]) == "it ends too early; copy the snapshot again, or save it once more"


@given(st.integers(len(MAGIC) + 4, len(SNAPSHOT) - 1), st.integers(0, 7))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_snapshot_with_a_flipped_bit_is_rejected(at: int, bit: int) -> None:
    """A single flipped bit anywhere is detected."""
    damaged = bytearray(SNAPSHOT)
    damaged[at] ^= 1 << bit
    said = complaint(bytes(damaged))
    assert said.startswith("it is damaged (the ")
    assert said.endswith("copy the snapshot again, or save it once more")


def test_a_snapshot_with_bytes_after_its_end_is_rejected() -> None:
    assert complaint(SNAPSHOT + b"\n") == "there are bytes after its end; save the snapshot once more"


def section(kind: bytes, content: bytes, before: bytes) -> bytes:
    """Return the file extended by another section with valid checksums."""
    head = before + kind + pack(">Q", len(content))
    head += pack(">I", crc32(head))
    return head + content + pack(">I", crc32(head + content))


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (b"BRKR", b"{}"),
        (b"ENGN", b"[]"),
        (b"ENGN", b"{"),
        (b"ENGN", b"{}"),
        (b"ENGN", b'{"nowMs":1,"seed":1,"streams":{},"emulation":{"x":"1"},"namesrv":{},"kvConfig":{},"extras":{}}'),
    ],
)
def test_a_snapshot_with_unknown_contents_is_rejected(kind: bytes, content: bytes) -> None:
    """A file with valid checksums but unknown contents is rejected; the error says which version to use."""
    said = complaint(section(kind, content, MAGIC + pack(">I", VERSION)))
    assert said.startswith("it has content that this version cannot read (")
    assert said.endswith("use the version of rocketmq-testkit that has written it")
