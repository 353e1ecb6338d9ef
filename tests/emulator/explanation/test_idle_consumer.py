"""Explanations why a group or a client receives nothing: each cause is a clause of the sentence, with its changes."""

import json
from dataclasses import replace
from typing import Any

import pytest
from fake_inspection import FakeHistory, FakeInspection
from prepared_past import NOON_MS, connected, copy_of, member_of, message_of, prepared_history, prepared_inspection
from rocketmq_testkit.emulator.explanation.explanation import IdleExplanation
from rocketmq_testkit.emulator.explanation.idle_clause import queues_text
from rocketmq_testkit.emulator.explanation.idle_consumer import IdleConsumers
from rocketmq_testkit.emulator.explanation.scene import Scene
from rocketmq_testkit.emulator.history.events import BrokerEvent, BrokerEventKind, RefusedRequest, RuleFiring
from rocketmq_testkit.emulator.inspection.assignments import AssignmentView
from rocketmq_testkit.emulator.inspection.broker_view import BrokerView
from rocketmq_testkit.emulator.inspection.groups import GroupView, MemberView, SubscriptionView
from rocketmq_testkit.emulator.inspection.holds import HoldTable
from rocketmq_testkit.emulator.inspection.locks import LockView
from rocketmq_testkit.emulator.inspection.messages import CopyState
from rocketmq_testkit.emulator.inspection.places import Place
from rocketmq_testkit.emulator.inspection.polls import PollView
from rocketmq_testkit.emulator.inspection.queues import ProgressView, QueueView
from rocketmq_testkit.emulator.inspection.receipts import ReceiptView
from rocketmq_testkit.emulator.inspection.topics import TopicView

C1, C2 = "c1@10.0.0.5", "c2@10.0.0.6"
ORDERS = TopicView(
    "orders", "NORMAL", 6, ("broker-a",), clusters=("DefaultCluster",), queues=4, compacted=False, system=False
)


def group_of(*members: MemberView, topics: tuple[str, ...] = ("orders",), **fields: Any) -> GroupView:
    """Return group billing with its subscriptions; `fields` replace its other fields."""
    subscriptions = tuple(SubscriptionView(topic, "*", "TAG", 1) for topic in (*topics, "%RETRY%billing"))
    values: dict[str, Any] = {
        "name": "billing",
        "exists": True,
        "consume_enable": True,
        "orderly": False,
        "retry_max_times": 16,
        "members": members,
        "subscriptions": subscriptions if members else (),
        "disagreements": (),
        "forbidden": (),
    }
    return GroupView(**(values | fields))


def queue_of(queue_id: int, *, end: int = 5, position: int = 5, broker: str = "broker-a") -> QueueView:
    """Return a queue of topic orders with the offset of group billing (`position`) and its maximum offset (`end`)."""
    return QueueView(
        broker,
        "orders",
        queue_id,
        0,
        end=end,
        readable=True,
        groups={"billing": ProgressView(position, None, position, 0, in_flight=0, lag=0)},
    )


def assigned(queue_id: int, client: str | None = C1, requested_ms: int | None = NOON_MS) -> AssignmentView:
    return AssignmentView(
        "billing", "broker-a", "orders", queue_id, client=client, strategy="AVG", requested_ms=requested_ms
    )


def receipt_of(offset: int, client: str = C1, *, table: HoldTable = "log", returned: bool = False) -> ReceiptView:
    """Return a message of queue 0 of orders in flight."""
    place = Place("broker-a", "orders", 0, offset, physical_offset=0)
    return ReceiptView(
        "billing",
        place,
        f"channel of {client}",
        NOON_MS,
        until_ms=NOON_MS + 1,
        attempt=1,
        table=table,
        returned=returned,
    )


def broker_of(
    *,
    name: str = "broker-a",
    broker_id: int = 0,
    running: bool = True,
    unreachable: str | None = None,
    permission: int = 6,
) -> BrokerView:
    return BrokerView(name, broker_id, "DefaultCluster", running, unreachable=unreachable, permission=permission)


