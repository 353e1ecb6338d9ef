"""Forks: the state that a fork gets from an engine, and the independence of both engines after the fork."""

from collections.abc import Callable
from dataclasses import fields, replace
from io import BytesIO
from typing import Any

import pytest
from all_tables import changes, held_by
from engine_harness import START_MS, EngineHarness, bodies, make_harness
from full_tables import full_tables
from operation_counts import operations
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.history.history_state import HistoryState
from rocketmq_testkit.emulator.kernel.value_class import value
from rocketmq_testkit.emulator.message.stored_record import decode, unpack_host
from rocketmq_testkit.emulator.operations.clients import ChannelClosed, Heartbeat, MessageQueue
from rocketmq_testkit.emulator.operations.send import EndTransaction
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.emulator.snapshot.durable_state import BrokerState, EngineState, ServiceState
from rocketmq_testkit.emulator.snapshot.snapshot_file import read_snapshot
from rocketmq_testkit.emulator.snapshot.state_copy import copy_state
from rocketmq_testkit.emulator.stats.broker_metrics import BROKER
from rocketmq_testkit.emulator.store.commit_log import CommitLog
from shared_objects import shared_objects
from snapshot_files import begun, copied_with_memories, saved
from stored import stored_bodies

RECORDS: dict[str, object] = {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True}
MODES: dict[str, dict[str, object]] = {
    "check points": {},
    "buffer": {"enable_pop_buffer_merge": True},
    "records": RECORDS,
    "cached records": {**RECORDS, "enable_pop_buffer_merge": True},
}
"""Configuration keys by the mode of tracking popped messages that they select."""


def fork(harness: EngineHarness) -> EngineHarness:
    """Return a harness with a fork of the engine of `harness`."""
    engine = Engine(state=harness.engine.fork_state())
    return EngineHarness(engine, engine.brokers[0])


def unshared(engine: Engine) -> Engine:
    """Replace the shared buffers of an engine by copies, so that it can be compared with other engines; return it."""
    for broker in engine.brokers:
        store, log = broker.store, broker.store.log
        own = CommitLog(log.segment_bytes, log.max_bytes, log._on_trim, log._on_full)
        segments, full = log.files()
        copies = {number: bytearray(log.bytes_of_segment(number) or b"") for number in segments}
        own.restore(log.segment_bytes, copies, full)
        store.log = own
        for queue in store.queues.values():
            queue.physical, queue.sizes, queue.tags_codes = queue.physical[:], queue.sizes[:], queue.tags_codes[:]
    return engine


# equality


@pytest.mark.pure
@pytest.mark.parametrize("keys", MODES.values(), ids=MODES)
def test_every_table_of_a_fork_equals_that_of_an_engine_from_a_snapshot(keys: dict[str, object]) -> None:
    """Tables, timers and random streams are compared. History and defects are not, as a snapshot does not have them."""
    harness = full_tables(slaves=1, **keys)
    expected = held_by(unshared(copied_with_memories(harness.engine)))
    assert {b"ended", b"half"} <= {*stored_bodies(harness, "A"), *stored_bodies(harness, "RMQ_SYS_TRANS_HALF_TOPIC")}
    forked = unshared(fork(harness).engine)
    assert forked.defects.route_cache
    forked.defects.release("route_cache")
    forked.defects.holders.clear()
    different = changes(expected, held_by(forked))
    assert [path for path in different if ".history" not in path and ".deliveries" not in path] == []
    assert len(expected) > 3_000


def test_a_fork_of_a_fork_equals_its_parent() -> None:
    """The snapshots of both are equal, and a fork continues after its parent has been discarded."""
    harness = full_tables()
    child = fork(harness)
    harness.send("A", b"of the parent")
    child.send("A", b"of the child")
    grandchild = fork(child)
    del harness
    assert saved(grandchild.engine) == saved(begun(saved(child.engine)))
    assert stored_bodies(grandchild, "A", 0) == [b"0", b"2", b"4", b"soon", b"ended", b"of the child"]


