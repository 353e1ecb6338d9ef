"""Faults of the store: rejected and unconfirmed appends, lost flushes, and lagging slaves."""

from typing import Any

import pytest
from fault_world import FaultWorld, make_fault_world
from recorded_cases import recorded
from remoting_world import Peer, send
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
LATE_SLAVE = ("replicas", "a_send_to_a_sync_master_without_a_slave_gets_flush_slave_timeout", "answer")
"""File, case and label of a recorded response of a real broker."""


def make(**keys: Any) -> tuple[FaultWorld, Peer]:
    """Create a broker with a topic A of one queue, and a client."""
    world = make_fault_world(**keys)
    world.topic("A")
    return world, world.peer()


def test_a_full_disk_rejects_a_send_as_recorded() -> None:
    """The response is that of the case `sends_to_a_full_disk_get_service_not_available`; the message is not stored.

    The rule fires once, so the next message is stored.
    """
    world, peer = make()
    rule = world.add(faults.refuse_append("disk_full"), operation="SendMessage", topic="A", times=1)
    refused = send(peer, "A", b"lost")
    real = recorded("disk_full", "sends_to_a_full_disk_get_service_not_available", "sent")
    assert (refused.code, without_disk_usage(refused.remark)) == (real["code"], real["remark"])
    assert refused.remark is not None
    assert "[CL:  0.91 CQ:  0.91 INDEX:  0.91]" in refused.remark
    assert send(peer, "A", b"kept").code == 0
    assert stored_bodies(world, "A") == [b"kept"]
    assert rule.fired == 1


def test_a_full_disk_rejects_a_message_sent_back_as_recorded() -> None:
    """A send-back gets the remark that is recorded in `sends_to_a_full_disk_get_service_not_available`."""
    world, peer = make()
    sent = world.send("A")
    world.add(faults.refuse_append(), operation="SendMessageBack")
    fields = {"offset": sent.physical_offset, "group": "G", "delayLevel": 1, "originTopic": "A"}
    refused = peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, fields)
    real = recorded("disk_full", "sends_to_a_full_disk_get_service_not_available", "sent back")
    assert (refused.code, refused.remark) == (real["code"], real["remark"])


@pytest.mark.parametrize(("how", "label"), [(8, "committed"), (12, "rolled back")])
def test_a_full_disk_rejects_a_commit_and_serves_a_rollback_as_recorded(how: int, label: str) -> None:
    """Both responses are those of the case `a_full_disk_rejects_commits_but_accepts_rollbacks`."""
    world, peer = make()
    half = world.send("A", TRAN_MSG="true", PGROUP="PG", UNIQ_KEY="U")
    world.add(faults.refuse_append("disk_full"), operation="EndTransaction")
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
    world, peer = make()
    world.add(faults.refuse_append("page_cache_busy"), operation="SendMessage", nth=1)
    refused = send(peer, "A", b"lost")
    real = recorded("request_pools", "sends_are_refused_while_the_log_is_written_to", "answers")
    assert [refused.code, refused.remark] == real[1]
    assert send(peer, "A").code == 0
    assert stored_bodies(world, "A") == [b"m"]


