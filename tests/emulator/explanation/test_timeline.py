"""Histories: the steps of a message in order, their text and their JSON."""

import json
from dataclasses import replace
from typing import Any

import pytest
from prepared_past import HOST, NOON_MS, connected, copy_of, message_of, prepared_history, prepared_inspection
from rocketmq_testkit.emulator.explanation.message_history import MessageHistory
from rocketmq_testkit.emulator.explanation.timeline import history_of, history_of_unknown
from rocketmq_testkit.emulator.history.events import LostMessage, RecordedEvent, RefusedRequest, RuleFiring
from rocketmq_testkit.emulator.history.record_kind import RecordKind
from rocketmq_testkit.emulator.history.seen_clients import SeenClient, SeenClients
from rocketmq_testkit.emulator.inspection.messages import CopyState, CopyView

ORDERS = ("broker-a", "orders", 0, 4)
RETRY = ("broker-a", "%RETRY%billing_orders", 0, 0)
SENT = copy_of(CopyState.STORED, "orders", 0, offset=4)
AGAIN = copy_of(CopyState.RETRY, "%RETRY%billing_orders", 31_000, group="billing", retry=1)


def event(kind: RecordKind, at_ms: int, client: str = "c1", hold_ms: int | None = None, **fields: Any) -> RecordedEvent:
    """Return a recorded event of group billing, `at_ms` ms after noon."""
    return RecordedEvent(NOON_MS + at_ms, kind, f"channel of {client}", "billing", 4, 1, hold_ms, **fields)


def a_history(*copies: CopyView, properties: dict[str, str] | None = None, **past: Any) -> MessageHistory:
    """Return the history of a message with two connected clients: p1, which sent it, and c1."""
    look = prepared_inspection(connections=[connected("p1"), connected("c1", port=4712)])
    return history_of(message_of(*copies, **(properties or {})), look, prepared_history(**past))


def lines(history: MessageHistory) -> list[str]:
    """Return the lines of the steps, with single blanks in place of the columns' padding."""
    return [" ".join(line.split()) for line in repr(history).splitlines()[1:]]


def test_text_has_a_head_a_line_for_each_step_and_the_trace_context() -> None:
    deliveries = {
        ORDERS: [event(RecordKind.POPPED, 1000, hold_ms=30_000)],
        RETRY: [
            event(RecordKind.POPPED, 31_040, "c2@10.0.0.6#18", hold_ms=30_000),
            event(RecordKind.ACKNOWLEDGED, 33_000, "c2@10.0.0.6#18"),
        ],
    }
    names = {"channel of c2@10.0.0.6#18": "c2@10.0.0.6#18"}
    fired = [
        RuleFiring(
            NOON_MS + 31_050,
            "lossy-acks",
            "AckMessage",
            "channel of c2@10.0.0.6#18",
            effect="drop_request",
            message_ids=("ID1",),
        ),
        RuleFiring(
            NOON_MS + 31_060, "lossy-acks", "AckMessage", "channel of c1", effect="drop_request", message_ids=("ID2",)
        ),
    ]
    found = a_history(
        SENT, AGAIN, deliveries=deliveries, names=names, fired=fired, properties={"traceparent": "00-4bf9-00f0-01"}
    )
    assert repr(found) == (
        "<MessageHistory of ID1 in orders, 6 steps>\n"
        "12:00:00.000  sent          p1 (JAVA V5_3_3)             orders queue 0 offset 4, tag a, key 1001\n"
        "12:00:01.000  delivered     c1 (JAVA V5_3_3) to billing  attempt 1, invisible until 12:00:31\n"
        "12:00:31.000  redelivered   broker-a for billing         "
        "stored in %RETRY%billing_orders queue 0 offset 0, retry 1\n"
        "12:00:31.040  delivered     c2@10.0.0.6#18 to billing    attempt 2, invisible until 12:01:01.040\n"
        "12:00:31.050  fault         c2@10.0.0.6#18               rule lossy-acks acted on AckMessage: drop_request\n"
        "12:00:33.000  acknowledged  c2@10.0.0.6#18 of billing\n"
        "trace context: traceparent=00-4bf9-00f0-01"
    )


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([event(RecordKind.PULLED, 1)], ["12:00:00.001 delivered c1 (JAVA V5_3_3) to billing attempt 1"]),
        (
            [event(RecordKind.PULLED, 1, by_slave=True)],
            ["12:00:00.001 delivered c1 (JAVA V5_3_3) to billing attempt 1, by a slave"],
        ),
        (
            [event(RecordKind.PULLED, 1), event(RecordKind.COMMITTED, 2), event(RecordKind.PULLED, 3)],
            [
                "12:00:00.001 delivered c1 (JAVA V5_3_3) to billing attempt 1",
                "12:00:00.002 acknowledged c1 (JAVA V5_3_3) of billing committed offset 5",
                "12:00:00.003 delivered c1 (JAVA V5_3_3) to billing attempt 2",
            ],
        ),
        (
            [event(RecordKind.COMMITTED, 2)],
            [
                "12:00:00.002 acknowledged c1 (JAVA V5_3_3) of billing committed offset 5, "
                "no delivery of the message is recorded"
            ],
        ),
        (
            [event(RecordKind.RETURNED, 2, hold_ms=10_000)],
            ["12:00:00.002 returned c1 (JAVA V5_3_3) of billing invisible until 12:00:10.002"],
        ),
        (
            [event(RecordKind.RENEWED, 2, hold_ms=60_000)],
            ["12:00:00.002 renewed c1 (JAVA V5_3_3) of billing invisible until 12:01:00.002"],
        ),
        ([event(RecordKind.SENT_BACK, 2)], ["12:00:00.002 sent back c1 (JAVA V5_3_3) of billing"]),
        (
            [event(RecordKind.REFUSED_ACKNOWLEDGEMENT, 2)],
            ["12:00:00.002 refused c1 (JAVA V5_3_3) of billing the broker refused the acknowledgement"],
        ),
        (
            [event(RecordKind.POPPED, 1, hold_ms=86_400_000)],
            ["12:00:00.001 delivered c1 (JAVA V5_3_3) to billing attempt 1, invisible until 2026-11-27 12:00:00.001"],
        ),
    ],
    ids=lambda value: value[0].kind.name if isinstance(value[0], RecordedEvent) else "",
)
def test_each_recorded_event_is_one_step(events: list[RecordedEvent], expected: list[str]) -> None:
    """An attempt is the number of a delivery. An end of an invisible duration on another day has a date."""
    assert lines(a_history(SENT, deliveries={ORDERS: events}))[1:] == expected


