"""A state without the parts that an engine needs is rejected with an error that names the part."""

from io import BytesIO

import pytest
from rocketmq_testkit.emulator.snapshot.durable_state import EngineState
from rocketmq_testkit.emulator.snapshot.snapshot_checks import check_state
from rocketmq_testkit.emulator.snapshot.snapshot_file import read_snapshot
from snapshot_mutants import SNAPSHOT


@pytest.fixture
def state() -> EngineState:
    return read_snapshot(BytesIO(SNAPSHOT))


def test_a_log_without_files_is_rejected(state: EngineState) -> None:
    log = state.brokers[0].log
    log.segments, log.full = {}, {}
    with pytest.raises(ValueError, match=r"^the log has no files; expected at least one$"):
        check_state(state)


@pytest.mark.parametrize("number", [-1, 1 << 62])
def test_a_log_with_a_file_number_out_of_range_is_rejected(state: EngineState, number: int) -> None:
    state.brokers[0].log.segments[number] = bytearray()
    with pytest.raises(ValueError, match=rf"^the log has a file number {number}$"):
        check_state(state)


@pytest.mark.parametrize("column", ["physical", "sizes", "tags_codes"])
def test_a_queue_with_columns_of_different_lengths_is_rejected(state: EngineState, column: str) -> None:
    queue = next(queue for queue in state.brokers[0].queues if len(queue.physical) > 0)
    count = len(queue.physical)
    setattr(queue, column, getattr(queue, column)[: count - 1])
    with pytest.raises(ValueError, match=rf"^queue {queue.queue_id} of {queue.topic} has columns of different lengths"):
        check_state(state)
