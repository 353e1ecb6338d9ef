"""Load balancing by message: popping consumers share one queue."""

import itertools
from collections.abc import Sequence

from ..drivers.process import Fields
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, Style, comparison

CONSUMERS = 4
COUNT = 400
PER_CENT = (15, 35)
"""A quarter, with a margin: the poll that waits longest gets the next message, and machines are not always idle."""
ROUNDS_MAX = 60


def _four(s: ScenarioContext, style: Style) -> tuple[str, list[Consumer]]:
    """Create a topic with one queue, and the consumers of a group in two processes."""
    topic, group = s.pair(style)
    return topic, [s.consumer(group, topic, style, process=number % 2) for number in range(CONSUMERS)]


def _note_shares(s: ScenarioContext, counts: Sequence[int]) -> None:
    low, high = PER_CENT
    fair = [low * COUNT <= 100 * count <= high * COUNT for count in counts]
    # The counts help to explain an unfair division.
    s.note(f"each had {low} to {high} %", fair if all(fair) else list(counts))


def _share(s: ScenarioContext, style: Style) -> tuple[list[Fields], list[list[Fields]]]:
    """Return the sent messages, and those that each consumer received."""
    topic, consumers = _four(s, style)
    producer = s.producer(topic)
    # Only a round in which each consumer received some proves that all of them pop.
    for number in itertools.count():
        prefix = f"probe{number}-"
        producer.send_numbered(topic, CONSUMERS * 4, prefix)
        s.wait_for(CONSUMERS * 4, *consumers, prefix=prefix)
        if all(each.with_prefix(prefix) for each in consumers):
            break
        s.require(number < ROUNDS_MAX, f"{CONSUMERS} consumers did not share {topic} in {ROUNDS_MAX} rounds")
    # Each message finds waiting polls, so that a faster client receives no more than the others.
    sent: list[Fields] = []
    for number in range(COUNT // CONSUMERS):
        sent += producer.send_numbered(topic, CONSUMERS, f"m{number}-")
        s.wait_for(len(sent), *consumers, prefix="m")
    return sent, [each.with_prefix("m") for each in consumers]


def _push_shares(s: ScenarioContext, style: Style) -> None:
    sent, shares = _share(s, style)
    s.note("shared", comparison(sent, shares))
    _note_shares(s, [len(share) for share in shares])


@scenario("PopLongPollingService.notifyMessageArriving", verbs={"simple"})
def four_simple_consumers_share_one_queue(s: ScenarioContext) -> None:
    """Four simple consumers of a group each receive about a quarter of the messages sent to a topic's only queue."""
    _, shares = _share(s, "simple")
    counts = [len(share) for share in shares]
    s.note("received", sum(counts))
    _note_shares(s, counts)


@scenario("PopLongPollingService.notifyMessageArriving", modes={"pop"})
def four_popping_consumers_share_one_queue(s: ScenarioContext) -> None:
    """Four popping push consumers of a group each receive about a quarter of the messages sent to the only queue."""
    _push_shares(s, "pop")


@scenario("PopLongPollingService.notifyMessageArriving", modes={"concurrent"}, protocol="grpc")
def four_push_consumers_share_one_queue(s: ScenarioContext) -> None:
    """Four gRPC push consumers of a group each receive about a quarter of the messages sent to the only queue."""
    _push_shares(s, "concurrent")
