"""Failed messages: sent back with a delay level, or moved to the dead letter queue."""

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import offset_message_id
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.clients import LockBatchMq, MessageQueue, UnlockBatchMq
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendMessage, SendMessageBack
from stored import stored, stored_bodies

RETRY, DLQ, SCHEDULE = "%RETRY%G", "%DLQ%G", "SCHEDULE_TOPIC_XXXX"
SCHEDULE_S = [10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]


def send_back(
    harness: EngineHarness, offset: int, *, group: str = "G", level: int = 0, most: int | None = None
) -> None:
    result = harness.engine.execute(
        harness.broker, SendMessageBack(group, offset, level, origin_topic="A", max_reconsume_times=most)
    )
    assert isinstance(result, Done)
    assert result.remark is None


def send_failing(harness: EngineHarness) -> int:
    """Send a message to topic S; return its physical offset."""
    harness.topic("S")
    return harness.send("S", b"bad", TAGS="T", KEYS="k", color="red").physical_offset


def send_to_retry_topic(harness: EngineHarness, *, times: int, most: int | None, topic: str = RETRY) -> None:
    operation = SendMessage("PG", topic, 0, b"again", {}, ("10.0.0.1", 5000), harness.now_ms)
    operation.reconsume_times, operation.max_reconsume_times = times, most
    harness.engine.execute(harness.broker, operation)


@pytest.mark.parametrize(("level", "after_ms"), [(0, 10_000), (1, 1000), (2, 5000), (3, 10_000), (4, 30_000)])
def test_delay_level_0_means_level_3_for_the_first_retry(harness: EngineHarness, level: int, after_ms: int) -> None:
    """Delay level 0 means level 3 for the first failure; other levels are used unchanged."""
    harness.advance(2000)
    send_back(harness, send_failing(harness), level=level)
    harness.advance(after_ms - 1)
    assert stored(harness, RETRY) == []
    harness.advance(1)
    assert stored_bodies(harness, RETRY) == [b"bad"]


def test_a_message_that_always_fails_goes_to_the_dlq_after_16_retries(harness: EngineHarness) -> None:
    """A message that always fails is delivered 17 times, then stored once in the dead letter queue."""
    offset = send_failing(harness)
    for times, seconds in enumerate(SCHEDULE_S):
        before = harness.now_ms
        send_back(harness, offset)
        harness.advance(7200 * 1000)
        record = stored(harness, RETRY)[-1]
        assert record.reconsume_times == times + 1
        assert 0 <= record.store_timestamp - before - seconds * 1000 < 1000
        offset = record.physical_offset
    assert stored(harness, DLQ) == []
    send_back(harness, offset)
    (dead,) = stored(harness, DLQ)
    assert (dead.body, dead.reconsume_times) == (b"bad", 17)
    assert len(stored(harness, RETRY)) == 16


def test_a_retry_keeps_properties_and_names_its_origin_topic_and_message(harness: EngineHarness) -> None:
    """The copy names its origin topic and message and keeps the sender's properties; a second copy keeps the origin."""
    offset = send_failing(harness)
    origin = offset_message_id(harness.broker.store.store_host, offset)
    send_back(harness, offset)
    waiting = stored(harness, SCHEDULE, 2)[0].property_map()
    harness.advance(10_000)
    (retry,) = stored(harness, RETRY)
    properties = retry.property_map()
    assert properties == waiting
    assert (
        properties.items()
        >= {
            "RETRY_TOPIC": "S",
            "ORIGIN_MESSAGE_ID": origin,
            "WAIT": "false",
            "DELAY": "3",
            "REAL_TOPIC": RETRY,
            "REAL_QID": "0",
            "TAGS": "T",
            "KEYS": "k",
            "color": "red",
        }.items()
    )
    assert retry.born_timestamp == START_MS
    send_back(harness, retry.physical_offset)
    (second,) = stored(harness, SCHEDULE, 3)
    again = second.property_map()
    assert (again["RETRY_TOPIC"], again["ORIGIN_MESSAGE_ID"], again["DELAY"]) == ("S", origin, "4")
    assert second.reconsume_times == 2
    assert second.born_host == retry.born_host


