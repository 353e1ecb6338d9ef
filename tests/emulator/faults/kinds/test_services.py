"""Faults of a broker's services: a wrong clock, stopped revives and transaction checks, and stolen queue locks."""

import json
from datetime import timedelta
from typing import Any

import pytest
from fault_harness import FaultHarness, make_fault_harness
from measured import values
from recorded_cases import recorded
from remoting_harness import Peer, send
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_members import lock_request
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.services import SignedDurationCheck
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.cluster import GetBrokerRuntimeInfo, RuntimeInfoResult
from rocketmq_testkit.emulator.operations.consume import PopMessage, PopResult
from rocketmq_testkit.emulator.operations.offsets import OffsetResult, SearchOffset
from rocketmq_testkit.emulator.operations.tools import BrokerStatsResult, ViewBrokerStats
from rocketmq_testkit.emulator.operations.topics import GetTopicStats, TopicStatsResult
from stored import stored, stored_bodies


def make(**keys: Any) -> FaultHarness:
    """Create a broker with a topic A of one queue."""
    harness = make_fault_harness(**keys)
    harness.topic("A")
    return harness


# clocks


@pytest.mark.parametrize("by", ["90s", "-90s"])
def test_a_skewed_clock_is_in_store_timestamps(by: str) -> None:
    """Messages from before and after the fault have the engine's time, and so have messages of other brokers."""
    harness = make_fault_harness(("broker-a", "broker-b"))
    harness.topic("A")
    now = harness.now_ms
    harness.send("A", b"before")
    rule = harness.add(faults.skew_clock("broker-a", by=by))
    harness.advance(1_000)
    harness.send("A", b"skewed")
    harness.plan.remove(rule.name)
    harness.send("A", b"after")
    skew_ms = -90_000 if by.startswith("-") else 90_000
    assert [each.store_timestamp - now for each in stored(harness, "A")] == [0, 1_000 + skew_ms, 1_000]
    harness.add(faults.skew_clock("broker-b", by=by))
    harness.send("A", b"other broker's clock")
    assert stored(harness, "A")[-1].store_timestamp - now == 1_000


def test_a_search_by_time_finds_messages_of_a_clock_that_was_set_back() -> None:
    """Store times are no longer in order, so the search also reads the times in the records."""
    harness = make()
    harness.send("A", b"0")
    start = harness.now_ms
    harness.add(faults.skew_clock("broker-a", by="-1h", duration="1m"))
    harness.send("A", b"1")
    harness.advance(3_600_000)
    harness.send("A", b"2")
    assert harness.ask(OffsetResult, SearchOffset("A", 0, start + 1, False)).offset == 2


def test_a_search_by_time_finds_a_message_by_the_clock_of_its_broker() -> None:
    """A message that was stored with a fast clock has a store time in the future."""
    harness = make()
    harness.send("A", b"0")
    harness.add(faults.skew_clock("broker-a", by="1h"))
    harness.send("A", b"1")
    assert harness.ask(OffsetResult, SearchOffset("A", 0, harness.now_ms + 1_800_000, False)).offset == 1
    assert harness.ask(OffsetResult, SearchOffset("A", 0, harness.now_ms + 3_600_001, False)).offset == 2


def test_timers_of_a_broker_with_a_skewed_clock_keep_their_durations() -> None:
    """Delayed messages are delivered after their delay, and unacknowledged ones are redelivered at their usual time."""
    plain, fast, slow = make(), make(), make()
    fast.add(faults.skew_clock("broker-a", by="10m"))
    slow.add(faults.skew_clock("broker-a", by="-10m"))
    seen = []
    for harness in (plain, fast, slow):
        harness.send("A", b"popped")
        pop = PopMessage(
            "G",
            "A",
            queue_id=0,
            max_msg_nums=32,
            invisible_ms=10_000,
            born_ms=harness.broker.lifetime.now_ms,
            exp_type="TAG",
            exp="*",
            attempt_id=None,
        )
        assert len(harness.ask(PopResult, pop).messages) == 1
        harness.send("A", b"delayed", DELAY="2")
        harness.send("A", b"timed", TIMER_DELAY_MS="7000")
        times = []
        for _ in range(200):
            harness.advance(100)
            times.append((len(stored_bodies(harness, "A")), harness.broker.store.max_offset("%RETRY%G_A", 0)))
        seen.append(times)
    assert seen[0][-1] == (3, 1)
    assert seen[0] == seen[1] == seen[2]


