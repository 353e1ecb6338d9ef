"""A seeded simulation: random clients on a simulated broker, checked by the oracle.

    python tests/simulation simulation SEED [--journal]

runs one seed and prints its actions, or the broker's journal.

A seed determines the set-up of the broker and the actions. An action is a verb with numbers that are valid in every
situation, so any action can be left out. A list that fails is therefore reduced to a minimal one.
"""

import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import producer_verbs
import puller_verbs
import retention
from crashes import Crashes
from dead_letters import DeadLetters
from deleted_files import RETENTIONS
from half_messages import HalfMessages
from leak_check import check_leaks
from observations import Handle, Observation, Place
from oracle import Oracle
from popped_messages import BUFFERED, CACHED_RECORDS, CHECK_POINTS, RECORDS
from queue_locks import QueueLocks
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.fixtures.control.schema.json_form import entry
from session import Session
from shortening import failure_of, report_of
from simulated_client import Client
from stored_messages import Violation
from timed_sends import TimedSends
from transactions import HALF_TOPIC, TRANSACTION_GROUP

TOPICS = {"A": 2, "B": 1, "O": 3}
"""Numbers of queues by topic."""
TAGS = {"pop-red": ("red", "green", "yellow"), "pull-red": ("red",)}
"""Tags to which groups subscribe; all other groups subscribe to every message."""
POP_GROUPS = ("pop-all", "pop-red")
ORDERED_GROUPS = ("order",)
PULL_GROUPS = ("pull-all", "pull-red")
MEMBERS = 2
"""Number of clients in each group."""
ACTIONS = 120
"""Number of actions of one seed."""
JOURNAL_MAX, RECORD_MAX = 300, 32
"""Bounds of the journal and of the delivery record, in entries, which many seeds reach."""
NUMBERS = 60
"""Number of values of each number of an action (0 to 59); divisible by the lengths of the next six tables."""

INVISIBLE_MS = (10_000, 3_000, 1_000, 60_000, 500, 0, 300_000, 10_001, 30_000, -1)
ORDER_INVISIBLE_MS = (10_000, 3_000, 1_000, 30_000, 1)
POLL_MS = (0, 0, 5_000, 1_000, 15_000)
COUNTS = (1, 2, 5, 32)
"""Maximum numbers of messages of a pop."""
LIMITS = (16, 0, 1)
"""Retry limits of groups."""
JUMPS_MS = (1_000, 1, 100, 700, 55_000, 5_000, 10_000, 2_001, 30_000, 130_000, 3_600_000, -5_000)
SETTLE_MS, DRAIN_ROUNDS = 20_000, 200
"""Simulated time before the final consumption, and after each of its rounds; the most rounds."""


class Action(NamedTuple):
    """An action of one client; its verb defines the meaning of the numbers. `fate` is one of `FATES`."""

    verb: str
    client: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    fate: str = ""


FATES = ("", "lost", "doubled", "abandoned")
"""Fates of a request: its response arrives (""), or is lost and the client repeats the request ("lost"); the request is
sent twice ("doubled"); the response is lost and the client does not repeat the request ("abandoned")."""

MODES = {"check points": CHECK_POINTS, "buffer": BUFFERED, "records": RECORDS, "cached records": CACHED_RECORDS}
"""Modes of tracking popped messages, by name."""

MODE_NAMES = ("check points", *MODES)
"""Names from which a seed draws; check points, upstream's default, are in it twice."""


class Setup(NamedTuple):
    """Set-up of the broker."""

    seed: int
    retry_v2: bool = False
    retry_first: int = 20
    """`popFromRetryProbability` (percent)."""
    mode: str = "check points"
    limits: tuple[int, ...] = (16, 16)
    """Retry limits of the groups that pull."""
    sql: bool = False
    """True if groups with tags subscribe with SQL92 expressions."""
    retention: str = ""
    """A key of `RETENTIONS`; "" means that no log files are deleted."""

    def configs(self) -> tuple[BrokerConfig, EmulationConfig]:
        """Return the configurations of broker and emulator."""
        broker, mode = BrokerConfig(), MODES[self.mode]
        broker.enable_retry_topic_v2 = self.retry_v2
        broker.pop_from_retry_probability = self.retry_first
        broker.enable_pop_buffer_merge = mode.cached
        broker.pop_consumer_kv_service_init = broker.pop_consumer_kv_service_enable = mode.records
        broker.flush_disk_type = "SYNC_FLUSH"
        broker.recall_message_enable = broker.enable_property_filter = True
        if self.retention:
            retention.configure(broker, RETENTIONS[self.retention])
        return broker, EmulationConfig(journal_max_entries=JOURNAL_MAX, delivery_record_max_entries=RECORD_MAX)


