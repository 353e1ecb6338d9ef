"""Events of a run with one falsification: of a response of a broker in trouble, or of its messages.

Each public function gets the events of a correct run, and yields falsified events of it. The oracle of accepted
messages must report each of them.
"""

from collections.abc import Iterator, Sequence

from accepted_messages import Answered, Appeared, Asked, Event, Got, InTrouble

Events = list[Event]


def _at(events: Events, index: int, *instead: Event) -> Events:
    return [*events[:index], *instead, *events[index + 1 :]]


def _answers(events: Sequence[Event], kind: str, code: str) -> Iterator[tuple[int, Answered, Asked]]:
    """Yield (index, response, request) for one kind of request: accepted ones if `code` is "", else rejected ones."""
    asked = {one.number: one for one in events if isinstance(one, Asked)}
    for index, seen in enumerate(events):
        if isinstance(seen, Answered) and seen.code != "LOST" and (seen.code == "SUCCESS") == (code == ""):
            about = asked[seen.number]
            if about.kind == kind:
                yield index, seen, about


def an_accepted_message_is_lost(events: Events) -> Iterator[Events]:
    for index, seen in enumerate(events):
        if isinstance(seen, Appeared):
            yield _at(events, index)


def a_rejected_message_is_stored(events: Events) -> Iterator[Events]:
    for index, seen, asked in _answers(events, "send", "refused"):
        yield _at(events, index, Appeared(seen.now, asked.broker, asked.message_id), seen)


def a_message_is_stored_twice(events: Events) -> Iterator[Events]:
    for index, seen in enumerate(events):
        if isinstance(seen, Appeared):
            yield _at(events, index, seen, seen)


def a_healthy_broker_rejects(events: Events) -> Iterator[Events]:
    """Remove the starts of all troubles."""
    if any(True for _ in _answers(events, "pop", "refused")):
        yield [one for one in events if not isinstance(one, InTrouble) or not one.trouble]


def a_rejection_has_another_code(events: Events) -> Iterator[Events]:
    for index, seen, _ in _answers(events, "send", "refused"):
        yield _at(events, index, seen._replace(code="NO_PERMISSION"))


def a_group_misses_a_message(events: Events) -> Iterator[Events]:
    for index, seen in enumerate(events):
        if isinstance(seen, Got) and sum(isinstance(one, Got) and one[1:] == seen[1:] for one in events) == 1:
            yield _at(events, index)


def an_acknowledgement_is_never_accepted(events: Events) -> Iterator[Events]:
    for index, seen, asked in _answers(events, "ack", ""):
        others = (other.message_id for _, _, other in _answers(events, "ack", ""))
        if sum(one == asked.message_id for one in others) == 1:
            yield _at(events, index, seen._replace(code="LOST"))


def a_producer_gives_up(events: Events) -> Iterator[Events]:
    """Let a producer stop after its first rejection."""
    for index, _, asked in _answers(events, "send", "refused"):
        later = [
            one
            for one in events[index + 1 :]
            if not (isinstance(one, Asked | Appeared | Got) and one.message_id == asked.message_id)
        ]
        numbers = {one.number for one in (*events[: index + 1], *later) if isinstance(one, Asked)}
        yield [*events[: index + 1], *(one for one in later if not isinstance(one, Answered) or one.number in numbers)]


def a_client_does_not_wait(events: Events) -> Iterator[Events]:
    for index, seen, asked in _answers(events, "pull", "refused"):
        yield _at(events, index, seen, asked._replace(now=seen.now, number=-1))


def a_producer_does_not_wait(events: Events) -> Iterator[Events]:
    for index, seen, asked in _answers(events, "send", "refused"):
        hurried = [asked._replace(now=seen.now, number=-number) for number in (1, 2, 3, 4)]
        yield _at(events, index, seen, *hurried)


FALSIFIED = {
    an_accepted_message_is_lost: "is stored 0 times",
    a_rejected_message_is_stored: "is stored",
    a_message_is_stored_twice: "is stored 2 times",
    a_healthy_broker_rejects: "no reason for",
    a_rejection_has_another_code: "no reason for NO_PERMISSION",
    a_group_misses_a_message: "never got",
    an_acknowledgement_is_never_accepted: "never acknowledged",
    a_producer_gives_up: "was never accepted",
    a_client_does_not_wait: "the client does not wait",
    a_producer_does_not_wait: "the producer does not wait",
}
"""Each falsification, with a part of the error that the oracle must raise for it at least once."""
