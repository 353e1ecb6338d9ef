"""A seeded simulation of all operations that clients and tools can send, beside random clients of one broker.

    python tests/simulation all_operations SEED

runs one seed and prints its actions. The clients are those of `simulation.py`, and the oracle checks them. Between
their requests there are

- operations that only read (`read_operations.py`), with valid and with invalid arguments: they change nothing, and end
  with a result or with an error of their table. Some results are those of the model (`known_answers.py`);
- operations that change something (`administration.py`, `side_clients.py`), each with its effect in the model
  (`administered.py`), which is compared with the broker and the name server after every action.

`LEFT_OUT` has the operations that this simulation cannot draw, each with the reason.
"""

import random
import sys
from collections.abc import Callable, Iterable

import administered_state
import administration
import side_clients
from administered import POPPERS, SIDE_GROUPS, SIDE_TOPICS, Administered
from administration import ADMINISTRATION
from known_answers import check_answer
from leak_check import check_leaks
from observations import Observation, Stored
from read_operations import READS, Read
from rocketmq_testkit.emulator.cluster.name_server import REGISTER_PERIOD_MS
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.config.access import local_metadata_provider
from rocketmq_testkit.emulator.gate.call import Node, Outcome
from rocketmq_testkit.emulator.gate.effects import Effect
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import offset_message_id
from rocketmq_testkit.emulator.operations import clients, consume, groups, offsets, send, topics
from rocketmq_testkit.emulator.operations.base import Operation, Result
from session import START_MS
from shortening import failure_of, report_of, show
from side_clients import SIDE_CLIENTS, Held
from simulated_call import SimulatedCall
from simulated_client import Client
from simulation import (
    FATES,
    MODE_NAMES,
    NUMBERS,
    POP_GROUPS,
    PULL_GROUPS,
    TOPICS,
    VERBS,
    WEIGHTS,
    Action,
    Setup,
    Simulation,
)
from stored_messages import Violation

RELAYED = frozenset({clients.GetConsumerRunningInfo, clients.ConsumeMessageDirectly, clients.GetConsumerStatus})
"""Operations that wait until a consumer has responded."""
ANSWERED_MS = 10_000
"""The longest time for which the broker waits for the response of a client."""
ACTIONS = 70
"""Number of actions of one seed."""
OPERATIONS_IN_CI = 200
"""Number of schedules of CI, from number FIRST_OPERATIONS on."""
DRAIN_ROUNDS, DRAIN_MS = 40, 70_000
OF_CLIENTS: dict[type[Operation], str] = {
    send.EndTransaction: "end",
    send.RecallMessage: "take back",
    send.SendMessageBack: "send back",
    consume.ChangeInvisibleTime: "hide",
    consume.Notification: "notify",
    clients.Heartbeat: "beat",
    clients.UnregisterClient: "leave",
    clients.ChannelClosed: "leave",
    clients.LockBatchMq: "lock",
    clients.UnlockBatchMq: "unlock",
}
"""Operations that only the clients of `simulation.py` send, each with one of its verbs."""
CHANGES = {**ADMINISTRATION, **SIDE_CLIENTS}
DRAWN = frozenset({*READS, *CHANGES, *OF_CLIENTS})
"""The operations that schedules execute."""
LEFT_OUT: dict[type[Operation], str] = {}
"""Operations that this simulation cannot draw, each with the reason."""
CHANGE_WEIGHTS = {
    send.SendMessage: 12,
    consume.PullMessage: 6,
    consume.PopMessage: 6,
    consume.AckMessage: 5,
    topics.CreateTopic: 5,
    offsets.UpdateConsumerOffset: 10,
    groups.CloneGroupOffset: 4,
    groups.UpdateGroupForbidden: 2,
    groups.DeleteGroup: 2,
    consume.BatchAckMessage: 3,
    send.SendReplyMessage: 2,
}
"""Weights of operations that change something, 1 for all others."""
CHANGES_WEIGHT = sum(CHANGE_WEIGHTS.get(operation, 1) for operation in CHANGES)
CHANGING = frozenset({"crash", "advance", *(operation.__name__ for operation in CHANGES)})
"""The verbs after which the model is compared; after all others, nothing of it can have changed."""
BY_NAME: dict[str, type[Operation]] = {operation.__name__: operation for operation in (*READS, *CHANGES)}


