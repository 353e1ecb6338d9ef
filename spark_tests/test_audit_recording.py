"""Tests of emulators' journals as events: each message keeps its identity in every operation of clients."""

import json
from dataclasses import replace
from typing import Any

import pytest
from one_reply import responding
from pull_operation import pull_of
from pyspark_rocketmq.audit import Event, EventKind, JournalError, audit_events, events_of
from pyspark_rocketmq.audit.recording import read_emulator
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_consumption import pop_request
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.raw_request import RawRequest
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import (
    AckMessage,
    BatchAck,
    BatchAckMessage,
    ChangeInvisibleTime,
    PopMessage,
    PopResult,
    PullResult,
    bit_set,
)
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import (
    EndTransaction,
    RecallMessage,
    SendMessage,
    SendMessageBack,
    SendResult,
)
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.host.host import Host
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.client.connection import RemotingTimeout

pytestmark = pytest.mark.rocketmq(time="frozen", topics=["orders:NORMAL:1"])
INVISIBLE_MS = 10_000


class Clients:
    """Consumers and producers of an emulator that call the engine's operations."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def ask(self, operation: Operation) -> Any:
        """Return the broker's result."""
        return self._emulator.run_on_loop(lambda host: host.engine.execute(host.engine.brokers[0], operation))

    def pop(self, topic: str = "orders", group: str = "shop", **more: Any) -> dict[int, str]:
        """Pop; returns the receipt handles by queue offset."""
        wanted = {"init_mode": 0, "exp_type": "TAG", "exp": "*", **more}
        result: PopResult = self.ask(
            PopMessage(group, topic, queue_id=-1, max_msg_nums=8, invisible_ms=INVISIBLE_MS, **wanted)
        )
        return {
            each.queue_offset: f"{each.start_offset} {result.pop_time} {result.invisible_ms} {result.revive_qid} "
            f"{each.topic_digit} broker-a {each.queue_id} {each.queue_offset}"
            for each in result.messages
        }

    def pull(self, offset: int, topic: str = "orders", commits: int | None = None, tags: str = "*") -> PullResult:
        """Pull for the group `shop`, after a heartbeat that registers it."""
        self.ask(Heartbeat("client", [], [ConsumerData("shop", subscriptions=[SubscriptionData(topic, tags)])]))
        result: PullResult = self.ask(pull_of("shop", topic, offset=offset, count=8, commit=commits, expression=tags))
        return result


@pytest.fixture
def clients(rocketmq: Emulator) -> Clients:
    """Clients of this test's emulator."""
    return Clients(rocketmq)


def journal_events(emulator: Emulator) -> list[Event]:
    """Return the events of the journal, after checking that `Emulator` and control port yield the same."""
    events = events_of(emulator)
    assert [replace(event, run_id=emulator.control) for event in events] == read_emulator(emulator.control)
    return events


def kinds(emulator: Emulator, message_id: str) -> list[str]:
    """Return the kinds of a message's events."""
    return [str(event.kind) for event in journal_events(emulator) if event.message_id == message_id]


def verdicts(emulator: Emulator) -> dict[str, set[str]]:
    """Return the verdicts by message key."""
    return {str(each.key): set(each.verdicts) for each in audit_events(journal_events(emulator)).accounts}


def test_a_popped_and_redelivered_message_is_recovered(rocketmq: Emulator, clients: Clients) -> None:
    """A message that is popped, redelivered by the retry topic and acknowledged keeps its identity: it is recovered."""
    sent = rocketmq.topic("orders").send(b"tea", tag="tea", keys=["k"], message_group="table")
    clients.pop()
    rocketmq.clock.advance("30s", wait=None)
    [(offset, handle)] = clients.pop().items()
    clients.ask(AckMessage("shop", "%RETRY%shop_orders", 0, handle, offset))

    assert kinds(rocketmq, sent.message_id) == ["stored", "delivered", "revived", "delivered", "acked"]
    [account] = audit_events(journal_events(rocketmq)).accounts
    assert (account.topic, account.group, account.key) == ("orders", "shop", "table")
    assert account.verdicts == {"recovered"}
    delivered = next(event for event in journal_events(rocketmq) if event.kind is EventKind.DELIVERED)
    assert (delivered.invisible_ms, delivered.tags, delivered.keys) == (INVISIBLE_MS, "tea", "k")