@pytest.mark.parametrize(
    ("reason", "remark"),
    [
        ("replicas_not_enough", "in-sync replicas not enough"),
        ("file_not_created", "create mapped file failed, server is busy or broken."),
    ],
)
def test_a_failing_store_rejects_a_send_after_the_other_checks(reason: str, remark: str) -> None:
    """The code is SYSTEM_ERROR unless an earlier check rejects the send (SendMessageProcessor, 5.3.3)."""
    world, peer = make()
    world.add(faults.refuse_append(reason), operation="SendMessage")
    refused = send(peer, "A")
    assert (refused.code, refused.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    assert send(peer, "A", queue=9).code == ResponseCode.INVALID_PARAMETER
    assert stored_bodies(world, "A") == []
    world.plan.clear()
    assert send(peer, "A").code == 0


def test_too_few_replicas_do_not_reject_a_send_that_waits_for_none() -> None:
    """A message with WAIT=false is stored, as in the case `too_few_replicas_refuse_messages_that_wait_for_them`."""
    world, peer = make()
    world.add(faults.refuse_append("replicas_not_enough"), operation="SendMessage")
    case = ("append_faults", "too_few_replicas_refuse_messages_that_wait_for_them")
    assert send(peer, "A", b"waits").code == recorded(*case, "sent")["code"]
    assert send(peer, "A", b"does not", WAIT="false").code == recorded(*case, "waits for nobody")["code"]
    assert stored_bodies(world, "A") == [b"does not"]


@pytest.mark.parametrize(
    ("reason", "place", "waits_ms"),
    [("flush_timeout", LATE_FLUSH, 5_000), ("slave_timeout", LATE_SLAVE, 3_000)],
)
def test_an_unconfirmed_send_is_stored_and_gets_the_recorded_code_late(
    reason: str, place: tuple[str, str, str], waits_ms: int
) -> None:
    """The message is stored at once; the broker sends the recorded code when its wait times out."""
    world, peer = make()
    world.add(faults.refuse_append(reason), operation="SendMessage", topic="A")
    assert peer.exchange(*send_request("A", b"m", born_ms=world.now_ms)) == []
    assert stored_bodies(world, "A") == [b"m"]
    world.advance(waits_ms - 1)
    assert peer.received() == []
    world.advance(1)
    (response,) = peer.received()
    assert response.code == recorded(*place)["code"]
    assert response.ext_fields is not None
    assert response.ext_fields["queueOffset"] == "0"


def test_a_send_that_does_not_wait_is_confirmed() -> None:
    """A message with WAIT=false waits for no flush, as recorded in the case of FLUSH_DISK_TIMEOUT."""
    world, peer = make()
    world.add(faults.refuse_append("flush_timeout"), operation="SendMessage")
    assert send(peer, "A", WAIT="false").code == recorded(*LATE_FLUSH[:2], "waits for nobody")["code"]


def test_without_a_slave_a_send_is_stored_and_returns_slave_not_available() -> None:
    """With SLAVE_NOT_AVAILABLE the message is stored and the response has all fields (SendMessageProcessor, 5.3.3)."""
    world, peer = make()
    world.add(faults.refuse_append("slave_not_available"), operation="SendMessage")
    response = send(peer, "A")
    assert response.code == ResponseCode.SLAVE_NOT_AVAILABLE
    assert response.ext_fields is not None
    assert response.ext_fields["queueId"] == "0"
    assert stored_bodies(world, "A") == [b"m"]


def test_a_reason_limits_operations_and_phases() -> None:
    """A busy page cache cannot reject the end of a transaction, and a full disk acts in the phase `request` only."""
    world, _ = make()
    with pytest.raises(FaultError, match="refuse_append acts on SendMessage, SendMessageBack only"):
        world.add(faults.refuse_append("page_cache_busy"), operation="EndTransaction")
    with pytest.raises(FaultError, match="with reason='disk_full', refuse_append acts in the phase 'request'"):
        world.add(faults.refuse_append("disk_full"), phase="response")
    assert len(world.plan) == 0


# flushes


def test_a_lost_flush_loses_confirmed_messages_at_the_next_power_loss() -> None:
    """Messages from before and after the fault survive; without the fault SYNC_FLUSH would lose no message."""
    world, peer = make(flush_disk_type="SYNC_FLUSH")
    assert send(peer, "A", b"before").code == 0
    rule = world.add(faults.lose_flush())
    assert (rule.fired, send(peer, "A", b"lost").code) == (1, 0)
    world.engine.crash()
    assert stored_bodies(world, "A") == [b"before"]
    world.send("A", b"lost as well")
    world.engine.crash()
    assert stored_bodies(world, "A") == [b"before"]
    world.plan.remove(rule.name)
    world.send("A", b"after")
    world.engine.crash()
    assert stored_bodies(world, "A") == [b"before", b"after"]


def test_a_lost_flush_loses_nothing_if_only_the_process_dies() -> None:
    """The operating system still has the data of a killed process, and a graceful stop writes all data."""
    world, _ = make()
    world.add(faults.lose_flush("broker-a"))
    world.send("A", b"1")
    world.engine.crash(power_loss=False)
    world.engine.restart()
    assert stored_bodies(world, "A") == [b"1"]


def test_flushes_are_lost_until_the_last_of_two_rules_ends() -> None:
    """Flushes are lost from the start of the first rule to the end of the last one."""
    world, _ = make(flush_disk_type="SYNC_FLUSH")
    first = world.add(faults.lose_flush())
    world.send("A", b"1")
    world.add(faults.lose_flush(duration="10s"))
    world.plan.remove(first.name)
    world.send("A", b"2")
    world.engine.crash()
    assert stored_bodies(world, "A") == []
    world.send("A", b"3")
    world.advance(10_000)
    world.engine.crash()
    assert stored_bodies(world, "A") == [b"3"]


# slaves


def on_slave(world: FaultWorld) -> int:
    """Return the number of messages of topic A that the slave has."""
    return world.named("broker-a", 1).store.max_offset("A", 0)


def test_a_lagging_slave_gets_each_message_after_the_delay() -> None:
    """Two messages sent at different times arrive at different times, even within one jump of the clock."""
    world, _ = make(slaves=1)
    world.add(faults.slave_lag("5s"))
    world.send("A")
    world.advance(2_000)
    world.send("A")
    world.advance(2_999)
    assert on_slave(world) == 0
    world.advance(1)
    assert on_slave(world) == 1
    world.advance(60_000)
    assert on_slave(world) == 2


def test_a_lagging_slave_gets_everything_at_the_end_of_the_rule() -> None:
    """With two rules the longer delay counts, and the slave has all messages when both rules have ended."""
    world, _ = make(slaves=1)
    world.add(faults.slave_lag("1h", broker="broker-a:1"))
    shorter = world.add(faults.slave_lag("1s", broker="broker-a"))
    world.send("A")
    world.advance(2_000)
    assert on_slave(world) == 0
    world.plan.clear()
    assert shorter.removed
    assert on_slave(world) == 1
    world.send("A")
    assert on_slave(world) == 2
    world.advance(7_200_000)  # no delayed message arrives a second time
    assert on_slave(world) == 2


def waiting_send(world: FaultWorld) -> DirectCall:
    """Submit a send that waits for the slave."""
    message = SendMessage("PG", "A", 0, b"m", {}, ("10.0.0.1", 5000), world.now_ms)
    return world.engine.submit(world.broker, message)


def test_a_sync_master_waits_for_a_lagging_slave() -> None:
    """The response is sent when the slave has the message, or after slaveTimeout, with FLUSH_SLAVE_TIMEOUT."""
    world, _ = make(slaves=1, broker_role="SYNC_MASTER", in_sync_replicas=2)
    rule = world.add(faults.slave_lag("2s"))
    waiting = waiting_send(world)
    world.advance(1_999)
    assert waiting.outcome is None
    world.advance(1)
    assert isinstance(waiting.outcome, SendResult)
    assert waiting.outcome.code is ResponseCode.SUCCESS
    world.plan.remove(rule.name)
    world.add(faults.slave_lag("1h"))
    waiting = waiting_send(world)
    world.advance(3_000)
    assert isinstance(waiting.outcome, SendResult)
    assert waiting.outcome.code is ResponseCode.FLUSH_SLAVE_TIMEOUT


def test_a_slave_that_restarts_while_it_lags_gets_the_records_that_it_lacks() -> None:
    """After its restart, on a new connection, the slave gets all records that it lacks at once."""
    world, _ = make(slaves=1)
    world.add(faults.slave_lag("1h"))
    world.send("A")
    slave = world.named("broker-a", 1)
    world.engine.stop(slave, kill=True)
    world.engine.start(slave)
    assert on_slave(world) == 1
    world.send("A")
    assert on_slave(world) == 1