def test_no_field_of_the_state_of_a_fork_is_empty() -> None:
    """Each table has an entry in at least one harness of this file, so that it is tested."""
    states = [full_tables(slaves=1, **keys).engine.fork_state({"proxy": {"a": "b"}}) for keys in MODES.values()]

    def filled(of: Callable[[EngineState], Any], kind: type) -> set[str]:
        return {each.name for state in states for each in fields(kind) if getattr(of(state), each.name)}

    assert filled(lambda state: state, EngineState) == {each.name for each in fields(EngineState)}
    assert filled(lambda state: state.brokers[0], BrokerState) | {"common_end", "skew_ms"} == {
        each.name for each in fields(BrokerState)
    }
    assert filled(lambda state: state.brokers[0].services, ServiceState) == {each.name for each in fields(ServiceState)}
    assert all(state.brokers[1].common_end for state in states)


def test_a_fork_and_a_snapshot_know_the_ports_in_their_messages() -> None:
    """The ports are those at which the parents stored the messages, also if a parent has another one since."""
    harness = make_harness()
    for port in (30_001, 30_002):
        harness.broker.bind(("127.0.0.1", port))
        harness.send("A", b"m")
    child = fork(harness)
    child.broker.bind(("127.0.0.1", 30_003))
    child.send("A", b"of the child")
    for engine in (fork(child).engine, begun(saved(child.engine))):
        [broker] = engine.brokers
        broker.bind(("127.0.0.1", 30_004))
        stored = {unpack_host(decode(each).store_host)[1] for _, each in broker.store.log.records_from(0)}
        assert stored == {30_001, 30_002, 30_003}
        assert broker.store_ports == {*stored, 30_004}
    assert harness.broker.store_ports == {30_001, 30_002}


def test_a_log_whose_first_file_was_deleted_is_not_empty() -> None:
    """A snapshot knows the ports in the messages of its only file, and its record of deliveries is not complete."""
    harness = make_harness(1, max_message_size=8_000, mapped_file_size_commit_log=200_000)
    harness.broker.bind(("127.0.0.1", 30_001))
    log = harness.broker.store.log
    while len(log.files()[0]) < 2:
        harness.send("A", b"m" * 8_000)
    log.drop_oldest(1)
    for state in (harness.engine.state(), harness.engine.fork_state()):
        assert not state.brokers[0].log.is_empty
    restored = begun(saved(harness.engine))
    restored.brokers[0].bind(("127.0.0.1", 30_002))
    assert restored.brokers[0].store_ports == {30_001, 30_002}
    assert restored.history.complete_since_ms() == harness.engine.scheduler.now_ms


def test_a_broker_without_messages_leaves_no_port() -> None:
    """Equal states of emulators with different ports have equal snapshots."""
    snapshots = []
    for port in (30_001, 30_002):
        harness = make_harness(1)
        harness.broker.bind(("127.0.0.1", port))
        snapshots.append(saved(harness.engine))
    assert snapshots[0] == snapshots[1]


# nothing is shared


@pytest.mark.parametrize("keys", MODES.values(), ids=MODES)
def test_forks_and_parents_share_no_object_that_could_change(keys: dict[str, object]) -> None:
    """Only buffers that both treat as shared are shared, even by a fork of the fork after both have continued."""
    harness, unrelated = full_tables(slaves=1, **keys), full_tables(slaves=1, **keys)
    child = fork(harness)
    for each in (harness, child):
        each.send("A", b"later")
        each.popped("A", group="H")
        each.advance(60_000)
    grandchild = fork(child)
    for one, other in ((harness, child), (child, grandchild), (harness, grandchild)):
        assert shared_objects(one.engine, other.engine, unrelated.engine) == []


def test_a_state_can_be_copied_for_any_number_of_forks() -> None:
    """A fork keeps a copy for its resets. Engines that start from copies share no objects and start equal."""
    harness, unrelated = full_tables(slaves=1), full_tables(slaves=1)
    kept = harness.engine.fork_state()
    states = [copy_state(kept) for _ in range(2)]
    for state in states:
        assert kept.history is not None
        state.history = kept.history.copy()
    engines = [Engine(state=state) for state in states]
    expected = saved(engines[1])
    used = EngineHarness(engines[0], engines[0].brokers[0])
    used.send("A", b"later")
    used.popped("A")
    used.advance(60_000)
    harness.advance(60_000)
    assert shared_objects(*engines, unrelated.engine) == []
    assert saved(engines[1]) == expected