def test_a_rejected_acknowledgement_is_one_step_with_its_code() -> None:
    """The delivery record and the rejected requests of broker and proxy have the same acknowledgement."""
    refusals = [
        RefusedRequest(
            NOON_MS + 2,
            node,
            "channel of c1",
            "AckMessage",
            operation="AckMessage",
            topic="orders",
            group="billing",
            message_id="ID1",
            keys="",
            code=code,
            remark="late",
        )
        for node, code in (("broker-a", "INVALID_PARAMETER"), ("proxy", "INTERNAL_SERVER_ERROR"))
    ]
    events = [event(RecordKind.POPPED, 1), event(RecordKind.REFUSED_ACKNOWLEDGEMENT, 2)]
    assert lines(a_history(SENT, deliveries={ORDERS: events}, refusals=refusals))[2:] == [
        "12:00:00.002 refused c1 (JAVA V5_3_3) of billing AckMessage: INVALID_PARAMETER: late"
    ]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            RecordKind.SKIPPED,
            "skipped c1 (JAVA V5_3_3) to billing popped by the proxy, which did not pass it on",
        ),
        (
            RecordKind.NOT_WRITTEN,
            "not written c1 (JAVA V5_3_3) to billing popped, and the client's call or connection had ended",
        ),
    ],
)
def test_a_pop_that_did_not_reach_the_client_is_no_delivery(kind: RecordKind, text: str) -> None:
    """The step has no attempt; the attempt of the next delivery follows that of the last delivery."""
    events = [event(RecordKind.POPPED, 1), event(kind, 4), event(RecordKind.POPPED, 5)]
    found = a_history(SENT, deliveries={ORDERS: events})
    assert [step.attempt for step in found.steps[1:]] == [1, None, 2]
    assert lines(found)[2] == f"12:00:00.004 {text}"


def test_attempts_are_counted_for_each_group() -> None:
    other = RecordedEvent(NOON_MS + 2, RecordKind.PULLED, "channel of c2", "audit", 4, 1, None)
    found = a_history(SENT, deliveries={ORDERS: [event(RecordKind.PULLED, 1), other, event(RecordKind.PULLED, 3)]})
    assert [(step.group, step.attempt) for step in found.steps[1:]] == [("billing", 1), ("audit", 1), ("billing", 2)]