def test_batch_acknowledgements_and_changed_invisible_durations_are_recorded(
    rocketmq: Emulator, clients: Clients
) -> None:
    """A batch acknowledgement names its messages by bits, and a changed invisible duration is recorded."""
    ids = [rocketmq.topic("orders").send(b"tea", keys=[f"k{number}"]).message_id for number in range(3)]
    handles = clients.pop()
    start, time, invisible, revive = map(int, handles[0].split()[:4])
    clients.ask(BatchAckMessage([BatchAck("shop", "orders", "0", start, 0, revive, time, invisible, bit_set(0b101))]))
    clients.ask(ChangeInvisibleTime("shop", "orders", 0, handles[1], 1, 60_000))

    assert [kinds(rocketmq, each)[-1] for each in ids] == ["acked", "invisibilityChanged", "acked"]
    assert verdicts(rocketmq) == {"k0": set(), "k1": {"pending"}, "k2": set()}


def test_a_committed_offset_acknowledges_pulled_messages_except_sent_back_ones(
    rocketmq: Emulator, clients: Clients
) -> None:
    """A message that was sent back is redelivered from the retry topic, or finally becomes a dead letter."""
    sent = [rocketmq.topic("orders").send(b"tea", keys=[f"k{number}"]) for number in range(4)]
    clients.pull(0)
    clients.ask(SendMessageBack("shop", sent[1].physical_offset, 0))
    clients.ask(SendMessageBack("shop", sent[2].physical_offset, -1, origin_topic="orders"))
    clients.pull(4, commits=3)
    clients.ask(UpdateConsumerOffset("shop", "orders", 0, 4))
    rocketmq.clock.advance("11s", wait=None)
    clients.pull(0, "%RETRY%shop")
    clients.ask(UpdateConsumerOffset("shop", "%RETRY%shop", 0, 1))

    events_by_account = {str(number): kinds(rocketmq, each.message_id) for number, each in enumerate(sent)}
    assert events_by_account == {
        "0": ["stored", "delivered", "acked"],
        "1": ["stored", "delivered", "nacked", "revived", "delivered", "acked"],
        "2": ["stored", "delivered", "nacked", "deadlettered", "stored"],
        "3": ["stored", "delivered", "acked"],
    }
    assert verdicts(rocketmq) == {"k0": set(), "k1": {"recovered"}, "k2": {"dead"}, "k3": set()}


def test_only_committed_transactions_must_reach_a_group(rocketmq: Emulator, clients: Clients) -> None:
    """Committed messages must reach a group; rolled back and open ones need not."""
    rocketmq.topic("paid", type="TRANSACTION", queues=1)
    clients.pop("paid")
    halves = []
    for number in range(3):
        properties = {"TRAN_MSG": "true", "PGROUP": "till", "KEYS": f"k{number}"}
        half: SendResult = clients.ask(SendMessage("till", "paid", 0, b"tea", properties, ("127.0.0.1", 1), 0, 4))
        halves.append(half)
    for half, state in zip(halves, (8, 12), strict=False):
        clients.ask(
            EndTransaction("till", half.queue_offset, half.physical_offset, state, False, str(half.transaction_id))
        )

    events_by_account: dict[str, list[str]] = {key: [] for key in ("k0", "k1", "k2")}
    for event in journal_events(rocketmq):
        if event.keys:
            events_by_account[event.keys].append(str(event.kind))
    assert events_by_account == {
        "k0": ["txnPrepared", "txnCommitted"],
        "k1": ["txnPrepared", "txnRolledBack"],
        "k2": ["txnPrepared"],
    }
    assert verdicts(rocketmq) == {"k0": {"lost"}, "k1": set(), "k2": set()}


