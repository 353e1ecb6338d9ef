"""Randomly changed snapshots with valid checksums start a working engine or are rejected with one sentence."""

import json
import random
import threading
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from everything import BODY_MAX
from extremes import exchange
from remoting_harness import Port
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.snapshot.durable_state import EngineState
from rocketmq_testkit.emulator.snapshot.snapshot_file import SnapshotError, read_snapshot
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.inspect.direct_api import Direct
from rocketmq_testkit.fixtures.options.options import OptionError
from rocketmq_testkit.remoting.request.request_code import RequestCode
from snapshot_files import saved
from snapshot_mutants import PARTS, SNAPSHOT, built, mutant

MUTANTS = 400
SEED = 20_260


def test_a_snapshot_split_into_frames_and_joined_again_is_unchanged() -> None:
    assert built(PARTS) == SNAPSHOT


@pytest.mark.parametrize("length", [2**20, 2**33, 2**40, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_snapshot_with_a_wrong_frame_length_is_rejected(place: int, length: int) -> None:
    """A wrong frame length is rejected without allocating memory for the missing bytes."""
    with pytest.raises(SnapshotError, match=r"^it ends too early; copy the snapshot again, or save it once more$"):
        read_snapshot(BytesIO(built(PARTS, {place: length})))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5_000, "\xff"])
def test_a_snapshot_with_unreadable_json_is_rejected(text: str) -> None:
    """JSON that is nested too deeply, has too many digits or is not UTF-8 is rejected."""
    with pytest.raises(SnapshotError):
        read_snapshot(BytesIO(built([(PARTS[0][0], text.encode("latin-1")), *PARTS[1:]])))


@pytest.mark.parametrize("part", range(10))
def test_a_snapshot_with_mutated_tables_is_rejected_or_starts_a_working_engine(part: int) -> None:
    """A file with mutated tables is rejected with SnapshotError, or starts an engine that works and can be saved."""
    chance = random.Random(SEED + part)
    for _ in range(MUTANTS // 10):
        data = mutant(chance)
        state = read(data)
        if state is not None:
            check_engine(Engine(state=state))


@pytest.mark.parametrize("part", range(4))
def test_a_snapshot_with_mutated_queue_units_raises_only_snapshot_error(part: int) -> None:
    """A file with mutated queue units or segments is read, or rejected with SnapshotError."""
    chance = random.Random(SEED + part)
    for _ in range(25):
        parts = list(PARTS)
        place = chance.choice([at for at, (kind, _) in enumerate(parts) if kind in (b"UNIT", b"SEGM")])
        content = bytearray(parts[place][1])
        at = chance.randrange(len(content))
        content[at : at + chance.choice((1, 4, 8))] = chance.randbytes(chance.choice((0, 1, 4, 8)))
        parts[place] = (parts[place][0], bytes(content))
        read(built(parts))


def test_units_before_the_log_of_a_changed_snapshot_are_dropped() -> None:
    """A log whose only file has a greater number begins after all records, as if the earlier files were deleted."""
    place = next(at for at, (kind, _) in enumerate(PARTS) if kind == b"BRKR")
    tables = json.loads(PARTS[place][1])
    tables["log"]["files"] = [[number + 8, *rest] for number, *rest in tables["log"]["files"]]
    parts = [(kind, json.dumps(tables).encode() if at == place else data) for at, (kind, data) in enumerate(PARTS)]
    [broker, *_] = Engine(state=read_snapshot(BytesIO(built(parts)))).brokers
    assert list(broker.delays.waiting()) == []
    assert {queue.max_offset - queue.first for queue in broker.store.queues.values()} == {0}


def read(data: bytes) -> EngineState | None:
    """Return the state of a file; None if it is rejected with SnapshotError."""
    try:
        return read_snapshot(BytesIO(data))
    except SnapshotError:
        return None


def check_engine(engine: Engine) -> None:
    """Check that the engine lists its tables, accepts a message, advances its time and can be saved."""
    port = Port(engine)
    peer = port.peer()
    direct = Direct(engine)
    topics, groups = list(direct.topics(system=True)), list(direct.groups(system=True))
    for topic in topics[:50]:
        for code in (RequestCode.GET_TOPIC_STATS_INFO, RequestCode.GET_ROUTEINFO_BY_TOPIC):
            _check_responses(exchange(peer, code, {"topic": topic}, b""))
    for group in groups[:50]:
        _check_responses(exchange(peer, RequestCode.GET_CONSUME_STATS, {"consumerGroup": group}, b""))
    for code in (
        RequestCode.GET_ALL_TOPIC_CONFIG,
        RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
        RequestCode.GET_ALL_CONSUMER_OFFSET,
        RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
        RequestCode.GET_BROKER_RUNTIME_INFO,
        RequestCode.GET_BROKER_CONFIG,
    ):
        _check_responses(exchange(peer, code, {}, b""))
    fields = {"a": "P", "b": "A", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "0", "h": "0"}
    _check_responses(exchange(peer, RequestCode.SEND_MESSAGE_V2, fields, b"x"))
    engine.scheduler.advance_to(engine.scheduler.now_ms + 70_000)
    saved(engine)
    assert port.log == []


def _check_responses(responses: list[Any]) -> None:
    for response in responses:
        assert len(response.body) < BODY_MAX
        assert not (response.remark or "").startswith(("TypeError", "ValueError", "KeyError", "OverflowError")), (
            response
        )


def test_an_emulator_that_rejects_its_snapshot_leaves_no_thread(tmp_path: Path) -> None:
    """A command that cannot start from its file opens no port and leaves no thread."""

    before = threading.active_count()
    for name, data in (("lie", built(PARTS, {1: 2**63})), ("deep", built([(b"ENGN", b"[" * 100_000)]))):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(OptionError, match=f"^snapshot='{path}': it"):
            Emulator(snapshot=path).start()
    assert threading.active_count() == before