def test_steps_of_a_transaction() -> None:
    """Each check appends a half message again; a half message appended again for its immunity time is no check."""
    half = [
        copy_of(CopyState.HALF, "RMQ_SYS_TRANS_HALF_TOPIC", 0, PGROUP="shop"),
        copy_of(CopyState.HALF, "RMQ_SYS_TRANS_HALF_TOPIC", 3000, offset=1, PGROUP="shop"),
        copy_of(CopyState.HALF, "RMQ_SYS_TRANS_HALF_TOPIC", 6000, offset=2, PGROUP="shop", TRANSACTION_CHECK_TIMES="1"),
    ]
    stored = copy_of(CopyState.STORED, "orders", 7000, offset=4)
    end = RecordedEvent(NOON_MS + 7000, RecordKind.COMMITTED_TRANSACTION, "channel of p1", "shop", 2, 1, None)
    expected = [
        "12:00:00.000 half p1 (JAVA V5_3_3) orders, tag a, key 1001",
        "12:00:06.000 checked broker-a check 1, of producer group shop",
        "12:00:07.000 committed p1 (JAVA V5_3_3) of shop",
        "12:00:07.000 available broker-a stored in orders queue 0 offset 4",
    ]
    recorded = {("broker-a", "RMQ_SYS_TRANS_HALF_TOPIC", 0, 2): [end]}
    assert lines(a_history(*half, stored, deliveries=recorded)) == expected
    expected[2] = "12:00:07.000 committed broker-a"
    assert lines(a_history(*half, stored)) == expected

    discarded = copy_of(CopyState.DISCARDED, "TRANS_CHECK_MAX_TIME_TOPIC", 60_000)
    assert lines(a_history(half[0], discarded))[1:] == [
        "12:01:00.000 discarded broker-a stored in TRANS_CHECK_MAX_TIME_TOPIC queue 0 offset 0"
    ]


@pytest.mark.parametrize(
    ("copies", "expected"),
    [
        (
            [
                copy_of(CopyState.DELAYED, "SCHEDULE_TOPIC_XXXX", 0, queue=2, due_ms=10_000, REAL_TOPIC="orders"),
                copy_of(CopyState.STORED, "orders", 10_000),
            ],
            [
                "12:00:00.000 sent p1 (JAVA V5_3_3) orders, tag a, key 1001",
                "12:00:00.000 delayed broker-a level 3, until 12:00:10",
                "12:00:10.000 available broker-a stored in orders queue 0 offset 0",
            ],
        ),
        (
            [
                copy_of(CopyState.TIMED, "rmq_sys_wheel_timer", 0, due_ms=60_000, REAL_TOPIC="orders"),
                copy_of(CopyState.TIMED, "rmq_sys_wheel_timer", 30_000, due_ms=60_000, REAL_TOPIC="orders"),
                copy_of(CopyState.TIMED, "rmq_sys_wheel_timer", 31_000, TIMER_DEL_UNIQKEY="orders+ID1"),
            ],
            [
                "12:00:00.000 sent p1 (JAVA V5_3_3) orders, tag a, key 1001",
                "12:00:00.000 delayed broker-a until 12:01:00",
                "12:00:31.000 recalled broker-a",
            ],
        ),
        (
            [
                copy_of(CopyState.STORED, "orders", 0, offset=4),
                copy_of(
                    CopyState.DELAYED,
                    "SCHEDULE_TOPIC_XXXX",
                    1000,
                    queue=2,
                    due_ms=11_000,
                    group="billing",
                    retry=1,
                ),
                copy_of(CopyState.RETRY, "%RETRY%billing", 11_000, group="billing", retry=1),
                copy_of(CopyState.DEAD, "%DLQ%billing", 12_000, group="billing", retry=2),
            ],
            [
                "12:00:00.000 sent p1 (JAVA V5_3_3) orders queue 0 offset 4, tag a, key 1001",
                "12:00:01.000 delayed broker-a for billing before retry 1, level 3, until 12:00:11",
                "12:00:11.000 redelivered broker-a for billing stored in %RETRY%billing queue 0 offset 0, retry 1",
                "12:00:12.000 dead broker-a for billing stored in %DLQ%billing queue 0 offset 0",
            ],
        ),
    ],
    ids=["delay level", "timer", "retries"],
)
def test_each_stored_copy_is_a_step(copies: list[CopyView], expected: list[str]) -> None:
    """A copy that the timer wheel stores because the time of its message is beyond the wheel is no step."""
    assert lines(a_history(*copies)) == expected


