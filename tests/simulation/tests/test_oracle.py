"""Tests of the oracle: one observation of a correct broker is falsified, and the oracle must report a violation."""

import os
import random
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from mutation_dead_letters import DEAD_LETTER_MUTATIONS
from mutation_queue_state import QUEUE_STATE_MUTATIONS
from mutation_scheduled import (
    a_check_is_not_counted,
    a_committed_message_does_not_appear,
    a_half_message_is_checked_too_early,
    a_half_message_is_never_checked_again,
    a_producer_gets_a_check_twice,
    a_recall_returns_a_wrong_code,
    a_recalled_message_is_delivered,
    a_rolled_back_message_appears,
    a_timed_message_comes_at_another_time,
    a_timed_message_is_lost_without_a_recall,
    an_end_of_a_transaction_returns_a_wrong_code,
    an_ended_transaction_is_checked,
    no_producer_gets_a_check,
)
from observations import (
    Acked,
    Crashed,
    Delivery,
    HalfStored,
    Handle,
    Hidden,
    Locked,
    MembersSeen,
    Observation,
    OffsetSeen,
    Popped,
    Pulled,
    RangeSeen,
    Sent,
    SentBack,
    StepEnded,
    Stored,
)
from simulation import MODES, ORDERED_GROUPS, POP_GROUPS, Action, Setup, Simulation, new_oracle, plan, run
from stored_messages import Violation
from streams import Stream, at

SEEDS = range(16)
TRIES = 6 if "SEEDS" in os.environ else 2
"""Maximum number of falsified observations per seed; `make simulate` tries more."""

Falsify = Callable[[Stream], Iterator[Stream]]
"""Yields streams with one error each."""


@cache
def responses(
    seed: int, mode: str = "check points", *, crashing: bool = False
) -> tuple[Setup, tuple[Observation, ...]]:
    """Return the set-up and the observations of a correct broker, by default of one that does not crash."""
    setup, actions = plan(seed)
    setup = setup._replace(mode=mode, retention="")
    wanted = [action for action in actions if crashing or action.verb != "crash"]
    return setup, tuple(run(setup, wanted, keep=True).observations)


def complaint(setup: Setup, stream: Stream) -> str:
    """Return the violation that the oracle finds in a stream, "" if there is none."""
    oracle = new_oracle(setup)
    try:
        for seen in stream:
            oracle.observe(seen)
    except Violation as violation:
        return str(violation)
    return ""


def is_copy(seen: Observation, prefix: str = "%RETRY%pop-") -> bool:
    """Return True if this is the stored copy of a redelivered message."""
    return isinstance(seen, Stored) and seen.topic.startswith(prefix)


def deliveries(stream: Stream, groups: tuple[str, ...]) -> Iterator[tuple[int, Popped]]:
    """Yield the pops of `groups` that got messages, each with its index in the stream."""
    return (
        (index, seen)
        for index, seen in enumerate(stream)
        if isinstance(seen, Popped) and seen.messages and seen.group in groups
    )


# falsifications


def a_message_is_delivered_twice(stream: Stream) -> Iterator[Stream]:
    for index, seen in deliveries(stream, POP_GROUPS):
        yield at(stream, index, seen, seen)


def a_message_is_delivered_again_later(stream: Stream) -> Iterator[Stream]:
    """Deliver a message again later, under a new handle."""
    for index, seen in deliveries(stream, POP_GROUPS):
        for later, other in deliveries(stream[index + 1 :], (seen.group,)):
            if other.topic == seen.topic and other.now > seen.now and len(other.messages) < other.asked:
                old = seen.messages[0]
                assert old.handle is not None
                handle = old.handle._replace(pop_time=other.now, invisible_ms=other.invisible_ms)
                again = old._replace(handle=handle)
                yield at(stream, index + 1 + later, other._replace(messages=(*other.messages, again)))
                break


def a_delivery_is_lost(stream: Stream) -> Iterator[Stream]:
    """Remove a message from a delivery, so that no group member ever gets it."""
    for index, seen in deliveries(stream, POP_GROUPS):
        if len(seen.messages) > 1:
            yield at(stream, index, seen._replace(messages=seen.messages[1:]))
            yield at(stream, index, seen._replace(messages=seen.messages[:-1]))


