"""Half messages, commit and rollback, and the transaction check; interval 3 s and timeout 1 s, as observed."""

from collections import Counter

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode, offset_message_id
from rocketmq_testkit.emulator.operations.base import NO_RESPONSE, Done, Result
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.cluster import DeleteExpiredCommitLog, UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.send import EndTransaction, ResumeCheckHalfMessage, SendMessage, SendResult
from stored import scheduled, stored, stored_bodies

HALF, OPS, GAVE_UP = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"
COMMIT, ROLLBACK = 8, 12


@pytest.fixture
def harness() -> EngineHarness:
    return make_harness(transaction_check_interval=3000, transaction_time_out=1000)


def half(harness: EngineHarness, body: bytes = b"t", **properties: str) -> SendResult:
    if harness.broker.topics.find("T") is None:
        harness.topic("T", 4)
    return harness.send("T", body, queue=1, TRAN_MSG="true", PGROUP="PG", **properties)


def end(harness: EngineHarness, sent: SendResult, how: int, *, group: str = "PG", checked: bool = False) -> Result:
    return harness.engine.execute(
        harness.broker, EndTransaction(group, sent.queue_offset, sent.physical_offset, how, checked, sent.msg_id)
    )


def producer(harness: EngineHarness, name: str = "p1", group: str = "PG") -> DirectChannel:
    channel = DirectChannel(name, ("10.0.0.1", 5000))
    harness.engine.submit(harness.broker, Heartbeat(name, [group], []), channel)
    return channel


def checks(channel: DirectChannel) -> list[CheckTransactionState]:
    return [effect for effect in channel.effects if isinstance(effect, CheckTransactionState)]


def respond_to_check(harness: EngineHarness, check: CheckTransactionState, how: int) -> Result:
    return harness.engine.execute(
        harness.broker,
        EndTransaction("PG", check.tran_state_table_offset, check.commit_log_offset, how, True, check.msg_id),
    )


# half messages and ends


def test_a_half_message_is_stored_in_the_half_topic_only(harness: EngineHarness) -> None:
    """A half message is stored in the half topic, without transaction bits, with its real topic and queue."""
    sent = half(harness, UNIQ_KEY="U", TAGS="x")
    (record,) = stored(harness, HALF)
    assert record.sys_flag & 0xC == 0
    assert (
        record.property_map().items()
        >= {
            "REAL_TOPIC": "T",
            "REAL_QID": "1",
            "__transactionId__": "U",
            "TRAN_MSG": "true",
            "PGROUP": "PG",
        }.items()
    )
    assert (sent.queue_offset, sent.physical_offset) == (record.queue_offset, record.physical_offset)
    assert stored(harness, "T", 1) == []


def with_flag(harness: EngineHarness, sys_flag: int, **properties: str) -> SendResult:
    """Send a message to `T` with a sys flag set by the client."""
    if harness.broker.topics.find("T") is None:
        harness.topic("T")
    operation = SendMessage(
        "PG", "T", 0, b"t", {"PGROUP": "PG", **properties}, ("10.0.0.1", 5000), harness.now_ms, sys_flag
    )
    return harness.ask(SendResult, operation)


@pytest.mark.parametrize("flag", [4, 12, 4 | 1])
def test_a_message_with_only_the_transaction_flag_is_in_no_queue(harness: EngineHarness, flag: int) -> None:
    """A message with only the transaction flag is in the log, but in no queue, takes no offset and is never checked."""
    channel = producer(harness)
    harness.topic("T")
    harness.send("T")
    sent = with_flag(harness, flag, DELAY="1")
    assert sent.queue_offset == 0
    assert stored(harness, HALF) == []
    assert len(stored(harness, "T")) == 1
    in_log = harness.broker.store.log.record_at(sent.physical_offset)
    assert in_log is not None
    record = decode(in_log)
    assert (record.topic, record.sys_flag, record.queue_offset) == ("T", flag, 0)
    harness.advance(60_000)
    assert checks(channel) == []
    assert harness.send("T").queue_offset == 1
    assert len(stored(harness, "T")) == 2