def test_dropped_details_are_named() -> None:
    """The text has the time before which details are missing, unless the message is newer than that."""
    found = a_history(SENT, since_ms=NOON_MS + 31_000)
    assert (
        repr(found).splitlines()[1]
        == "before 12:00:31.000, details no longer held (deliveryRecordMaxEntries, or a restored snapshot)"
    )
    assert found.since_ms == NOON_MS + 31_000
    assert a_history(SENT, since_ms=NOON_MS).since_ms is None
    assert "no longer held" not in repr(a_history(SENT, since_ms=NOON_MS))
    retried = copy_of(CopyState.RETRY, "%RETRY%billing", 60_000, group="billing", retry=1)
    assert a_history(SENT, retried, since_ms=NOON_MS + 31_000).since_ms == NOON_MS + 31_000


def test_steps_on_two_days_have_dates() -> None:
    found = a_history(SENT, copy_of(CopyState.RETRY, "%RETRY%billing_orders", 86_400_000, group="billing"))
    assert [line[:23] for line in repr(found).splitlines()[1:]] == [
        "2026-11-26 12:00:00.000",
        "2026-11-27 12:00:00.000",
    ]


def test_the_history_of_an_unstored_message_has_its_rejections_faults_and_loss() -> None:
    """Events of other messages are left out. A message that no broker received has no step."""
    refusals = [
        RefusedRequest(
            NOON_MS + 2,
            "proxy",
            "grpc:p7",
            "SendMessage",
            operation="RawRequest",
            topic="steps",
            group="",
            message_id=name,
            keys="",
            code="ILLEGAL_TYPE",
            remark="FIFO",
        )
        for name in ("ID1", "ID2")
    ]
    fired = [RuleFiring(NOON_MS + 1, "lossy", "SendMessage", "grpc:p7", effect="drop_request", message_ids=("ID1",))]
    lost = [
        LostMessage(
            NOON_MS + 3,
            "broker-a",
            "orders",
            1,
            queue_offset=7,
            message_id=name,
            keys=f"key of {name}",
            stored_at_ms=NOON_MS,
            born_host=HOST,
        )
        for name in ("ID1", "ID2")
    ]
    deliveries = {("broker-a", "orders", 1, 7): [event(RecordKind.PULLED, 1, "c7"), event(RecordKind.PULLED, 4, "c7")]}
    past = prepared_history(refusals=refusals, fired=fired, lost_messages=lost, deliveries=deliveries)
    found = history_of_unknown("ID1", None, prepared_inspection(), past)
    assert repr(found).splitlines()[0] == "<MessageHistory of ID1, 5 steps>"
    assert lines(found) == [
        "12:00:00.000 sent 10.0.0.5:4711 orders queue 1 offset 7",
        "12:00:00.001 fault p7 rule lossy acted on SendMessage: drop_request",
        "12:00:00.001 delivered channel of c7 to billing attempt 1",
        "12:00:00.002 refused p7 SendMessage: ILLEGAL_TYPE: FIFO",
        "12:00:00.003 lost broker-a orders queue 1 offset 7 was not flushed when the broker crashed",
    ]
    none = history_of_unknown("ID3", "orders", prepared_inspection(), past)
    assert repr(none) == "<MessageHistory of ID3 in orders, 0 steps>"


def test_ends_of_invisible_durations_of_a_lost_message_have_a_date_if_the_lines_have_one() -> None:
    """A message that a crash removed on another day, with a delivery before; its key names it as well as its id."""
    day_ms = 86_400_000
    lost = LostMessage(
        NOON_MS + day_ms,
        "broker-a",
        "orders",
        1,
        queue_offset=7,
        message_id="ID1",
        keys="1001",
        stored_at_ms=NOON_MS,
        born_host=HOST,
    )
    deliveries = {("broker-a", "orders", 1, 7): [event(RecordKind.POPPED, 1_000, "c7", hold_ms=30_000)]}
    past = prepared_history(lost_messages=[lost], deliveries=deliveries)
    delivered = (
        "2026-11-26 12:00:01.000 delivered channel of c7 to billing attempt 1, invisible until 2026-11-26 12:00:31"
    )
    for id_or_key in ("ID1", "1001"):
        found = history_of_unknown(id_or_key, None, prepared_inspection(), past)
        assert lines(found)[1] == delivered
    again = copy_of(CopyState.STORED, "orders", 2 * day_ms, offset=7)
    stored = history_of(replace(message_of(again), message_id="ID1"), prepared_inspection(), past)
    assert lines(stored)[1] == delivered