def a_copy_comes_too_early(stream: Stream) -> Iterator[Stream]:
    """Store a copy at the end of the invisible duration instead of after it."""
    for index, seen in enumerate(stream):
        if isinstance(seen, Stored) and is_copy(seen) and not seen.delay_level:
            for earlier in range(index, 0, -1):
                then = stream[earlier].now
                if then < seen.now - 1_600:
                    before = [one.physical for one in stream[:earlier] if isinstance(one, Stored | HalfStored)]
                    moved = seen._replace(now=then, store_ms=then, physical=max(before) + 1)
                    yield [*stream[: earlier + 1], moved, *stream[earlier + 1 : index], *stream[index + 1 :]]
                    break


def a_copy_never_comes(stream: Stream) -> Iterator[Stream]:
    """Remove the copies of unacknowledged messages and their deliveries."""
    for index, seen in enumerate(stream):
        if isinstance(seen, Stored) and is_copy(seen):
            before = [other for other in stream[:index] if not is_copy(other)]
            yield [*before, *(other for other in stream[index:] if _without_copies(other))]
            return


def _without_copies(seen: Observation) -> bool:
    if is_copy(seen):
        return False
    if isinstance(seen, Popped):
        return not any(message.topic.startswith("%RETRY%") for message in seen.messages)
    return not isinstance(seen, Acked | Hidden | OffsetSeen)


def an_acknowledged_message_is_redelivered(stream: Stream) -> Iterator[Stream]:
    """Add acknowledgements, in time, of deliveries that were redelivered."""
    backs = {(seen.topic, seen.message_id, seen.attempt) for seen in stream if isinstance(seen, Stored)}
    changed = {seen.handle.offset for seen in stream if isinstance(seen, Hidden)}
    for _, seen in deliveries(stream, POP_GROUPS):
        for message in seen.messages:
            handle = message.handle
            assert handle is not None
            names = {f"%RETRY%{seen.group}{sign}{seen.topic}" for sign in "_+"} | {handle.topic}
            if message.offset not in changed and any(
                (name, message.message_id, message.attempt + 1) in backs for name in names
            ):
                acks = [Acked(seen.now, one, False, "SUCCESS") for one in _handles_of(stream, message, seen.group)]
                at_their_pops = stream
                for ack in acks:
                    place = next(n for n, other in enumerate(at_their_pops) if _delivers(other, ack.handle))
                    at_their_pops = at(at_their_pops, place, at_their_pops[place], ack)
                yield at_their_pops


def _handles_of(stream: Stream, wanted: Delivery, group: str) -> list[Handle]:
    """Return all handles with which one attempt of a message was delivered to a group."""
    return [
        message.handle
        for _, seen in deliveries(stream, (group,))
        for message in seen.messages
        if message.handle is not None and (message.message_id, message.attempt) == (wanted.message_id, wanted.attempt)
    ]


def _delivers(seen: Observation, handle: Handle) -> bool:
    return isinstance(seen, Popped) and any(message.handle == handle for message in seen.messages)


def a_message_is_redelivered_before_its_invisible_duration_ends(stream: Stream) -> Iterator[Stream]:
    """Increase the invisible duration in a handle beyond the actual redelivery."""
    copies = [seen for seen in stream if isinstance(seen, Stored) and is_copy(seen)]
    changed = {(seen.handle.topic, seen.handle.offset) for seen in stream if isinstance(seen, Hidden)}
    for index, seen in deliveries(stream, POP_GROUPS):
        first = seen.messages[0]
        if (
            len(_handles_of(stream, first, seen.group)) == 1
            and (first.topic, first.offset) not in changed
            and any(
                (copy.message_id, copy.attempt) == (first.message_id, first.attempt + 1)
                and copy.topic.startswith(f"%RETRY%{seen.group}")
                for copy in copies
            )
        ):
            longer = seen.invisible_ms + 400_000
            messages = tuple(
                message._replace(handle=message.handle._replace(invisible_ms=longer))
                for message in seen.messages
                if message.handle is not None
            )
            yield at(stream, index, seen._replace(invisible_ms=longer, messages=messages))


def an_unwanted_tag_is_delivered(stream: Stream) -> Iterator[Stream]:
    for _, seen in deliveries(stream, ("pop-red",)):
        for message in seen.messages:
            if not message.topic.startswith("%RETRY%"):
                yield [
                    other._replace(tag="blue")
                    if isinstance(other, Stored)
                    and (other.topic, other.queue_id, other.offset) == (message.topic, message.queue_id, message.offset)
                    else other
                    for other in stream
                ]


