"""The clock of a revive queue: other check points and acknowledgements in the queue delay or hasten redelivery."""

from protocol_client import ProtocolClient
from protocol_clients import ALL, through

RETRY = "%RETRY%G_T"
LOOK_MS = 100


def check_revived(e: ProtocolClient, after_ms: int, *known: bytes) -> None:
    """Advance the time; check that the retry topic holds these bodies after the last 100 ms, and not before."""
    before = [record.body for record in e.records(RETRY)]
    e.advance(after_ms)
    assert [record.body for record in e.records(RETRY)] == before
    e.advance(LOOK_MS)
    assert [record.body for record in e.records(RETRY)] == list(known)


@through(*ALL, revive_queue_num=1)
def test_a_single_check_point_is_revived_2_s_after_the_invisible_duration(e: ProtocolClient) -> None:
    """A single check point is revived 2 s after the invisible duration ends.

    The clock of its queue is the broker's from 3 s after the time at which the check point became readable.
    """
    e.fill_topic(1)
    e.take(invisible_ms=12_000)
    check_revived(e, 14_000, b"0")


@through(*ALL, revive_queue_num=1)
def test_a_later_check_point_delays_redelivery_to_up_to_5_s(e: ProtocolClient) -> None:
    """A later check point in the same revive queue delays redelivery to up to 5 s.

    The clock stays at the time of the later one until 3 s after it became readable.
    """
    e.fill_topic(2)
    e.take(count=1, invisible_ms=12_000)
    e.take(count=1, invisible_ms=15_000)
    check_revived(e, 17_000, b"0", b"1")


@through(*ALL, revive_queue_num=1)
def test_an_ack_during_the_delay_of_a_later_check_point_prevents_redelivery(e: ProtocolClient) -> None:
    e.fill_topic(2)
    [first] = e.take(count=1, invisible_ms=12_000)
    e.take(count=1, invisible_ms=15_000)
    e.advance(11_900)
    assert e.ack(first.handle).ok
    check_revived(e, 17_000 - 11_900, b"1")


@through(*ALL, revive_queue_num=1)
def test_a_check_point_more_than_2_s_later_revives_an_earlier_one_at_once(e: ProtocolClient) -> None:
    """A check point more than 2 s later revives an earlier one as soon as it is read.

    The check point that had delayed the earlier one waits for the broker's clock again.
    """
    e.fill_topic(3)
    for invisible_ms in (12_000, 14_000, 15_500):
        e.take(count=1, invisible_ms=invisible_ms)
    check_revived(e, 15_000, b"0")
    check_revived(e, 17_500 - 15_100, b"0", b"1", b"2")


@through(*ALL, revive_queue_num=1)
def test_an_ack_delays_other_messages_of_its_pop_by_a_second(e: ProtocolClient) -> None:
    """An acknowledgement delays other messages of its pop by a second.

    It becomes readable when the invisible duration ends, the check point a second before.
    """
    e.fill_topic(2)
    first, _ = e.take(invisible_ms=12_000)
    assert e.ack(first.handle).ok
    check_revived(e, 15_000, b"1")


@through(*ALL)
def test_check_points_in_other_revive_queues_delay_nothing(e: ProtocolClient) -> None:
    """Check points in other revive queues do not delay redelivery; pops use the revive queues by turns."""
    e.fill_topic(2)
    e.take(count=1, invisible_ms=12_000)
    e.take(count=1, invisible_ms=15_000)
    check_revived(e, 14_000, b"0")
    check_revived(e, 17_000 - 14_100, b"0", b"1")