@pytest.mark.parametrize(
    ("level", "most", "group_most"), [(-1, None, 16), (0, 0, 16), (3, 0, 16), (0, None, 0), (0, -1, 0)]
)
def test_a_negative_level_or_no_retries_left_sends_the_message_to_the_dlq(
    harness: EngineHarness, level: int, most: int | None, group_most: int
) -> None:
    """With a negative level or no retries left the message goes to the dead letter queue at once, with DELAY=0."""
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G", retry_max_times=group_most)))
    send_back(harness, send_failing(harness), level=level, most=most)
    (dead,) = stored(harness, DLQ)
    properties = dead.property_map()
    assert dead.reconsume_times == 1
    assert {name: properties[name] for name in ("DELAY", "RETRY_TOPIC", "WAIT")} == {
        "DELAY": "0",
        "RETRY_TOPIC": "S",
        "WAIT": "false",
    }
    assert "ORIGIN_MESSAGE_ID" in properties
    topic = harness.broker.topics.get(DLQ)
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm) == (1, 1, 6)


def test_a_send_back_with_a_level_above_the_maximum_is_clamped(harness: EngineHarness) -> None:
    """Level 99 waits in the queue of the last level with DELAY=18."""
    send_back(harness, send_failing(harness), level=99)
    (waiting,) = stored(harness, SCHEDULE, 17)
    assert waiting.property_map()["DELAY"] == "18"


def test_a_retry_topic_has_the_retry_queues_of_its_group(harness: EngineHarness) -> None:
    """The retry topic has the group's number of queues; with 0 queues the message is dropped with the code SUCCESS."""
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G", retry_queue_nums=3)))
    offset = send_failing(harness)
    for _ in range(30):
        send_back(harness, offset, level=1)
    harness.advance(2000)
    topic = harness.broker.topics.get(RETRY)
    assert (topic.read_queue_nums, topic.perm) == (3, 6)
    assert all(stored(harness, RETRY, queue) for queue in range(3))
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("H", retry_queue_nums=0)))
    send_back(harness, offset, group="H")
    assert harness.broker.topics.find("%RETRY%H") is None


def test_the_first_send_back_of_an_unknown_group_creates_it(harness: EngineHarness) -> None:
    """The first send-back of an unknown group creates the group with defaults."""
    send_back(harness, send_failing(harness), group="N")
    assert harness.broker.groups.find("N") is not None


def refusal(harness: EngineHarness, operation: SendMessageBack | SendMessage) -> tuple[ResponseCode, str | None]:
    with pytest.raises(EngineError) as caught:
        harness.engine.execute(harness.broker, operation)
    return caught.value.code, caught.value.remark


def test_a_send_back_of_an_illegal_group_or_unknown_message_is_rejected(harness: EngineHarness) -> None:
    """Physical offset 0 is valid; an offset inside a record is rejected like an offset beyond the log."""
    send_failing(harness)
    code, remark = refusal(harness, SendMessageBack("a b", 0, 0))
    assert code is ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert remark is not None
    assert remark.startswith("subscription group not exist, a b \nSee ")
    assert refusal(harness, SendMessageBack("G", 5_800_941, 0)) == (
        ResponseCode.SYSTEM_ERROR,
        "look message by offset failed, 5800941",
    )
    assert refusal(harness, SendMessageBack("G", 1, 0))[0] is ResponseCode.SYSTEM_ERROR
    send_back(harness, 0)


def test_a_send_back_without_write_permission_is_rejected(harness: EngineHarness) -> None:
    """A send-back is rejected without WRITE permission of the broker or of the retry topic."""
    offset = send_failing(harness)
    harness.broker.topics.create_internal(RETRY, 1, 4)
    assert refusal(harness, SendMessageBack("G", offset, 0)) == (
        ResponseCode.NO_PERMISSION,
        "the topic[%RETRY%G] sending message is forbidden",
    )
    harness.broker.config.broker_permission = 4
    assert refusal(harness, SendMessageBack("G", offset, 0)) == (
        ResponseCode.NO_PERMISSION,
        "the broker[127.0.0.1] sending message is forbidden",
    )


def test_without_auto_creation_a_send_back_of_an_unknown_group_is_rejected() -> None:
    """Without auto-creation an unknown group is rejected in a send-back and in a send to its retry topic."""
    harness = make_harness(auto_create_subscription_group=False)
    offset = send_failing(harness)
    code = ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert refusal(harness, SendMessageBack("G", offset, 0))[0] is code
    send = SendMessage("PG", RETRY, 0, b"again", {}, ("10.0.0.1", 5000), harness.now_ms)
    assert refusal(harness, send)[0] is code