def test_the_comparison_finds_a_table_that_a_fork_shares_with_its_parent() -> None:
    harness, unrelated = full_tables(), full_tables()
    child = fork(harness)
    child.broker.mappings.table = harness.broker.mappings.table
    shared = shared_objects(harness.engine, child.engine, unrelated.engine)
    assert sorted({type(each).__name__ for each in shared}) == ["QueueMapping", "QueuePart", "dict", "list"]


def test_a_value_of_an_unknown_class_is_rejected() -> None:
    """A table of a new class raises an error, instead of being shared by mistake."""

    class Table:
        pass

    table: Any = Table()
    with pytest.raises(TypeError, match="Table: no copier for a fork; add one to"):
        copy_state(replace(EngineState(), kv_config=table))


def test_mutable_values_within_tables_are_copied() -> None:
    @value
    class Inner:
        numbers: list[int]
        pair: tuple[int, list[int]]

    inner = Inner([1], (2, [3]))
    table: Any = {"a": inner, "b": [inner, {4}], "c": 5}
    copy: Any = copy_state(replace(EngineState(), kv_config=table)).kv_config
    assert copy == table
    inner.numbers.append(6)
    inner.pair[1].append(6)
    table["b"][1].add(6)
    assert copy == {"a": Inner([1], (2, [3])), "b": [Inner([1], (2, [3])), {4}], "c": 5}


def test_changes_of_topics_reach_neither_parent_nor_fork() -> None:
    harness = full_tables()
    child = fork(harness)
    child.engine.execute(child.broker, CreateTopic(TopicConfig("A", 8, 8)))
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("D", 8, 8)))
    child.broker.topics.table["B"].attributes["x"] = "y"
    assert harness.broker.topics.get("A").read_queue_nums == 2
    assert child.broker.topics.find("D") is None
    assert harness.broker.topics.get("B").attributes == {"queue.type": "BatchCQ"}


@pytest.mark.pure
def test_lending_changes_the_parent_no_more_than_a_snapshot() -> None:
    """The whole state of the parent is compared, except chunks of its delivery record, which are marked as shared."""
    harness, other = full_tables(enable_pop_buffer_merge=True), full_tables(enable_pop_buffer_merge=True)
    harness.engine.fork_state()
    other.engine.state()
    different = changes(held_by(harness.engine), held_by(other.engine))
    assert different == {}


# the state of a fork


@pytest.mark.parametrize("keys", MODES.values(), ids=MODES)
def test_a_popped_message_stays_in_flight_in_a_fork(keys: dict[str, Any]) -> None:
    """The handle acknowledges the message in one engine; in the other one it is redelivered after its duration."""
    harness = make_harness(**keys)
    harness.topic("A")
    harness.send("A", b"one")
    harness.send("A", b"two")
    first, second = harness.popped("A", invisible_ms=30_000)
    handles = harness.receipt(first), harness.receipt(second)
    harness.advance(1_000)
    child = fork(harness)
    assert child.popped("A") == harness.popped("A") == []
    child.ack("A", handles[0])
    harness.ack("A", handles[1])
    for each in (harness, child):
        each.advance(60_000)
    assert bodies(child.popped("A")) == [b"two"]
    assert bodies(harness.popped("A")) == [b"one"]


def test_a_service_that_a_key_has_switched_off_is_missing_in_a_fork() -> None:
    """Such keys take effect at the next start of a broker, and a fork starts its brokers."""
    harness = make_harness(**MODES["cached records"])  # type: ignore[arg-type]  # keys of the broker
    harness.topic("A")
    harness.send("A", b"one")
    harness.popped("A")
    for name in RECORDS:
        setattr(harness.broker.config, name, False)
    child = fork(harness)
    assert child.broker.pop_kv_service is None
    assert len(fork(child).broker.pop_records) == 0


def half(harness: EngineHarness) -> EndTransaction:
    """Send a half message, and return its commit."""
    sent = harness.send("A", b"half", TRAN_MSG="true", PGROUP="P")
    return EndTransaction("P", sent.queue_offset, sent.physical_offset, 8, False, sent.msg_id)


def checks(harness: EngineHarness, ms: int) -> list[CheckTransactionState]:
    """Return the transaction checks that a new producer gets within `ms`; then it leaves."""
    channel = DirectChannel("p", ("10.0.0.1", 5000))
    harness.engine.submit(harness.broker, Heartbeat("p", ["P"], []), channel)
    harness.advance(ms)
    harness.engine.submit(harness.broker, ChannelClosed(), channel)
    return [effect for effect in channel.effects if isinstance(effect, CheckTransactionState)]