def explained(group: GroupView, *, past: Any = None, number: int = 4, **look: Any) -> IdleExplanation:
    """Explain group billing. By default its topic orders has four empty queues, all assigned to client c1."""
    found = {
        "groups": [group],
        "topics": [ORDERS],
        "queues": {"orders": [queue_of(each) for each in range(number)]},
        "assignments": {"orders": [assigned(each) for each in range(number)]},
    }
    scene = Scene(prepared_inspection(**(found | look)), past or prepared_history(), NOON_MS)
    return IdleConsumers(scene).group("billing")


def test_empty_queues_are_named() -> None:
    """The text has the sentence, the facts that it rests on, and the changes that would end it."""
    found = explained(group_of(member_of(C1, "orders")))
    assert str(found) == "c1@10.0.0.5 has queues 0-3 of orders, all empty"
    assert repr(found) == (
        "<IdleExplanation of group billing>\n"
        "c1@10.0.0.5 has queues 0-3 of orders, all empty\n"
        "  rests on: queues client=c1@10.0.0.5 topic=orders queues=4 waiting=0\n"
        "  would change it: send a message to orders"
    )
    assert json.loads(json.dumps(found.as_json())) == {
        "subject": "group billing",
        "sentence": str(found),
        "facts": [{"name": "queues", "values": {"client": C1, "topic": "orders", "queues": 4, "waiting": 0}}],
        "changes": [{"action": "send", "sentence": "send a message to orders", "by_ms": None, "client": None}],
    }


def test_member_without_a_queue_is_explained_by_the_owners_of_the_queues() -> None:
    one, two = member_of(C1, "orders"), member_of(C2, "orders")
    assert str(explained(group_of(one, two))) == (
        "c1@10.0.0.5 has queues 0-3 of orders, all empty; c2@10.0.0.6 has no queue of orders: orders has 4 queues "
        "and group billing 2 members; strategy AVG assigns the queues to c1@10.0.0.5"
    )
    found = explained(group_of(one, two), number=1)
    assert "c2@10.0.0.6 has no queue of orders: orders has 1 queue and group billing 2 members" in str(found)
    assert [change.sentence for change in found.changes][1:] == ["give orders at least 2 queues"]


