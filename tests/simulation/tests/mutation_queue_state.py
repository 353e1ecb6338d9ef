"""Observations of a run with one falsified observation about offsets, queues or notifications.

Each public function gets the stream of all observations of a correct broker, and yields falsified streams. The oracle
of the simulation must report each of them.
"""

from collections.abc import Iterator

from observations import HalfStored, Notified, NotifyParked, OffsetsSeen, RangesSeen, Stored
from streams import Stream, at
from transactions import TRANSACTION_GROUP


def an_offset_passes_an_unconsumed_message(stream: Stream) -> Iterator[Stream]:
    """Increase a committed offset by one after a step."""
    for index, seen in enumerate(stream):
        if isinstance(seen, OffsetsSeen):
            for number, (group, place, offset) in enumerate(seen.offsets):
                if offset >= 0 and group not in ("pop-red", TRANSACTION_GROUP):
                    yield at(stream, index, _with(seen, number, (group, place, offset + 1)))


def a_changed_offset_is_not_observed(stream: Stream) -> Iterator[Stream]:
    """Remove the change of a committed offset after a step."""
    for index, seen in enumerate(stream):
        if isinstance(seen, OffsetsSeen):
            for number, (group, _, offset) in enumerate(seen.offsets):
                if offset > 0 and group not in ("pop-red", TRANSACTION_GROUP):
                    yield at(stream, index, _with(seen, number))


def _with(seen: OffsetsSeen, number: int, *instead: tuple[str, tuple[str, int], int]) -> OffsetsSeen:
    return seen._replace(offsets=(*seen.offsets[:number], *instead, *seen.offsets[number + 1 :]))


def the_checks_pass_over_an_open_half_message(stream: Stream) -> Iterator[Stream]:
    """Commit the broker's own group past a half message that is checked again later."""
    opened = {
        (one.message_id, one.times - 1): place
        for place, one in enumerate(stream)
        if isinstance(one, HalfStored) and one.times
    }
    for index, seen in enumerate(stream):
        if isinstance(seen, HalfStored) and (seen.message_id, seen.times) in opened:
            for later in range(index + 1, opened[seen.message_id, seen.times]):
                other = stream[later]
                if isinstance(other, OffsetsSeen):
                    passed = (TRANSACTION_GROUP, ("RMQ_SYS_TRANS_HALF_TOPIC", 0), seen.offset + 1)
                    yield at(stream, later, other._replace(offsets=(*other.offsets, passed)))
                    break


def a_queue_starts_at_offset_1(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, RangesSeen):
            place, _, high = seen.ranges[0]
            yield at(stream, index, seen._replace(ranges=((place, 1, high), *seen.ranges[1:])))


def a_queue_ends_one_offset_later(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, RangesSeen):
            place, low, high = seen.ranges[0]
            yield at(stream, index, seen._replace(ranges=((place, low, high + 1), *seen.ranges[1:])))


def a_notification_gives_up_too_early(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Notified) and not seen.has_message:
            yield at(stream, index, seen._replace(deadline=seen.now + 1))


def a_notification_reports_messages_that_do_not_exist(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Notified) and not seen.has_message and seen.group == "pop-all":
            yield at(stream, index, seen._replace(has_message=True))


def a_notification_reports_no_messages_although_there_are_some(stream: Stream) -> Iterator[Stream]:
    """Report no messages, although there are some, to a request that does not wait or whose wait is over."""
    for index, seen in enumerate(stream):
        if isinstance(seen, Notified) and seen.has_message and seen.group == "pop-all":
            yield at(stream, index, seen._replace(has_message=False, deadline=seen.now))


def a_waiting_notification_is_not_woken(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        told = isinstance(seen, Notified) and seen.waited and seen.has_message and seen.group == "pop-all"
        if isinstance(seen, Notified) and told and seen.now < seen.deadline:
            yield at(stream, index)


def a_waiting_notification_gets_no_response(stream: Stream) -> Iterator[Stream]:
    """Remove the response to a notification whose wait is over."""
    for index, seen in enumerate(stream):
        if isinstance(seen, Notified) and seen.waited and seen.now >= seen.deadline:
            yield at(stream, index)


def the_wrong_notification_is_woken(stream: Stream) -> Iterator[Stream]:
    """Add a notification with a later deadline, which upstream would have woken instead."""
    for index, seen in enumerate(stream):
        if isinstance(seen, Notified) and seen.waited and seen.has_message and seen.now < seen.deadline:
            parked = next(one for one in stream if isinstance(one, NotifyParked) and one.call == seen.call)
            longer = parked._replace(call=10**9, client="another", deadline=seen.deadline + 1)
            place = stream.index(parked)
            yield at(at(stream, index, seen), place, parked, longer)


def a_notification_waits_although_there_are_messages(stream: Stream) -> Iterator[Stream]:
    """Let a notification wait instead of returning its response at once."""
    for index, seen in enumerate(stream):
        if isinstance(seen, Notified) and not seen.waited and seen.has_message and seen.group == "pop-all":
            parked = NotifyParked(seen.now, seen.call, "pop-all-0.1", seen.group, seen.topic, seen.now + 1_000)
            yield at(stream, index, parked)


def two_messages_have_one_physical_offset(stream: Stream) -> Iterator[Stream]:
    """Set the physical offset of a message to that of the previous one in the log, which may be in another topic."""
    last = None
    for index, seen in enumerate(stream):
        if isinstance(seen, Stored | HalfStored):
            if last is not None:
                yield at(stream, index, seen._replace(physical=last))
            last = seen.physical


def a_copy_has_other_properties_of_the_user(stream: Stream) -> Iterator[Stream]:
    """Change tag, keys or user property of a copy."""
    for index, seen in enumerate(stream):
        if isinstance(seen, Stored) and seen.attempt:
            yield at(stream, index, seen._replace(tag="other"))
            yield at(stream, index, seen._replace(keys=None))
            yield at(stream, index, seen._replace(color="other"))


QUEUE_STATE_MUTATIONS = (
    an_offset_passes_an_unconsumed_message,
    a_changed_offset_is_not_observed,
    the_checks_pass_over_an_open_half_message,
    a_queue_starts_at_offset_1,
    a_queue_ends_one_offset_later,
    a_notification_gives_up_too_early,
    a_notification_reports_messages_that_do_not_exist,
    a_notification_reports_no_messages_although_there_are_some,
    a_waiting_notification_is_not_woken,
    a_waiting_notification_gets_no_response,
    the_wrong_notification_is_woken,
    a_notification_waits_although_there_are_messages,
    two_messages_have_one_physical_offset,
    a_copy_has_other_properties_of_the_user,
)