class OperationsSetup(Setup):
    """Set-up of a broker that stores users and creates no topics on its own."""

    def configs(self) -> tuple[BrokerConfig, EmulationConfig]:
        """Return the configurations of broker and emulator."""
        broker, emulation = super().configs()
        broker.auto_create_topic_enable = False
        broker.authentication_metadata_provider = local_metadata_provider("Authentication")
        broker.authorization_metadata_provider = local_metadata_provider("Authorization")
        return broker, emulation


class AllOperations(Simulation):
    """A broker, its clients, and the tools of its administrators."""

    def __init__(self, setup: OperationsSetup) -> None:
        self.side = Administered()
        self._registered_ms = START_MS
        self.handles: list[Held] = []
        self.stale: list[Held] = []
        """Messages in flight at the deletion of their topic."""
        self.tickets: list[int] = []
        """Requests of the broker to which the listener responds in a later action, or never."""
        self.to_respond: list[int] = []
        """Requests of the broker to which it responds at once."""
        self.result: Result | None = None
        self._stored: list[Stored] = []
        self._calls = 0
        self._waiting: dict[int, int] = {}
        """Requests that wait, with the time since which they do (ms)."""
        super().__init__(setup)
        self.session.is_observed = lambda topic: "side-" not in topic
        self.tool = Client("tool", "tools")
        self.listener = Client("listener", "side-push")
        self.listener.on_push = self._pushed
        for client in self.clients:
            client.on_push = self._pushed
        administration.prepare(self)
        side_clients.beat(self)
        self.session.end_step()

    def _pushed(self, client: Client, effect: Effect) -> None:
        self.halves.pushed(client, effect)
        side_clients.pushed(self, client, effect)

    def _see(self, seen: Observation) -> None:
        if isinstance(seen, Stored):
            self._stored.append(seen)
        super()._see(seen)

    # requests

    def node(self, operation: Operation) -> Node:
        """Return the node that handles an operation."""
        name_server = self.session.engine.name_server
        return name_server if type(operation) in name_server.handlers else self.session.broker

    def request(
        self,
        operation: Operation,
        code: str = "",
        *,
        client: Client | None = None,
        waits: bool = False,
        on_answer: Callable[[Outcome], None] | None = None,
    ) -> str:
        """Send an operation that must end with an error named `code`, or with a result if that is empty.

        Return the name of the error. `result` is the result, None while the request waits. Raises Violation.
        """
        self.result = None

        def answered(outcome: Outcome) -> None:
            name = outcome.code.name if isinstance(outcome, EngineError) else ""
            if name != code:
                raise Violation(f"{operation} ends with {outcome!r}, expected is {code or 'a result'}")
            if isinstance(outcome, Result):
                self.result = outcome
            if on_answer is not None:
                on_answer(outcome)

        self._submit(operation, client or self.tool, answered, waits=waits)
        return code

    def _submit(
        self, operation: Operation, client: Client, on_answer: Callable[[Outcome], None], *, waits: bool
    ) -> None:
        self._calls += 1

        def answered(call: SimulatedCall, outcome: Outcome) -> None:
            self._waiting.pop(call.number, None)
            on_answer(outcome)

        call = SimulatedCall(answered, self._calls, client, lambda outcome, waited: None)
        self.session.engine.gate.submit(self.node(operation), call, operation)
        if not call.answered:
            if not waits:
                raise Violation(f"{operation} waits")
            self._waiting[call.number] = self.session.now_ms
        tickets, self.to_respond = self.to_respond, []
        for ticket in tickets:
            response = send.ClientResponded(ticket, 0, None, {}, body=b"{}")
            self.session.engine.submit(self.session.broker, response, self.listener.channel)

    def read(self, read: Read, operation: Operation) -> None:
        """Send an operation that only reads, and compare all state before and after it. Raises Violation."""
        before = self.digest()

        def answered(outcome: Outcome) -> None:
            if isinstance(outcome, EngineError):
                if outcome.code.name not in read.errors:
                    raise Violation(f"{operation} ends with {outcome!r}, known are {read.errors or 'no errors'}")
            elif not isinstance(outcome, read.result):
                raise Violation(f"{operation} ends with {outcome}, expected is {read.result.__name__}")
            check_answer(self.side, operation, outcome)

        self._submit(operation, self.tool, answered, waits=type(operation) in RELAYED)
        self.compare(before, operation)

    def digest(self) -> dict[str, object]:
        """Return all state that an operation that only reads may not change."""
        return administered_state.digest(self.session.engine, self.session.broker)

    def compare(self, before: dict[str, object], operation: Operation) -> None:
        """Compare the state with that before an operation. Raises Violation if it has changed."""
        for part, text in self.digest().items():
            if text != before[part]:
                raise Violation(f"{operation} changes {part} from {before[part]} to {text}")

    # arguments of operations that only read

    def any_topic(self, number: int) -> str:
        """Return a topic, which may not exist."""
        names = (*TOPICS, *SIDE_TOPICS, "%RETRY%pull-all", "side-none", "")
        return names[number % len(names)]

    def any_group(self, number: int) -> str:
        """Return a group, which may not exist."""
        names = (*POP_GROUPS, *PULL_GROUPS, *SIDE_GROUPS, "side-push", "side-none")
        return names[number % len(names)]

    def existing_group(self, number: int) -> str:
        """Return a group that no administrator deletes: an operation with another one may create it."""
        return (*POP_GROUPS, *PULL_GROUPS)[number % 4]

    def listening_group(self, number: int) -> str:
        """Return the group of the client that listens, or a group whose clients are too old."""
        return ("side-push", "side-push", "pop-all")[number % 3]

    def listening_client(self, number: int) -> str | None:
        """Return the id of the client that listens, of an old client, or no id."""
        own, old = self.listener.channel.channel_id, self.clients[0].channel.channel_id
        return (own, own, own, old, None, "")[number % 6]

    def any_physical_offset(self, number: int) -> int:
        """Return the physical offset of a message, or one between messages."""
        return self._stored[-1 - number % len(self._stored)].physical if self._stored and number % 5 else number * 1_000

    def any_key(self, number: int) -> tuple[str, str]:
        """Return the topic and a key of a message, or those of none."""
        if not self._stored or number % 5 == 4:
            return self.any_topic(number), "none"
        seen = self._stored[-1 - number % len(self._stored)]
        return seen.topic, seen.message_id

    def any_message_id(self, number: int) -> str | None:
        """Return the broker's id of a message, or an invalid one."""
        if number % 7 == 6:
            return (None, "", "AB")[number % 3]
        return offset_message_id(self.session.broker.store.store_host, self.any_physical_offset(number))

    def namespace(self, number: int) -> str:
        """Return a namespace of the name server."""
        return ("ORDER_TOPIC_CONFIG", "side")[number % 2]

    def key(self, number: int) -> str:
        """Return a key of the name server."""
        return ("side-0", "k")[number % 2]

    def user(self, number: int) -> str:
        """Return the name of a user, which may be empty."""
        return ("ann", "ann", "ann", "bob", "")[number % 5]

    def subject(self, number: int) -> str | None:
        """Return a subject of policies."""
        return ("User:ann", "User:bob", "User:zoe", "ann", None)[number % 5]

    def hide_route(self, name: str) -> None:
        """Expect no route of a topic until the broker registers its topics again."""
        period = REGISTER_PERIOD_MS
        begin = self._registered_ms
        now = self.session.now_ms
        self.side.hide(name, begin + ((now - begin) // period + 1) * period)

    # actions

    def act(self, action: Action) -> None:
        """Carry out an action of the clients, an operation that only reads, or one that changes something."""
        if action.verb == "crash":
            self.steps += 1
            self.crash(action, lost=False)
        elif action.verb in VERBS:
            super().act(action)
        else:
            self.steps += 1
            operation = BY_NAME[action.verb]
            if operation in READS:
                read = READS[operation]
                self.read(read, read.make(self, action))
            else:
                CHANGES[operation](self, action)
        if action.verb in CHANGING:
            self.judge()

    def crash(self, action: Action, lost: bool) -> None:
        """Crash or restart the broker, as the clients do; the listener reconnects."""
        kind = action.a % 12
        self.listener.channel.active = self.tool.channel.active = False
        now = self.session.now_ms
        super().crash(action, lost)
        self._waiting.clear()
        self.tickets.clear()
        self.to_respond.clear()
        self.listener.connect()
        self.tool.connect()
        if kind == 11:
            self._registered_ms = now
        seen = administered_state.offsets(self.session.broker)
        forbidden = self.session.broker.groups.forbidden
        self.side.restarted(seen, forbidden, now, crashed=kind % 6 != 5)
        side_clients.beat(self)

    def judge(self) -> None:
        """Compare the broker and the name server with the model. Raises Violation."""
        self.side.time_passed(self.session.now_ms)
        administered_state.judge(self.session.engine, self.session.broker, self.side)
        for since in self._waiting.values():
            if self.session.now_ms - since > ANSWERED_MS:
                raise Violation(f"a request of {since} still waits at {self.session.now_ms}")

    def drain(self) -> None:
        """Consume everything with all groups; those of the clients first. Raises Violation."""
        super().drain()
        for _ in range(DRAIN_ROUNDS):
            for topic in self.side.topics:
                while side_clients.take(self, topic, 10_000, 32):
                    pass
            for held in self.handles:
                side_clients.acknowledge(self, held)
            self.handles.clear()
            if not any(self.side.missing()):
                break
            self.session.advance(DRAIN_MS)
            self.session.end_step()
        self.judge()
        for topic in self.side.topics:
            if missing := self.side.missing(topic):
                raise Violation(f"{POPPERS} misses {missing} of {topic}")


def plan(seed: int) -> tuple[OperationsSetup, list[Action]]:
    """Return the set-up and actions of a seed: half of them of clients, a quarter only reads."""
    draw = random.Random(f"all operations {seed}")
    setup = OperationsSetup(seed, draw.random() < 0.3, draw.choice((20, 0, 100)), draw.choice(MODE_NAMES))
    weights = {
        **{verb: weight / sum(WEIGHTS.values()) * 0.5 for verb, weight in WEIGHTS.items()},
        **{operation.__name__: 0.15 / len(READS) for operation in READS},
        **{operation.__name__: CHANGE_WEIGHTS.get(operation, 1) * 0.35 / CHANGES_WEIGHT for operation in CHANGES},
    }
    odds = [weight * draw.choice((0, 1, 1, 1, 4)) for weight in weights.values()]
    verbs = draw.choices(list(weights), odds, k=ACTIONS)
    return setup, [_drawn(verb, draw) for verb in verbs]


def _drawn(verb: str, draw: random.Random) -> Action:
    client, a, b, c, d = (draw.randrange(NUMBERS) for _ in range(5))
    is_repeated = verb in WEIGHTS and draw.random() < 0.1
    return Action(verb, client, a, b, c, d, draw.choice(FATES[1:]) if is_repeated else "")


def run(setup: OperationsSetup, actions: Iterable[Action]) -> AllOperations:
    """Carry out all actions and consume everything. Raises Violation."""
    simulation = AllOperations(setup)
    for action in actions:
        simulation.perform(action)
    simulation.drain()
    return simulation


def failure(setup: OperationsSetup, actions: Iterable[Action]) -> str:
    """Run the actions; return the error, "" if there is none."""
    return failure_of(lambda: check_leaks(run(setup, actions).session))


def report(seed: int) -> str:
    """Return how to reproduce a failing seed and its shortest actions; "" if it does not fail."""
    return report_of(seed, "test_all_operations.py", *plan(seed), judge=failure)


if __name__ == "__main__":
    sys.exit(show(sys.argv[1:], plan, report))
