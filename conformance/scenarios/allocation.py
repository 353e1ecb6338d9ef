"""Allocation: the consumers of a group divide the queues of a topic by a rule, and anew when one leaves."""

import itertools
from collections.abc import Sequence
from typing import Final

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..actors import Consumer, Producer
from ..drivers.process import body
from ..scenario import scenario
from ..stage import Stage

QUEUES: Final = 8
CONSUMERS: Final = 3
ROUNDS_MAX: Final = 60
REST_SECONDS: Final = 1.2
"""Longer than the drivers' rebalance interval: who still has to take or to let go of a queue does so meanwhile."""

Division = list[list[int]]
"""The queues of each consumer."""


class _Group:
    """Three consumers of a group in processes of their own, and a producer that asks who has which queue."""

    def __init__(self, s: Stage, allocation: str) -> None:
        self.stage = s
        self.topic = s.topic(queues=QUEUES)
        self.name = s.group()
        self.producer: Producer = s.producer(self.topic)
        self.consumers = [
            s.consumer(self.name, self.topic, "concurrent", process=number, allocate=allocation)
            for number in range(CONSUMERS)
        ]
        self._rounds = itertools.count()

    def division(self, consumers: Sequence[Consumer]) -> Division:
        """Who has what, once two rounds in succession say the same and the broker knows these consumers alone."""
        s = self.stage
        before: Division = []
        while True:
            number = next(self._rounds)
            s.require(number < ROUNDS_MAX, f"{self.name} did not divide {self.topic} in {ROUNDS_MAX} rounds: {before}")
            now = self._round(f"round{number}-", consumers)
            if now == before and sorted(itertools.chain(*now)) == list(range(QUEUES)) and self._known(len(consumers)):
                return now
            before = now
            s.idle(REST_SECONDS)

    def _round(self, stem: str, consumers: Sequence[Consumer]) -> Division:
        """Send one message into each queue; returns the numbers of the queues whose message each was given."""
        for queue in range(QUEUES):
            self.producer.send(self.topic, f"{stem}{queue}", queue=queue)
        self.stage.wait_for(QUEUES, *consumers, stem=stem)
        for each in consumers:
            each.look()
        return [
            sorted(int(body(message).removeprefix(stem.encode())) for message in each.of(stem)) for each in consumers
        ]

    def _known(self, count: int) -> bool:
        answer = self.stage.world.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": self.name})
        return answer.code == 0 and len(answer.json["consumerIdList"]) == count


def _divide(s: Stage, allocation: str) -> tuple[Division, Division]:
    """How three consumers divide eight queues, and how the first two do when the third has left."""
    group = _Group(s, allocation)
    together = group.division(group.consumers)
    s.leave(group.consumers[-1])
    return together, group.division(group.consumers[:-1])


def _see_by_rule(s: Stage, allocation: str) -> None:
    together, alone = _divide(s, allocation)
    # Which consumer is first goes by the ids of the clients, which differ from run to run.
    s.see("three consumers", sorted(together))
    s.see("two consumers", sorted(alone))


@scenario("AllocateMessageQueueAveragely.allocate", verbs={"send"}, modes={"concurrent"}, allocations={"AVG"})
def queues_are_divided_on_average(s: Stage) -> None:
    """Each consumer has queues that follow each other, as many as the others or one more."""
    _see_by_rule(s, "AVG")


@scenario(
    "AllocateMessageQueueAveragelyByCircle.allocate",
    verbs={"send"},
    modes={"concurrent"},
    allocations={"AVG_BY_CIRCLE"},
)
def queues_are_divided_by_circle(s: Stage) -> None:
    """Queues go round: the first to the first consumer, the second to the second, and from the start again."""
    _see_by_rule(s, "AVG_BY_CIRCLE")


@scenario(
    "AllocateMessageQueueConsistentHash.allocate",
    verbs={"send"},
    modes={"concurrent"},
    allocations={"CONSISTENT_HASH"},
)
def queues_are_divided_by_consistent_hashing(s: Stage) -> None:
    """Each queue has one consumer, by hashes; when one leaves, the others keep what they had and take over the rest."""
    together, alone = _divide(s, "CONSISTENT_HASH")
    s.see("all queues have a consumer", sorted(itertools.chain(*together)) == list(range(QUEUES)))
    s.see("they have one still", sorted(itertools.chain(*alone)) == list(range(QUEUES)))
    kept = [set(before) <= set(after) for before, after in zip(together[:-1], alone, strict=True)]
    s.see("who stayed kept what it had", kept if all(kept) else [together, alone])
