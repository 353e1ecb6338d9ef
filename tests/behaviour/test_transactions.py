"""Transactions: half messages, their commits and rollbacks, and the checks of half messages that were not ended."""

from dataclasses import replace

import pytest
from grpc_texts import PROXY_EXCEPTION
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from protocol_values import Answer, Sent, Waiting
from rocketmq_testkit.emulator.message.stored_record import decode
from virtual_brokers import START_MS

HALF, OPS, DISCARDED = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"
UNKNOWN, COMMIT, ROLLBACK = 0, 8, 12
NOT_FOUND = (50001, PROXY_EXCEPTION + "cannot found transaction data")
QUICK = {"transaction_check_interval": 3_000, "transaction_time_out": 1_000}


@pytest.fixture
def t(e: ProtocolClient) -> ProtocolClient:
    """Return a protocol client with a topic for half messages."""
    e.topic(kind="TRANSACTION")
    return e


def half(t: ProtocolClient, body: bytes = b"0", **more: object) -> Sent:
    """Send a half message."""
    sent = t.put(body, half=True, **more)
    assert sent.ok, sent
    return sent


def assert_ended(response: Answer | None) -> None:
    """Check that the end of a transaction succeeded."""
    assert response is not None
    assert response.ok, response


def delivered_bodies(t: ProtocolClient) -> list[bytes]:
    """Return the bodies of the messages that were delivered."""
    return [each.body for each in t.records("T")]


# Half messages and their ends.


@through(*ALL)
def test_a_half_message_is_hidden_until_its_commit(t: ProtocolClient) -> None:
    """A half message is invisible until its commit, and then is delivered like any other message."""
    sent = half(t, tag="A", keys="k", color="red")
    t.advance(5_000)
    assert t.bodies() == []
    assert_ended(t.end(sent, COMMIT))
    (message,) = t.take()
    assert (message.body, message.tag, message.keys, message.attempt) == (b"0", "A", ("k",), 0)


@through(*ALL)
def test_a_half_message_is_stored_in_the_half_topic_with_its_real_topic(t: ProtocolClient) -> None:
    """A half message is stored in the half topic as a normal message with its real topic and queue.

    The send returns the offset in the half topic.
    """
    for number in range(2):
        sent = half(t, b"%d" % number, tag="A")
    record = t.records(HALF)[1]
    assert sent.offset == record.queue_offset == 1
    assert record.sys_flag & 0xC == 0
    known = {"REAL_TOPIC": "T", "REAL_QID": "0", "__transactionId__": sent.id, "TRAN_MSG": "true", "PGROUP": "T"}
    assert record.property_map().items() >= (known | {"TAGS": "A"}).items()
    assert delivered_bodies(t) == []


@through(*ALL)
def test_a_commit_stores_a_copy_that_refers_to_the_half_message(t: ProtocolClient) -> None:
    """A commit stores a copy with the transaction type COMMIT and the commit log offset of the half message."""
    sent = half(t, color="red")
    t.advance(2_000)
    assert_ended(t.end(sent, COMMIT))
    (record,), (first,) = t.records("T"), t.records(HALF)
    assert record.sys_flag & 0xC == COMMIT
    assert record.prepared_transaction_offset == first.physical_offset
    assert (record.born_timestamp, record.store_timestamp) == (START_MS, START_MS + 2_000)
    assert record.property_map() == first.property_map()


@through(*ALL)
def test_a_rolled_back_message_is_neither_delivered_nor_checked(t: ProtocolClient) -> None:
    t.register_producer("p")
    assert_ended(t.end(half(t), ROLLBACK))
    t.advance(50_000)
    assert t.bodies() == []
    assert t.transaction_checks("p") == []


@through(*ALL)
def test_ends_of_transactions_are_written_together_to_the_op_topic(t: ProtocolClient) -> None:
    """Ends of transactions are written together to the op topic every 3 s, as offsets of half messages."""
    sent = [half(t, b"%d" % number) for number in range(4)]
    t.advance(100)
    for each, how in zip(sent, (COMMIT, ROLLBACK, COMMIT), strict=False):
        assert_ended(t.end(each, how))
    assert t.records(OPS) == []
    t.advance(3_000)
    (op,) = t.records(OPS)
    assert (op.body, op.property_map()) == (b"0,1,2,", {"TAGS": "d", "WAIT": "true"})