def test_a_broker_with_a_fast_clock_rejects_pops_as_too_old() -> None:
    """A pop with the client's time is older than its polling time by the broker's clock.

    PopMessageRequestHeader.isTimeoutTooMuch (5.3.3) returns POLLING_TIMEOUT after 500 ms.
    """
    harness = make()
    harness.send("A")
    rule = harness.add(faults.skew_clock("broker-a", by="1m"))
    refused = harness.pop("A").outcome
    assert getattr(refused, "code", None) is ResponseCode.POLLING_TIMEOUT
    harness.plan.remove(rule.name)
    assert len(harness.popped("A")) == 1


@pytest.mark.parametrize("by", ["10m", "-10m"])
def test_a_skew_expires_no_client_and_keeps_none_for_longer(by: str) -> None:
    """A client without heartbeats is removed after 120 s, at the usual scan; the locks of one that sends them stay."""
    harness = make()
    peer = harness.peer()
    assert locked(peer, "c1", [0]) == [0]
    harness.heartbeat("c1")
    harness.add(faults.skew_clock("broker-a", by=by))
    assert locked(peer, "c2", [0]) == []
    harness.advance(119_000)
    assert list(harness.broker.clients.consumers) == ["G"]
    harness.advance(12_000)
    assert list(harness.broker.clients.consumers) == []
    assert locked(peer, "c2", [0]) == [0]


def test_skews_of_one_broker_add_up_and_a_crash_keeps_them() -> None:
    """A crash keeps the skew, because the clock is that of the machine, not of the process."""
    harness = make()
    slow = timedelta(seconds=-20)
    harness.add(faults.skew_clock("broker-a", by=slow))  # type: ignore[arg-type]  # accepted, and held as text
    harness.add(faults.skew_clock("broker-a", by="50s", duration="1m"))
    assert harness.broker.lifetime.now_ms - harness.now_ms == 30_000
    harness.engine.crash()
    assert harness.broker.lifetime.now_ms - harness.now_ms == 30_000
    harness.advance(60_000)
    assert harness.broker.lifetime.now_ms - harness.now_ms == -20_000
    assert harness.broker.store.now_ms - harness.now_ms == -20_000


@pytest.mark.parametrize("by", ["1h", "-1h"])
def test_a_read_of_the_unflushed_bytes_with_a_skewed_clock_flushes_nothing(by: str) -> None:
    """Flushes happen at intervals of the shared clock, so that a read of metrics does not change what a crash loses."""
    harness = make()
    harness.add(faults.skew_clock("broker-a", by=by))
    harness.send("A", b"x")
    assert harness.broker.store.flush_behind_bytes > 0
    harness.engine.crash(power_loss=True)
    assert stored(harness, "A") == []
    harness.send("A", b"y")
    harness.advance(10_500)
    assert harness.broker.store.flush_behind_bytes == 0


def counted(harness: FaultHarness) -> object:
    """Return the rates and totals of a broker, and its counters by topic and group."""
    table = harness.ask(RuntimeInfoResult, GetBrokerRuntimeInfo()).table
    counters = [
        harness.ask(BrokerStatsResult, ViewBrokerStats(name, key))
        for name, key in (("TOPIC_PUT_NUMS", "A"), *((f"GROUP_{verb}_NUMS", "A@G") for verb in ("GET", "CK", "ACK")))
    ]
    put_tps = harness.ask(TopicStatsResult, GetTopicStats("A")).put_tps
    return (
        {name: text for name, text in table.items() if name.endswith("Tps") or name.startswith("msg")},
        counters,
        put_tps,
    )


@pytest.mark.parametrize("by", ["1h", "-1h"])
def test_a_skew_changes_no_statistics(by: str) -> None:
    """Sampling measures durations, so that messages are counted as with the right clock, also after the skew ends."""
    plain, skewed = make(), make()
    rule = skewed.add(faults.skew_clock("broker-a", by=by))
    for second in range(55):  # no check point is decided yet
        for harness in (plain, skewed):
            harness.send("A")
            harness.pull("A", second)
            harness.last_pop = harness.ask(PopResult, PopMessage("G", "A", -1, 32, 60_000))
            harness.ack("A", harness.receipt(harness.last_pop.messages[0]))
            harness.advance(1_000)
        if second == 30:
            assert counted(plain) == counted(skewed)
            skewed.plan.remove(rule.name)
    assert counted(plain) == counted(skewed)