def another_message_is_delivered(stream: Stream) -> Iterator[Stream]:
    for index, seen in deliveries(stream, (*POP_GROUPS, *ORDERED_GROUPS)):
        wrong = seen.messages[-1]._replace(message_id="another")
        yield at(stream, index, seen._replace(messages=(*seen.messages[:-1], wrong)))


def an_attempt_is_not_counted(stream: Stream) -> Iterator[Stream]:
    for index, seen in deliveries(stream, POP_GROUPS):
        if seen.messages[0].attempt:
            wrong = seen.messages[0]._replace(attempt=seen.messages[0].attempt - 1)
            yield at(stream, index, seen._replace(messages=(wrong, *seen.messages[1:])))


def a_pop_returns_nothing_although_there_are_messages(stream: Stream) -> Iterator[Stream]:
    """Return no messages to a pop although there are some."""
    for index, seen in deliveries(stream, (*POP_GROUPS, *ORDERED_GROUPS)):
        if not seen.waited:
            empty = seen._replace(code="POLLING_TIMEOUT", messages=(), now=max(seen.now, seen.deadline))
            if empty.now == seen.now:
                yield at(stream, index, empty)


def a_pop_gives_up_too_early(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Popped) and seen.waited and not seen.messages:
            yield at(stream, index, seen._replace(deadline=seen.deadline + 1))


def a_waiting_pop_is_not_woken(stream: Stream) -> Iterator[Stream]:
    for index, seen in deliveries(stream, POP_GROUPS):
        if seen.waited and seen.messages[0].topic == seen.topic:
            yield at(stream, index)


def a_batch_in_flight_is_delivered_to_another_attempt(stream: Stream) -> Iterator[Stream]:
    """Deliver the batch in flight to another attempt."""
    for index, seen in deliveries(stream, ORDERED_GROUPS):
        if seen.invisible_ms > 1:
            yield at(stream, index, seen, seen._replace(attempt_id="another", call=10**9))


def an_ordered_batch_is_out_of_order(stream: Stream) -> Iterator[Stream]:
    for index, seen in deliveries(stream, ORDERED_GROUPS):
        if len(seen.messages) > 1 and seen.messages[0].queue_id == seen.messages[1].queue_id:
            first, second, *rest = seen.messages
            yield at(stream, index, seen._replace(messages=(second, first, *rest)))


def an_ordered_batch_has_a_gap(stream: Stream) -> Iterator[Stream]:
    for index, seen in deliveries(stream, ORDERED_GROUPS):
        if len(seen.messages) > 1 and seen.messages[0].queue_id == seen.messages[1].queue_id:
            yield at(stream, index, seen._replace(messages=seen.messages[1:]))


def an_order_count_is_wrong(stream: Stream) -> Iterator[Stream]:
    for index, seen in deliveries(stream, ORDERED_GROUPS):
        wrong = seen.messages[0]._replace(again=seen.messages[0].again + 1)
        yield at(stream, index, seen._replace(messages=(wrong, *seen.messages[1:])))


def an_accepted_message_is_not_stored(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Stored) and not seen.attempt:
            yield at(stream, index)


def a_send_returns_a_wrong_offset(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Sent) and seen.due_ms is None:
            yield at(stream, index, seen._replace(offset=seen.offset + 1))


def a_message_is_stored_one_offset_too_late(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Stored):
            yield at(stream, index, seen._replace(offset=seen.offset + 1))


def a_message_appears_that_nobody_sent(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Stored):
            other = seen._replace(offset=seen.offset + 1, message_id="nobody's", physical=seen.physical + 1)
            yield at(stream, index, seen, other)


def a_delayed_message_comes_too_early(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Sent) and seen.due_ms is not None:
            yield at(stream, index, seen._replace(due_ms=seen.due_ms + 2_500))


def a_delayed_message_comes_too_late(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Sent) and seen.due_ms is not None:
            yield at(stream, index, seen._replace(due_ms=seen.due_ms - 2_500))


def a_copy_is_not_like_its_original(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Stored) and seen.attempt:
            yield at(stream, index, seen._replace(born_ms=seen.born_ms + 1))
            yield at(stream, index, seen._replace(unique_key="another"))
        if isinstance(seen, Stored) and is_copy(seen):
            yield at(stream, index, seen._replace(first_pop_ms=0))


