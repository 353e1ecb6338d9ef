"""A seeded simulation of several brokers that go down and come back, some with slaves.

    python tests/simulation/cluster.py SEED

runs one seed and prints what was done.

Each master has clients and an oracle of its own, as `simulation.py` has them: brokers share nothing but the clock, so
whatever happens to one of them is none of the others' business, and every rule holds for each alone. Clients are
connected to all of them; who cannot send to one sends to the next.
"""

import random
import sys
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from deleted_files import RETENTIONS
from leftovers import leftovers
from rocketmq_testkit.emulator import operations as ops
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from session import START_MS
from shortening import failure_of, report_of, show
from simulation import (
    DELETIONS,
    FATES,
    JUMPS_MS,
    MODE_NAMES,
    NUMBERS,
    PULL_GROUPS,
    TOPICS,
    VERBS,
    WEIGHTS,
    Action,
    Setup,
    Simulation,
    among,
)
from slaves import Slave
from stored_messages import Violation

NAMES = ("broker-a", "broker-b", "broker-c")
ACTIONS = 120
SILENT = (0, 0, 3, 2)
"""Which part of a broker's clients does not come back with it."""
NOT_DOWN = ("look",)
"""Verbs that make no sense at a broker that is down."""
OWN = {"crash": 2, "take down": 4, "bring back": 7, "slave down": 2, "slave up": 4, "read slave": 5, "send to slave": 1,
       "send anywhere": 8, "advance": 14}  # fmt: skip
SLAVE_VERBS = ("slave down", "slave up", "read slave", "send to slave", "slave deletes")
DELETIONS_HERE = {**DELETIONS, "slave deletes": 0.03}
"""Where brokers delete files, which every third seed has."""


class ClusterSetup(NamedTuple):
    """How the masters are set up, and how many slaves each has."""

    masters: tuple[Setup, ...]
    slaves: tuple[int, ...] = (0,)


class Cluster:
    """Brokers and their clients; `perform` raises Violation. What is observed of each is kept if asked for."""

    def __init__(self, setup: ClusterSetup, *, keep: bool = False) -> None:
        configs = [self._config(one, name) for one, name in zip(setup.masters, NAMES, strict=False)]
        slaves = [
            self._config(one, name, number)
            for one, name, slaves in zip(setup.masters, NAMES, setup.slaves, strict=False)
            for number in range(1, slaves + 1)
        ]
        self.engine = Engine(brokers=[*configs, *slaves], seed=setup.masters[0].seed, now_ms=START_MS)
        self.masters = [Simulation(one, keep=keep, shared=(self.engine, at)) for at, one in enumerate(setup.masters)]
        self.slaves = []
        for broker in self.engine.brokers[len(configs) :]:
            master = self.masters[NAMES.index(broker.name)]
            self.slaves.append(
                Slave(self.engine, master.session.broker, broker, master.oracle.log.newest_before, master.retention)
            )
        lookers = [look for master in self.masters for look in master.session.lookers]
        if lookers:
            lookers += [slave.look_at_files for slave in self.slaves]
        for master in self.masters:
            master.session.lookers = lookers
        self._numbers = count()

    @staticmethod
    def _config(setup: Setup, name: str, slave: int = 0) -> BrokerConfig:
        config, _ = setup.configs()
        config.broker_name = name
        config.slave_read_enable = True
        if slave:
            config.broker_id, config.broker_role = slave, "SLAVE"
        return config

    def perform(self, action: Action) -> None:
        """Carry out an action; the number of its client says which broker it is about, too."""
        at, client = action.client % len(self.masters), action.client // len(self.masters)
        own = action._replace(client=client)
        master = self.masters[at]
        running = master.session.broker.running
        match action.verb:
            case "advance":
                master.session.advance(JUMPS_MS[action.a % len(JUMPS_MS)])
            case "crash":
                if running:
                    master.act(own._replace(a=action.a % 11))
            case "take down":
                if running:
                    master.stop(kill=action.a % 2 == 0)
            case "bring back":
                if not running:
                    master.start(SILENT[action.a % len(SILENT)])
            case "send anywhere":
                self._send_anywhere(at, own)
            case verb if verb in SLAVE_VERBS:
                if self.slaves:
                    self._use_slave(self.slaves[action.client % len(self.slaves)], action)
            case _:
                if running or action.verb not in NOT_DOWN:
                    master.act(own)
        self.end_step()

    def end_step(self) -> None:
        """All that run are judged."""
        for master in self.masters:
            if master.session.broker.running:
                master.session.end_step()
        for slave in self.slaves:
            slave.judge()

    def _send_anywhere(self, at: int, action: Action) -> None:
        """To the broker that was chosen, or else to the next one that runs."""
        for master in (*self.masters[at:], *self.masters[:at]):
            master.act(action._replace(verb="send", fate=""))
            if master.session.broker.running:
                return

    def _use_slave(self, slave: Slave, action: Action) -> None:
        if action.verb == "slave down":
            self.engine.stop(slave.broker, kill=action.a % 2 == 0)
        elif action.verb == "slave up":
            self.engine.start(slave.broker)
        elif action.verb == "send to slave":
            slave.refuses(lambda: self._message(action))
        elif action.verb == "slave deletes":
            slave.delete_files()
        else:
            topic = list(TOPICS)[action.a % len(TOPICS)]
            slave.read(PULL_GROUPS[0], topic, action.b % TOPICS[topic], action.c)

    def _message(self, action: Action) -> ops.SendMessage:
        topic = list(TOPICS)[action.a % len(TOPICS)]
        properties = {"UNIQ_KEY": f"never-{next(self._numbers)}"}
        return ops.SendMessage("producers", topic, 0, b"never", properties, ("10.0.0.1", 5000), 0)

    def drain(self) -> None:
        """All come back, and everybody consumes until nothing comes any more, of each broker."""
        for master in self.masters:
            if not master.session.broker.running:
                master.start(0)
        for slave in self.slaves:
            self.engine.start(slave.broker)
        for master in self.masters:
            master.drain()
        for slave in self.slaves:
            slave.judge()

    def leftovers(self) -> list[str]:
        """What should be gone after everything was consumed."""
        return [found for master in self.masters for found in leftovers(master.session)]