@pytest.mark.parametrize("by", ["3h", "-3h"])
def test_files_expire_by_their_age_with_a_skewed_clock(by: str) -> None:
    """A file that became full while the clock was wrong is deleted after `fileReservedTime`."""
    hours = ";".join(map(str, range(24)))
    sizes = {"max_message_size": 16 * 1024, "mapped_file_size_commit_log": 256 * 1024}
    harness = make(file_reserved_time=2, delete_when=hours, **sizes)
    harness.add(faults.skew_clock("broker-a", by=by))
    for _ in range(26):
        harness.send("A", b"x" * 10_000)
    harness.advance(7_190_000)
    assert harness.broker.store.min_offset("A", 0) == 0
    harness.advance(20_000)
    assert harness.broker.store.min_offset("A", 0) == 25


def test_a_file_that_is_not_old_enough_protects_those_after_it() -> None:
    """After a clock is set back, a later file is older by its time. Upstream deletes no file in the middle."""
    hours = ";".join(map(str, range(24)))
    sizes = {"max_message_size": 16 * 1024, "mapped_file_size_commit_log": 256 * 1024}
    harness = make(file_reserved_time=2, delete_when=hours, **sizes)
    rule = harness.add(faults.skew_clock("broker-a", by="3h"))
    for _ in range(26):
        harness.send("A", b"x" * 10_000)
    harness.plan.remove(rule.name)
    for _ in range(25):
        harness.send("A", b"x" * 10_000)
    harness.advance(4 * 3_600_000)
    assert harness.broker.store.min_offset("A", 0) == 0
    harness.advance(3_600_000 + 20_000)
    assert harness.broker.store.min_offset("A", 0) == 50


def test_the_age_in_metrics_is_by_the_clock_of_the_broker() -> None:
    """The clock of the broker is in the store times as well, so that a message of now has no age."""
    harness = make()
    harness.add(faults.skew_clock("broker-a", by="1h"))
    harness.send("A")
    harness.advance(2_000)
    assert list(values(harness.engine, "rocketmq_storage_message_reserve_time").values()) == [2_000]


@pytest.mark.parametrize("by", ["0s", "-0s"])
def test_a_skew_of_nothing_is_rejected(by: str) -> None:
    """A skew of 0 s would have no effect."""
    with pytest.raises(FaultError, match="the clock stays right; use '90s' or '-90s'"):
        faults.skew_clock("broker-a", by=by)


# redelivery


KV = {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True}


@pytest.mark.parametrize("keys", [{}, {"enable_pop_buffer_merge": True}, KV, {**KV, "enable_pop_buffer_merge": True}])
def test_a_stopped_revive_redelivers_at_its_end(keys: dict[str, Any]) -> None:
    """For an hour no message is redelivered; after the rule all are, as fast as usual, in all modes of pop."""
    harness = make(**keys)
    harness.send("A")
    assert len(harness.popped("A")) == 1
    rule = harness.add(faults.stop_revive(duration="1h"))
    harness.advance(3_599_999)
    assert harness.popped("A") == []
    harness.advance(10_000)
    assert len(harness.popped("A")) == 1
    assert rule.fired == 1


@pytest.mark.parametrize("keys", [{}, KV])
def test_an_acknowledgement_while_revive_is_stopped_counts(keys: dict[str, Any]) -> None:
    """The message is not redelivered after the end of the rule."""
    harness = make(**keys)
    harness.send("A")
    (message,) = harness.popped("A")
    receipt = harness.receipt(message)
    rule = harness.add(faults.stop_revive("broker-a"))
    harness.advance(60_000)
    harness.ack("A", receipt)
    harness.plan.remove(rule.name)
    harness.advance(60_000)
    assert harness.popped("A") == []


def retried(harness: FaultHarness) -> int:
    """Return the number of messages in the retry topic."""
    return harness.broker.store.max_offset("%RETRY%G_A", 0)


@pytest.mark.parametrize("keys", [{}, KV])
def test_revive_stays_stopped_over_a_crash(keys: dict[str, Any]) -> None:
    """After the crash the rule still stops the broker's revives. With two rules they resume when both have ended."""
    harness = make(**keys)
    harness.send("A")
    assert len(harness.popped("A")) == 1
    first, second = harness.add(faults.stop_revive()), harness.add(faults.stop_revive())
    harness.advance(6_000)  # the offset of the group is written
    harness.engine.crash(power_loss=False)
    harness.plan.remove(first.name)
    harness.advance(60_000)
    assert retried(harness) == 0
    harness.plan.remove(second.name)
    harness.advance(10_000)
    assert retried(harness) == 1