def test_a_committed_transaction_stays_committed_in_a_fork() -> None:
    """The end has no op message yet, so after a crash the broker would check the transaction again."""
    harness = make_harness(transaction_check_max=1)
    harness.topic("A")
    harness.engine.execute(harness.broker, half(harness))
    child = fork(harness)
    assert stored_bodies(child, "A") == [b"half"]
    assert checks(child, 100_000) == []


def test_checks_of_a_half_message_continue_in_a_fork() -> None:
    """The fork keeps the number of checks, and the next check happens at the same time as in the parent."""
    harness = make_harness(transaction_check_max=3)
    harness.topic("A")
    half(harness)
    assert len(checks(harness, 70_000)) == 2
    child = fork(harness)
    assert child.broker.checks.next_round_ms == harness.broker.checks.next_round_ms
    assert [len(checks(each, 100_000)) for each in (harness, child)] == [1, 1]


def test_delayed_messages_arrive_in_a_fork_when_they_arrive_in_its_parent() -> None:
    """A restarted broker, in contrast, first checks its delay levels after a second."""
    harness = make_harness()
    harness.topic("A")
    harness.advance(1_050)
    harness.send("A", b"of both", DELAY="1")
    harness.send("A", b"later", DELAY="2")
    harness.advance(500)
    child = fork(harness)
    assert stored_bodies(fork(child), "A") == []
    child.send("A", b"of the child", DELAY="1")
    for each in (harness, child):
        each.advance(549)
        assert stored_bodies(each, "A") == []
        each.advance(1)
        assert stored_bodies(each, "A") == [b"of both"]
        each.advance(4_000)
    assert stored_bodies(harness, "A") == [b"of both", b"later"]
    assert stored_bodies(child, "A") == [b"of both", b"of the child", b"later"]


def test_a_fork_delivers_delayed_messages_after_others_were_deleted() -> None:
    keys: dict[str, Any] = {"max_message_size": 16 * 1024, "mapped_file_size_commit_log": 150 * 1024}
    harness = make_harness(store_max_bytes=1024 * 1024, **keys)
    harness.topic("A")
    harness.send("A", b"deleted", DELAY="18")
    for _ in range(100):
        harness.send("A", bytes(15_000))
    child = fork(harness)
    child.send("A", b"stored", DELAY="18")
    child.advance(2 * 3_600_000 + 1_000)
    assert stored_bodies(child, "A")[-1] == b"stored"


def test_a_fork_has_the_clock_the_seed_and_the_configuration_of_its_parent() -> None:
    harness = full_tables(slaves=1)
    harness.engine.scheduler.advance_to(START_MS + 5_000)
    child = fork(harness)
    assert child.now_ms == START_MS + 5_000
    assert child.engine.random_streams.states() == harness.engine.random_streams.states()
    assert child.engine.emulation == harness.engine.emulation
    assert [each.config for each in child.engine.brokers] == [each.config for each in harness.engine.brokers]
    assert child.broker.config.pop_polling_size == 5
    child.broker.config.pop_polling_size = 6
    assert harness.broker.config.pop_polling_size == 5
    queues = [[each.send("A", queue=-1).queue_id for _ in range(30)] for each in (harness, child)]
    assert queues[0] == queues[1]


def test_connections_queue_locks_and_long_polls_are_not_in_a_fork() -> None:
    """The fork has no clients yet: they connect to its own ports."""
    harness = full_tables()
    assert harness.broker.clients.consumers
    queue = MessageQueue("A", "broker-a", 0)
    assert harness.broker.locks.lock("G", "c1", [queue]) == [queue]
    harness.topic("idle")
    harness.pop("idle", poll_ms=10_000)
    harness.pull("idle", suspend_ms=10_000)
    child = fork(harness)

    def waiting(of: EngineHarness) -> tuple[int, int]:
        metrics = of.broker.metrics()[BROKER]
        return metrics.waiting_pops, metrics.waiting_pulls

    assert (waiting(harness), waiting(child)) == ((1, 1), (0, 0))
    assert not child.broker.clients.consumers
    assert child.broker.locks.lock("G", "c2", [queue]) == [queue]
    assert harness.broker.locks.lock("G", "c2", [queue]) == []
    assert list(child.engine.journal) == []


