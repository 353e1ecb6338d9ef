"""Observations of a run with one falsified observation about dead letters or changed invisible durations.

Each public function gets the stream of all observations of a correct broker, and yields falsified streams. The oracle
of the simulation must report each of them.
"""

from collections import Counter
from collections.abc import Iterator

from observations import Acked, Handle, Hidden, Place, Reset, SentBack, StepEnded, Stored
from streams import Stream, at


def _given_up(stream: Stream) -> Iterator[tuple[int, SentBack, Acked]]:
    """Yield each dead letter whose message was popped once, not changed, and acknowledged in time."""
    used: set[Handle] = set()
    moved: set[str] = set()
    for index, seen in enumerate(stream[:-1]):
        ack = stream[index + 1]
        if isinstance(seen, Hidden):
            used.add(seen.handle)
        elif isinstance(seen, Reset):
            moved.add(seen.group)
        elif isinstance(seen, Acked):
            used.add(seen.handle)
        elif isinstance(seen, SentBack) and isinstance(ack, Acked) and not ack.order:
            in_time = ack.handle not in used and seen.now <= ack.handle.hidden_until
            if in_time and seen.group not in moved:
                yield index, seen, ack


def a_dead_letter_is_still_in_flight(stream: Stream) -> Iterator[Stream]:
    """Remove the acknowledgement of a dead letter, so that its message may still be redelivered."""
    sent = [seen.message_id for seen in stream if isinstance(seen, Stored) and not seen.attempt]
    for index, seen, ack in _given_up(stream):
        if sent.count(seen.message_id) == 1:
            rest = (one for one in stream[index + 1 :] if not isinstance(one, Acked) or one.handle != ack.handle)
            yield [*stream[: index + 1], *rest]


def a_dead_letter_comes_again(stream: Stream) -> Iterator[Stream]:
    """Add a copy in the retry topic after a message has become a dead letter."""
    for index, seen, ack in _given_up(stream):
        topic = ack.handle.topic if ack.handle.topic.startswith("%") else f"%RETRY%{seen.group}_{ack.handle.topic}"
        for later in range(index, len(stream)):
            end = stream[later]
            if isinstance(end, StepEnded) and end.now > ack.handle.hidden_until + 2_000:
                before = [one for one in stream[:later] if isinstance(one, Stored)]
                letter = next(one for one in before if one.message_id == seen.message_id)
                copy = letter._replace(
                    now=end.now,
                    topic=topic,
                    queue_id=0,
                    offset=sum(one.topic == topic for one in before),
                    attempt=seen.attempt + 1,
                    store_ms=end.now,
                    first_pop_ms=ack.handle.pop_time,
                    physical=10**12,
                )
                yield at(stream, later, copy, end)
                break


def a_change_hides_another_message(stream: Stream) -> Iterator[Stream]:
    """Make a change of an invisible duration name the message before or after its own."""
    used: set[Handle | None] = set()
    moved: set[str] = set()
    ends: Counter[Place] = Counter()
    for index, seen in enumerate(stream):
        if isinstance(seen, Stored):
            ends[seen.topic, seen.queue_id] += 1
        elif isinstance(seen, Reset):
            moved.add(seen.group)
        elif isinstance(seen, Acked):
            used.add(seen.handle)
        elif isinstance(seen, Hidden) and seen.new is not None and not seen.order:
            handle = seen.handle
            if handle not in used and seen.now <= handle.hidden_until and handle.group not in moved:
                for offset in (handle.offset - 1, handle.offset + 1):
                    if 0 <= offset < ends[handle.place]:
                        other = seen.new._replace(offset=offset, start_offset=offset)
                        yield at(stream, index, seen._replace(new=other))
            used.update((handle, seen.new))


DEAD_LETTER_MUTATIONS = (a_dead_letter_is_still_in_flight, a_dead_letter_comes_again, a_change_hides_another_message)