def test_a_message_sent_with_a_committed_flag_is_stored_and_keeps_it(harness: EngineHarness) -> None:
    """A message whose flag says committed is stored like any other and keeps the flag."""
    with_flag(harness, COMMIT)
    (record,) = stored(harness, "T")
    assert record.sys_flag == COMMIT
    assert len(harness.popped("T")) == 1


@pytest.mark.parametrize(("word", "is_half"), [("true", True), ("TRUE", True), ("yes", False), (" true", False)])
@pytest.mark.parametrize("flag", [0, 4, 8, 12])
def test_tran_msg_true_alone_makes_a_half_message(harness: EngineHarness, word: str, is_half: bool, flag: int) -> None:
    """TRAN_MSG is parsed like a Java boolean and alone makes a half message; the sys flag does not matter."""
    with_flag(harness, flag, TRAN_MSG=word)
    assert len(stored(harness, HALF)) == is_half
    assert len(stored(harness, "T")) == (not is_half and flag in (0, 8))


def test_a_commit_stores_a_visible_copy_of_the_half_message(harness: EngineHarness) -> None:
    """A committed copy is in its queue at once, marked as committed, with the half message's offset and properties."""
    sent = half(harness, b"body", TAGS="x")
    assert end(harness, sent, COMMIT) == Done(None)
    (record,) = stored(harness, "T", 1)
    assert record.body == b"body"
    assert record.sys_flag & 0xC == COMMIT
    assert record.prepared_transaction_offset == sent.physical_offset
    assert record.born_timestamp == START_MS
    assert record.property_map() == stored(harness, HALF)[0].property_map()
    assert len(harness.popped("T", expression="x")) == 1


def test_a_rollback_stores_no_message(harness: EngineHarness) -> None:
    """A rollback stores no message; the response carries upstream's default remark."""
    assert end(harness, half(harness), ROLLBACK) == Done("not set any response code")
    harness.advance(120_000)
    assert stored(harness, "T", 1) == []


@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_a_second_commit_stores_a_second_copy(harness: EngineHarness, first: int) -> None:
    """A second commit stores a second copy, because no first end is remembered."""
    sent = half(harness)
    end(harness, sent, first)
    end(harness, sent, COMMIT)
    assert len(stored(harness, "T", 1)) == (2 if first == COMMIT else 1)


def test_an_end_with_state_unknown_gets_no_response(harness: EngineHarness) -> None:
    """An end with state unknown gets no response and changes nothing."""
    assert end(harness, half(harness), 0) is NO_RESPONSE
    assert stored(harness, "T", 1) == []


def refusal(harness: EngineHarness, operation: EndTransaction) -> tuple[ResponseCode, str | None]:
    with pytest.raises(EngineError) as caught:
        harness.engine.execute(harness.broker, operation)
    return caught.value.code, caught.value.remark


@pytest.mark.parametrize(
    ("change", "remark"),
    [
        ({"producer_group": "other"}, "The producer group wrong"),
        ({"tran_state_table_offset": 5}, "The transaction state table offset wrong"),
        ({"commit_log_offset": 7_000_000}, "Find prepared transaction message failed"),
    ],
)
@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_an_end_that_does_not_match_its_half_message_returns_system_error(
    harness: EngineHarness, change: dict[str, object], remark: str, how: int
) -> None:
    """An end whose producer group, half offset or log offset does not match returns SYSTEM_ERROR."""
    sent = half(harness)
    operation = EndTransaction("PG", sent.queue_offset, sent.physical_offset, how, False, "")
    for name, value in change.items():
        setattr(operation, name, value)
    assert refusal(harness, operation) == (ResponseCode.SYSTEM_ERROR, remark)
    assert stored(harness, "T", 1) == []