def test_a_fork_continues_the_history_of_its_parent() -> None:
    """An explanation in the fork has the deliveries before the fork; later ones are only in their engine's history."""
    harness = make_harness()
    harness.topic("A")
    for _ in range(3):
        harness.send("A")
    harness.popped("A", count=1)
    child = fork(harness)
    child.popped("A", count=1)
    assert [[len(each.engine.history.of("broker-a", "A", 0, at)) for at in range(3)] for each in (harness, child)] == [
        [1, 0, 0],
        [1, 1, 0],
    ]
    assert child.engine.history.complete_since_ms() is None
    assert len(child.engine.history.broker_events("broker-a")) == 1


def test_a_fork_of_a_master_and_its_slave_replicates_its_own_records() -> None:
    """The slave of the fork gets new records of the fork's master, and none of the parent's."""
    harness = full_tables(slaves=1)
    child = fork(harness)
    harness.send("A", b"of the parent")
    child.send("A", b"of the child")
    for each, body in ((harness, b"of the parent"), (child, b"of the child")):
        slave = EngineHarness(each.engine, each.engine.brokers[1])
        assert stored_bodies(slave, "A", 0)[-1] == body
        assert slave.broker.store.log.max_offset == each.broker.store.log.max_offset


def test_a_power_loss_in_a_fork_leaves_the_parents_records() -> None:
    harness = make_harness()
    harness.topic("A")
    harness.send("A", b"flushed")
    child = fork(harness)
    for each in (harness, child):
        each.send("A", b"not flushed")
    child.engine.crash(child.broker)
    child.send("A", b"after the crash")
    assert stored_bodies(child, "A") == [b"flushed", b"after the crash"]
    assert stored_bodies(harness, "A") == [b"flushed", b"not flushed"]


def test_files_that_a_parent_deletes_stay_in_its_fork() -> None:
    harness = make_harness(
        store_max_bytes=1024 * 1024, max_message_size=16 * 1024, mapped_file_size_commit_log=150 * 1024
    )
    harness.topic("A")
    for number in range(50):
        harness.send("A", b"%d" % number + bytes(15_000))
    child = fork(harness)
    for _ in range(60):
        harness.send("A", bytes(15_000))
    assert harness.broker.store.min_offset("A", 0) > 20
    assert [body.rstrip(b"\0") for body in stored_bodies(child, "A")] == [b"%d" % number for number in range(50)]
    for number in range(50, 110):
        child.send("A", b"%d" % number + bytes(15_000))
    low = child.broker.store.min_offset("A", 0)
    assert low > 20
    assert [body.rstrip(b"\0") for body in stored_bodies(child, "A")] == [b"%d" % number for number in range(low, 110)]


def test_a_snapshot_of_a_fork_has_shared_and_own_bytes() -> None:
    harness = full_tables()
    child = fork(harness)
    child.send("A", b"of the child")
    harness.send("A", b"of the parent")
    again = read_snapshot(BytesIO(saved(child.engine)))
    assert len(again.brokers[0].log.segments[0]) == child.broker.store.log.stored_bytes
    engine = Engine(state=again)
    assert stored_bodies(EngineHarness(engine, engine.brokers[0]), "A", 0)[-1] == b"of the child"


# cost


def filled_harness(messages: int) -> EngineHarness:
    harness = make_harness()
    harness.topic("A", 4)
    for number in range(messages):
        harness.send("A", bytes(1024), queue=number % 4)
    return harness


def test_the_work_of_a_fork_does_not_depend_on_the_number_of_messages() -> None:
    """The work is the number of executed lines and calls, which are the same on every machine."""
    few, many = (filled_harness(messages) for messages in (100, 5_000))
    counts = []
    for harness in (few, many):
        fork(harness)
        counts.append(operations(lambda harness=harness: fork(harness)))  # type: ignore[misc]  # lambdas have no types
    assert abs(counts[1] - counts[0]) < 50
    assert counts[1] < 20_000


def test_a_history_state_has_each_attribute_of_a_history() -> None:
    """A new attribute of the history must be added to `HistoryState`, so that a fork keeps it."""
    held = {name.lstrip("_") for name in vars(make_harness().engine.history)}
    assert held - {"scheduler"} == {each.name for each in fields(HistoryState)}