class Simulation:
    """A broker, its clients and the oracle. A step is one action, with everything that is due at its end.

    `keep` keeps the observations. `shared` is an engine of several brokers with the index of this simulation's broker.
    """

    def __init__(self, setup: Setup, *, keep: bool = False, shared: tuple[Engine, int] | None = None) -> None:
        self.setup = setup
        self.oracle = new_oracle(setup)
        self.observations: list[Observation] = []
        self._keep = keep
        self.is_fork = False
        self.steps = 0
        self.topics = TOPICS
        self.retention = RETENTIONS.get(setup.retention)
        self.session = Session(*setup.configs(), setup.seed, self._see, shared=shared)
        self.timed = TimedSends(self.session)
        self.halves = HalfMessages(self.session)
        self.locks = QueueLocks(self.session)
        self.dead = DeadLetters(self.session)
        for topic, queues in TOPICS.items():
            self.session.create_topic(topic, queues)
        if self.retention is not None:
            self.session.create_topic(retention.FILLER_TOPIC, 1)
        for group, retries in zip(PULL_GROUPS, setup.limits, strict=True):
            self.session.limit(group, retries)
        groups = (*POP_GROUPS, *ORDERED_GROUPS, *PULL_GROUPS)
        self.clients = [
            Client(f"{group}-{number}", group, TAGS.get(group, ()), setup.sql)
            for group in groups
            for number in range(MEMBERS)
        ]
        self.poppers = [client for client in self.clients if client.group in POP_GROUPS]
        self.orderly = [client for client in self.clients if client.group in ORDERED_GROUPS]
        self.pullers = [client for client in self.clients if client.group in PULL_GROUPS]
        places = self._places_of_groups()
        self.crashes = Crashes(self.session, self.clients, places)
        half_queue = (HALF_TOPIC, 0)
        queues_seen = dict.fromkeys([*(place for _, place in places), (retention.FILLER_TOPIC, 0)])
        self.session.watch([*places, (TRANSACTION_GROUP, half_queue)], queues_seen)
        self._used: list[tuple[Client, Handle]] = []
        self.cursors: dict[tuple[str, str, int], int] = {}
        for client in self.clients:
            client.on_push = self.halves.pushed
            self.session.beat(client, TOPICS)
        self.session.end_step()

    def _places_of_groups(self) -> list[tuple[str, Place]]:
        """Return all queues in which a group may have an offset."""
        places = [(topic, queue_id) for topic, queues in TOPICS.items() for queue_id in range(queues)]
        known = [(client.group, place) for client in self.clients[::MEMBERS] for place in places]
        for client in self.poppers[::MEMBERS]:
            known += [(client.group, (self.oracle.pops.retry_topic(client.group, topic), 0)) for topic in TOPICS]
        return known + [(client.group, (f"%RETRY%{client.group}", 0)) for client in self.pullers[::MEMBERS]]

    def _see(self, seen: Observation) -> None:
        if self._keep:
            self.observations.append(seen)
        if not self.is_fork:  # a fork keeps state that a restarted broker loses, and the oracle would expect the loss
            self.oracle.observe(seen)

    def perform(self, action: Action) -> None:
        """Carry out an action and end the step. Raises Violation."""
        self.act(action)
        self.session.end_step()

    def act(self, action: Action) -> None:
        """Carry out an action; the oracle checks it at the end of the step."""
        self.steps += 1
        verb = VERBS[action.verb]
        if action.fate in ("lost", "abandoned"):
            verb(self, action, True)
        if action.fate != "abandoned":
            verb(self, action, False)
        if action.fate == "doubled":
            verb(self, action, False)

    # meanings of an action's numbers

    def topic(self, number: int) -> str:
        """Return the topic for a number."""
        return list(TOPICS)[number % len(TOPICS)]

    def _queue(self, topic: str, number: int) -> int:
        return number % TOPICS[topic]

    def any_or_one(self, topic: str, number: int) -> int:
        """Return -1 (any queue) for even numbers, else a queue."""
        return -1 if number % 2 == 0 else self._queue(topic, number // 2)

    # verbs; `lost`: the client does not receive the response

    def send(self, action: Action, lost: bool) -> None:
        """Send a message: plain, with a delay level, or with a timer."""
        topic = self.topic(action.a)
        level, timer_ms = ((0, 0), (0, 0), (0, 0), (1, 0), (2, 0), (0, 700), (0, 6_000))[action.d % 7]
        tag = ("red", "blue", None)[action.c % 3]
        queue_id = self.any_or_one(topic, action.b)
        client = self.clients[action.client % len(self.clients)]
        self.session.send(client, topic, queue_id, f"m{self.steps}", tag=tag, level=level, timer_ms=timer_ms)

    def burst(self, action: Action, lost: bool) -> None:
        """Send several messages."""
        topic = self.topic(action.a)
        for number in range(3 + action.b % 40):
            tag = ("red", "blue")[number % 2]
            queue_id = self._queue(topic, number)
            self.session.send(self.clients[0], topic, queue_id, f"m{self.steps}.{number}", tag=tag)

    def pop(self, action: Action, lost: bool) -> None:
        """Pop without order, sometimes with a request that took 700 ms to arrive."""
        topic = self.topic(action.a)
        late_ms = 700 if action.d % 10 == 9 else 0
        self.session.pop(
            self.poppers[action.client % len(self.poppers)],
            topic,
            self.any_or_one(topic, action.b),
            COUNTS[action.c % len(COUNTS)],
            invisible_ms=INVISIBLE_MS[action.d % len(INVISIBLE_MS)],
            poll_ms=POLL_MS[(action.c // len(COUNTS)) % len(POLL_MS)],
            late_ms=late_ms,
            forget=lost,
        )

    def pop_in_order(self, action: Action, lost: bool) -> None:
        """Pop in order: as a new attempt, as a repetition of the last one, or without attempt id."""
        topic = self.topic(action.a)
        client = self.orderly[action.client % len(self.orderly)]
        if action.b % 4 == 0 and not lost and action.fate != "lost":
            client.attempt += 1
        attempt_id = None if action.b % 4 == 3 else f"{client.name}#{client.attempt}"
        self.session.pop(
            client,
            topic,
            self.any_or_one(topic, action.b // 4),
            COUNTS[action.c % len(COUNTS)],
            invisible_ms=ORDER_INVISIBLE_MS[action.d % len(ORDER_INVISIBLE_MS)],
            poll_ms=POLL_MS[(action.c // len(COUNTS)) % len(POLL_MS)],
            order=True,
            attempt_id=attempt_id,
            forget=lost,
        )

    def _holder(self, action: Action) -> tuple[Client, Handle] | None:
        """Return a client that has handles, with one of these; None if no client has one."""
        holders = [client for client in (*self.poppers, *self.orderly) if client.handles]
        if not holders:
            return None
        client = holders[action.client % len(holders)]
        return client, client.handles[action.a % len(client.handles)]

    def _is_ordered(self, client: Client) -> bool:
        return client.group in ORDERED_GROUPS

    def ack(self, action: Action, lost: bool) -> None:
        """Acknowledge a message; the client drops the used handle."""
        held = self._holder(action)
        if held is None:
            return
        client, handle = held
        self.session.ack(client, handle, order=self._is_ordered(client))
        if not lost:
            client.handles.remove(handle)
            self._used = [*self._used[-20:], (client, handle)]

    def ack_again(self, action: Action, lost: bool) -> None:
        """Acknowledge with a handle that was used before."""
        if self._used:
            client, handle = self._used[action.a % len(self._used)]
            self.session.ack(client, handle, order=self._is_ordered(client))

    def ack_many(self, action: Action, lost: bool) -> None:
        """Acknowledge many unordered deliveries of one topic with one request."""
        client = self.poppers[action.client % len(self.poppers)]
        topic = self.topic(action.a)
        names = (topic, self.oracle.pops.retry_topic(client.group, topic))
        chosen = [handle for handle in client.handles if handle.topic in names][: 1 + action.b % 40]
        self.session.batch_ack(client, topic, chosen)
        if not lost:
            client.handles = [handle for handle in client.handles if handle not in chosen]

    def ack_forged(self, action: Action, lost: bool) -> None:
        """Acknowledge with a forged handle."""
        held = self._holder(action)
        if held is None:
            return
        client, handle = held
        order = self._is_ordered(client)
        forged = (
            handle._replace(pop_time=handle.pop_time - 1),
            handle._replace(broker="broker-z") if not order else handle._replace(pop_time=1),
            handle._replace(revive_qid=(handle.revive_qid + 1) % 8) if not order else handle._replace(pop_time=2),
            handle._replace(start_offset=handle.start_offset + 1) if not order else handle._replace(pop_time=3),
        )[action.b % 4]
        self.session.ack(client, forged, order=order)

    def hide(self, action: Action, lost: bool) -> None:
        """Change the invisible duration."""
        held = self._holder(action)
        if held is None:
            return
        client, handle = held
        order = self._is_ordered(client)
        table = ORDER_INVISIBLE_MS if order else INVISIBLE_MS
        self.session.hide(client, handle, table[action.b % len(table)], order=order, forget=lost)

    def notify(self, action: Action, lost: bool) -> None:
        """Wait until a pop would find messages."""
        client = self.poppers[action.client % len(self.poppers)]
        self.session.notify(client, self.topic(action.a), POLL_MS[action.b % len(POLL_MS)])

    def give_up(self, action: Action, lost: bool) -> None:
        """Move a popped message to the dead letter queue, and acknowledge it."""
        held = self._holder(action)
        if held is None:
            return
        client, handle = held
        self.dead.give_up(client, handle, order=self._is_ordered(client))
        if not lost:
            client.handles.remove(handle)
            self._used = [*self._used[-20:], (client, handle)]

    def beat(self, action: Action, lost: bool) -> None:
        """Send a heartbeat."""
        self.session.beat(self.clients[action.client % len(self.clients)], TOPICS)

    def leave(self, action: Action, lost: bool) -> None:
        """Leave the group or lose the connection; every other client then sends a heartbeat."""
        client = self.clients[action.client % len(self.clients)]
        self.session.leave(client, close=action.a % 2 == 0)
        if action.b % 2 == 0:
            self.session.beat(client, TOPICS)

    def look(self, action: Action, lost: bool) -> None:
        """Query offsets and members."""
        client = self.clients[action.client % len(self.clients)]
        topic = self.topic(action.a)
        self.session.look(client, topic, self._queue(topic, action.b))

    def reset(self, action: Action, lost: bool) -> None:
        """Reset the offset of a group in one queue."""
        client = self.clients[action.client % len(self.clients)]
        topic = self.topic(action.a)
        queue_id = self._queue(topic, action.b)
        store = self.session.broker.store
        low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        self.session.reset(client, topic, queue_id, low + action.c % (high - low + 1))
        # A later acknowledgement of an old handle would move an ordered group over messages that it has not got.
        for other in self.orderly:
            other.handles = [handle for handle in other.handles if (other.group, handle.topic) != (client.group, topic)]
        self._used = [(one, handle) for one, handle in self._used if not self._is_ordered(one)]

    def advance(self, action: Action, lost: bool) -> None:
        """Advance the time; a negative duration has no effect."""
        self.session.advance(JUMPS_MS[action.a % len(JUMPS_MS)])

    def crash(self, action: Action, lost: bool) -> None:
        """Crash the broker with or without power loss, or restart it gracefully; then all clients send heartbeats.

        Every other graceful restart continues in another engine.
        """
        kind = action.a % 12
        self.crashes.crash(power_loss=kind % 2 == 0, in_order=kind % 6 == 5, moves=kind == 11)
        self._beat_all()

    def move_to(self, made: Callable[[], Engine]) -> None:
        """Continue with the fork that `made` returns; then all clients send heartbeats. The oracle observes no more."""
        self.is_fork = True
        self.crashes.move_to(made)
        self._beat_all()
        self.session.end_step()

    def _beat_all(self) -> None:
        self._forget_orderly()
        for client in self.clients:
            self.session.beat(client, TOPICS)

    def _forget_orderly(self) -> None:
        """Delete the handles of ordered clients after a crash."""
        for client in self.orderly:
            client.handles.clear()
        self._used = [(one, handle) for one, handle in self._used if not self._is_ordered(one)]

    def stop(self, *, kill: bool) -> None:
        """Stop the broker."""
        self.crashes.stop(kill=kill)
        self._forget_orderly()

    def start(self, silent: int) -> None:
        """Start the broker; every `silent`-th client sends no heartbeat, with 0 all send one."""
        self.crashes.start()
        for number, client in enumerate(self.clients):
            if not silent or number % silent:
                self.session.beat(client, TOPICS)

    # the end

    def drain(self) -> None:
        """Consume with all groups until no message is left. Raises Violation if a group misses a message."""
        session = self.session
        session.advance(SETTLE_MS)
        session.end_step()
        for _ in range(DRAIN_ROUNDS):
            came = [self._consume(client) for client in (*self.poppers[::MEMBERS], *self.orderly[:1])]
            due = self.oracle.last_due(session.now_ms)
            if not any(came) and due <= session.now_ms and not self.oracle.missing():
                break
            session.advance(max(due - session.now_ms, SETTLE_MS))
            session.end_step()
        for client in self.pullers[::MEMBERS]:
            for topic in (*TOPICS, f"%RETRY%{client.group}"):
                self._pull_all(client, topic)
        session.end_step()
        session.drained()

    def _consume(self, client: Client) -> int:
        """Pop and acknowledge all available messages; return their number."""
        order = self._is_ordered(client)
        came = 0
        for topic in TOPICS:
            for _ in range(1000):
                client.handles.clear()
                client.attempt += 1
                attempt_id = f"{client.name}#{client.attempt}" if order else None
                self.session.pop(
                    client, topic, -1, 32, invisible_ms=10_000, poll_ms=0, order=order, attempt_id=attempt_id
                )
                if not client.handles:
                    break
                self.session.end_step()
                came += len(client.handles)
                for handle in list(client.handles):
                    self.session.ack(client, handle, order=order)
                self.session.end_step()
        self.session.end_step()
        return came

    def _pull_all(self, client: Client, topic: str) -> None:
        for queue_id in range(TOPICS.get(topic, 1)):
            self.session.pull(client, topic, queue_id, 0, count=32)  # takes a pending reset
            offset = 0
            while offset < self.session.broker.store.max_offset(topic, queue_id):
                offset = self.session.pull(client, topic, queue_id, offset, count=32)


VERBS: dict[str, Callable[[Simulation, Action, bool], None]] = {  # called with the simulation, the action and `lost`
    "send": Simulation.send,
    "burst": Simulation.burst,
    "send timed": producer_verbs.send_timed,
    "take back": producer_verbs.take_back,
    "prepare": producer_verbs.prepare,
    "end": producer_verbs.end,
    "pop": Simulation.pop,
    "pop in order": Simulation.pop_in_order,
    "ack": Simulation.ack,
    "ack again": Simulation.ack_again,
    "ack many": Simulation.ack_many,
    "ack forged": Simulation.ack_forged,
    "hide": Simulation.hide,
    "notify": Simulation.notify,
    "pull": puller_verbs.pull,
    "commit": puller_verbs.commit,
    "send back": puller_verbs.send_back,
    "give up": Simulation.give_up,
    "beat": Simulation.beat,
    "leave": Simulation.leave,
    "lock": puller_verbs.lock,
    "unlock": puller_verbs.unlock,
    "look": Simulation.look,
    "reset": Simulation.reset,
    "crash": Simulation.crash,
    "advance": Simulation.advance,
    "fill": retention.fill,
    "delete": retention.delete,
}
WEIGHTS = {
    "send": 12, "burst": 2, "send timed": 5, "take back": 4, "prepare": 4, "end": 5,
    "pop": 12, "pop in order": 8, "ack": 10, "ack again": 2, "ack many": 3, "ack forged": 2,
    "hide": 5, "notify": 3, "pull": 6, "commit": 2, "send back": 2, "give up": 2, "beat": 2, "leave": 2, "lock": 2,
    "unlock": 1, "look": 3, "reset": 1, "crash": 1, "advance": 14,
}  # fmt: skip
DELETIONS = {"fill": 0.12, "delete": 0.06}
"""Probabilities that messages fill a log file, and that files are deleted, before an action; for retention seeds."""


def new_oracle(setup: Setup) -> Oracle:
    """Return an oracle for the groups, topics and tags of the simulation."""
    return Oracle(
        pop_groups=POP_GROUPS,
        ordered_groups=ORDERED_GROUPS,
        pull_groups=PULL_GROUPS,
        topics=TOPICS,
        tags=TAGS,
        mode=MODES[setup.mode],
        retry_v2=setup.retry_v2,
        retention=RETENTIONS.get(setup.retention),
    )


def plan(seed: int) -> tuple[Setup, list[Action]]:
    """Return the set-up and actions of a seed.

    Each seed prefers some verbs and omits others, which reaches more situations than a single mixture would.
    """
    draw = random.Random(seed)
    setup = Setup(seed, draw.random() < 0.3, draw.choice((20, 20, 0, 100)), draw.choice(MODE_NAMES), sql=seed % 3 == 0)
    setup = setup._replace(limits=tuple(draw.choice(LIMITS) for _ in PULL_GROUPS))
    weights = [weight * draw.choice((0, 1, 1, 1, 4)) for weight in WEIGHTS.values()]
    weights[list(WEIGHTS).index("send")] = WEIGHTS["send"]
    weights[list(WEIGHTS).index("advance")] = WEIGHTS["advance"]
    verbs = draw.choices(list(WEIGHTS), weights, k=ACTIONS)
    actions = [_drawn(verb, draw) for verb in verbs]
    if seed % 4 != 1:
        return setup, actions
    actions = insert_verbs(actions, DELETIONS, _drawn, draw)
    return setup._replace(retention=draw.choice(list(RETENTIONS))), actions


def insert_verbs(
    actions: Iterable[Action],
    odds: Mapping[str, float],
    drawn: Callable[[str, random.Random], Action],
    draw: random.Random,
) -> list[Action]:
    """Insert actions of other verbs before each action, each verb with its probability in `odds`."""
    found = []
    for action in actions:
        for verb, share in odds.items():
            if draw.random() < share:
                found.append(drawn(verb, draw)._replace(fate=""))
        found.append(action)
    return found


def _drawn(verb: str, draw: random.Random) -> Action:
    client, a, b, c, d = (draw.randrange(NUMBERS) for _ in range(5))
    return Action(verb, client, a, b, c, d, draw.choice(FATES[1:]) if draw.random() < 0.15 else "")


def run(setup: Setup, actions: Iterable[Action], *, keep: bool = False) -> Simulation:
    """Carry out all actions and drain. Raises Violation."""
    simulation = Simulation(setup, keep=keep)
    for action in actions:
        simulation.perform(action)
    simulation.drain()
    return simulation


def failure(setup: Setup, actions: Iterable[Action]) -> str:
    """Run the actions; return the error, "" if there is none."""
    return failure_of(lambda: check_leaks(run(setup, actions).session))


def report(seed: int) -> str:
    """Return how to reproduce a failing seed and its shortest actions; "" if it does not fail."""
    return report_of(seed, "test_simulation.py", *plan(seed), judge=failure)


def journal_lines(simulation: Simulation) -> Iterator[str]:
    """Yield the journal of a simulation as the control port writes it, one line of JSON per entry."""
    for index, found in enumerate(simulation.session.engine.journal):
        yield json.dumps(entry(index, found))


def main(words: list[str]) -> int:
    """Run one seed and print it."""
    seed = int(words[0])
    setup, actions = plan(seed)
    try:
        simulation = run(setup, actions)
    except Violation:
        print(report(seed))
        return 1
    if "--journal" in words:
        print("\n".join(journal_lines(simulation)))
    else:
        print(setup, *actions, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
