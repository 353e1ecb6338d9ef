"""Faults of the store: rejected and unconfirmed appends, lost flushes, and lagging slaves."""

from typing import Any

import pytest
from fault_harness import FaultHarness, make_fault_harness
from recorded_cases import recorded
from remoting_harness import Peer, send
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.conformance.helpers.disk import without_disk_usage
from rocketmq_testkit.emulator.engine import DirectCall
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.remoting.request.request_code import RequestCode
from stored import stored_bodies

LATE_FLUSH = ("disk_flush", "a_send_with_a_late_disk_flush_gets_flush_disk_timeout", "sent")
LATE_SLAVE = ("replicas", "a_send_to_a_sync_master_without_a_slave_gets_flush_slave_timeout", "response")
"""File, case and label of a recorded response of a real broker."""


def make(**keys: Any) -> tuple[FaultHarness, Peer]:
    """Create a broker with a topic A of one queue, and a client."""
    harness = make_fault_harness(**keys)
    harness.topic("A")
    return harness, harness.peer()


def test_a_full_disk_rejects_a_send_as_recorded() -> None:
    """The response is that of the case `sends_to_a_full_disk_get_service_not_available`; the message is not stored.

    The rule fires once, so the next message is stored.
    """
    harness, peer = make()
    rule = harness.add(faults.refuse_append("disk_full"), operation="SendMessage", topic="A", times=1)
    refused = send(peer, "A", b"lost")
    real = recorded("disk_full", "sends_to_a_full_disk_get_service_not_available", "sent")
    assert (refused.code, without_disk_usage(refused.remark)) == (real["code"], real["remark"])
    assert refused.remark is not None
    assert "[CL:  0.91 CQ:  0.91 INDEX:  0.91]" in refused.remark
    assert send(peer, "A", b"kept").code == 0
    assert stored_bodies(harness, "A") == [b"kept"]
    assert rule.fired == 1


def test_a_full_disk_rejects_a_message_sent_back_as_recorded() -> None:
    """A send-back gets the remark that is recorded in `sends_to_a_full_disk_get_service_not_available`."""
    harness, peer = make()
    sent = harness.send("A")
    harness.add(faults.refuse_append(), operation="SendMessageBack")
    fields = {"offset": sent.physical_offset, "group": "G", "delayLevel": 1, "originTopic": "A"}
    refused = peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, fields)
    real = recorded("disk_full", "sends_to_a_full_disk_get_service_not_available", "sent back")
    assert (refused.code, refused.remark) == (real["code"], real["remark"])


@pytest.mark.parametrize(("how", "label"), [(8, "committed"), (12, "rolled back")])
def test_a_full_disk_rejects_a_commit_and_serves_a_rollback_as_recorded(how: int, label: str) -> None:
    """Both responses are those of the case `a_full_disk_rejects_commits_but_accepts_rollbacks`."""
    harness, peer = make()
    half = harness.send("A", TRAN_MSG="true", PGROUP="PG", UNIQ_KEY="U")
    harness.add(faults.refuse_append("disk_full"), operation="EndTransaction")
    fields = {
        "producerGroup": "PG",
        "tranStateTableOffset": half.queue_offset,
        "commitLogOffset": half.physical_offset,
        "commitOrRollback": how,
        "fromTransactionCheck": False,
        "msgId": "U",
    }
    response = peer.ask(RequestCode.END_TRANSACTION, fields)
    real = recorded("disk_full", "a_full_disk_rejects_commits_but_accepts_rollbacks", label)
    assert (response.code, response.remark) == (real["code"], real["remark"])


def test_a_busy_page_cache_rejects_a_send_as_recorded() -> None:
    """The response is that of the case `sends_are_refused_while_the_log_is_written_to`."""
    harness, peer = make()
    harness.add(faults.refuse_append("page_cache_busy"), operation="SendMessage", nth=1)
    refused = send(peer, "A", b"lost")
    real = recorded("request_pools", "sends_are_refused_while_the_log_is_written_to", "responses")
    assert [refused.code, refused.remark] == real[1]
    assert send(peer, "A").code == 0
    assert stored_bodies(harness, "A") == [b"m"]