@through(*BROKER)
def test_the_broker_stores_a_message_for_each_commit(t: ProtocolClient) -> None:
    """The broker stores a message for each commit, even after a commit or rollback.

    A rollback after a commit succeeds without effect.
    """
    for first in (COMMIT, ROLLBACK):
        sent = half(t, b"%d" % first)
        for how in (first, COMMIT, ROLLBACK):
            assert_ended(t.end(sent, how))
    assert delivered_bodies(t) == [b"8", b"8", b"12"]


@through("grpc")
@pytest.mark.parametrize("first", [COMMIT, ROLLBACK, UNKNOWN])
@pytest.mark.parametrize("again", [COMMIT, ROLLBACK])
def test_the_proxy_ends_a_transaction_once(t: ProtocolClient, first: int, again: int) -> None:
    """The proxy ends a transaction once, even if the first end left it unknown."""
    sent = half(t)
    assert_ended(t.end(sent, first))
    before = t.state()
    assert t.is_error(t.end(sent, again), NOT_FOUND, NOT_FOUND)
    assert t.state() == before
    assert delivered_bodies(t) == ([b"0"] if first == COMMIT else [])


@through(*BROKER)
@pytest.mark.parametrize("checked", [False, True])
def test_an_end_with_unknown_gets_no_response_and_has_no_effect(t: ProtocolClient, checked: bool) -> None:
    sent = half(t)
    before = t.state()
    assert t.end(sent, UNKNOWN, checked=checked) is None
    assert t.state() == before


@through("grpc")
def test_the_proxy_forgets_a_transaction_after_30_s(t: ProtocolClient) -> None:
    """The proxy forgets a transaction after 30 s, but the broker still checks it.

    The producer is registered later, because a check would begin the 30 s again. The check at 30 s, without a producer,
    stores both half messages again. Therefore the broker checks the early one as well: its commit named the first copy.
    """
    early, late = half(t, b"early"), half(t, b"late")
    t.advance(30_000)
    assert_ended(t.end(early, COMMIT))
    t.advance(1)
    assert t.is_error(t.end(late, COMMIT), NOT_FOUND, NOT_FOUND)
    t.register_producer("p")
    t.advance(31_000)
    assert [each.body for each in t.transaction_checks("p")] == [b"early", b"late"]
    assert delivered_bodies(t) == [b"early"]


def check_late_ends(t: ProtocolClient, immune_s: int, left_ms: int, how: int) -> None:
    """Check that an end succeeds until the immunity time is over, and later only after a check."""
    early, late, asked = (half(t, b"%d" % number, immune_s=immune_s) for number in range(3))
    t.advance(left_ms)
    assert_ended(t.end(early, ROLLBACK))
    t.advance(1)
    before = t.state()
    response = t.end(late, how)
    if t.proxied:
        assert_ended(response)  # The proxy does not wait for the broker's response.
    else:
        assert t.is_error(response, (604, ""), NOT_FOUND)
    assert t.state() == before
    assert delivered_bodies(t) == []
    assert_ended(t.end(asked, how, checked=True))
    assert delivered_bodies(t) == ([b"2"] if how == COMMIT else [])


@through(*ALL)
@pytest.mark.parametrize(("immune_s", "left_ms"), [(1, 6_000), (6, 6_000), (10, 10_000)])
@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_an_end_after_the_immunity_time_is_rejected(t: ProtocolClient, immune_s: int, left_ms: int, how: int) -> None:
    """The broker rejects an end after the immunity time, at least 6 s, unless it follows a check.

    The proxy returns success.
    """
    check_late_ends(t, immune_s, left_ms, how)


@through(*BROKER)
@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_an_immunity_time_of_an_hour_is_accepted(t: ProtocolClient, how: int) -> None:
    """An immunity time of an hour is accepted; the proxy would have forgotten the transaction."""
    check_late_ends(t, 3_600, 3_600_000, how)


@through(*ALL)
def test_an_end_without_immunity_is_never_late(t: ProtocolClient) -> None:
    """An end of a message without immunity time is never too late for the broker."""
    sent = half(t)
    t.advance(29_999 if t.proxied else 3_600_000)
    assert_ended(t.end(sent, COMMIT))
    assert delivered_bodies(t) == [b"0"]


@through(*BROKER)
def test_the_broker_ignores_the_transaction_id_of_an_end(t: ProtocolClient) -> None:
    """The broker ends a transaction by its offsets and ignores its transaction id."""
    assert_ended(t.end(replace(half(t), id="another"), COMMIT))
    assert delivered_bodies(t) == [b"0"]


@through(*ALL)
def test_a_committed_ordered_message_keeps_its_message_group(t: ProtocolClient) -> None:
    assert_ended(t.end(half(t, message_group="g"), COMMIT))
    assert [each.property_map()["__SHARDINGKEY"] for each in t.records("T")] == ["g"]