@pytest.mark.parametrize("how", [4, 1, -8])
def test_an_end_with_an_invalid_state_returns_system_error(harness: EngineHarness, how: int) -> None:
    """An end with any other state returns SYSTEM_ERROR."""
    sent = half(harness)
    code, remark = refusal(harness, EndTransaction("PG", sent.queue_offset, sent.physical_offset, how, False, ""))
    assert code is ResponseCode.SYSTEM_ERROR
    assert remark is not None
    assert "commitOrRollback field wrong" in remark


def test_with_reject_transaction_message_half_messages_are_rejected() -> None:
    """A broker with rejectTransactionMessage rejects half messages with NO_PERMISSION."""
    harness = make_harness(reject_transaction_message=True)
    with pytest.raises(EngineError) as caught:
        half(harness)
    assert caught.value.code is ResponseCode.NO_PERMISSION
    assert caught.value.remark == "the broker[127.0.0.1] sending transaction message is forbidden"


@pytest.mark.parametrize(("after_ms", "late"), [(2200, False), (6000, False), (6001, True)])
def test_an_end_after_the_immunity_and_timeout_is_rejected(after_ms: int, late: bool) -> None:
    """With an immunity of 1 s ends are accepted for 6 s (the usual timeout); a response to a check always is."""
    harness = make_harness()
    sent = half(harness, CHECK_IMMUNITY_TIME_IN_SECONDS="1")
    harness.advance(after_ms)
    if late:
        with pytest.raises(EngineError) as caught:
            end(harness, sent, COMMIT)
        assert (caught.value.code, caught.value.remark) == (
            ResponseCode.ILLEGAL_OPERATION,
            "not set any response code",
        )
    assert end(harness, sent, COMMIT, checked=late) == Done(None)


# op messages


def test_ends_within_3_s_are_stored_as_one_op_message(harness: EngineHarness) -> None:
    """The ends of 3 s are stored as one op message: half offsets, each followed by a comma, tag d."""
    harness.advance(100)
    for how in (COMMIT, ROLLBACK, COMMIT):
        end(harness, half(harness), how)
    assert stored(harness, OPS) == []
    harness.advance(10_000)
    (op,) = stored(harness, OPS)
    assert op.body == b"0,1,2,"
    assert op.property_map() == {"TAGS": "d", "WAIT": "true"}
    first_flush = op.store_timestamp
    end(harness, half(harness), COMMIT)
    harness.advance(3000)
    second = stored(harness, OPS)[1]
    assert second.body == b"3,"
    assert (second.store_timestamp - first_flush) % 3000 == 0


def test_an_op_message_of_more_than_4096_characters_is_stored_at_once(harness: EngineHarness) -> None:
    sent = [half(harness) for _ in range(1200)]
    for one in sent:
        end(harness, one, ROLLBACK)
    ops = stored(harness, OPS)
    assert len(ops) == 1
    assert len(ops[0].body) > 4096
    harness.advance(10_000)
    named = b"".join(op.body for op in stored(harness, OPS)).decode().split(",")
    assert Counter(named[:-1]) == Counter(str(one.queue_offset) for one in sent)


# transaction check


def test_an_open_half_message_is_checked_15_times_and_then_discarded(harness: EngineHarness) -> None:
    """A half message without an end is checked 15 times, once per interval, and then discarded."""
    channel = producer(harness)
    half(harness, b"t", UNIQ_KEY="U")
    asked_at = []
    for _ in range(60):
        before = len(checks(channel))
        harness.advance(1000)
        if len(checks(channel)) > before:
            asked_at.append(harness.now_ms - START_MS)
    assert asked_at == [3000 * n for n in range(1, 16)]
    (given_up,) = stored(harness, GAVE_UP)
    assert given_up.store_timestamp - START_MS == 48_000
    assert given_up.property_map()["TRANSACTION_CHECK_TIMES"] == "15"
    assert given_up.body == b"t"
    assert [record.property_map().get("TRANSACTION_CHECK_TIMES") for record in stored(harness, HALF)] == [
        None,
        *map(str, range(1, 16)),
    ]
    assert scheduled(harness, "transaction check") == []