def test_a_committed_message_can_be_sent_back(harness: EngineHarness) -> None:
    """A committed message that is sent back is delayed despite its transaction bits."""
    harness.topic("S")
    half = harness.send("S", b"bad", TRAN_MSG="true", PGROUP="PG")
    harness.engine.execute(harness.broker, EndTransaction("PG", half.queue_offset, half.physical_offset, 8, False, ""))
    send_back(harness, stored(harness, "S")[0].physical_offset)
    harness.advance(10_000)
    assert stored_bodies(harness, RETRY) == [b"bad"]


@pytest.mark.parametrize(
    ("times", "most", "dead"), [(2, 2, False), (3, 2, True), (16, None, False), (17, None, True), (0, 0, False)]
)
def test_a_send_to_a_retry_topic_with_too_many_reconsumptions_goes_to_the_dlq(
    harness: EngineHarness, times: int, most: int | None, dead: bool
) -> None:
    """A message sent to a retry topic is dead after too many reconsumptions, then with DELAY=-1 and no delay."""
    send_to_retry_topic(harness, times=times, most=most)
    (record,) = stored(harness, DLQ if dead else RETRY)
    assert record.property_map().get("DELAY") == ("-1" if dead else None)
    assert record.reconsume_times == times


def test_a_retry_goes_to_the_dlq_while_a_consumer_holds_a_queue_lock(harness: EngineHarness) -> None:
    """A retry goes to the dead letter queue while a consumer of the group holds a lock that is not expired."""
    queue = MessageQueue("S", "broker-a", 0)
    harness.engine.execute(harness.broker, LockBatchMq("G", "c1", [queue]))
    send_to_retry_topic(harness, times=1, most=16)
    assert len(stored(harness, DLQ)) == 1
    harness.engine.execute(harness.broker, UnlockBatchMq("G", "c1", [queue]))
    send_to_retry_topic(harness, times=1, most=16)
    harness.engine.execute(harness.broker, LockBatchMq("G", "c1", [queue]))
    harness.advance(60_001)
    send_to_retry_topic(harness, times=1, most=16)
    assert len(stored(harness, DLQ)) == 1
    assert len(stored(harness, RETRY)) == 2


def test_a_send_to_a_retry_topic_with_a_delay_level_is_delayed(harness: EngineHarness) -> None:
    operation = SendMessage("PG", RETRY, 0, b"again", {"DELAY": "3"}, ("10.0.0.1", 5000), harness.now_ms)
    harness.engine.execute(harness.broker, operation)
    assert stored(harness, RETRY) == []
    harness.advance(10_000)
    assert stored_bodies(harness, RETRY) == [b"again"]


def test_a_send_back_in_unit_mode_marks_the_retry_topic_that_it_creates(harness: EngineHarness) -> None:
    """The mark is the flag HAS_UNIT_SUB. A retry topic that exists keeps its flags, and a dead letter queue has none.

    Source: AbstractSendMessageProcessor.consumerSendMsgBack (5.3.3).
    """
    offset = send_failing(harness)
    for group, units in (("G", (True, False)), ("H", (False, True))):
        for unit in units:
            operation = SendMessageBack(group, offset, -1, origin_topic="A", unit_mode=unit)
            harness.engine.execute(harness.broker, operation)
    flags = {topic: harness.broker.topics.get(topic).topic_sys_flag for topic in (RETRY, DLQ, "%RETRY%H", "%DLQ%H")}
    assert flags == {RETRY: 2, DLQ: 0, "%RETRY%H": 0, "%DLQ%H": 0}


def test_a_send_in_unit_mode_to_a_missing_retry_topic_marks_it_without_a_template(harness: EngineHarness) -> None:
    """The retry topic gets one queue and the flag HAS_UNIT_SUB.

    Source: AbstractSendMessageProcessor.msgCheck (5.3.3).
    """
    operation = SendMessage("PG", RETRY, 0, b"again", {}, ("10.0.0.1", 5000), harness.now_ms)
    operation.unit_mode, operation.default_topic = True, "missing"
    harness.engine.execute(harness.broker, operation)
    retry = harness.broker.topics.get(RETRY)
    assert (retry.write_queue_nums, retry.topic_sys_flag) == (1, 2)
