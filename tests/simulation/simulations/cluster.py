"""A seeded simulation of several brokers that stop and start, some with slaves.

    python tests/simulation cluster SEED

runs one seed and prints its actions.

Each master has its own clients and oracle, as in `simulation.py`. Brokers share only the clock, so an event at one does
not affect the others, and every rule holds for each of them alone. Clients are connected to all brokers; a producer
that cannot send to one sends to the next.
"""

import random
import sys
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from deleted_files import RETENTIONS
from leak_check import remaining, wait
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.send import SendMessage
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
    insert_verbs,
)
from slaves import Slave
from stored_messages import Violation

NAMES = ("broker-a", "broker-b", "broker-c")
ACTIONS = 120
SILENT = (0, 0, 3, 2)
"""After a start every nth client of a broker sends no heartbeat, for these n; 0 means that all send one."""
NOT_DOWN = ("look",)
"""Verbs that are skipped while a broker is stopped."""
OWN = {"crash": 2, "take down": 4, "bring back": 7, "slave down": 2, "slave up": 4, "read slave": 5, "send to slave": 1,
       "send anywhere": 8, "advance": 14}  # fmt: skip
SLAVE_VERBS = ("slave down", "slave up", "read slave", "send to slave", "slave deletes")
DELETIONS_HERE = {**DELETIONS, "slave deletes": 0.03}
"""Probability before each action of a verb that fills or deletes log files, for every third seed."""


class ClusterSetup(NamedTuple):
    """Set-ups of the masters, and the number of slaves of each."""

    masters: tuple[Setup, ...]
    slaves: tuple[int, ...] = (0,)


class Cluster:
    """Brokers and their clients; `perform` raises Violation. `keep` keeps the observations of each master."""

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
                Slave(
                    self.engine,
                    master.session.broker,
                    broker,
                    master.oracle.log.newest_before,
                    retention=master.retention,
                )
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
        """Carry out an action; the number of its client also selects the broker."""
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
        """Check all running brokers at the end of a step."""
        for master in self.masters:
            if master.session.broker.running:
                master.session.end_step()
        for slave in self.slaves:
            slave.judge()

    def _send_anywhere(self, at: int, action: Action) -> None:
        """Send to the selected broker, or else to the next one that runs."""
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

    def _message(self, action: Action) -> SendMessage:
        topic = list(TOPICS)[action.a % len(TOPICS)]
        properties = {"UNIQ_KEY": f"never-{next(self._numbers)}"}
        return SendMessage("producers", topic, 0, b"never", properties, ("10.0.0.1", 5000), 0)

    def drain(self) -> None:
        """Start all brokers, and consume from each until no message is left."""
        for master in self.masters:
            if not master.session.broker.running:
                master.start(0)
        for slave in self.slaves:
            self.engine.start(slave.broker)
        for master in self.masters:
            master.drain()
        for slave in self.slaves:
            slave.judge()

    def leaks(self) -> list[str]:
        """Return descriptions of everything that the brokers should no longer hold after everything was consumed."""
        wait(self.masters[0].session)  # all masters share one clock
        return [found for master in self.masters for found in remaining(master.session)]


def plan(seed: int) -> tuple[ClusterSetup, list[Action]]:
    """Return the set-up and actions of a seed."""
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
        actions = insert_verbs(actions, DELETIONS_HERE, _drawn, draw)
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
    if found := cluster.leaks():
        raise Violation(f"left behind: {found}")
    return cluster


def failure(setup: ClusterSetup, actions: Iterable[Action]) -> str:
    """Run the actions; return the error, "" if there is none."""
    return failure_of(lambda: run(setup, actions))


def report(seed: int) -> str:
    """Return how to reproduce a failing seed and its shortest actions; "" if it does not fail."""
    return report_of(seed, "test_clusters.py", *plan(seed), judge=failure)


if __name__ == "__main__":
    sys.exit(show(sys.argv[1:], plan, report))