def test_a_discarded_half_message_is_checked_again_when_resumed(harness: EngineHarness) -> None:
    """A discarded message is checked again from the start if an administrator resumes it; an unknown id is rejected."""
    harness.broker.config.transaction_check_max = 2
    half(harness)
    channel = producer(harness)
    harness.advance(15_000)
    [discarded] = stored(harness, GAVE_UP)
    asked = len(checks(channel))
    id_ = offset_message_id(discarded.store_host, discarded.physical_offset)
    assert harness.ask(Done, ResumeCheckHalfMessage(id_)) == Done()
    harness.advance(6_000)
    again = checks(channel)[asked:]
    assert decode(again[0].record).property_map()["TRANSACTION_CHECK_TIMES"] == "1"
    respond_to_check(harness, again[0], COMMIT)
    assert [record.body for record in stored(harness, "T", 1)] == [b"t"]
    for nothing in (None, "7F00", offset_message_id(discarded.store_host, discarded.physical_offset + 1)):
        with pytest.raises(EngineError, match="Exception was thrown when putting message back"):
            harness.engine.execute(harness.broker, ResumeCheckHalfMessage(nothing))


def test_a_check_names_the_reappended_copy_and_has_the_real_topic(harness: EngineHarness) -> None:
    """A check names the half topic and the offsets of the re-appended copy; its record has the real topic."""
    channel = producer(harness)
    half(harness, b"body", UNIQ_KEY="U", WAIT="true")
    harness.advance(3000)
    (question,) = checks(channel)
    again = stored(harness, HALF)[1]
    assert (question.topic, question.msg_id, question.transaction_id) == (HALF, "U", "U")
    assert question.tran_state_table_offset == again.queue_offset == 1
    assert question.commit_log_offset == again.physical_offset
    assert question.offset_msg_id == offset_message_id(harness.broker.store.store_host, again.physical_offset)
    assert question.broker_name == "broker-a"
    record = decode(question.record)
    assert (record.topic, record.queue_id, record.body) == ("T", 1, b"body")
    assert (record.queue_offset, record.physical_offset) == (1, again.physical_offset)
    assert record.store_timestamp == START_MS
    assert record.property_map().items() >= {"WAIT": "false", "TRANSACTION_CHECK_TIMES": "1"}.items()
    assert again.property_map().items() >= {"WAIT": "true", "TRANSACTION_CHECK_TIMES": "1"}.items()


@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_a_check_response_ends_the_checks_of_its_half_message(harness: EngineHarness, how: int) -> None:
    """After the response to a check no producer gets a check, all messages are consumed, and no timer is scheduled."""
    channel = producer(harness)
    half(harness)
    harness.advance(3000)
    respond_to_check(harness, checks(channel)[0], how)
    harness.advance(60_000)
    assert len(checks(channel)) == 1
    assert len(stored(harness, "T", 1)) == (how == COMMIT)
    assert stored(harness, GAVE_UP) == []
    query = harness.broker.offsets.query
    assert query("CID_RMQ_SYS_TRANS", HALF, 0) == 2
    assert query("CID_RMQ_SYS_TRANS", OPS, 0) == 1
    assert scheduled(harness, "transaction check") == scheduled(harness, "transaction op") == []


@pytest.mark.parametrize(
    "immunity", [{}, {"CHECK_IMMUNITY_TIME_IN_SECONDS": "20"}], ids=["default immunity", "immunity of 20 s"]
)
def test_a_check_with_a_full_disk_loses_no_half_message(harness: EngineHarness, immunity: dict[str, str]) -> None:
    """With a full disk a half message can neither be re-appended nor checked, but is not lost."""
    channel = producer(harness)
    harness.advance(58_000)
    harness.ask(Done, UpdateBrokerConfig({"diskUsedRatio": "95"}))
    harness.advance(1999)
    half(harness, b"t", UNIQ_KEY="U", **immunity)
    harness.advance(100_000)
    assert checks(channel) == []
    harness.ask(Done, UpdateBrokerConfig({"diskUsedRatio": "0"}))
    harness.engine.submit(harness.broker, Heartbeat("p1", ["PG"], []), channel)
    harness.advance(100_000)
    assert {question.msg_id for question in checks(channel)} == {"U"}


