"""Random changes of all tables in a family of forks: no change of a member affects another one.

Each member is compared with an unshared engine, which started from a decoded snapshot and got the same operations.
"""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from engine_harness import START_MS
from pull_operation import pull_of
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.cluster import (
    DeleteExpiredCommitLog,
    PutKvConfig,
    UpdateBrokerConfig,
    UpdateNamesrvConfig,
)
from rocketmq_testkit.emulator.operations.consume import PopMessage, PullResult
from rocketmq_testkit.emulator.operations.groups import (
    CloneGroupOffset,
    CreateGroup,
    DeleteGroup,
    GroupConfig,
    RetryPolicy,
    SetMessageRequestMode,
    UpdateGroupForbidden,
)
from rocketmq_testkit.emulator.operations.offsets import ResetOffset, UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendMessage
from rocketmq_testkit.emulator.operations.topics import (
    CreateStaticTopic,
    CreateTopic,
    DeleteTopic,
    QueueMapping,
    QueuePart,
    TopicConfig,
)
from rocketmq_testkit.emulator.operations.users import (
    CreateUser,
    DeleteUser,
    PolicyEntryInfo,
    PolicyInfo,
    PutAcl,
    UserInfo,
)
from snapshot_files import copied_with_memories, saved

STEPS, MEMBERS_MAX = 150, 6
TOPICS, GROUPS = ("A", "B", "C", "S", "%RETRY%G"), ("G", "H")
HOST = ("10.0.0.1", 5000)
_PROVIDER = "org.apache.rocketmq.auth.{0}.provider.Local{1}MetadataProvider"
Member = tuple[Engine, Engine]
"""An engine of the family, and the unshared engine with which it is compared."""


def first_engine(seed: int) -> Engine:
    """Return an engine of two masters and a slave; the seed decides how it tracks popped messages."""
    records = bool(seed % 2)
    config = BrokerConfig(
        authentication_metadata_provider=_PROVIDER.format("authentication", "Authentication"),
        authorization_metadata_provider=_PROVIDER.format("authorization", "Authorization"),
        enable_property_filter=True,
        enable_lmq=True,
        enable_multi_dispatch=True,
        enable_pop_buffer_merge=seed % 4 < 2,
        pop_consumer_kv_service_init=records,
        pop_consumer_kv_service_enable=records,
        max_message_size=16 * 1024,
        mapped_file_size_commit_log=150 * 1024,
        file_reserved_time=0,
    )
    slave, second = config.copy(), config.copy()
    slave.broker_id, slave.broker_role, second.broker_name = 1, "SLAVE", "broker-b"
    return Engine(brokers=[config, slave, second], seed=seed, now_ms=START_MS)


def sent(chance: random.Random, now_ms: int) -> SendMessage:
    """Return a random send."""
    properties = chance.choice(
        (
            {"TAGS": "red", "KEYS": "k"},
            {"DELAY": "2"},
            {"TIMER_DELAY_SEC": "3"},
            {"TRAN_MSG": "true", "PGROUP": "P"},
            {"INNER_MULTI_DISPATCH": "%LMQ%x,%LMQ%y"},
        )
    )
    body = bytes(chance.choice((1, 100, 8_000)))
    return SendMessage("P", chance.choice(TOPICS), chance.randint(-1, 2), body, dict(properties), HOST, now_ms)


def created(chance: random.Random, _now_ms: int) -> CreateTopic:
    attributes = chance.choice((None, {"+message.type": "FIFO"}, {"+queue.type": "BatchCQ"}))
    queues = chance.randint(1, 4)
    return CreateTopic(TopicConfig(chance.choice(TOPICS[:3]), queues, queues), attributes)


def mapped(chance: random.Random, _now_ms: int) -> CreateStaticTopic:
    part = QueuePart(0, 0, "broker-a", chance.choice((0, 5)))
    return CreateStaticTopic(
        TopicConfig("S", 1, 1), QueueMapping("S", 1, "broker-a", 1, queues={0: [part]}), force=True
    )


def popped(chance: random.Random, now_ms: int) -> PopMessage:
    group, topic, order = chance.choice(GROUPS), chance.choice(TOPICS), chance.random() < 0.3
    invisible_ms = chance.choice((1_000, 30_000))
    return PopMessage(
        group,
        topic,
        queue_id=-1,
        max_msg_nums=chance.choice((1, 8)),
        invisible_ms=invisible_ms,
        born_ms=now_ms,
        exp_type="TAG",
        exp="*",
        order=order,
    )


def policy(chance: random.Random) -> list[PolicyInfo]:
    actions = [chance.choice(("Pub", "Sub"))]
    return [PolicyInfo("Custom", [PolicyEntryInfo(chance.choice(("Topic:A", "Group:G")), actions, [], "Allow")])]