@pytest.mark.rocketmq(time="frozen", topics=["orders:NORMAL:1"], config={"recallMessageEnable": True})
def test_a_delayed_message_is_pending_until_its_time_and_lost_afterwards(rocketmq: Emulator, clients: Clients) -> None:
    """A delayed message is stored once, pending until its time and lost afterwards, and has no verdict if recalled."""
    later = rocketmq.topic("later", type="DELAY", queues=1)
    clients.pop("later")
    later.send(b"tea", keys=["level"], properties={"DELAY": "3"})
    later.send(b"tea", keys=["timer"], properties={"TIMER_DELAY_SEC": "60"})
    recalled: SendResult = clients.ask(
        SendMessage("till", "later", 0, b"tea", {"TIMER_DELAY_SEC": "60", "KEYS": "no"}, ("127.0.0.1", 1), 0)
    )
    clients.ask(RecallMessage("later", str(recalled.recall_handle)))
    rocketmq.clock.advance("12s", wait=None)
    clients.pop("later")
    assert verdicts(rocketmq)["timer"] == {"pending"}
    rocketmq.clock.advance("60s", wait=None)
    clients.pop("orders")

    assert verdicts(rocketmq) == {"level": {"lost"}, "timer": {"lost"}, "no": set()}
    assert [str(event.kind) for event in journal_events(rocketmq) if event.keys == "level"] == [
        "stored",
        "delivered",
        "revived",
    ]


def test_filters_and_first_offsets_determine_the_messages_of_a_group(rocketmq: Emulator, clients: Clients) -> None:
    """Tags, SQL92, first pulled offsets and pops from the end determine a group's messages."""
    orders = rocketmq.topic("orders")
    orders.send(b"old", keys=["old"], tag="tea", properties={"size": "1"})
    orders.send(b"new", keys=["new"], tag="tea", properties={"size": "2"})
    orders.send(b"new", keys=["other"], tag="coffee", properties={"size": "9"})
    clients.pull(1, tags="tea")
    clients.pop(group="sql", exp_type="SQL92", exp="size < 5")
    clients.pop(group="late", init_mode=1)

    found = {(each.group, each.key): set(each.verdicts) for each in audit_events(journal_events(rocketmq)).accounts}
    assert {key for (group, key), given in found.items() if group == "shop" and given} == {"new"}
    assert {key for (group, key), given in found.items() if group == "sql" and given} == {"old", "new"}
    assert not any("lost" in given for (group, key), given in found.items() if group == "late" and key == "old")


def test_readers_and_broadcasting_groups_are_left_out(rocketmq: Emulator, clients: Clients) -> None:
    """Readers and broadcasting groups are left out, because they never acknowledge messages."""
    rocketmq.topic("orders").send(b"tea")
    clients.ask(Heartbeat("c", [], [ConsumerData("all", message_model="BROADCASTING")]))
    clients.ask(pull_of("all", "orders", count=8))
    clients.ask(pull_of("TOOLS_CONSUMER", "orders", count=8))

    assert {event.group for event in journal_events(rocketmq)} == {None}


def test_a_group_that_consumes_a_dead_letter_queue_has_messages_of_its_own(
    rocketmq: Emulator, clients: Clients
) -> None:
    """The group that gave up a message has a dead letter; a group that consumes the queue has a message of its own."""
    sent = rocketmq.topic("orders").send(b"tea", keys=["k"])
    clients.pull(0)
    clients.ask(SendMessageBack("shop", sent.physical_offset, -1, origin_topic="orders"))
    clients.ask(UpdateConsumerOffset("shop", "orders", 0, 1))
    [(offset, handle)] = clients.pop("%DLQ%shop", "undertaker").items()
    clients.ask(AckMessage("undertaker", "%DLQ%shop", 0, handle, offset))

    found = {(each.topic, each.group): set(each.verdicts) for each in audit_events(journal_events(rocketmq)).accounts}
    assert found == {("orders", "shop"): {"dead"}, ("%DLQ%shop", "undertaker"): set()}


def test_an_acknowledged_send_that_a_crash_deletes_is_a_loss(rocketmq: Emulator, clients: Clients) -> None:
    """A send that was acknowledged but lost in a crash is a loss, even if another message has its offset afterwards."""
    clients.pop()
    rocketmq.topic("orders").send(b"tea", keys=["gone"])
    rocketmq.crash(power_loss=True)
    rocketmq.topic("orders").send(b"tea", keys=["there"])
    for offset, handle in clients.pop().items():
        clients.ask(AckMessage("shop", "orders", 0, handle, offset))

    assert verdicts(rocketmq) == {"gone": {"lost"}, "there": set()}