# transaction checks


def checks_of(harness: FaultHarness) -> DirectChannel:
    """Connect a producer of the group of half messages."""
    channel = DirectChannel("p1", ("10.0.0.1", 5000))
    harness.engine.submit(harness.broker, Heartbeat("p1", ["PG"], []), channel)
    return channel


@pytest.mark.parametrize("crash", [False, True])
def test_stopped_transaction_checks_ask_no_producer_until_their_end(crash: bool) -> None:
    """Half messages stored before or during the rule are not checked until its end, even after a crash."""
    harness = make(transaction_check_interval=3_000, transaction_time_out=1_000)
    harness.send("A", b"1", TRAN_MSG="true", PGROUP="PG")
    harness.add(faults.stop_transaction_checks(duration="10m"))
    harness.send("A", b"2", TRAN_MSG="true", PGROUP="PG")
    if crash:
        harness.engine.crash(power_loss=False)
    harness.advance(590_000)
    channel = checks_of(harness)
    harness.advance(9_999)
    assert channel.effects == []
    harness.advance(3_001)
    assert [type(effect) for effect in channel.effects] == [CheckTransactionState] * 2


# queue locks


def locked(peer: Peer, client: str, queues: list[int], topic: str = "A") -> list[int]:
    """Lock queues for a client of group G, and return those that it holds."""
    response = peer.ask(*lock_request(client, "G", topic, "broker-a", queues=queues))
    assert response.code == 0
    return sorted(queue["queueId"] for queue in json.loads(response.body)["lockOKMQSet"])


def test_a_stolen_lock_is_neither_renewed_nor_given_to_another_client() -> None:
    """Responses are as for a queue that another client holds (case `a_queue_is_locked_by_one_client`).

    Locks of other topics do not change. After the end of the rule the first client that requests the lock gets it.
    """
    harness = make()
    harness.topic("B")
    peer = harness.peer()
    assert recorded("rebalance", "a_queue_is_locked_by_one_client", "locked by another") == [2]
    assert locked(peer, "c1", [0, 1]) == [0, 1]
    rule = harness.add(faults.steal_queue_lock("G", "A", duration="1h"))
    assert locked(peer, "c1", [0, 1]) == []
    assert locked(peer, "c2", [0]) == []
    assert locked(peer, "c1", [0], "B") == [0]
    harness.advance(120_000)  # twice the time after which a real owner's lock expires
    assert locked(peer, "c1", [0]) == []
    harness.advance(3_600_000)
    assert locked(peer, "c2", [0]) == [0]
    assert locked(peer, "c1", [0]) == []
    assert rule.fired == 1


def test_a_stolen_lock_outlives_a_crash_and_the_first_of_two_rules() -> None:
    """The invented owner of the lock has it again after the crash, and until the last rule ends."""
    harness = make()
    first, second = (harness.add(faults.steal_queue_lock("G", "A")) for _ in range(2))
    harness.engine.crash()
    harness.plan.remove(first.name)
    assert locked(harness.peer(), "c1", [0]) == []
    harness.plan.remove(second.name)
    assert locked(harness.peer(), "c1", [0]) == [0]


def test_a_lock_is_stolen_by_the_request_that_fires_the_rule() -> None:
    """The client's renewal fails as if another client had the lock; after the rule any client can lock the queue."""
    harness = make()
    peer = harness.peer()
    harness.add(faults.steal_queue_lock("G", "A"), operation="LockBatchMq", group="G", nth=2)
    assert locked(peer, "c1", [0]) == [0]
    assert locked(peer, "c1", [0]) == []
    assert send(peer, "A").code == 0
    harness.plan.clear()
    assert locked(peer, "c2", [0]) == [0]


@pytest.mark.parametrize(
    ("value", "text"),
    [(timedelta(seconds=90), "90000ms"), (timedelta(seconds=-90), "-90000ms"), (timedelta(0), "0ms"), ("-90s", "-90s")],
)
def test_a_duration_with_a_sign_is_written_with_its_sign(value: object, text: str) -> None:
    assert SignedDurationCheck().plain("by", value) == text