def test_json_has_the_same_steps() -> None:
    """The JSON form survives an encoder and has every field of each step."""
    deliveries = {ORDERS: [event(RecordKind.POPPED, 1, hold_ms=1)]}
    found = a_history(SENT, AGAIN, deliveries=deliveries, properties={"b3": "0"})
    form = json.loads(json.dumps(found.as_json()))
    assert (form["message_id"], form["topic"], form["since_ms"], form["trace"]) == ("ID1", "orders", None, {"b3": "0"})
    assert [step["at_ms"] for step in form["steps"]] == [step.at_ms for step in found.steps]
    assert form["steps"][1] == {
        "at_ms": NOON_MS + 1,
        "kind": "delivered",
        "node": "broker-a",
        "client": "c1",
        "sdk": "JAVA V5_3_3",
        "group": "billing",
        "place": {"broker": "broker-a", "topic": "orders", "queue_id": 0, "queue_offset": 4, "physical_offset": 0},
        "attempt": 1,
        "detail": "invisible until 12:00:00.002",
    }


def test_sender_that_has_left_is_named_by_its_address() -> None:
    """Messages of the test itself have no port; their sender is `direct`, as in the journal."""
    for sender, expected in (("10.0.0.9:1", "10.0.0.9:1"), ("127.0.0.1:0", "direct")):
        found = history_of(replace(message_of(SENT), sender=sender), prepared_inspection(), prepared_history())
        assert (found.steps[0].client, found.steps[0].sdk) == (expected, "")


def test_ends_of_invisible_durations_have_a_date_if_the_lines_have_one() -> None:
    """If the steps are of several days, each line has a date, and so has each instant in it."""
    day_ms = 86_400_000
    late = event(RecordKind.POPPED, 3 * day_ms, hold_ms=30_000)
    of_one_day = a_history(SENT, deliveries={ORDERS: [event(RecordKind.POPPED, 1_000, hold_ms=30_000)]})
    assert lines(of_one_day)[1] == (
        "12:00:01.000 delivered c1 (JAVA V5_3_3) to billing attempt 1, invisible until 12:00:31"
    )
    of_days = a_history(SENT, deliveries={ORDERS: [event(RecordKind.POPPED, 1_000, hold_ms=30_000), late]})
    assert lines(of_days)[1:] == [
        "2026-11-26 12:00:01.000 delivered c1 (JAVA V5_3_3) to billing attempt 1, invisible until 2026-11-26 12:00:31",
        "2026-11-29 12:00:00.000 delivered c1 (JAVA V5_3_3) to billing attempt 2, invisible until 2026-11-29 12:00:30",
    ]
    over_midnight = a_history(SENT, deliveries={ORDERS: [event(RecordKind.POPPED, 1_000, hold_ms=day_ms)]})
    assert lines(over_midnight)[1].endswith("invisible until 2026-11-27 12:00:01")


def test_delay_has_a_date_in_a_history_of_several_days() -> None:
    delayed = copy_of(CopyState.TIMED, "rmq_sys_wheel_timer", 0, due_ms=60_000, REAL_TOPIC="orders")
    later = copy_of(CopyState.STORED, "orders", 2 * 86_400_000)
    assert lines(a_history(delayed, later))[1].endswith("delayed broker-a until 2026-11-26 12:01:00")


def test_client_that_has_left_keeps_its_name_and_sdk() -> None:
    """A producer is identified by the address in the message, a consumer by its connection."""
    clients = SeenClients()
    clients.note("channel of p9", SeenClient("p9", "GO", "V5_1_0", "10.0.0.9:7"))
    clients.note("channel of c9", SeenClient("c9", "CPP", "V5_0_0", "10.0.0.9:8", left_ms=NOON_MS))
    clients.left("channel of p9", NOON_MS + 1)
    past = prepared_history(
        deliveries={ORDERS: [event(RecordKind.PULLED, 1, "c9")]}, clients=clients, names={"channel of c9": "c9"}
    )
    message = replace(message_of(SENT), sender="10.0.0.9:7")
    found = history_of(message, prepared_inspection(connections=[connected("p1")]), past)
    assert [(step.client, step.sdk) for step in found.steps] == [("p9", "GO V5_1_0"), ("c9", "CPP V5_0_0")]
    unknown = replace(message_of(SENT), sender="10.0.0.9:9")
    assert history_of(unknown, prepared_inspection(), past).steps[0].client == "10.0.0.9:9"