CHANGES: tuple[tuple[int, Callable[[random.Random, int], Operation]], ...] = (
    (30, sent),
    (10, popped),
    (6, created),
    (3, mapped),
    (2, lambda chance, _: DeleteTopic(chance.choice(TOPICS))),
    (2, lambda chance, _: DeleteGroup(chance.choice(GROUPS), clean_offset=True)),
    (3, lambda chance, _: CreateGroup(GroupConfig("G", attributes={"x": str(chance.random())}))),
    (3, lambda chance, _: CreateGroup(GroupConfig("H", retry_policy=RetryPolicy(next_ms=[chance.randint(1, 9)])))),
    (3, lambda chance, _: UpdateGroupForbidden("G", chance.choice(TOPICS), readable=chance.random() < 0.5)),
    (5, lambda chance, _: UpdateConsumerOffset("G", chance.choice(TOPICS), 0, chance.randint(0, 9))),
    (2, lambda chance, _: ResetOffset("G", chance.choice(TOPICS), 0, 0, offset=chance.randint(0, 3))),
    (2, lambda chance, _: CloneGroupOffset("G", "H", chance.choice(TOPICS))),
    (3, lambda chance, _: SetMessageRequestMode("A", "G", "POP", chance.randint(0, 4))),
    (3, lambda chance, _: UpdateBrokerConfig({"popPollingSize": str(chance.randint(1, 9))})),
    (3, lambda chance, _: CreateUser(chance.choice(("ann", "bob")), UserInfo(str(chance.random()), "Normal"))),
    (1, lambda chance, _: DeleteUser(chance.choice(("ann", "bob")))),
    (3, lambda chance, _: PutAcl(None, "User:ann", policy(chance))),
    (5, lambda chance, _: EndTransaction("P", 0, chance.randint(0, 3_000), chance.choice((8, 12)), False, "m")),
    (5, lambda chance, now: pull_of("G", "A", offset=chance.randint(0, 9), count=8)),
    (2, lambda chance, _: DeleteExpiredCommitLog()),
    (
        3,
        lambda chance, _: Heartbeat(
            "c", [], [ConsumerData("G", subscriptions=[SubscriptionData("A", "a > 1", "SQL92", sub_version=3)])]
        ),
    ),
)  # fmt: skip
"""Functions that return a random operation on a broker, each with its weight."""
WEIGHTS, MAKERS = zip(*CHANGES, strict=True)


def shown(outcome: Outcome | None) -> object:
    """Return an outcome in a form that can be compared: errors as texts, and records as a list."""
    if isinstance(outcome, PullResult):
        return replace(outcome, records=list(outcome.records))
    return str(outcome) if isinstance(outcome, EngineError) else outcome


def perform(engine: Engine, chance: random.Random) -> list[object]:
    """Make a random change of an engine, and return the outcomes."""
    kind = chance.random()
    if kind < 0.2:
        engine.scheduler.advance_to(engine.scheduler.now_ms + chance.choice((1, 700, 5_000, 61_000)))
    elif kind < 0.23:
        broker = chance.choice(engine.brokers)
        engine.restart(broker) if chance.random() < 0.5 else engine.crash(broker)
    elif kind < 0.27:
        name_server = engine.name_server
        change = PutKvConfig("n", chance.choice("kl"), str(chance.random()))
        configured = UpdateNamesrvConfig({"orderMessageEnable": chance.choice(("true", "false"))})
        return [shown(engine.submit(name_server, each).outcome) for each in (change, configured)]
    else:
        make = chance.choices(MAKERS, WEIGHTS)[0]
        broker = chance.choice((engine.brokers[0], engine.brokers[2]))
        return [shown(engine.submit(broker, make(chance, engine.scheduler.now_ms)).outcome)]
    return []


@pytest.mark.parametrize("seed", range(16))
def test_members_of_a_family_change_as_engines_that_share_nothing(seed: int) -> None:
    """Outcomes and snapshots of all members are those of the unshared engines, at each fork and at the end."""
    chance = random.Random(seed)
    family: list[Member] = [(first_engine(seed), first_engine(seed))]
    for _ in range(STEPS):
        engine, beside = chance.choice(family)
        if chance.random() < 0.06 and len(family) < MEMBERS_MAX:
            family.append((Engine(state=engine.fork_state()), copied_with_memories(beside)))
            assert saved(engine) == saved(beside)
        else:
            number = chance.random()
            assert perform(engine, random.Random(number)) == perform(beside, random.Random(number))
    assert len(family) > 2
    for engine, beside in family:
        for each in (engine, beside):
            each.scheduler.advance_to(each.scheduler.now_ms + 70_000)
        assert saved(engine) == saved(beside)
