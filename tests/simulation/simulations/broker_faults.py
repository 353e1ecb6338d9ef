"""A seeded simulation of brokers in trouble, and of clients that are rejected, wait and repeat their requests.

    python tests/simulation broker_faults SEED

runs one seed and prints its actions. Brokers become busy, slow or full, or stop; each has one trouble at a time.
`accepted_messages.py` checks which requests may be rejected, and that every accepted message is delivered when the
troubles are over.
"""

import random
import sys
from collections.abc import Iterable
from typing import NamedTuple

from accepted_messages import REFUSALS, AcceptedMessages, AllWell, Event, InTrouble
from cluster import NAMES
from patient_clients import PULLERS, QUEUES, TAKERS, TOPIC, PatientProducer, PatientPuller, PatientTaker
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.cluster import UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from session import START_MS
from shortening import failure_of, report_of, show
from simulation import NUMBERS, Action
from troubled_requests import TroubledRequests

ACTIONS = 60
WEIGHTS = {"send": 20, "trouble": 6, "relief": 4, "advance": 14}
JUMPS_MS = (1, 100, 500, 1_000, 3_000, 5_000, 11_000, 31_000, 70_000)
ROUND_MS, ROUNDS = 10_000, 60
FEW = {f"{pool}ThreadPoolNums": "1" for pool in ("sendMessage", "pullMessage", "ackMessage")}
NARROW = {f"{pool}ThreadPoolQueueCapacity": "2" for pool in ("send", "pull", "ack")}
KEYS: dict[str, dict[str, str]] = {
    "busy": {"requestRefusals": "send=REJECTREQUEST pull=OVERLOAD"},
    "late": {"requestRefusals": "send=PCBUSY_CLEAN_QUEUE pull=TIMEOUT_CLEAN_QUEUE ack=TIMEOUT_CLEAN_QUEUE"},
    "slow": {"requestTimes": "send=400 pull=300 ack=700"} | FEW | NARROW,
    "busy storing": {"requestRefusals": "send=PC_SYNCHRONIZED"},
    "busy with acknowledgements": {"requestRefusals": "ack=OVERLOAD"},
    "disk full": {"diskUsedRatio": "95"},
    "nobody may wait": {"maxPopPollingSize": "0"},
    "not yet": {"startAcceptSendRequestTimeStamp": str(START_MS * 2)},
}
"""Configuration keys and their values, by the trouble that they cause; a stopped broker needs none."""


class TroubleSetup(NamedTuple):
    """Number of brokers."""

    brokers: int


class TroubledBrokers:
    """Brokers and their clients; `perform` raises Violation. `keep` keeps the events."""

    def __init__(self, setup: TroubleSetup, *, keep: bool = False) -> None:
        configs = [BrokerConfig() for _ in range(setup.brokers)]
        for config, name in zip(configs, NAMES, strict=False):
            config.broker_name = name
        self.engine = Engine(brokers=configs, seed=0, now_ms=START_MS)
        self.book = AcceptedMessages((PULLERS, TAKERS), TAKERS)
        self.events: list[Event] = []
        self._keep = keep
        self._requests = TroubledRequests(self.engine, self._see)
        self._producer = PatientProducer(self._requests, self.engine.brokers)
        self._sent = 0
        for broker in self.engine.brokers:
            self.engine.execute(broker, CreateTopic(TopicConfig(TOPIC, QUEUES, QUEUES)))
            for group in (PULLERS, TAKERS):
                self.engine.execute(broker, CreateGroup(GroupConfig(group)))
            self._requests.listen(broker)
            for queue_id in range(QUEUES):
                PatientPuller(self._requests, broker, queue_id).go_on()
            PatientTaker(self._requests, broker).go_on()
        self._healthy = {name: str(getattr(configs[0], _attribute(name))) for keys in KEYS.values() for name in keys}

    def _see(self, seen: Event) -> None:
        if self._keep:
            self.events.append(seen)
        self.book.observe(seen)

    def perform(self, action: Action) -> None:
        """Carry out an action; the number of its client also selects the broker."""
        broker = self.engine.brokers[action.client % len(self.engine.brokers)]
        match action.verb:
            case "send":
                for number in range(1 + action.a % 5):
                    self._sent += 1
                    self._producer.send(f"m{self._sent}", action.client + number)
            case "trouble":
                self._trouble(broker, list(REFUSALS)[action.a % len(REFUSALS)], kill=action.b % 2 == 0)
            case "relief":
                self._trouble(broker, "")
            case _:
                self._advance(JUMPS_MS[action.a % len(JUMPS_MS)])

    def _advance(self, ms: int) -> None:
        self.engine.scheduler.advance_to(self.engine.scheduler.now_ms + ms)

    def _trouble(self, broker: Broker, trouble: str, *, kill: bool = False) -> None:
        """End the current trouble of a broker, and start another one unless `trouble` is ""."""
        self._see(InTrouble(self.engine.scheduler.now_ms, broker.name, trouble))
        if not broker.running:
            self.engine.start(broker)
            self._requests.listen(broker)
        self.engine.execute(broker, UpdateBrokerConfig(self._healthy | KEYS.get(trouble, {})))
        if trouble == "down":
            self.engine.stop(broker, kill=kill)
            self._requests.hang_up(broker)

    def finish(self) -> None:
        """End all troubles, and wait until all clients have finished."""
        for broker in self.engine.brokers:
            self._trouble(broker, "")
        for _ in range(ROUNDS):
            self._advance(ROUND_MS)
            if not self.book.missing():
                break
        self._see(AllWell(self.engine.scheduler.now_ms))


def _attribute(name: str) -> str:
    """Return the attribute of a key: `diskUsedRatio` is `disk_used_ratio`."""
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in name)


def plan(seed: int) -> tuple[TroubleSetup, list[Action]]:
    """Return the set-up and actions of a seed."""
    draw = random.Random(f"trouble {seed}")
    verbs = draw.choices(list(WEIGHTS), list(WEIGHTS.values()), k=ACTIONS)
    setup = TroubleSetup(draw.choice((1, 2, 3)))
    return setup, [_drawn(verb, draw) for verb in verbs]


def _drawn(verb: str, draw: random.Random) -> Action:
    client, a, b = (draw.randrange(NUMBERS) for _ in range(3))
    return Action(verb, client, a, b)


def run(setup: TroubleSetup, actions: Iterable[Action], *, keep: bool = False) -> TroubledBrokers:
    """Carry out all actions and wait until no trouble is left. Raises Violation."""
    simulation = TroubledBrokers(setup, keep=keep)
    for action in actions:
        simulation.perform(action)
    simulation.finish()
    return simulation


def failure(setup: TroubleSetup, actions: Iterable[Action]) -> str:
    """Run the actions; return the error, "" if there is none."""
    return failure_of(lambda: run(setup, actions))


def report(seed: int) -> str:
    """Return how to reproduce a failing seed and its shortest actions; "" if it does not fail."""
    return report_of(seed, "test_broker_faults.py", *plan(seed), judge=failure)


if __name__ == "__main__":
    sys.exit(show(sys.argv[1:], plan, report))