@pytest.mark.parametrize(
    ("group", "look", "expected"),
    [
        (
            group_of(member_of(C1, "orders", silent_ms=31_500)),
            {},
            "c1@10.0.0.5 has not sent a heartbeat for 31 s of emulator time, and has queues 0-3 of orders, all empty",
        ),
        (
            group_of(member_of(C1, "orders", silent_ms=11_000, protocol="grpc")),
            {"assignments": {"orders": [assigned(-1, requested_ms=None)]}},
            "c1@10.0.0.5 has not sent a heartbeat for 11 s of emulator time, and may read all 4 queues of orders, all "
            "empty",
        ),
        (
            group_of(member_of(C1, "orders")),
            {"queues": {"orders": [queue_of(0), queue_of(1, position=2), queue_of(2), queue_of(3)]}},
            "c1@10.0.0.5 has queues 0-3 of orders, with 3 messages to read in broker-a/1",
        ),
        (
            group_of(member_of(C1, "orders")),
            {"queues": {"orders": [queue_of(0, position=4), queue_of(1, position=2), queue_of(2), queue_of(3)]}},
            "c1@10.0.0.5 has queues 0-3 of orders, with 4 messages to read, 1 of them in broker-a/0",
        ),
        (
            group_of(member_of(C1, "orders")),
            {"assignments": {"orders": [assigned(0), assigned(2, requested_ms=None), assigned(3)]}},
            "c1@10.0.0.5 has queues 0, 2-3 of orders, all empty, and has not requested queue 2 of orders yet "
            "(the Java remoting SDK rebalances every 20 s (system property rocketmq.client.rebalance.waitInterval) "
            "and looks for new topics every 30 s (setPollNameServerInterval))",
        ),
        (
            group_of(member_of(C1, "orders"), orderly=True),
            {"locks": [LockView("billing", "broker-a", "orders", 3, client=C2, until_ms=NOON_MS + 60_000)]},
            "c1@10.0.0.5 has queues 0-3 of orders, all empty, and waits for the lock of queue 3, which c2@10.0.0.6 "
            "holds until 12:01:00",
        ),
        (
            group_of(member_of(C1, "orders")),
            {"receipts": [receipt_of(offset, client) for offset, client in ((0, C1), (1, C1), (2, C1), (3, C2))]},
            "c1@10.0.0.5 has queues 0-3 of orders, all empty, and has 3 messages in flight; channel of c2@10.0.0.6, "
            "which is no member any more, has 1 message in flight until 12:00:00.001",
        ),
        (
            group_of(member_of(C1, "orders")),
            {"receipts": [receipt_of(0, returned=True)]},
            "c1@10.0.0.5 has queues 0-3 of orders, all empty, and has returned 1 message, invisible until 12:00:00.001",
        ),
        (
            group_of(member_of(C1, "orders"), orderly=True),
            {"receipts": [receipt_of(0, table="order")]},
            "c1@10.0.0.5 has queues 0-3 of orders, all empty, and has 1 message in flight, and later messages of queue "
            "0 of orders wait for it in order",
        ),
        (
            group_of(replace(member_of(C1, "orders"), kind="pull or simple consumer")),
            {"queues": {"orders": [queue_of(0, position=4)]}, "assignments": {"orders": [assigned(-1)]}},
            "c1@10.0.0.5 may read the only queue of orders, with 1 message to read in broker-a/0, and has no receive "
            "in progress (its application decides when it receives)",
        ),
        (
            group_of(member_of(C1, "orders")),
            {
                "polls": [
                    PollView(
                        f"channel of {C1}",
                        "billing",
                        "broker-a",
                        "orders",
                        queue_id=number,
                        since_ms=NOON_MS - 1000,
                        until_ms=NOON_MS,
                        kind="pull",
                    )
                    for number in (0, 1)
                ]
            },
            "c1@10.0.0.5 has queues 0-3 of orders, all empty, and waits in 2 long polls of queues 0-1 since 11:59:59",
        ),
        (group_of(), {}, "group billing has no connected member"),
        (
            group_of(member_of(C1, "orders"), consume_enable=False, forbidden=("orders",)),
            {},
            "group billing has consumption disabled, so brokers deliver nothing to it; "
            "group billing is forbidden to consume orders; "
            "c1@10.0.0.5 has queues 0-3 of orders, all empty",
        ),
        (
            group_of(consume_enable=False, too_slow_on=("broker-a",)),
            {},
            "broker-a disabled group billing, because it reads too far behind the end of the log "
            "(disableConsumeIfConsumerReadSlowly); group billing has no connected member",
        ),
        (
            group_of(member_of(C1), topics=()),
            {},
            "the members of billing subscribe to no topic; c1@10.0.0.5 is connected",
        ),
        (
            group_of(member_of(C1, "ordes"), topics=("ordes",)),
            {},
            "group billing subscribes to ordes, which does not exist; the nearest is orders; c1@10.0.0.5 is connected",
        ),
        (
            group_of(member_of(C1, "orders")),
            {
                "topics": [
                    TopicView(
                        "orders", "NORMAL", 2, ("broker-a",), clusters=(), queues=4, compacted=False, system=False
                    )
                ]
            },
            "topic orders has no read permission; c1@10.0.0.5 has queues 0-3 of orders, all empty",
        ),
    ],
    ids=[
        "silent",
        "silent over grpc, any queue",
        "one queue not empty",
        "two queues not empty",
        "not requested",
        "lock",
        "in flight",
        "returned",
        "in flight in order",
        "no receive",
        "polls",
        "no member",
        "disabled and forbidden",
        "too slow",
        "no topic",
        "missing topic",
        "not readable",
    ],
)
def test_each_cause_is_a_clause_of_the_sentence(group: GroupView, look: dict[str, Any], expected: str) -> None:
    assert str(explained(group, **look)) == expected


def test_queues_of_several_topics_are_named_with_their_topics() -> None:
    """Messages in flight of an orderly group, and long polls. Queue numbers of different topics are not joined."""
    places = [
        Place("broker-a", topic, number, 7, physical_offset=0) for topic, number in (("payments", 3), ("orders", 0))
    ]
    held = [replace(receipt_of(7, table="order"), place=place) for place in places]
    polls = [
        PollView(
            f"channel of {C1}",
            "billing",
            "broker-a",
            topic,
            queue_id=number,
            since_ms=NOON_MS - 1000,
            until_ms=NOON_MS,
            kind="pull",
        )
        for topic, number in (("payments", 3), ("orders", 1), ("orders", 0))
    ]
    found = str(explained(group_of(member_of(C1, "orders"), orderly=True), receipts=held, polls=polls))
    assert ", and later messages of queue 0 of orders and queue 3 of payments wait for it in order" in found
    assert "waits in 3 long polls of queues 0-1 of orders and queue 3 of payments since 11:59:59" in found