def test_only_half_messages_without_an_end_are_checked(harness: EngineHarness) -> None:
    channel = producer(harness)
    for n in range(40):
        sent = half(harness, b"%d" % n)
        if n % 10:
            end(harness, sent, COMMIT if n % 2 else ROLLBACK)
    harness.advance(9000)
    assert {decode(question.record).body for question in checks(channel)} == {b"0", b"10", b"20", b"30"}


def test_the_first_check_comes_6_to_36_s_after_the_half_message() -> None:
    """With upstream's defaults the first check comes 6 to 36 s after the message, in a round of the 30 s period."""
    for sent_at in (0, 10_000, 23_999, 24_001, 29_999):
        harness = make_harness()
        channel = producer(harness)
        harness.advance(sent_at)
        half(harness)
        waited = 0
        while not checks(channel):
            harness.advance(1)
            waited += 1
        assert 6000 <= waited <= 36_000
        assert (sent_at + waited) % 30_000 == 0


def test_a_changed_check_interval_takes_effect_from_the_next_round_on(harness: EngineHarness) -> None:
    """A longer check interval takes effect from the next round on."""
    channel = producer(harness)
    half(harness)
    harness.advance(3000)
    harness.broker.config.transaction_check_interval = 10_000
    harness.advance(3000)
    assert len(checks(channel)) == 2
    harness.advance(9999)
    assert len(checks(channel)) == 2
    harness.advance(1)
    assert len(checks(channel)) == 3


def test_a_too_young_half_message_ends_the_check_round(harness: EngineHarness) -> None:
    """A half message that is too young ends the round; later messages wait for the next, even older ones."""
    channel = producer(harness)
    harness.advance(2500)
    half(harness, b"young")
    operation = SendMessage("PG", "T", 0, b"old", {"TRAN_MSG": "true", "PGROUP": "PG"}, ("10.0.0.1", 5000), START_MS)
    harness.engine.execute(harness.broker, operation)
    harness.advance(500)
    assert checks(channel) == []
    harness.advance(3000)
    assert [decode(question.record).body for question in checks(channel)] == [b"young", b"old"]


def test_a_check_without_a_connected_producer_counts(harness: EngineHarness) -> None:
    """Without a connected producer the message is re-appended at each round and discarded in the end."""
    half(harness)
    harness.advance(60_000)
    assert len(stored(harness, HALF)) == 16
    assert len(stored(harness, GAVE_UP)) == 1


def test_checks_alternate_between_the_producers_of_the_group(harness: EngineHarness) -> None:
    """Checks alternate between the producers of the message's own group; other producers get none."""
    first, second, other = producer(harness, "p1"), producer(harness, "p2"), producer(harness, "p3", "OTHER")
    half(harness)
    harness.advance(30_000)
    assert {len(checks(first)), len(checks(second))} == {5}
    assert checks(other) == []


def test_a_half_message_born_in_the_future_is_checked(harness: EngineHarness) -> None:
    """A half message born in the future is checked, because its born time gives no immunity."""
    channel = producer(harness)
    harness.topic("T")
    ahead = harness.now_ms + 60_000
    operation = SendMessage("PG", "T", 0, b"t", {"TRAN_MSG": "true", "PGROUP": "PG"}, ("10.0.0.1", 5000), ahead)
    harness.engine.execute(harness.broker, operation)
    harness.advance(3000)
    assert len(checks(channel)) == 1