@pytest.mark.rocketmq(time="frozen", topics=["orders:NORMAL:1"], config={"journalMaxEntries": 5})
def test_a_journal_with_dropped_lines_is_refused(rocketmq: Emulator) -> None:
    """A journal with dropped lines is rejected, because their content is unknown."""
    for _ in range(9):
        rocketmq.topic("orders").send(b"tea")
    with pytest.raises(JournalError, match=r"dropped \d+ lines of its journal.*journalMaxEntries"):
        events_of(rocketmq)
    with pytest.raises(JournalError, match=r"dropped \d+ lines"):
        read_emulator(rocketmq.control)


def test_an_address_without_an_emulator_is_refused() -> None:
    with pytest.raises(JournalError, match=r"http://127\.0\.0\.1:1 is no control port of an emulator"):
        read_emulator("http://127.0.0.1:1")


def test_another_server_than_an_emulator_is_refused() -> None:
    reply = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n" + b"[" * 100_000
    with responding(reply) as url, pytest.raises(JournalError, match="is no control port of an emulator"):
        read_emulator(url)


def test_each_event_of_an_emulator_is_a_journal_line_with_a_seq(rocketmq: Emulator) -> None:
    """Each event of an emulator is a journal line with a gapless `seq`."""
    rocketmq.topic("orders").send(b"tea")
    assert [json.loads(event.line())["seq"] for event in journal_events(rocketmq)] == [0]


def test_refused_requests_are_no_events(rocketmq: Emulator) -> None:
    """A rejected pop creates no interest, and a rejected acknowledgement settles nothing."""
    clients = Clients(rocketmq)
    rocketmq.topic("orders").send(b"tea")
    busy = EngineError(ResponseCode.SYSTEM_BUSY, "busy")

    def refuse(host: Host, operation: Operation) -> None:
        broker = host.engine.brokers[0]
        host.engine.gate.refuse(broker, DirectCall(DirectChannel("client")), operation, busy)
        host.engine.gate.record_refusal(
            "proxy", "grpc:client", "AckMessage", RawRequest({"group.name": "shop"}), outcome=busy
        )

    rocketmq.run_on_loop(
        lambda host: refuse(
            host,
            PopMessage(
                "late", "orders", queue_id=-1, max_msg_nums=8, invisible_ms=INVISIBLE_MS, exp_type="TAG", exp="*"
            ),
        )
    )
    assert [event.kind for event in events_of(rocketmq)] == [EventKind.STORED]
    handle = clients.pop()[0]
    rocketmq.run_on_loop(lambda host: refuse(host, AckMessage("shop", "orders", 0, handle, 0)))
    events = events_of(rocketmq)
    assert {event.group for event in events if event.group} == {"shop"}
    assert EventKind.DELIVERED in [event.kind for event in events]
    assert EventKind.ACKED not in [event.kind for event in events]


def test_a_pop_that_a_rule_dropped_creates_no_interest(rocketmq: Emulator) -> None:
    """The broker never got it, so the group did not subscribe, and no message is lost."""
    rocketmq.topic("orders").send("m")
    pop = pop_request("orders", "shop", poll_ms=0)
    with rocketmq.faults.add(faults.drop_request(), operation="PopMessage"), RemotingClient(rocketmq.broker) as client:
        with pytest.raises(RemotingTimeout):
            client.request(*pop, timeout=0.1)
        assert [str(event.kind) for event in journal_events(rocketmq)] == ["stored"]
        assert audit_events(journal_events(rocketmq)).accounts == []


def test_a_delivery_lost_by_a_rule_is_no_event(rocketmq: Emulator) -> None:
    """A lost response and a skipped message deliver nothing; a duplicate is delivered twice."""
    topic = rocketmq.topic("orders")
    lost, skipped, twice = (topic.send(text) for text in ("lost", "skipped", "twice"))
    rules = [
        (faults.drop_response(), "lost"),
        (faults.skip_delivery(), "skipped"),
        (faults.duplicate_delivery(), "twice"),
    ]
    with RemotingClient(rocketmq.broker) as client:
        for fault, body in rules:
            rule = rocketmq.faults.add(fault, operation="PopMessage", times=1, body_matches=body)
            pop = pop_request("orders", "shop", max_messages=1, init_mode=0)
            if body == "lost":
                with pytest.raises(RemotingTimeout):
                    client.request(*pop, timeout=0.1)
            else:
                client.request(*pop)
            assert rule.fired == 1
        found = [kinds(rocketmq, each.message_id).count("delivered") for each in (lost, skipped, twice)]
        assert found == [0, 0, 2]