def check_commit_wakes(t: ProtocolClient, waiting: Waiting) -> None:
    """Check that a commit completes a waiting request and the half message does not."""
    sent = half(t)
    t.advance(1_000)
    assert waiting.response is None
    assert_ended(t.end(sent, COMMIT))
    assert waiting.response is not None
    assert waiting.response.bodies == [b"0"]


@through(*ALL)
def test_a_commit_wakes_a_waiting_pop(t: ProtocolClient) -> None:
    """A commit wakes a waiting pop; the half message does not."""
    check_commit_wakes(t, t.pop(poll_ms=15_000))


@through(*BROKER)
def test_a_commit_wakes_a_held_pull(t: BrokerProtocolClient) -> None:
    """A commit wakes a waiting pull; the half message does not."""
    t.heartbeat("puller")
    check_commit_wakes(t, t.pull(0, suspend_ms=15_000))


@through(*ALL, reject_transaction_message=True)
def test_with_reject_transaction_message_half_messages_are_rejected(t: ProtocolClient) -> None:
    before = t.state()
    text = "the broker[127.0.0.1] sending transaction message is forbidden"
    assert t.is_error(t.put(half=True), (16, text), (50001, PROXY_EXCEPTION + text))
    assert t.state() == before


@through(*BROKER)
def test_a_batch_of_half_messages_is_rejected_as_a_whole(t: BrokerProtocolClient) -> None:
    before = t.state()
    refused = t.send_batch_with_properties((b"a", {}), (b"b", {}), half=True)
    assert refused.code == 13
    assert refused.remark.startswith("the message is illegal, maybe msg body or properties length not matched.")
    assert t.state() == before


# Transaction checks.


@through(*ALL)
@pytest.mark.parametrize(("sent_ms", "asked_ms"), [(0, 30_000), (23_999, 30_000), (24_001, 60_000), (29_999, 60_000)])
def test_a_half_message_is_first_checked_in_a_round_after_it_is_6_s_old(
    t: ProtocolClient, sent_ms: int, asked_ms: int
) -> None:
    """A half message is first checked in the first round, one every 30 s, in which it is at least 6 s old."""
    t.advance(sent_ms)
    half(t)
    t.register_producer("p")
    t.advance(asked_ms - sent_ms - 1)
    assert t.transaction_checks("p") == []
    t.advance(1)
    assert [(each.body, each.times) for each in t.transaction_checks("p")] == [(b"0", 1)]


@through(*ALL, **QUICK)
@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_a_producer_ends_a_checked_transaction_by_the_offsets_of_the_check(t: ProtocolClient, how: int) -> None:
    """A producer ends a checked transaction by the new offsets of the check, and is not checked again."""
    t.register_producer("p")
    half(t)
    t.advance(3_000)
    (question,) = t.transaction_checks("p")
    assert_ended(t.end(question.sent, how, checked=True))
    t.advance(45_000)
    assert t.transaction_checks("p") == []
    assert delivered_bodies(t) == ([b"0"] if how == COMMIT else [])


@through(*ALL, **QUICK)
def test_a_check_shows_the_message_and_stores_it_again_with_its_check_count(t: ProtocolClient) -> None:
    """A check shows the message as sent; it is stored again at the end of the half topic with its number of checks."""
    t.register_producer("p")
    sent = half(t, b"0", color="red")
    t.advance(3_000)
    (question,) = t.transaction_checks("p")
    again = t.records(HALF)[1]
    assert (question.body, question.times, question.sent.id) == (b"0", 1, sent.id)
    if not t.proxied:
        assert (question.sent.offset, question.sent.place) == (1, again.physical_offset)
    assert again.property_map().items() >= {"TRANSACTION_CHECK_TIMES": "1", "color": "red"}.items()


@through(*ALL, **QUICK)
def test_a_half_message_is_discarded_after_fifteen_checks(t: ProtocolClient) -> None:
    """A half message is checked in fifteen rounds, then moves undelivered to the topic of discarded transactions."""
    t.register_producer("p")
    half(t)
    asked = []
    for _ in range(15):
        t.advance(3_000)
        asked += t.transaction_checks("p")
    assert [each.times for each in asked] == list(range(1, 16))
    assert t.records(DISCARDED) == []
    t.advance(3_000)
    (discarded,) = t.records(DISCARDED)
    assert (discarded.body, discarded.property_map()["TRANSACTION_CHECK_TIMES"]) == (b"0", "15")
    t.advance(6_000)
    assert t.transaction_checks("p") == []
    assert t.bodies() == []