@pytest.mark.parametrize(
    ("reason", "remark"),
    [
        ("replicas_not_enough", "in-sync replicas not enough"),
        ("file_not_created", "create mapped file failed, server is busy or broken."),
    ],
)
def test_a_failing_store_rejects_a_send_after_the_other_checks(reason: str, remark: str) -> None:
    """The code is SYSTEM_ERROR unless an earlier check rejects the send (SendMessageProcessor, 5.3.3)."""
    harness, peer = make()
    harness.add(faults.refuse_append(reason), operation="SendMessage")
    refused = send(peer, "A")
    assert (refused.code, refused.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    assert send(peer, "A", queue=9).code == ResponseCode.INVALID_PARAMETER
    assert stored_bodies(harness, "A") == []
    harness.plan.clear()
    assert send(peer, "A").code == 0


def test_too_few_replicas_do_not_reject_a_send_that_waits_for_none() -> None:
    """A message with WAIT=false is stored, as in the case `too_few_replicas_refuse_messages_that_wait_for_them`."""
    harness, peer = make()
    harness.add(faults.refuse_append("replicas_not_enough"), operation="SendMessage")
    case = ("append_faults", "too_few_replicas_refuse_messages_that_wait_for_them")
    assert send(peer, "A", b"waits").code == recorded(*case, "sent")["code"]
    assert send(peer, "A", b"does not", WAIT="false").code == recorded(*case, "waits for nobody")["code"]
    assert stored_bodies(harness, "A") == [b"does not"]


@pytest.mark.parametrize(
    ("reason", "place", "waits_ms"),
    [("flush_timeout", LATE_FLUSH, 5_000), ("slave_timeout", LATE_SLAVE, 3_000)],
)
def test_an_unconfirmed_send_is_stored_and_gets_the_recorded_code_late(
    reason: str, place: tuple[str, str, str], waits_ms: int
) -> None:
    """The message is stored at once; the broker sends the recorded code when its wait times out."""
    harness, peer = make()
    harness.add(faults.refuse_append(reason), operation="SendMessage", topic="A")
    assert peer.exchange(*send_request("A", b"m", born_ms=harness.now_ms)) == []
    assert stored_bodies(harness, "A") == [b"m"]
    harness.advance(waits_ms - 1)
    assert peer.received() == []
    harness.advance(1)
    (response,) = peer.received()
    assert response.code == recorded(*place)["code"]
    assert response.ext_fields is not None
    assert response.ext_fields["queueOffset"] == "0"


def test_a_send_that_does_not_wait_is_confirmed() -> None:
    """A message with WAIT=false waits for no flush, as recorded in the case of FLUSH_DISK_TIMEOUT."""
    harness, peer = make()
    harness.add(faults.refuse_append("flush_timeout"), operation="SendMessage")
    assert send(peer, "A", WAIT="false").code == recorded(*LATE_FLUSH[:2], "waits for nobody")["code"]


def test_without_a_slave_a_send_is_stored_and_returns_slave_not_available() -> None:
    """With SLAVE_NOT_AVAILABLE the message is stored and the response has all fields (SendMessageProcessor, 5.3.3)."""
    harness, peer = make()
    harness.add(faults.refuse_append("slave_not_available"), operation="SendMessage")
    response = send(peer, "A")
    assert response.code == ResponseCode.SLAVE_NOT_AVAILABLE
    assert response.ext_fields is not None
    assert response.ext_fields["queueId"] == "0"
    assert stored_bodies(harness, "A") == [b"m"]


def test_a_reason_limits_operations_and_phases() -> None:
    """A busy page cache cannot reject the end of a transaction, and a full disk acts in the phase `request` only."""
    harness, _ = make()
    with pytest.raises(FaultError, match="refuse_append acts on SendMessage, SendMessageBack only"):
        harness.add(faults.refuse_append("page_cache_busy"), operation="EndTransaction")
    with pytest.raises(FaultError, match="with reason='disk_full', refuse_append acts in the phase 'request'"):
        harness.add(faults.refuse_append("disk_full"), phase="response")
    assert len(harness.plan) == 0


# flushes


def test_a_lost_flush_loses_confirmed_messages_at_the_next_power_loss() -> None:
    """Messages from before and after the fault survive; without the fault SYNC_FLUSH would lose no message."""
    harness, peer = make(flush_disk_type="SYNC_FLUSH")
    assert send(peer, "A", b"before").code == 0
    rule = harness.add(faults.lose_flush())
    assert (rule.fired, send(peer, "A", b"lost").code) == (1, 0)
    harness.engine.crash()
    assert stored_bodies(harness, "A") == [b"before"]
    harness.send("A", b"lost as well")
    harness.engine.crash()
    assert stored_bodies(harness, "A") == [b"before"]
    harness.plan.remove(rule.name)
    harness.send("A", b"after")
    harness.engine.crash()
    assert stored_bodies(harness, "A") == [b"before", b"after"]


def test_a_lost_flush_loses_nothing_if_only_the_process_dies() -> None:
    """The operating system still has the data of a killed process, and a graceful stop writes all data."""
    harness, _ = make()
    harness.add(faults.lose_flush("broker-a"))
    harness.send("A", b"1")
    harness.engine.crash(power_loss=False)
    harness.engine.restart()
    assert stored_bodies(harness, "A") == [b"1"]


def test_flushes_are_lost_until_the_last_of_two_rules_ends() -> None:
    """Flushes are lost from the start of the first rule to the end of the last one."""
    harness, _ = make(flush_disk_type="SYNC_FLUSH")
    first = harness.add(faults.lose_flush())
    harness.send("A", b"1")
    harness.add(faults.lose_flush(duration="10s"))
    harness.plan.remove(first.name)
    harness.send("A", b"2")
    harness.engine.crash()
    assert stored_bodies(harness, "A") == []
    harness.send("A", b"3")
    harness.advance(10_000)
    harness.engine.crash()
    assert stored_bodies(harness, "A") == [b"3"]


# slaves


def on_slave(harness: FaultHarness) -> int:
    """Return the number of messages of topic A that the slave has."""
    return harness.named("broker-a", 1).store.max_offset("A", 0)


def test_a_lagging_slave_gets_each_message_after_the_delay() -> None:
    """Two messages sent at different times arrive at different times, even within one jump of the clock."""
    harness, _ = make(slaves=1)
    harness.add(faults.slave_lag("5s"))
    harness.send("A")
    harness.advance(2_000)
    harness.send("A")
    harness.advance(2_999)
    assert on_slave(harness) == 0
    harness.advance(1)
    assert on_slave(harness) == 1
    harness.advance(60_000)
    assert on_slave(harness) == 2


def test_a_lagging_slave_gets_everything_at_the_end_of_the_rule() -> None:
    """With two rules the longer delay counts, and the slave has all messages when both rules have ended."""
    harness, _ = make(slaves=1)
    harness.add(faults.slave_lag("1h", broker="broker-a:1"))
    shorter = harness.add(faults.slave_lag("1s", broker="broker-a"))
    harness.send("A")
    harness.advance(2_000)
    assert on_slave(harness) == 0
    harness.plan.clear()
    assert shorter.removed
    assert on_slave(harness) == 1
    harness.send("A")
    assert on_slave(harness) == 2
    harness.advance(7_200_000)  # no delayed message arrives a second time
    assert on_slave(harness) == 2


def waiting_send(harness: FaultHarness) -> DirectCall:
    """Submit a send that waits for the slave."""
    message = SendMessage("PG", "A", 0, b"m", {}, ("10.0.0.1", 5000), harness.now_ms)
    return harness.engine.submit(harness.broker, message)


def test_a_sync_master_waits_for_a_lagging_slave() -> None:
    """The response is sent when the slave has the message, or after slaveTimeout, with FLUSH_SLAVE_TIMEOUT."""
    harness, _ = make(slaves=1, broker_role="SYNC_MASTER", in_sync_replicas=2)
    rule = harness.add(faults.slave_lag("2s"))
    waiting = waiting_send(harness)
    harness.advance(1_999)
    assert waiting.outcome is None
    harness.advance(1)
    assert isinstance(waiting.outcome, SendResult)
    assert waiting.outcome.code is ResponseCode.SUCCESS
    harness.plan.remove(rule.name)
    harness.add(faults.slave_lag("1h"))
    waiting = waiting_send(harness)
    harness.advance(3_000)
    assert isinstance(waiting.outcome, SendResult)
    assert waiting.outcome.code is ResponseCode.FLUSH_SLAVE_TIMEOUT


def test_a_slave_that_restarts_while_it_lags_gets_the_records_that_it_lacks() -> None:
    """After its restart, on a new connection, the slave gets all records that it lacks at once."""
    harness, _ = make(slaves=1)
    harness.add(faults.slave_lag("1h"))
    harness.send("A")
    slave = harness.named("broker-a", 1)
    harness.engine.stop(slave, kill=True)
    harness.engine.start(slave)
    assert on_slave(harness) == 1
    harness.send("A")
    assert on_slave(harness) == 1