def test_heartbeats_within_the_interval_of_the_sdk_are_no_silence() -> None:
    for protocol, silent_ms in (("remoting", 30_000), ("grpc", 10_000)):
        found = explained(group_of(member_of(C1, "orders", silent_ms=silent_ms, protocol=protocol)))
        assert "heartbeat" not in str(found)


def test_members_that_subscribe_differently_are_named_with_their_expressions() -> None:
    """A member that does not subscribe to the topic is named as well."""
    members = member_of(C1, "orders", expression="a"), member_of(C2, "orders", expression="b"), member_of("c3", "steps")
    found = explained(group_of(*members, disagreements=("orders",)))
    assert str(found).startswith(
        "the members of billing subscribe differently to orders: c1@10.0.0.5 subscribes `a`, c2@10.0.0.6 "
        "subscribes `b` and c3 does not subscribe to it; "
    )
    assert found.changes[0].sentence == "give all members of billing the same subscription to orders"
    (fact,) = (each for each in found.facts if each.name == "subscriptions")
    assert fact.values["topic"] == "orders"


@pytest.mark.parametrize(
    ("broker", "expected", "change"),
    [
        (broker_of(), "", "send a message to orders"),
        (broker_of(running=False), "broker-a is stopped since 12:00:00; ", 'rocketmq.start_broker("broker-a")'),
        (broker_of(broker_id=1, running=False), "", "send a message to orders"),
        (broker_of(name="broker-b", running=False), "", "send a message to orders"),
        (
            broker_of(unreachable="the name server has no route to it"),
            "broker-a runs and clients cannot reach it: the name server has no route to it; ",
            "make broker-a reachable again",
        ),
        (
            broker_of(permission=2),
            "broker-a refuses pulls and pops: brokerPermission=2; ",
            'rocketmq.configure({"brokerPermission": 6}, broker="broker-a")',
        ),
    ],
    ids=["running", "stopped", "stopped slave", "stopped broker of other topics", "unreachable", "write only"],
)
def test_master_that_does_not_serve_the_group_is_named(broker: BrokerView, expected: str, change: str) -> None:
    past = prepared_history(states={"broker-a": [BrokerEvent(NOON_MS, BrokerEventKind.STOPPED)]})
    found = explained(group_of(member_of(C1, "orders")), past=past, brokers=[broker])
    assert str(found) == f"{expected}c1@10.0.0.5 has queues 0-3 of orders, all empty"
    assert found.changes[0].sentence == change


def test_a_rule_that_caused_a_fault_of_a_member_is_named() -> None:
    fired = [
        RuleFiring(
            NOON_MS - 2000,
            "lost-pop",
            "PopMessage",
            f"channel of {client}",
            effect="drop_response",
            message_ids=("ID1",),
        )
        for client in (C1, C1, C2)
    ]
    found = explained(group_of(member_of(C1, "orders")), past=prepared_history(fired=fired))
    assert str(found) == (
        "c1@10.0.0.5 has queues 0-3 of orders, all empty, and was affected by rule lost-pop (drop_response) in "
        "PopMessage (2 times, last 11:59:58)"
    )
    assert found.changes[-1].sentence == "remove the rule lost-pop"