def plan(seed: int) -> tuple[ClusterSetup, list[Action]]:
    """What a seed means."""
    draw = random.Random(f"cluster {seed}")
    masters = tuple(
        Setup(seed, draw.random() < 0.3, draw.choice((20, 20, 0, 100)), draw.choice(MODE_NAMES), sql=seed % 3 == 0)
        for _ in range(draw.choice((1, 2, 2, 3)))
    )
    slaves = tuple(draw.choice((0, 0, 1, 2)) for _ in masters)
    weights = {**WEIGHTS, **OWN}
    weights = {verb: weight * draw.choice((0, 1, 1, 1, 4)) for verb, weight in weights.items()}
    weights |= {verb: {**WEIGHTS, **OWN}[verb] for verb in ("send", "advance", "bring back")}
    verbs = draw.choices(list(weights), list(weights.values()), k=ACTIONS)
    actions = [_drawn(verb, draw) for verb in verbs]
    if seed % 3 == 1:
        masters = tuple(one._replace(retention=draw.choice(("", *RETENTIONS))) for one in masters)
        actions = among(actions, DELETIONS_HERE, _drawn, draw)
    return ClusterSetup(masters, slaves), actions


def _drawn(verb: str, draw: random.Random) -> Action:
    client, a, b, c, d = (draw.randrange(NUMBERS) for _ in range(5))
    fate = draw.choice(FATES[1:]) if verb in VERBS and draw.random() < 0.15 else ""
    return Action(verb, client, a, b, c, d, fate)


def run(setup: ClusterSetup, actions: Iterable[Action]) -> Cluster:
    """Carry out all actions and drain. Raises Violation."""
    cluster = Cluster(setup)
    for action in actions:
        cluster.perform(action)
    cluster.drain()
    if found := cluster.leftovers():
        raise Violation(f"left behind: {found}")
    return cluster


def failure(setup: ClusterSetup, actions: Iterable[Action]) -> str:
    """What goes wrong, "" for nothing."""
    return failure_of(lambda: run(setup, actions))


def report(seed: int) -> str:
    """How to see a failing seed again, and the shortest way to it; "" if the seed does not fail."""
    return report_of(seed, "test_clusters.py", *plan(seed), failure)


if __name__ == "__main__":
    sys.exit(show(sys.argv[1:], plan, report))