def test_a_half_message_born_at_the_start_of_a_round_ends_it_without_a_pause(harness: EngineHarness) -> None:
    """The message has the age 0: it ends the round, and the next round begins an interval later."""
    harness.topic("T")
    round_ms = harness.now_ms + 3000
    operation = SendMessage("PG", "T", 0, b"t", {"TRAN_MSG": "true", "PGROUP": "PG"}, ("10.0.0.1", 5000), round_ms)
    harness.engine.execute(harness.broker, operation)
    assert harness.broker.checks.next_round_ms == round_ms
    harness.advance(3000)
    assert harness.broker.checks.next_round_ms == round_ms + 3000


def test_a_half_message_older_than_file_reserved_time_is_discarded_unchecked(harness: EngineHarness) -> None:
    channel = producer(harness)
    harness.topic("T")
    old = harness.now_ms - 73 * 3_600_000
    operation = SendMessage("PG", "T", 0, b"t", {"TRAN_MSG": "true", "PGROUP": "PG"}, ("10.0.0.1", 5000), old)
    harness.engine.execute(harness.broker, operation)
    harness.advance(3000)
    assert checks(channel) == []
    assert len(stored(harness, GAVE_UP)) == 1


# immunity


def test_an_immune_half_message_is_reappended_until_its_immunity_is_over(harness: EngineHarness) -> None:
    """An immune message is re-appended each round with its first offset, and checked when its immunity is over."""
    channel = producer(harness)
    half(harness, CHECK_IMMUNITY_TIME_IN_SECONDS="10")
    harness.advance(9000)
    records = stored(harness, HALF)
    assert [record.property_map().get("TRAN_PREPARED_QUEUE_OFFSET") for record in records] == [None, "0", "0", "0"]
    assert [record.property_map().get("TRANSACTION_CHECK_TIMES") for record in records] == [None, "1", "2", "3"]
    assert checks(channel) == []
    harness.advance(3000)
    assert len(checks(channel)) == 1


@pytest.mark.parametrize(
    ("text", "asked_ms"),
    [("0", 1000), ("-5", 1000), ("2", 3000), ("9", 10_000), ("-1", 7000), ("soon", 7000), ("1.5", 7000), (" ", 7000)],
)
def test_the_check_immunity_is_in_seconds_and_6_s_if_invalid(text: str, asked_ms: int) -> None:
    """The immunity is a number of seconds, even below the default; -1 and non-numbers mean the default of 6 s."""
    harness = make_harness(transaction_check_interval=1000)
    channel = producer(harness)
    half(harness, CHECK_IMMUNITY_TIME_IN_SECONDS=text)
    harness.advance(asked_ms - 1)
    assert checks(channel) == []
    harness.advance(1)
    assert len(checks(channel)) == 1


def test_an_immune_half_message_without_end_is_discarded_in_the_end(harness: EngineHarness) -> None:
    """Each re-append of an immune message counts as a check, so it is discarded in the end."""
    half(harness, CHECK_IMMUNITY_TIME_IN_SECONDS="3600")
    harness.advance(48_000)
    assert len(stored(harness, GAVE_UP)) == 1


def test_an_immune_half_message_ended_before_its_next_round_is_skipped(harness: EngineHarness) -> None:
    """An immune message whose op message is stored before its next round is skipped."""
    harness.advance(3100)
    sent = half(harness, CHECK_IMMUNITY_TIME_IN_SECONDS="3600")
    harness.broker.config.transaction_check_interval = 4000
    end(harness, sent, COMMIT)
    harness.advance(60_000)
    assert stored(harness, GAVE_UP) == []


def test_an_end_stored_after_a_reappend_does_not_stop_later_reappends() -> None:
    """An immune message that is committed after a re-append is re-appended until it is discarded, as upstream."""
    harness = make_harness(
        transaction_check_interval=3000, transaction_time_out=1000, transaction_op_batch_interval=5000
    )
    sent = half(harness, CHECK_IMMUNITY_TIME_IN_SECONDS="3600")
    end(harness, sent, COMMIT)
    harness.advance(60_000)
    assert len(stored(harness, "T", 1)) == 1
    assert len(stored(harness, GAVE_UP)) == 1