def a_dead_letter_is_not_stored(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Stored) and seen.topic.startswith("%DLQ%"):
            yield at(stream, index)


def a_message_sent_back_is_redelivered_too_early(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, SentBack) and 0 <= seen.level < 18 and seen.attempt < seen.most:
            yield at(stream, index, seen._replace(level=(seen.level or 3 + seen.attempt) + 1))


def a_pull_has_a_gap(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Pulled) and seen.messages:
            yield at(stream, index, seen._replace(messages=seen.messages[1:]))
            yield at(stream, index, seen._replace(messages=seen.messages[::-1] + seen.messages[:1]))


def a_pull_skips_the_next_offset(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Pulled) and seen.messages and seen.next_offset < seen.high and seen.group == "pull-all":
            yield at(stream, index, seen._replace(next_offset=seen.next_offset + 1))


def a_waiting_pull_is_not_woken(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Pulled) and seen.waited and seen.messages:
            yield at(stream, index)


def a_committed_offset_is_wrong(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, OffsetSeen) and seen.offset is not None and seen.group != "pop-red":
            yield at(stream, index, seen._replace(offset=seen.offset + 1))


def a_queried_maximum_offset_is_too_large(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, RangeSeen):
            yield at(stream, index, seen._replace(high=seen.high + 1))


def a_member_is_missing(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, MembersSeen):
            yield at(stream, index, seen._replace(clients=(*seen.clients, "nobody")))


def a_queue_has_two_owners(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, Locked) and seen.granted:
            other = seen._replace(client="another")
            yield at(stream, index, seen, other)


def a_crash_skips_messages(stream: Stream) -> Iterator[Stream]:
    """Let a popping or ordered group continue after messages that it has not got, after a crash."""
    for index, seen in enumerate(stream):
        if isinstance(seen, Crashed):
            for number, (group, place, position) in enumerate(seen.positions):
                if group in ORDERED_GROUPS or group == "pop-all":
                    moved = (group, place, max(position, 0) + 1_000)
                    positions = (*seen.positions[:number], moved, *seen.positions[number + 1 :])
                    yield at(stream, index, seen._replace(positions=positions))


def time_decreases(stream: Stream) -> Iterator[Stream]:
    for index, seen in enumerate(stream):
        if isinstance(seen, StepEnded) and index > 200:
            yield at(stream, index, seen, StepEnded(seen.now - 1))


FALSIFIED: tuple[Falsify, ...] = (
    a_message_is_delivered_twice,
    a_message_is_delivered_again_later,
    a_delivery_is_lost,
    a_copy_comes_too_early,
    a_copy_never_comes,
    an_acknowledged_message_is_redelivered,
    a_message_is_redelivered_before_its_invisible_duration_ends,
    an_unwanted_tag_is_delivered,
    another_message_is_delivered,
    an_attempt_is_not_counted,
    a_pop_returns_nothing_although_there_are_messages,
    a_pop_gives_up_too_early,
    a_waiting_pop_is_not_woken,
    a_batch_in_flight_is_delivered_to_another_attempt,
    an_ordered_batch_is_out_of_order,
    an_ordered_batch_has_a_gap,
    an_order_count_is_wrong,
    an_accepted_message_is_not_stored,
    a_send_returns_a_wrong_offset,
    a_message_is_stored_one_offset_too_late,
    a_message_appears_that_nobody_sent,
    a_delayed_message_comes_too_early,
    a_delayed_message_comes_too_late,
    a_copy_is_not_like_its_original,
    a_dead_letter_is_not_stored,
    a_message_sent_back_is_redelivered_too_early,
    a_pull_has_a_gap,
    a_pull_skips_the_next_offset,
    a_waiting_pull_is_not_woken,
    a_committed_offset_is_wrong,
    a_queried_maximum_offset_is_too_large,
    a_member_is_missing,
    a_queue_has_two_owners,
    a_timed_message_comes_at_another_time,
    a_recalled_message_is_delivered,
    a_timed_message_is_lost_without_a_recall,
    a_recall_returns_a_wrong_code,
    a_rolled_back_message_appears,
    a_committed_message_does_not_appear,
    an_end_of_a_transaction_returns_a_wrong_code,
    no_producer_gets_a_check,
    a_producer_gets_a_check_twice,
    a_check_is_not_counted,
    an_ended_transaction_is_checked,
    a_half_message_is_checked_too_early,
    a_half_message_is_never_checked_again,
    time_decreases,
    *QUEUE_STATE_MUTATIONS,
    *DEAD_LETTER_MUTATIONS,
)


