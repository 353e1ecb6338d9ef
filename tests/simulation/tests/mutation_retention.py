"""Observations of a run with one falsified observation about deleted files or deleted messages.

Each public function gets the stream of all observations of a correct broker, and yields falsified streams. The oracle
of the simulation must report each of them.
"""

from collections.abc import Iterator

from observations import Acked, Deleted, DeletionRequested, Ended, Hidden, Popped, Pulled, RangesSeen, SentBack, Stored
from streams import Stream, at

REFUSED = ("NO_MESSAGE", "SYSTEM_ERROR")
"""Codes that clients get for deleted messages."""


def _deletions(stream: Stream) -> Iterator[tuple[int, Deleted]]:
    """Yield the deletions of files, each with its index in the stream."""
    return ((index, seen) for index, seen in enumerate(stream) if isinstance(seen, Deleted))


def the_log_begins_earlier_again(stream: Stream) -> Iterator[Stream]:
    """Repeat a deletion of files with a start of the log one byte earlier."""
    for index, seen in _deletions(stream):
        yield at(stream, index, seen, seen._replace(low=seen.low - 1))


def everything_is_deleted(stream: Stream) -> Iterator[Stream]:
    """Make a deletion remove all files, including the one being written."""
    for index, seen in _deletions(stream):
        yield at(stream, index, seen._replace(low=seen.high))


def files_vanish(stream: Stream) -> Iterator[Stream]:
    """Remove a deletion of files, so that queues seem to start later without reason."""
    for index, _ in _deletions(stream):
        seen_next = next((one for one in stream[index + 1 :] if isinstance(one, Deleted | RangesSeen)), None)
        if isinstance(seen_next, RangesSeen):
            yield at(stream, index)


def files_are_deleted_without_a_request(stream: Stream) -> Iterator[Stream]:
    """Remove all requests for a deletion, but not the deletions."""
    yield [seen for seen in stream if not isinstance(seen, DeletionRequested)]


def a_young_file_is_deleted(stream: Stream) -> Iterator[Stream]:
    """Move the deletion of a file to the time at which its last message was stored."""
    for index, seen in _deletions(stream):
        last = max(n for n, one in enumerate(stream[:index]) if isinstance(one, Stored) and one.physical < seen.low)
        early = seen._replace(now=stream[last].now)
        yield [*at(stream[:index], last, stream[last], early), *stream[index + 1 :]]


def a_queue_begins_too_late(stream: Stream) -> Iterator[Stream]:
    """Make the first remaining message of a queue unreadable."""
    for index, seen in enumerate(stream):
        if isinstance(seen, RangesSeen):
            for number, (place, low, high) in enumerate(seen.ranges):
                if 0 < low < high:
                    wrong = (*seen.ranges[:number], (place, low + 1, high), *seen.ranges[number + 1 :])
                    yield at(stream, index, seen._replace(ranges=wrong))


def a_pull_is_sent_too_far(stream: Stream) -> Iterator[Stream]:
    """Change the response to a pull below the first offset of a queue: skip that offset, or return PULL_NOT_FOUND."""
    for index, seen in enumerate(stream):
        if isinstance(seen, Pulled) and seen.asked_offset < seen.low:
            yield at(stream, index, seen._replace(next_offset=seen.low + 1))
            yield at(stream, index, seen._replace(code="PULL_NOT_FOUND", next_offset=seen.asked_offset))


def a_request_about_a_deleted_message_succeeds(stream: Stream) -> Iterator[Stream]:
    """Make a rejected request about a deleted message succeed.

    The request is an acknowledgement, a change of the invisible duration, a send-back or the end of a transaction.
    """
    for index, seen in enumerate(stream):
        if isinstance(seen, Acked | Hidden | SentBack | Ended) and seen.code in REFUSED:
            yield at(stream, index, seen._replace(code="SUCCESS"))


def a_request_about_a_kept_message_is_rejected(stream: Stream) -> Iterator[Stream]:
    """Reject an acknowledgement or send-back of a stored message as if the message were deleted."""
    for index, seen in enumerate(stream):
        if isinstance(seen, Acked) and seen.code == "SUCCESS" and not seen.order:
            yield at(stream, index, seen._replace(code="NO_MESSAGE"))
        elif isinstance(seen, SentBack) and seen.code == "SUCCESS":
            yield at(stream, index, seen._replace(code="SYSTEM_ERROR"))


def a_deleted_message_is_delivered(stream: Stream) -> Iterator[Stream]:
    """Move a deletion before a pop that delivered the deleted messages."""
    log_offsets = {
        (seen.topic, seen.queue_id, seen.offset): seen.physical for seen in stream if isinstance(seen, Stored)
    }
    for index, seen in _deletions(stream):
        for earlier in range(index - 1, 0, -1):
            one = stream[earlier]
            if isinstance(one, Deleted):
                break
            if isinstance(one, Popped) and any(log_offsets[each[:3]] < seen.low for each in one.messages):
                yield _sooner(stream, index, earlier)
                break


def a_deleted_message_is_redelivered(stream: Stream) -> Iterator[Stream]:
    """Move a deletion before the redelivery of one of the messages that it deletes: before the copy is stored."""
    log_offsets = {seen.message_id: seen.physical for seen in stream if isinstance(seen, Stored) and not seen.attempt}
    for index, seen in _deletions(stream):
        for earlier in range(index - 1, 0, -1):
            one = stream[earlier]
            if isinstance(one, Deleted):
                break
            if isinstance(one, Stored) and one.attempt == 1 and log_offsets[one.message_id] < seen.low <= one.physical:
                if not one.delay_level and one.topic.startswith("%RETRY%pop-"):
                    yield _sooner(stream, index, earlier)
                break


def _sooner(stream: Stream, index: int, earlier: int) -> Stream:
    """Return the stream with the deletion at `index` moved before the observation at `earlier`, and with its time."""
    before = stream[index]
    assert isinstance(before, Deleted)
    moved = before._replace(now=stream[earlier].now)
    return [*at(stream[:index], earlier, moved, stream[earlier]), *stream[index + 1 :]]
