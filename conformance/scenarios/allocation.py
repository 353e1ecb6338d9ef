"""Allocation: the consumers of a group divide the queues of a topic by a strategy, and again when one leaves."""

import itertools
from collections.abc import Sequence
from typing import Final

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..drivers.process import body
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, Producer

QUEUES: Final = 8
CONSUMERS: Final = 3
ROUNDS_MAX: Final = 60
REST_SECONDS: Final = 1.2
"""Longer than the drivers' rebalance interval, so that consumers can take and release queues meanwhile."""

Division = list[list[int]]
"""The queues of each consumer."""


class _Group:
    """Three consumers of a group in separate processes, and a producer that probes the queues of each."""

    def __init__(self, s: ScenarioContext, allocation: str) -> None:
        self.scenario = s
        self.topic = s.topic(queues=QUEUES)
        self.name = s.group()
        self.producer: Producer = s.producer(self.topic)
        self.consumers = [
            s.consumer(self.name, self.topic, "concurrent", process=number, allocate=allocation)
            for number in range(CONSUMERS)
        ]
        self._rounds = itertools.count()

    def division(self, consumers: Sequence[Consumer]) -> Division:
        """Return the division once two consecutive rounds agree and the broker has as many members of the group."""
        s = self.scenario
        before: Division = []
        while True:
            number = next(self._rounds)
            s.require(number < ROUNDS_MAX, f"{self.name} did not divide {self.topic} in {ROUNDS_MAX} rounds: {before}")
            now = self._round(f"round{number}-", consumers)
            divided = sorted(itertools.chain(*now)) == list(range(QUEUES))
            if now == before and divided and self._has_members(len(consumers)):
                return now
            before = now
            s.idle(REST_SECONDS)

    def _round(self, prefix: str, consumers: Sequence[Consumer]) -> Division:
        """Send one message to each queue. Return the numbers of the queues whose message each consumer received."""
        for queue in range(QUEUES):
            self.producer.send(self.topic, f"{prefix}{queue}", queue=queue)
        self.scenario.wait_for(QUEUES, *consumers, prefix=prefix)
        for each in consumers:
            each.collect()
        return [
            sorted(int(body(message).removeprefix(prefix.encode())) for message in each.with_prefix(prefix))
            for each in consumers
        ]

    def _has_members(self, count: int) -> bool:
        """True if the broker lists this number of consumers of the group."""
        response = self.scenario.admin.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": self.name})
        return response.code == 0 and len(response.json["consumerIdList"]) == count


def _divide(s: ScenarioContext, allocation: str) -> tuple[Division, Division]:
    """Return how three consumers divide eight queues, and how the first two do after the third has left."""
    group = _Group(s, allocation)
    together = group.division(group.consumers)
    s.leave(group.consumers[-1])
    return together, group.division(group.consumers[:-1])


def _note_sorted_divisions(s: ScenarioContext, allocation: str) -> None:
    """Note the queues of three consumers and then of two, regardless of which consumer has which queues."""
    together, alone = _divide(s, allocation)
    # The order of consumers depends on their client ids, which differ from run to run.
    s.note("three consumers", sorted(together))
    s.note("two consumers", sorted(alone))


@scenario("AllocateMessageQueueAveragely.allocate", verbs={"send"}, modes={"concurrent"}, allocations={"AVG"})
def avg_allocation_assigns_consecutive_queues_evenly(s: ScenarioContext) -> None:
    """With AVG each consumer is assigned consecutive queues, as many as the others or one more."""
    _note_sorted_divisions(s, "AVG")


@scenario(
    "AllocateMessageQueueAveragelyByCircle.allocate",
    verbs={"send"},
    modes={"concurrent"},
    allocations={"AVG_BY_CIRCLE"},
)
def avg_by_circle_allocation_assigns_queues_in_turn(s: ScenarioContext) -> None:
    """AVG_BY_CIRCLE assigns one queue to each consumer, and begins again with the first one."""
    _note_sorted_divisions(s, "AVG_BY_CIRCLE")


@scenario(
    "AllocateMessageQueueConsistentHash.allocate",
    verbs={"send"},
    modes={"concurrent"},
    allocations={"CONSISTENT_HASH"},
)
def consistent_hash_allocation_keeps_the_queues_of_remaining_consumers(s: ScenarioContext) -> None:
    """With CONSISTENT_HASH each queue has one consumer; if one leaves, the others keep theirs and share the rest."""
    together, alone = _divide(s, "CONSISTENT_HASH")
    s.note("all queues have a consumer", sorted(itertools.chain(*together)) == list(range(QUEUES)))
    s.note("all queues have a consumer after the departure", sorted(itertools.chain(*alone)) == list(range(QUEUES)))
    kept = [set(before) <= set(after) for before, after in zip(together[:-1], alone, strict=True)]
    s.note("remaining consumers kept their queues", kept if all(kept) else [together, alone])
