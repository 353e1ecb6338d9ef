"""Snapshots with valid checksums but invalid tables are rejected before an engine starts from them."""

import json
from collections.abc import Callable
from io import BytesIO
from struct import Struct
from typing import Any
from zlib import crc32

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.operations.users import CreateUser, PolicyEntryInfo, PolicyInfo, PutAcl, UserInfo
from rocketmq_testkit.emulator.snapshot.snapshot_file import MAGIC, SnapshotError, read_snapshot
from snapshot_files import begun, saved
from stored import filled

HEAD, CHECK = Struct(">4sQ"), Struct(">I")
PROVIDER = "org.apache.rocketmq.auth.{0}.provider.Local{1}MetadataProvider"
KEEPING: dict[str, object] = {
    "authentication_metadata_provider": PROVIDER.format("authentication", "Authentication"),
    "authorization_metadata_provider": PROVIDER.format("authorization", "Authorization"),
}
Change = Callable[[dict[str, Any]], None]


def four_files() -> EngineHarness:
    """Return a harness with a user that has a right, whose log has four files."""
    harness = make_harness(1, max_message_size=16 * 1024, mapped_file_size_commit_log=64 * 1024, **KEEPING)
    filled(harness)
    while len(harness.broker.store.log.files()[0]) < 4:
        harness.send("A", bytes(15_000))
    harness.engine.execute(harness.broker, CreateUser("alice", UserInfo("secret-1", "Normal")))
    entry = PolicyEntryInfo("Topic:orders", ["Pub"], [], "Allow")
    harness.engine.execute(harness.broker, PutAcl(None, "User:alice", [PolicyInfo("Custom", [entry])]))
    return harness


SNAPSHOT = saved(four_files().engine)


def rewritten(change: Change) -> bytes:
    """Return the snapshot with changed broker tables and valid checksums."""
    at = len(MAGIC) + CHECK.size
    out = bytearray(SNAPSHOT[:at])
    while at < len(SNAPSHOT):
        kind, length = HEAD.unpack_from(SNAPSHOT, at)
        at += HEAD.size + CHECK.size
        content = SNAPSHOT[at : at + length]
        at += length + CHECK.size
        if kind == b"BRKR":
            form = json.loads(content)
            change(form)
            content = json.dumps(form).encode()
        for part in (HEAD.pack(kind, len(content)), content):
            out += part
            out += CHECK.pack(crc32(out))
    return bytes(out)


def files(*numbers: int) -> Change:
    """Return a change after which the snapshot lists only these log files."""

    def change(form: dict[str, Any]) -> None:
        listed = {number: [number, full] for number, full in form["log"]["files"]}
        form["log"]["files"] = [listed.get(number, [number, None]) for number in numbers]

    return change


def resource(key: str | None) -> Change:
    """Return a change that sets the resource of the user's right."""

    def change(form: dict[str, Any]) -> None:
        form["users"][0]["rights"][0][1][0] = key

    return change


def test_a_snapshot_with_valid_tables_is_accepted() -> None:
    """The helper that rewrites a snapshot keeps valid tables valid."""
    assert sorted(begun(rewritten(files(0, 1, 2, 3))).brokers[0].store.log.files()[0]) == [0, 1, 2, 3]
    assert begun(rewritten(resource("Group:other"))).brokers[0].name == "broker-a"


def queue_number(number: int) -> Change:
    """Return a change that sets the number of the first queue."""

    def change(form: dict[str, Any]) -> None:
        form["queues"][0][1] = number

    return change


def store_ports(*ports: object) -> Change:
    """Return a change that sets the ports in ids of messages."""

    def change(form: dict[str, Any]) -> None:
        form["log"]["storePorts"] = ports

    return change


def test_a_queue_may_have_each_number_of_a_java_int_from_0() -> None:
    harness = begun(rewritten(queue_number((1 << 31) - 1)))
    assert (1 << 31) - 1 in {queue_id for _, queue_id in harness.brokers[0].store.queues}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (queue_number(1 << 31), f"queue {1 << 31} of A has no valid number"),
        (queue_number(-1), "queue -1 of A has no valid number"),
        (files(), "the log has the files []"),
        (files(0, 1, 3), "the log has the files [0, 1, 3]"),
        (files(0, 3), "the log has the files [0, 3]"),
        (files(1, 0), "the log has the files [1, 0]"),
        (files(0, 0, 1), "the log has the files [0, 0, 1]"),
        (store_ports(1, -1), "storePorts has -1: expected ports from 0 to 65535"),
        (store_ports(65_536, 1), "storePorts has 65536: expected ports from 0 to 65535"),
        (resource("nothing"), "nothing is no resource"),
        (resource("Thing:orders"), "Thing:orders is no resource"),
        (resource(""), " is no resource"),
        (resource(None), "None is no resource"),
    ],
)
def test_a_snapshot_with_an_invalid_table_is_rejected(change: Change, error: str) -> None:
    """A log with a gap, a wrong queue number, and a right to an invalid resource are rejected."""
    with pytest.raises(SnapshotError) as raised:
        read_snapshot(BytesIO(rewritten(change)))
    assert f"ValueError: {error})" in str(raised.value)