@through(*ALL, **QUICK, transaction_check_max=2)
def test_rounds_without_a_producer_count_as_checks(t: ProtocolClient) -> None:
    """Rounds without a producer count as checks, so that such a half message is discarded as early as another."""
    half(t)
    t.advance(8_999)
    assert t.records(DISCARDED) == []
    t.advance(1)
    assert len(t.records(DISCARDED)) == 1


@through(*ALL, **QUICK, file_reserved_time=1, transaction_check_max=10_000)
def test_a_half_message_older_than_the_retention_time_is_discarded(t: ProtocolClient) -> None:
    """A half message older than the store's retention time is discarded, however few checks it had."""
    half(t)
    t.advance(3_600_000)
    assert t.records(DISCARDED) == []
    t.advance(3_000)
    assert len(t.records(DISCARDED)) == 1
    halves = len(t.records(HALF))
    t.advance(60_000)
    assert len(t.records(HALF)) == halves


@through(*ALL, **QUICK)
def test_another_producer_is_checked_after_the_first_has_left(t: ProtocolClient) -> None:
    """If a producer has left, another producer of its group is checked, even one that joined later."""
    t.register_producer("first")
    half(t)
    t.unregister_producer("first")
    t.register_producer("second")
    t.advance(3_000)
    (question,) = t.transaction_checks("second")
    t.unregister_producer("second")
    t.advance(3_000)
    t.register_producer("third")
    t.advance(3_000)
    assert [each.times for each in t.transaction_checks("third")] == [3]
    assert t.transaction_checks("first") == t.transaction_checks("second") == []
    assert_ended(t.end(question.sent, COMMIT, checked=True))
    assert delivered_bodies(t) == [b"0"]


@through(*ALL, **QUICK)
def test_a_restarted_producer_is_checked_in_the_next_round(t: ProtocolClient) -> None:
    """A producer that restarts under its old name is checked again in the next round; missed rounds count as checks."""
    t.register_producer("p")
    half(t)
    t.advance(3_000)
    assert [each.times for each in t.transaction_checks("p")] == [1]
    t.unregister_producer("p")
    t.advance(4_000)
    t.register_producer("p")
    assert t.transaction_checks("p") == []
    t.advance(2_000)
    (question,) = t.transaction_checks("p")
    assert question.times == 3
    assert_ended(t.end(question.sent, COMMIT, checked=True))
    assert delivered_bodies(t) == [b"0"]


@through(*ALL, **QUICK)
def test_one_producer_of_the_group_is_checked_for_each_half_message(t: ProtocolClient) -> None:
    """One producer of the group is checked for each half message, and none of other groups."""
    t.topic("U", kind="TRANSACTION")
    for client in ("a", "b", "c"):
        t.register_producer(client)
    t.register_producer("stranger", "U")
    for number in range(6):
        half(t, b"%d" % number)
    t.advance(3_000)
    questions = [each.body for client in ("a", "b", "c") for each in t.transaction_checks(client)]
    assert sorted(questions) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert t.transaction_checks("stranger") == []


