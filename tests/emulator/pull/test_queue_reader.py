"""Reads of a queue without a filter, which copy consecutive records of the log at once."""

from array import array
from dataclasses import replace

from engine_harness import make_harness
from hypothesis import example, given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.record_run import concatenate
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.consume import PullResult, PullStatus
from rocketmq_testkit.emulator.store.commit_log import CommitLog


@given(
    sent=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 400)), min_size=1, max_size=40),
    offset=st.integers(0, 40),
    count=st.integers(-1, 50),
    bytes_max=st.integers(1, 2000),
    filter_bytes=st.integers(0, 800),
)
@example(sent=[(0, 1)] * 5, offset=0, count=5, bytes_max=2000, filter_bytes=20)
def test_a_pull_returns_as_many_messages_as_its_limits_allow(
    sent: list[tuple[int, int]], offset: int, count: int, bytes_max: int, *, filter_bytes: int
) -> None:
    """A read returns consecutive messages from the offset on: at least one, then as many as all limits allow."""
    harness = make_harness(max_transfer_bytes_on_message_in_memory=bytes_max, max_filter_message_size=filter_bytes)
    harness.topic("T", 3)
    harness.send("T", queue=0)
    for queue, size in sent:
        harness.send("T", b"x" * size, queue=queue)
    held = [each for each in range(harness.broker.store.max_offset("T", 0)) if each >= offset]
    records = [harness.broker.store.record("T", 0, each) or b"" for each in held]

    outcome = harness.pull("T", offset, count=count).outcome

    if not records:
        return
    assert isinstance(outcome, PullResult)
    most = min(max(1, min(count, 32)), max(filter_bytes // 20, count))
    expected = records[: max(most, 0)]
    while len(expected) > 1 and sum(map(len, expected)) > bytes_max:
        expected.pop()
    assert outcome.records == expected
    assert list(outcome.offsets) == [decode(each).queue_offset for each in expected]
    assert outcome.next_begin_offset == offset + len(expected)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.data())
def test_records_read_together_equal_the_records_read_singly(sizes: list[int], data: st.DataObject) -> None:
    """Records read together equal those read singly, close together or far apart, in one or several segments."""
    log = CommitLog(128, 1 << 20, lambda _: None, lambda: None)
    places = []
    for number, size in enumerate(sizes):
        places.append(log.reserve(size, 0))
        log.append(bytes([number]) * size)
    chosen = sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1))))

    lengths = array("i", [sizes[each] for each in chosen])
    found = log.read_ascending([places[each] for each in chosen], lengths, sum(lengths))

    expected = [bytes([each]) * sizes[each] for each in chosen]
    assert found == expected
    assert (len(found), concatenate(found)) == (len(expected), b"".join(expected))
    assert [found[at] for at in range(len(found))] == expected
    assert found[1:] == expected[1:]
    assert found != [*expected, b"more"]


def test_the_journaled_pull_result_keeps_every_field_except_the_records() -> None:
    response = PullResult(
        ResponseCode.SUCCESS, PullStatus.FOUND, 1, 2, 3, [b"record"], (4,), 5, 6, 7, offset_delta=8, forwarded=True
    )

    assert response.journaled() == replace(response, records=[])
    assert replace(response, records=[]).journaled() == replace(response, records=[])