IN_EVERY_MODE: tuple[Falsify, ...] = (
    a_message_is_delivered_twice,
    a_message_is_delivered_again_later,
    a_delivery_is_lost,
    a_copy_comes_too_early,
    a_copy_never_comes,
    another_message_is_delivered,
    a_copy_is_not_like_its_original,
    a_waiting_pop_is_not_woken,
)
"""Falsifications for the other pop modes, which differ in the time of redelivery and in matching acknowledgements."""


def test_unchanged_observations_have_no_violation() -> None:
    """The unchanged observations contain no violation when they are processed a second time."""
    for seed in SEEDS:
        setup, stream = responses(seed)
        assert complaint(setup, list(stream)) == ""


@pytest.mark.parametrize("falsify", FALSIFIED, ids=lambda falsify: falsify.__name__)
def test_a_falsified_observation_is_reported(falsify: Falsify) -> None:
    """One falsified observation of this kind, anywhere, is reported."""
    assert falsified_in(falsify, [responses(seed) for seed in SEEDS]) >= 3, "too few falsifiable places"


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "check points"])
@pytest.mark.parametrize("falsify", IN_EVERY_MODE, ids=lambda falsify: falsify.__name__)
def test_a_falsified_observation_is_reported_in_every_pop_mode(falsify: Falsify, mode: str) -> None:
    """One falsified observation of this kind is reported in the other pop modes, too."""
    assert falsified_in(falsify, [responses(seed, mode) for seed in SEEDS[:6]]) >= 3, "too few falsifiable places"


def falsified_in(falsify: Falsify, streams: list[tuple[Setup, tuple[Observation, ...]]]) -> int:
    """Return the number of streams tried; the oracle must find a violation in each."""
    draw = random.Random(falsify.__name__)
    tried = 0
    for setup, stream in streams:
        falsified = list(falsify(list(stream)))
        for one in draw.sample(falsified, min(TRIES, len(falsified))):
            tried += 1
            assert complaint(setup, one), f"{setup}: nothing was found"
    return tried


@pytest.mark.parametrize("falsify", [a_crash_skips_messages])
def test_a_crash_that_skips_messages_is_reported(falsify: Falsify) -> None:
    """A group that continues after messages that it has not got, after a crash, is reported."""
    assert falsified_in(falsify, [responses(seed, crashing=True) for seed in SEEDS]) >= 3


@pytest.mark.parametrize(("position", "verdict"), [(2, ""), (1, "ues at 1"), (0, "ues at 0"), (-1, "at -1")])
def test_a_crash_that_loses_written_offsets_is_reported(position: int, verdict: str) -> None:
    """Offsets are written at least every 10 s: reading two messages again that were popped a minute ago is reported."""
    simulation = Simulation(Setup(0, retry_first=0), keep=True)
    for verb, a in (("burst", 1), ("pop", 1), ("advance", 8), ("pop", 1), ("advance", 4), ("crash", 0)):
        simulation.perform(Action(verb, a=a))
    seen = simulation.observations
    index = next(n for n, one in enumerate(seen) if isinstance(one, Crashed))
    crash = seen[index]
    assert isinstance(crash, Crashed)
    positions = tuple(
        (group, place, position if (group, place) == ("pop-all", ("B", 0)) else offset)
        for group, place, offset in crash.positions
    )
    assert ("pop-all", ("B", 0), 2) in crash.positions

    assert verdict in complaint(simulation.setup, at(seen[: index + 1], index, crash._replace(positions=positions)))
    assert verdict or not complaint(simulation.setup, seen)


def test_a_delay_level_that_delivers_out_of_order_is_reported() -> None:
    """A delay level that delivers the second of two messages first is reported."""
    simulation = Simulation(Setup(0), keep=True)
    for verb in ("send", "send", "advance"):
        simulation.perform(Action(verb, a=7, d=3))
    seen = simulation.observations
    first, second = (index for index, one in enumerate(seen) if isinstance(one, Sent) and one.delay_level)
    swapped = at(at(seen, first, seen[second]), second, seen[first])

    assert complaint(simulation.setup, seen) == ""
    assert "was sent earlier with the same level" in complaint(simulation.setup, swapped)