@through(*ALL, **QUICK)
@pytest.mark.parametrize(("immune_s", "asked_ms"), [(8, 9_000), (10, 12_000)])
def test_a_half_message_is_not_checked_before_its_immunity_time_is_over(
    t: ProtocolClient, immune_s: int, asked_ms: int
) -> None:
    """A half message with an immunity time is first checked when that time is over; earlier rounds count as checks."""
    t.register_producer("p")
    half(t, b"patient", immune_s=immune_s)
    half(t, b"plain")
    t.advance(3_000)
    assert [each.body for each in t.transaction_checks("p")] == [b"plain"]
    seen = {}
    while b"patient" not in seen and t.now_ms < START_MS + 60_000:
        t.advance(3_000)
        seen.update({each.body: each.times for each in t.transaction_checks("p")})
    assert (t.now_ms - START_MS, seen[b"patient"]) == (asked_ms, asked_ms // 3_000)
    (first,) = {each.property_map().get("TRAN_PREPARED_QUEUE_OFFSET") for each in t.records(HALF)} - {None}
    assert first == "0"


@through(*ALL, transaction_check_interval=1_000)
def test_an_immunity_time_below_6_s_brings_an_earlier_check(t: ProtocolClient) -> None:
    """A half message with an immunity time below 6 s is checked that much earlier."""
    t.register_producer("p")
    half(t, b"hasty", immune_s=1)
    half(t, b"plain")
    t.advance(3_000)
    assert {each.body for each in t.transaction_checks("p")} == {b"hasty"}
    t.advance(5_000)
    assert {each.body for each in t.transaction_checks("p")} == {b"hasty", b"plain"}


@through(*ALL, **QUICK)
def test_half_messages_are_never_visible(t: ProtocolClient) -> None:
    """Half messages are never delivered, neither before nor after checks nor when they are discarded."""
    t.register_producer("p")
    for number in range(3):
        half(t, b"%d" % number)
    for _ in range(20):
        t.advance(3_000)
        assert t.bodies() == []
    assert len(t.records(DISCARDED)) == 3
    assert t.broker.store.max_offset("T", 0) == 0


@through(*ALL, **QUICK)
def test_a_round_checks_only_half_messages_that_were_not_ended(t: ProtocolClient) -> None:
    """A round checks only half messages that were not ended before it, a second after reading all op messages."""
    t.register_producer("p")
    for number in range(40):
        sent = half(t, b"%d" % number)
        if number != 20:
            assert_ended(t.end(sent, COMMIT if number % 2 else ROLLBACK))
    t.advance(4_000)
    assert [each.body for each in t.transaction_checks("p")] == [b"20"]
    assert delivered_bodies(t) == [b"%d" % number for number in range(1, 40, 2)]


@through(*ALL, **QUICK, transaction_check_max=1)
def test_a_discarded_half_message_can_still_be_committed(t: ProtocolClient) -> None:
    """A discarded half message can still be committed by its offsets."""
    sent = half(t)
    t.advance(6_000)
    (discarded,) = t.records(DISCARDED)
    assert_ended(t.end(sent, COMMIT, checked=True))
    assert delivered_bodies(t) == [discarded.body]


@through(*ALL, **QUICK)
def test_a_commit_by_the_first_offsets_does_not_end_the_checked_copy(t: ProtocolClient) -> None:
    """A commit by the first offsets does not end the copy that a check has stored.

    The copy is checked, and its commit delivers the message again.
    """
    sent = half(t)
    t.advance(3_000)
    assert_ended(t.end(sent, COMMIT))
    t.register_producer("p")
    t.advance(4_000)
    (question,) = t.transaction_checks("p")
    assert question.times == 2
    assert_ended(t.end(question.sent, COMMIT, checked=True))
    assert delivered_bodies(t) == [b"0", b"0"]
    t.advance(30_000)
    assert t.transaction_checks("p") == []


@through("grpc", **QUICK)
def test_the_proxy_ends_the_copy_of_the_last_check_first(t: ProtocolClient) -> None:
    """The proxy ends the copy of the last check first, then earlier ones down to the send.

    Each commit stores a message.
    """
    t.register_producer("p")
    sent = half(t)
    t.advance(3_000)
    assert len(t.transaction_checks("p")) == 1
    for copies in (1, 2):
        assert_ended(t.end(sent, COMMIT))
        assert delivered_bodies(t) == [b"0"] * copies
    assert t.is_error(t.end(sent, COMMIT), NOT_FOUND, NOT_FOUND)
    first, again = t.records(HALF)
    assert [each.prepared_transaction_offset for each in t.records("T")] == [
        again.physical_offset,
        first.physical_offset,
    ]


@through(*BROKER)
@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_a_late_end_is_rejected_as_late_before_most_other_checks(t: ProtocolClient, how: int) -> None:
    """A late end is rejected as late before other checks, except that of the commit log offset."""
    sent = half(t, immune_s=1)
    t.advance(6_001)
    before = t.state()
    assert t.is_error(t.end(replace(sent, offset=7), how), (604, ""), NOT_FOUND)
    assert t.is_error(
        t.end(replace(sent, place=1 << 40), how), (1, "Find prepared transaction message failed"), NOT_FOUND
    )
    assert t.state() == before


@through(*BROKER)
def test_a_commit_by_the_offsets_of_a_committed_message_stores_it_again(t: ProtocolClient) -> None:
    sent = half(t)
    assert_ended(t.end(sent, COMMIT))
    (record,) = t.records("T")
    assert_ended(t.end(replace(sent, offset=record.queue_offset, place=record.physical_offset), COMMIT))
    assert delivered_bodies(t) == [b"0", b"0"]


@through(*BROKER)
def test_a_record_in_the_half_topic_has_no_transaction_type(t: ProtocolClient) -> None:
    """A record in the half topic has no transaction type, so that readers of that topic receive normal messages."""
    half(t)
    stored = t.broker.store.record(HALF, 0, 0)
    assert stored is not None
    assert decode(stored).prepared_transaction_offset == 0
