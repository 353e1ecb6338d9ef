"""Observations of a run with one falsified observation about timed messages, recalls or half messages.

Each public function gets the stream of all observations of a correct broker, and yields falsified streams. The oracle
of the simulation must report each of them.
"""

from collections.abc import Iterator

from observations import Beat, Checked, Ended, HalfStored, Left, Prepared, Recalled, Stored, TimedSent
from streams import Stream, at


def a_timed_message_comes_at_another_time(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, TimedSent) and seen.code == "SUCCESS" and seen.due_ms > seen.now:
            yield at(stream, index, seen._replace(due_ms=seen.due_ms + 2_500))
            yield at(stream, index, seen._replace(due_ms=seen.due_ms - 2_500))


def a_recalled_message_is_delivered(stream: Stream) -> Iterator[Stream]:
    """Add a successful, timely recall of a message that is delivered."""
    taken = {seen.message_id for seen in stream if isinstance(seen, Recalled) and seen.code == "SUCCESS"}
    for index, seen in enumerate(stream):
        if not isinstance(seen, TimedSent) or seen.code != "SUCCESS" or seen.message_id in taken:
            continue
        if seen.due_ms > seen.now + 1_000:
            took = Recalled(seen.now, seen.topic, seen.topic, seen.message_id, seen.due_ms, True, "SUCCESS")
            yield at(stream, index, seen, took)


def a_timed_message_is_lost_without_a_recall(stream: Stream) -> Iterator[Stream]:
    taken = [seen.message_id for seen in stream if isinstance(seen, Recalled) and seen.code == "SUCCESS"]
    appeared = {seen.message_id for seen in stream if isinstance(seen, Stored)}
    for index, seen in enumerate(stream):
        if not isinstance(seen, Recalled) or seen.code != "SUCCESS":
            continue
        if taken.count(seen.message_id) == 1 and seen.message_id not in appeared:
            yield at(stream, index)


def a_recall_returns_a_wrong_code(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Recalled):
            yield at(stream, index, seen._replace(code="ILLEGAL_OPERATION" if seen.code == "SUCCESS" else "SUCCESS"))


def a_rolled_back_message_appears(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Ended) and seen.decision == "commit" and seen.code == "SUCCESS":
            yield at(stream, index, seen._replace(decision="rollback"))


def a_committed_message_does_not_appear(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Ended) and seen.decision == "rollback" and seen.code == "SUCCESS":
            yield at(stream, index, seen._replace(decision="commit"))


def an_end_of_a_transaction_returns_a_wrong_code(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Ended):
            yield at(stream, index, seen._replace(code="SYSTEM_ERROR" if seen.code == "SUCCESS" else "SUCCESS"))


def no_producer_gets_a_check(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Checked) and any(isinstance(one, Beat) and one.now > seen.now for one in stream):
            lively = [one for one in stream[:index] if isinstance(one, Beat) and seen.now - one.now < 100_000]
            gone = {one.client for one in stream[:index] if isinstance(one, Left)}
            if any(one.client not in gone for one in lively):
                yield at(stream, index)


def a_producer_gets_a_check_twice(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Checked):
            yield at(stream, index, seen, seen)


def a_check_is_not_counted(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Checked):
            yield at(stream, index, seen._replace(times=seen.times - 1))


def an_ended_transaction_is_checked(stream: Stream) -> Iterator[Stream]:
    """Add a rollback right after a half message that is checked later.

    A message that was sent twice has two copies; one of them that has an end of its own is not the one that is checked.
    """
    ends = {seen.half_offset for seen in stream if isinstance(seen, Ended) and seen.code == "SUCCESS"}
    for later, seen in enumerate(stream):
        if not isinstance(seen, HalfStored) or not seen.times:
            continue
        for index, before in enumerate(stream[:later]):
            if not isinstance(before, HalfStored) or before.now >= seen.now - 5_000 or before.offset in ends:
                continue
            if (before.message_id, before.times) == (seen.message_id, seen.times - 1):
                ended = Ended(before.now, seen.message_id, before.offset, "rollback", True, True, "SUCCESS")
                yield at(stream, index, before, ended)


def a_half_message_is_checked_too_early(stream: Stream) -> Iterator[Stream]:
    """Add another check of a half message in the same round."""
    for index, seen in enumerate(stream):
        if isinstance(seen, HalfStored) and seen.times:
            again = seen._replace(offset=seen.offset + 1, times=seen.times + 1, physical=seen.physical + 1)
            yield at(stream, index, seen, again)


def a_half_message_is_never_checked_again(stream: Stream) -> Iterator[Stream]:
    """Remove all further checks of half messages."""
    for index, seen in enumerate(stream):
        if isinstance(seen, HalfStored) and seen.times:
            rest = (one for one in stream[index:] if not isinstance(one, HalfStored | Checked | Ended | Prepared))
            yield [*stream[:index], *rest]
