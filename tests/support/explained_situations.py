"""One situation for each reason of explanations: message `ID1` of topic orders, group billing.

A situation consists of fake read models and a fake history. The message was sent at noon and is explained 31 s later,
unless a situation sets other times.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from fake_inspection import FakeHistory, FakeInspection
from prepared_past import HOST, NOON_MS, connected, copy_of, member_of, message_of
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.explanation import Explanation
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.history.deleted_groups import DeletedGroups, GroupDeletion
from rocketmq_testkit.emulator.history.events import (
    BrokerEvent,
    BrokerEventKind,
    LostMessage,
    MoveKind,
    OffsetMove,
    RecordedEvent,
    RefusedRequest,
    RuleFiring,
    Trim,
    TrimReason,
)
from rocketmq_testkit.emulator.history.record_kind import RecordKind
from rocketmq_testkit.emulator.inspection.assignments import AssignmentView
from rocketmq_testkit.emulator.inspection.broker_view import BrokerView
from rocketmq_testkit.emulator.inspection.configuration import KeyView
from rocketmq_testkit.emulator.inspection.groups import GroupView, MemberView, SubscriptionView
from rocketmq_testkit.emulator.inspection.half_messages import HalfView
from rocketmq_testkit.emulator.inspection.locks import LockView
from rocketmq_testkit.emulator.inspection.messages import CopyState, CopyView, MessageWithCopies
from rocketmq_testkit.emulator.inspection.places import Place
from rocketmq_testkit.emulator.inspection.polls import PollView
from rocketmq_testkit.emulator.inspection.queues import ProgressView, QueueView
from rocketmq_testkit.emulator.inspection.receipts import ReceiptView
from rocketmq_testkit.emulator.inspection.timers import TimerView
from rocketmq_testkit.emulator.inspection.topics import TopicView

GROUP, C1, C2, P1 = "billing", "c1@10.0.0.5", "c2@10.0.0.6", "p1@10.0.0.7"
COPY = copy_of(CopyState.STORED, "orders", 0, queue=3, offset=4)
RETRY = copy_of(CopyState.RETRY, "%RETRY%billing_orders", 20_000, group=GROUP, retry=2)
ORDERS = TopicView(
    "orders", "NORMAL", 6, ("broker-a",), clusters=("DefaultCluster",), queues=4, compacted=False, system=False
)
BROKER = BrokerView("broker-a", 0, "DefaultCluster", True, unreachable=None, permission=6)
NOW_MS = NOON_MS + 31_000


@dataclass
class Situation:
    """A message, and the state in which it is explained."""

    look: FakeInspection
    past: FakeHistory
    message: MessageWithCopies | None
    group: str | None = GROUP
    _: KW_ONLY
    topic: str | None = None
    place: Place | None = None
    now_ms: int = NOW_MS

    def explain(self) -> Explanation:
        """Explain the message `ID1`."""
        sources: tuple[Any, Any, Callable[[], int]] = (self.look, self.past, lambda: self.now_ms)
        return Explainer(*sources).explain(self.message, "ID1", self.group, topic=self.topic, place=self.place)


def progress(position: int, committed: int | None = None, in_flight: int = 0) -> ProgressView:
    return ProgressView(
        position if committed is None else committed, None, position, 0, in_flight=in_flight, lag=0, passed=position
    )


def queue(position: int | None, topic: str = "orders", queue_id: int = 3, in_flight: int = 0) -> QueueView:
    groups = {} if position is None else {GROUP: progress(position, None, in_flight)}
    return QueueView("broker-a", topic, queue_id, 0, end=9, readable=True, groups=groups)


def group(*members: MemberView, **fields: Any) -> GroupView:
    subscriptions = {each.topic: each for member in members for each in member.subscriptions}
    values: dict[str, Any] = {
        "name": GROUP,
        "exists": True,
        "consume_enable": True,
        "orderly": False,
        "retry_max_times": 16,
        "members": members,
        "subscriptions": tuple(subscriptions.values()),
        "disagreements": (),
        "forbidden": (),
    }
    return GroupView(**(values | fields))


def member(client: str = C1, expression: str = "*", *, topic: str = "orders", **fields: Any) -> MemberView:
    found = replace(member_of(client, topic, expression=expression), brokers=("broker-a",), kind="push consumer")
    return replace(found, **fields)


def event(kind: RecordKind, at_ms: int, client: str = C1, *, count: int = 1) -> RecordedEvent:
    return RecordedEvent(NOON_MS + at_ms, kind, f"channel of {client}", GROUP, 4, count, None)


def events(*found: RecordedEvent, copy: CopyView = COPY) -> dict[tuple[str, str, int, int], list[RecordedEvent]]:
    place = copy.place
    return {(place.broker, place.topic, place.queue_id, place.queue_offset): list(found)}


def receipt(copy: CopyView = COPY, *, until_ms: int | None = 60_000, **fields: Any) -> ReceiptView:
    until = None if until_ms is None else NOON_MS + until_ms
    found = ReceiptView(
        GROUP, copy.place, f"channel of {C1}", NOON_MS + 30_000, until_ms=until, attempt=1, table="log", returned=False
    )
    return replace(found, **fields)


def assigned(client: str | None, requested_ms: int | None = None, queue_id: int = 3) -> AssignmentView:
    requested = None if requested_ms is None else NOON_MS + requested_ms
    return AssignmentView(GROUP, "broker-a", "orders", queue_id, client=client, strategy="AVG", requested_ms=requested)


def refused(code: str, remark: str, *, label: str = "SendMessage", at_ms: int = 0, **fields: Any) -> RefusedRequest:
    found = RefusedRequest(
        NOON_MS + at_ms,
        "broker-a",
        f"channel of {P1}",
        label,
        operation=label,
        topic="orders",
        group="",
        message_id="ID1",
        keys="1001",
        code=code,
        remark=remark,
    )
    return replace(found, **fields)


def move(kind: MoveKind, before: int | None, after: int) -> OffsetMove:
    return OffsetMove(NOON_MS + 2_000, kind, before, after, channel=f"channel of {C1}")


def missing(past: FakeHistory | None = None, **fields: Any) -> Situation:
    """A message that no broker has."""
    look = FakeInspection(all_topics=[ORDERS], connected=[connected(P1)])
    return replace(Situation(look, past or FakeHistory(), None, topic="orders"), **fields)


def held(*copies: CopyView, past: FakeHistory | None = None, **look: Any) -> Situation:
    """A message that groups cannot read."""
    found = FakeInspection(all_topics=[ORDERS], masters=[BROKER], all_groups=[group(member())], **look)
    return Situation(found, past or FakeHistory(), message_of(*copies))


def read(
    position: int | None,
    of: GroupView | None = None,
    *,
    past: FakeHistory | None = None,
    copies: tuple[CopyView, ...] = (COPY,),
    message: MessageWithCopies | None = None,
    **look: Any,
) -> Situation:
    """A stored message, and the offset at which the group reads next."""
    values: dict[str, Any] = {
        "all_topics": [ORDERS],
        "masters": [BROKER],
        "all_groups": [of or group(member())],
        "all_queues": [queue(position), queue(0, "%RETRY%billing_orders", 0)],
        "connected": [connected(C1)],
    }
    past = past or FakeHistory()
    past.names |= {f"channel of {each}": each for each in (C1, C2, P1)}
    return Situation(FakeInspection(**(values | look)), past, message or message_of(*copies))


def half(checks: int) -> HalfView:
    return HalfView("ID1", "orders", "PG", NOON_MS, checks=checks, checks_max=15, next_check_ms=NOON_MS + 60_000)


def deleted_group(at_ms: int) -> DeletedGroups:
    """Return the record of a deletion of the group, at ms after noon."""
    found = DeletedGroups()
    found.note(GROUP, GroupDeletion(NOON_MS + at_ms, "broker-a"))
    return found


HALF_COPY = copy_of(CopyState.HALF, "RMQ_SYS_TRANS_HALF_TOPIC", 0)
TIMED_COPY = copy_of(CopyState.TIMED, "rmq_sys_wheel_timer", 0, due_ms=60_000, REAL_TOPIC="orders")
MARK = copy_of(CopyState.TIMED, "rmq_sys_wheel_timer", 5_000, due_ms=60_000, TIMER_DEL_UNIQKEY="orders+ID1")
SQL = SubscriptionView("orders", "price > 10 AND region = 'n'", "SQL92", 1)
PRICE_9 = message_of(COPY, price="9", region="n")
EARLIER = copy_of(CopyState.STORED, "orders", 0, queue=3, offset=3)
OF_ORDER = replace(message_of(EARLIER), message_id="ID0", message_group="table-7")
KEYED = copy_of(CopyState.STORED, "orders", 0, queue=3, offset=4, KEYS="1001")
LATER = replace(
    message_of(copy_of(CopyState.STORED, "orders", 9_000, queue=3, offset=9, KEYS="1001")), message_id="ID2"
)
GRPC = {"protocol": "grpc", "version": "5.0.8"}

TYPE_REMARK = "a.b.ProxyException: TopicMessageType failed, the expected type is NORMAL, but actual type is FIFO"

SITUATIONS: dict[Reason, Situation] = {
    Reason.NEVER_RECEIVED: replace(missing(), look=FakeInspection(near=("ID2", "orders"), all_topics=[ORDERS])),
    Reason.REFUSED_TYPE: missing(
        FakeHistory(
            refusals=[
                refused(
                    "MESSAGE_PROPERTY_CONFLICT_WITH_TYPE",
                    TYPE_REMARK,
                )
            ]
        )
    ),
    Reason.REFUSED: missing(FakeHistory(refusals=[refused("MESSAGE_ILLEGAL", "the message body size over max value")])),
    Reason.SEND_LOST_BY_FAULT: missing(
        FakeHistory(
            fired=[
                RuleFiring(
                    NOON_MS, "lossy", "SendMessage", f"channel of {P1}", effect="drop_request", message_ids=("ID1",)
                )
            ]
        )
    ),
    Reason.HALF_UNCHECKED: held(HALF_COPY, halves=[half(0)]),
    Reason.HALF_CHECKED: held(HALF_COPY, halves=[half(2)]),
    Reason.ROLLED_BACK: held(
        HALF_COPY,
        past=FakeHistory(
            deliveries=events(event(RecordKind.ROLLED_BACK, 2_000, P1), copy=HALF_COPY), names={f"channel of {P1}": P1}
        ),
    ),
    Reason.DISCARDED: held(
        HALF_COPY, copy_of(CopyState.DISCARDED, "TRANS_CHECK_MAX_TIME_TOPIC", 30_000, TRANSACTION_CHECK_TIMES="15")
    ),
    Reason.DELAYED: held(
        copy_of(CopyState.DELAYED, "SCHEDULE_TOPIC_XXXX", 30_000, queue=2, due_ms=40_000, REAL_TOPIC="orders")
    ),
    Reason.TIMED: held(TIMED_COPY, waiting=[TimerView("ID1", "orders", NOON_MS + 60_000, "wheel", level=None)]),
    Reason.RECALLED: held(TIMED_COPY, MARK),
    Reason.EXPIRED: missing(
        FakeHistory(deletions=[Trim(NOON_MS + 30_000, TrimReason.LIMIT, 0, 4_096)]), place=COPY.place
    ),
    Reason.COMPACTED_AWAY: read(
        4,
        copies=(KEYED,),
        compacted=[COPY.place],
        stored_messages=[message_of(KEYED), LATER],
    ),
    Reason.TOPIC_DELETED: read(None, deleted=[COPY.place], all_topics=[]),
    Reason.LOST_IN_CRASH: missing(
        FakeHistory(
            lost_messages=[
                LostMessage(
                    NOON_MS + 5_000,
                    "broker-a",
                    "orders",
                    3,
                    queue_offset=4,
                    message_id="ID1",
                    keys="1001",
                    stored_at_ms=NOON_MS,
                    born_host=HOST,
                )
            ]
        )
    ),
    Reason.OTHER_CLUSTER: read(
        None,
        group(member(brokers=("broker-x",))),
        masters=[BROKER, BrokerView("broker-x", 0, "cluster-b", True, unreachable=None, permission=6)],
    ),
    Reason.NO_SUCH_GROUP: replace(read(None), group="biling"),
    Reason.GROUP_FORBIDDEN: read(4, group(member(), forbidden=("orders",))),
    Reason.TOPIC_NOT_READABLE: read(4, all_topics=[replace(ORDERS, perm=2)]),
    Reason.CONSUME_DISABLED: read(4, group(member(), consume_enable=False)),
    Reason.NOBODY_SUBSCRIBES: read(4, group(member(topic="payments"))),
    Reason.NO_MEMBERS: read(4, group()),
    Reason.FILTERED_BY_TAG: read(5, group(member(expression="b"))),
    Reason.FILTERED_BY_SQL: read(5, group(replace(member(), subscriptions=(SQL,))), message=PRICE_9),
    Reason.FILTERED_BY_MEMBER: read(5, group(member(expression="a"), member(C2, "b"), disagreements=("orders",))),
    Reason.TAG_HASH_COLLISION: read(
        5,
        group(member(expression="BB")),
        past=FakeHistory(deliveries=events(event(RecordKind.PULLED, 1_000), event(RecordKind.COMMITTED, 6_000))),
        message=replace(message_of(COPY), tag="Aa"),
    ),
    Reason.BROADCAST: read(
        None,
        group(member(kind="broadcasting push consumer")),
        past=FakeHistory(deliveries=events(event(RecordKind.PULLED, 1_000))),
    ),
    Reason.FEWER_QUEUES: read(4, group(member(), member(C2)), assigned=[assigned(C1, 10_000)]),
    Reason.STRATEGY: read(
        4,
        group(member(), member(C2)),
        assigned=[assigned(C1, 10_000, 0), assigned(C2, 10_000, 1), assigned(C1, None)],
    ),
    Reason.NOT_REBALANCED: read(4, group(member()), assigned=[assigned(C1, None)]),
    Reason.QUEUE_LOCKED: read(
        4,
        group(member(), member(C2)),
        assigned=[assigned(C2, 20_000)],
        all_locks=[LockView(GROUP, "broker-a", "orders", 3, client=C1, until_ms=NOON_MS + 60_000)],
    ),
    Reason.BEHIND_IN_ORDER: read(
        3,
        group(member(**GRPC), orderly=True),
        held=[receipt(OF_ORDER.copies[0], table="order")],
        stored_messages=[OF_ORDER],
    ),
    Reason.FLOW_CONTROLLED: read(
        4,
        all_queues=[queue(4, in_flight=2_001)],
        keys=[
            KeyView("broker-a", "enablePopMessageThreshold", "true", "option"),
            KeyView("broker-a", "popInflightMessageThreshold", "2000", "option"),
        ],
    ),
    Reason.SUSPENDED: read(4, group(member(), consume_enable=False, too_slow_on=("broker-a",))),
    Reason.BROKER_STOPPED: read(
        4,
        masters=[replace(BROKER, running=False)],
        past=FakeHistory(states={"broker-a": [BrokerEvent(NOON_MS + 5_000, BrokerEventKind.STOPPED)]}),
    ),
    Reason.BROKER_UNREACHABLE: read(4, masters=[replace(BROKER, unreachable="the name server has no route to it")]),
    Reason.BROKER_NOT_READABLE: read(4, masters=[replace(BROKER, permission=2)]),
    Reason.STARTED_AT_END: read(5, past=FakeHistory(offset_moves=[move(MoveKind.FIRST, None, 5)])),
    Reason.RESET_PAST: read(9, past=FakeHistory(offset_moves=[move(MoveKind.RESET, 3, 9)])),
    Reason.COMMITTED_PAST: read(9, past=FakeHistory(deliveries=events(event(RecordKind.COMMITTED, 4_000, count=5)))),
    Reason.FAULT_ACTED: read(
        5,
        held=[receipt()],
        past=FakeHistory(
            fired=[
                RuleFiring(
                    NOON_MS + 30_000,
                    "lossy",
                    "PopMessage",
                    f"channel of {C1}",
                    effect="drop_response",
                    message_ids=("ID1",),
                )
            ]
        ),
    ),
    Reason.AVAILABLE: read(
        4,
        waiting_polls=[
            PollView(
                f"channel of {C1}",
                GROUP,
                "broker-a",
                "orders",
                queue_id=0,
                since_ms=NOON_MS + 1_000,
                until_ms=NOON_MS + 16_000,
                kind="pull",
            )
        ],
    ),
    Reason.IN_FLIGHT: read(5, held=[receipt()]),
    Reason.INVISIBLE_AFTER_FAILURE: read(
        5,
        held=[receipt(returned=True, until_ms=40_200)],
        past=FakeHistory(deliveries=events(event(RecordKind.POPPED, 1_000), event(RecordKind.RETURNED, 30_000))),
    ),
    Reason.WAITING_FOR_RETRY: read(
        5,
        copies=(
            COPY,
            copy_of(
                CopyState.DELAYED,
                "SCHEDULE_TOPIC_XXXX",
                20_000,
                queue=3,
                due_ms=50_000,
                retry=2,
                REAL_TOPIC="%RETRY%billing",
            ),
        ),
        past=FakeHistory(deliveries=events(event(RecordKind.PULLED, 1_000), event(RecordKind.SENT_BACK, 20_000))),
    ),
    Reason.DEAD: read(5, copies=(COPY, copy_of(CopyState.DEAD, "%DLQ%billing", 30_000, group=GROUP, retry=17))),
    Reason.ACKNOWLEDGED: read(
        5,
        past=FakeHistory(deliveries=events(event(RecordKind.POPPED, 1_000), event(RecordKind.ACKNOWLEDGED, 2_000))),
    ),
    Reason.REQUESTS_REFUSED: replace(
        read(
            None,
            past=FakeHistory(
                refusals=[
                    refused(
                        "UNAUTHORIZED",
                        "User:shop has no permission to access Group:biling",
                        label="ReceiveMessage",
                        at_ms=10_000,
                        group="biling",
                        node="proxy",
                    )
                ]
            ),
        ),
        group="biling",
    ),
    Reason.OVERLOADED: read(
        4,
        past=FakeHistory(
            refusals=[
                refused("TOO_MANY_REQUESTS", "too many requests", label="ReceiveMessage", at_ms=10_000, group=GROUP)
            ]
        ),
    ),
}
"""The situations by reason."""

SECOND: dict[str, Situation] = {
    "never received, the producer has no route": replace(
        missing(
            FakeHistory(
                refusals=[
                    refused(
                        "TOPIC_NOT_EXIST",
                        "No topic route info",
                        label="QueryRoute",
                        at_ms=5_000,
                        node="namesrv",
                        topic="ordes",
                        message_id="",
                        keys="",
                    )
                ]
            )
        ),
        topic="ordes",
    ),
    "group deleted": read(None, all_groups=[], past=FakeHistory(deleted_groups=deleted_group(5_000))),
    "group deleted and started again at the end": read(
        5, past=FakeHistory(offset_moves=[move(MoveKind.FIRST, None, 5)], deleted_groups=deleted_group(5_000))
    ),
    "group deleted before the message": read(
        5, past=FakeHistory(offset_moves=[move(MoveKind.FIRST, None, 5)], deleted_groups=deleted_group(-5_000))
    ),
    "acknowledged before the group was deleted": read(
        5,
        past=FakeHistory(
            deliveries=events(event(RecordKind.POPPED, 1_000), event(RecordKind.ACKNOWLEDGED, 2_000)),
            deleted_groups=deleted_group(5_000),
        ),
    ),
    "stored, no group asked for": replace(read(5, held=[receipt()]), group=None),
    "in flight, pulled": read(5, held=[receipt(until_ms=None, table="pull")]),
    "in flight, its duration over": read(5, held=[receipt(until_ms=31_000)]),
    "in flight, not written": read(
        5, held=[receipt()], past=FakeHistory(deliveries=events(event(RecordKind.NOT_WRITTEN, 30_000)))
    ),
    "in flight, after a retry": read(
        5,
        held=[receipt(RETRY, attempt=3)],
        copies=(COPY, RETRY),
        all_queues=[queue(5), queue(1, RETRY.place.topic, 0)],
    ),
    "available, for a retry": read(5, copies=(COPY, RETRY)),
    "available, requested before": read(4, assigned=[assigned(C1, 20_000)]),
    "available, simple consumer": read(4, group(member(kind="pull or simple consumer", **GRPC))),
    "available, push consumer without a poll": read(4, group(member(**GRPC))),
    "available, its response dropped": read(
        4,
        past=FakeHistory(
            fired=[
                RuleFiring(
                    NOON_MS + 1_000,
                    "lossy",
                    "PullMessage",
                    f"channel of {C1}",
                    effect="drop_response",
                    message_ids=("ID1",),
                )
            ]
        ),
    ),
    "filtered, dropped by the SDK of a member": read(
        5,
        group(member(C2, "b"), member(), disagreements=("orders",)),
        past=FakeHistory(
            deliveries=events(event(RecordKind.PULLED, 1_000, C2), event(RecordKind.COMMITTED, 6_000, C2))
        ),
    ),
    "acknowledged, older than its group": read(
        5,
        group(member(since_ms=NOON_MS + 500, consume_from="CONSUME_FROM_LAST_OFFSET")),
        past=FakeHistory(deliveries=events(event(RecordKind.PULLED, 1_000), event(RecordKind.COMMITTED, 6_000))),
    ),
    "acknowledged, no details held": read(5, past=FakeHistory(since_ms=NOW_MS)),
    "acknowledged, by a commit": read(
        5, past=FakeHistory(deliveries=events(event(RecordKind.PULLED, 1_000), event(RecordKind.COMMITTED, 6_000)))
    ),
    "acknowledged, a retry": read(
        5,
        copies=(COPY, RETRY),
        all_queues=[queue(5), queue(1, RETRY.place.topic, 0)],
        past=FakeHistory(
            deliveries=events(event(RecordKind.POPPED, 21_000), event(RecordKind.ACKNOWLEDGED, 22_000), copy=RETRY)
        ),
    ),
    "passed without a record": read(5),
    "would be filtered by tag": read(4, group(member(expression="b || c"))),
    "no tag": read(4, group(member(expression="b")), message=replace(message_of(COPY), tag=None)),
    "would be filtered by SQL": read(4, group(replace(member(), subscriptions=(SQL,)))),
    "rolled back, no record": held(HALF_COPY),
    "committed or rolled back, and deleted": held(
        HALF_COPY, past=FakeHistory(deletions=[Trim(NOON_MS + 30_000, TrimReason.LIMIT, 0, 4_096)])
    ),
    "offset copied from another group": read(9, past=FakeHistory(offset_moves=[move(MoveKind.CLONE, None, 9)])),
    "broadcast, not delivered": read(None, group(member(kind="broadcasting push consumer"))),
    "never received, topic misspelled": replace(missing(), topic="oders"),
    "due, not delivered yet": replace(
        held(TIMED_COPY, waiting=[TimerView("ID1", "orders", NOON_MS + 60_000, "wheel", level=None)]),
        now_ms=NOON_MS + 60_001,
    ),
    "copy on one of two brokers": read(
        4, all_topics=[replace(ORDERS, brokers=("broker-a", "broker-b"))], assigned=[assigned(C1, 20_000)]
    ),
}
"""Further situations by name. The explanation of each has a sentence that no situation of `SITUATIONS` has."""
