"""The clock of a revive queue: what else is on its way in the queue of a message says how late it comes back."""

from entrance import Entrance
from entrances import ALL, through

RETRY = "%RETRY%G_T"
LOOK_MS = 100


def comes_back(e: Entrance, after_ms: int, *known: bytes) -> None:
    """Pass so much time; in the last look of it, and not before, the bodies in the retry topic are these."""
    before = [record.body for record in e.records(RETRY)]
    e.advance(after_ms)
    assert [record.body for record in e.records(RETRY)] == before
    e.advance(LOOK_MS)
    assert [record.body for record in e.records(RETRY)] == list(known)


@through(*ALL, revive_queue_num=1)
def test_alone_it_comes_back_after_2_s(e: Entrance) -> None:
    """The clock of its queue is that of the broker 3 s after its check point was to be readable."""
    e.filled(1)
    e.take(invisible_ms=12_000)
    comes_back(e, 14_000, b"0")


@through(*ALL, revive_queue_num=1)
def test_a_later_check_point_delays_it(e: Entrance) -> None:
    """Up to 5 s: the clock stays where the later one was to be readable until 3 s after that."""
    e.filled(2)
    e.take(count=1, invisible_ms=12_000)
    e.take(count=1, invisible_ms=15_000)
    comes_back(e, 17_000, b"0", b"1")


@through(*ALL, revive_queue_num=1)
def test_an_acknowledgement_counts_as_long(e: Entrance) -> None:
    """What is acknowledged while a later check point delays it does not come back."""
    e.filled(2)
    [first] = e.take(count=1, invisible_ms=12_000)
    e.take(count=1, invisible_ms=15_000)
    e.advance(11_900)
    assert e.ack(first.handle).ok
    comes_back(e, 17_000 - 11_900, b"1")


@through(*ALL, revive_queue_num=1)
def test_a_check_point_more_than_2_s_behind_brings_it_back(e: Entrance) -> None:
    """As soon as it is read; the one that delayed it waits for the broker's clock again."""
    e.filled(3)
    for invisible_ms in (12_000, 14_000, 15_500):
        e.take(count=1, invisible_ms=invisible_ms)
    comes_back(e, 15_000, b"0")
    comes_back(e, 17_500 - 15_100, b"0", b"1", b"2")


@through(*ALL, revive_queue_num=1)
def test_an_acknowledgement_delays_what_was_popped_with_it(e: Entrance) -> None:
    """By a second: it is to be readable when the invisible time ends, the check point a second before."""
    e.filled(2)
    first, _ = e.take(invisible_ms=12_000)
    assert e.ack(first.handle).ok
    comes_back(e, 15_000, b"1")


@through(*ALL)
def test_other_queues_delay_nothing(e: Entrance) -> None:
    """Pops take turns with the revive queues, so the next is in another one."""
    e.filled(2)
    e.take(count=1, invisible_ms=12_000)
    e.take(count=1, invisible_ms=15_000)
    comes_back(e, 14_000, b"0")
    comes_back(e, 17_000 - 14_100, b"0", b"1")