def test_a_half_message_with_a_timer_loses_its_real_topic(harness: EngineHarness) -> None:
    """A half message with a timer loses its real topic and is discarded in the end, as upstream."""
    half(harness, b"timed", TIMER_DELAY_SEC="2")
    assert stored(harness, HALF) == []
    harness.advance(2000)
    assert stored(harness, HALF)[0].property_map()["REAL_TOPIC"] == HALF
    harness.advance(60_000)
    assert stored_bodies(harness, GAVE_UP) == [b"timed"]


def test_the_check_skips_half_messages_deleted_by_the_store() -> None:
    """When the store has deleted half messages, the position moves to the first stored one."""
    harness = make_harness(
        store_max_bytes=1 << 20,
        max_message_size=1 << 16,
        mapped_file_size_commit_log=1 << 17,
        transaction_check_interval=3000,
        transaction_time_out=1000,
    )
    channel = producer(harness)
    half(harness, b"gone")
    harness.topic("A")
    for _ in range(100):
        harness.send("A", bytes(30_000))
    half(harness, b"held")
    assert harness.broker.store.min_offset(HALF, 0) == 1
    harness.advance(3000)
    assert [decode(question.record).body for question in checks(channel)] == [b"held"]


def test_a_check_round_continues_after_1_s_if_op_messages_were_deleted() -> None:
    """A round that waits for space continues one second after it finds that op messages were deleted.

    It had read 32 of 40 op messages before.
    """
    harness = make_harness(
        max_message_size=1 << 16,
        mapped_file_size_commit_log=1 << 17,
        transaction_check_interval=32_100,
        transaction_time_out=1000,
        transaction_op_batch_interval=100,
        clean_file_forcibly_enable=False,
    )
    channel = producer(harness)
    harness.advance(33_000)
    for number in range(40):
        if number == 32:
            half(harness, b"immune", CHECK_IMMUNITY_TIME_IN_SECONDS="3600")
        end(harness, half(harness), COMMIT)
        harness.advance(200)
    harness.topic("A")
    for _ in range(6):
        harness.send("A", bytes(30_000))
    half(harness, b"open")
    harness.ask(Done, UpdateBrokerConfig({"diskUsedRatio": "95"}))
    harness.advance(28_500)
    # The round began at 64,200 ms; since then it retries once a second to store "immune" again.
    assert harness.now_ms == START_MS + 69_500
    harness.ask(Done, UpdateBrokerConfig({"fileReservedTime": "0", "diskUsedRatio": "0"}))
    harness.ask(Done, DeleteExpiredCommitLog())
    harness.advance(600)
    assert (harness.broker.store.min_offset(OPS, 0), harness.broker.store.min_offset(HALF, 0)) == (40, 41)
    harness.ask(Done, UpdateBrokerConfig({"fileReservedTime": "72"}))
    harness.engine.submit(harness.broker, Heartbeat("p1", ["PG"], []), channel)
    harness.advance(100)
    assert harness.broker.offsets.query("CID_RMQ_SYS_TRANS", OPS, 0) == 40
    harness.advance(999)
    assert checks(channel) == []
    harness.advance(1)
    assert [decode(question.record).body for question in checks(channel)] == [b"open"]


def test_one_check_round_reads_as_many_op_messages_as_it_needs() -> None:
    """One round reads 70 op messages with three reads, and checks the open message after them."""
    harness = make_harness(
        transaction_check_interval=30_000, transaction_time_out=1000, transaction_op_batch_interval=1
    )
    channel = producer(harness)
    for _ in range(70):
        end(harness, half(harness), COMMIT)
        harness.advance(10)
    half(harness, b"open")
    harness.advance(32_000)
    assert [decode(question.record).body for question in checks(channel)] == [b"open"]