def test_the_newest_message_that_the_filter_skipped_is_named() -> None:
    """The queue is empty for the group, because the broker skipped a message that its filter does not match."""
    message = message_of(copy_of(CopyState.STORED, "orders", 0, offset=4))
    member = member_of(C1, "orders", expression="b")
    subscribed = replace(group_of(member), subscriptions=member.subscriptions)
    look = FakeInspection(
        stored_messages=[message],
        all_groups=[subscribed],
        all_topics=[ORDERS],
        all_queues=[
            QueueView(
                "broker-a",
                "orders",
                0,
                0,
                end=5,
                readable=True,
                groups={"billing": ProgressView(5, None, 5, 0, in_flight=0, lag=0, passed=5)},
            )
        ],
        assigned=[assigned(0)],
    )
    sources: tuple[Any, ...] = (look, FakeHistory(), NOON_MS)
    found = IdleConsumers(Scene(*sources)).group("billing")
    assert str(found).startswith("c1@10.0.0.5 has queue 0 of orders, empty; message ID1 of orders is stored (queue 0, ")
    assert "subscription `TAG = b` of c1@10.0.0.5 did not match tag `a`" in str(found)
    assert "subscribe with an expression that matches tag `a`" in [change.sentence for change in found.changes]


def test_rejected_requests_of_a_member_are_counted_by_code() -> None:
    """Requests of other clients are not counted; those of the member's closed connections are."""
    rows = [
        (f"channel of {C1}", "PULL_MESSAGE", 9000, "NO_PERMISSION"),
        ("closed", "PULL_MESSAGE", 6000, "NO_PERMISSION"),
        (f"channel of {C2}", "PULL_MESSAGE", 5000, "NO_PERMISSION"),
        (f"channel of {C1}", "CONSUMER_SEND_MSG_BACK", 8000, "SYSTEM_ERROR"),
    ]
    refusals = [
        RefusedRequest(
            NOON_MS - ago_ms,
            "broker-a",
            channel,
            label,
            operation="X",
            topic="orders",
            group="billing",
            message_id="",
            keys="",
            code=code,
            remark="",
        )
        for channel, label, ago_ms, code in rows
    ]
    past = prepared_history(refusals=refusals, names={"closed": C1})
    assert str(explained(group_of(member_of(C1, "orders")), past=past)) == (
        "c1@10.0.0.5 has queues 0-3 of orders, all empty, got PULL_MESSAGE refused with NO_PERMISSION (2 times, last "
        "11:59:54), and got CONSUMER_SEND_MSG_BACK refused with SYSTEM_ERROR (1 time, last 11:59:52)"
    )


def test_unknown_names_are_explained_with_the_nearest_name() -> None:
    look = prepared_inspection(groups=[group_of()], connections=[connected(C1)])
    idle = IdleConsumers(Scene(look, prepared_history(), NOON_MS))
    assert str(idle.group("biling")) == "there is no group biling; the nearest is billing"
    assert str(idle.group("x")) == "there is no group x"
    assert str(idle.client("c1@10.0.0.6")) == (
        "no client c1@10.0.0.6 is connected; 1 client is; the nearest is c1@10.0.0.5"
    )
    assert str(idle.client(C1)) == "c1@10.0.0.5 is connected and is no member of a consumer group"


def test_client_is_explained_for_each_of_its_groups() -> None:
    """The clauses about its groups come first, followed by its own state without that of other members."""
    audit = group_of(member_of(C1, "orders"), name="audit", consume_enable=False)
    billing = group_of(member_of(C1, "orders"), member_of(C2, "orders"))
    look = prepared_inspection(groups=[audit, billing], topics=[ORDERS], queues={"orders": [queue_of(0)]})
    found = IdleConsumers(Scene(look, prepared_history(), NOON_MS)).client(C1)
    assert (found.subject, str(found)) == (
        f"client {C1}",
        "group audit has consumption disabled, so brokers deliver nothing to it; "
        "c1@10.0.0.5 may read the only queue of orders, with 5 "
        "messages to read in broker-a/0; c1@10.0.0.5 may read the only queue of orders, empty",
    )


def test_members_beyond_the_fifth_are_counted() -> None:
    members = [member_of(f"c{number}", "orders") for number in range(7)]
    found = str(explained(group_of(*members)))
    assert found.endswith("; it has 2 more members")
    assert "c4 has no queue" in found
    assert "c5" not in found


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [([3], "queue 3"), ([0, 1, 2, 3], "queues 0-3"), ([5, 0, 2, 3, 5], "queues 0, 2-3, 5"), ([], "queues ")],
)
def test_consecutive_queue_numbers_are_shown_as_a_range(numbers: list[int], expected: str) -> None:
    assert queues_text(numbers) == expected
