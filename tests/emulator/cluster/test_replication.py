"""A master and its slave: log, requests to a slave, table synchronization, sends that wait for a slave."""

import random
from dataclasses import replace

import pytest
from engine_harness import START_MS, AnyResult, EngineHarness, make_harness, refused
from pull_operation import pull_of
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import DirectCall, Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.operations.cluster import (
    ClusterInfoResult,
    FollowerState,
    GetBrokerClusterInfo,
    GetBrokerHaStatus,
    GetRouteInfo,
    HaStatusResult,
    RouteResult,
)
from rocketmq_testkit.emulator.operations.consume import PullResult, PullStatus
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.offsets import (
    OffsetResult,
    QueryConsumerOffset,
    ResetOffset,
    UpdateConsumerOffset,
)
from rocketmq_testkit.emulator.operations.send import (
    EndTransaction,
    RecallMessage,
    SendMessage,
    SendMessageBack,
    SendResult,
)
from rocketmq_testkit.emulator.operations.topics import CreateTopic, DeleteTopic, TopicConfig
from rocketmq_testkit.remoting.client import batch_body

SYNCHRONIZED_MS, SYNCHRONIZED_AGAIN_MS = 61_000, 63_000
"""Times in ms by which a slave has copied its master's tables once, or a second time.

A slave checks its tables 10, 13, 16, ... s after its start, and copies them if its copy is older than a minute.
"""


class Pair(EngineHarness):
    """A harness with a master and its slave; the inherited methods send requests to the master."""

    @property
    def slave(self) -> Broker:
        return self.engine.brokers[1]

    def of_slave(self, kind: type[AnyResult], operation: Operation) -> AnyResult:
        return self.ask(kind, operation, self.slave)

    def pull_slave(self, offset: int = 0) -> PullResult:
        pull = pull_of("G", "T", offset=offset)
        return self.of_slave(PullResult, pull)

    def sent(self, body: bytes = b"m", **properties: str) -> DirectCall:
        """Submit a send that may wait for a slave."""
        message = SendMessage("PG", "T", 0, body, properties, ("10.0.0.1", 5000), self.now_ms)
        return self.engine.submit(self.broker, message)


def make_pair(slaves: int = 1, store_max_bytes: int | None = None, **keys: object) -> Pair:
    """Create a master and slaves with a topic T of one queue; keys are attribute names and apply to all brokers."""
    master = BrokerConfig()
    for name, value in keys.items():
        setattr(master, name, value)
    copies = [replace(master, broker_id=number, broker_role="SLAVE") for number in range(1, slaves + 1)]
    emulation = EmulationConfig()
    if store_max_bytes is not None:
        emulation.store_max_bytes = store_max_bytes
    engine = Engine(brokers=[master, *copies], emulation=emulation, seed=1, now_ms=START_MS)
    pair = Pair(engine, engine.brokers[0])
    pair.topic("T")
    engine.execute(pair.broker, CreateGroup(GroupConfig("G")))
    pair.advance(SYNCHRONIZED_MS)
    return pair


@pytest.fixture
def pair() -> Pair:
    return make_pair(slave_read_enable=True)


def logs(pair: Pair) -> list[list[tuple[int, bytes]]]:
    """Return all records in the log of each broker."""
    return [list(broker.store.log.records_from(0)) for broker in pair.engine.brokers]


def test_a_slave_has_the_messages_of_a_batch_one_by_one(pair: Pair) -> None:
    """A slave has the messages of a batch one by one, as its master stored them."""
    body = batch_body([(b"one", {"TAGS": "a"}), (b"two", {}), (b"three", {"TAGS": "b"})])
    pair.ask(SendResult, SendMessage("PG", "T", 0, body, {}, ("10.0.0.1", 5000), pair.now_ms, batch=True))

    of_master, of_slave = logs(pair)
    assert of_master == of_slave
    assert [decode(record).body for record in pair.pull_slave().records] == [b"one", b"two", b"three"]
    units = [list(broker.store.queues["T", 0].tags_codes) for broker in pair.engine.brokers]
    assert units[0] == units[1] == [97, 0, 98]


def test_a_slave_has_no_message_that_cannot_be_decoded(pair: Pair) -> None:
    """With the defect `unreadable_host_flag`, a record with a wrong host flag is in both logs and in no queue.

    This also holds for a record that the slave receives after a reconnection.
    """
    pair.engine.defects.enable("unreadable_host_flag")
    false = SendMessage("PG", "T", 0, b"lost", {}, ("10.0.0.1", 5000), pair.now_ms, sys_flag=0x10)
    pair.ask(SendResult, false)
    pair.send("T", b"after")
    pair.engine.stop(pair.slave)
    pair.ask(SendResult, false)
    pair.send("T", b"last")
    pair.engine.start(pair.slave)
    of_master, of_slave = logs(pair)
    assert of_master == of_slave
    assert [decode(record).body for record in pair.pull_slave().records] == [b"after", b"last"]


def test_a_replicated_record_that_cannot_be_decoded_waits_for_the_next_flush(pair: Pair) -> None:
    """The flush that was due before the record came does not contain it, as at the master."""
    pair.engine.defects.enable("unreadable_host_flag")
    pair.advance(10_100)
    pair.ask(SendResult, SendMessage("PG", "T", 0, b"lost", {}, ("10.0.0.1", 5000), pair.now_ms, sys_flag=0x10))
    of_master, of_slave = (broker.store.flush_behind_bytes for broker in pair.engine.brokers)
    assert of_master == of_slave > 0


def test_with_the_defect_a_slave_copies_topics_up_to_the_first_with_attributes(pair: Pair) -> None:
    """Topics before the first one with attributes are copied, later ones are not; deleted topics are still deleted."""
    pair.engine.defects.enable("slave_skips_topics_with_attributes")
    pair.topic("before")
    pair.engine.execute(pair.broker, CreateTopic(TopicConfig("typed", 1, 1), {"+message.type": "FIFO"}))
    pair.topic("after")
    pair.advance(SYNCHRONIZED_AGAIN_MS)
    assert [name in pair.slave.topics.table for name in ("before", "typed", "after")] == [True, False, False]
    for name in ("before", "typed"):
        pair.engine.execute(pair.broker, DeleteTopic(name))
    pair.advance(SYNCHRONIZED_AGAIN_MS)
    assert [name in pair.slave.topics.table for name in ("T", "before", "after")] == [True, False, True]


# routes


def test_a_slave_is_in_routes_under_its_masters_name(pair: Pair) -> None:
    """A slave is in routes under its master's name without queues of its own; the queues stay while either runs."""
    ns = pair.engine.name_server
    route = pair.ask(RouteResult, GetRouteInfo("T"), ns)
    assert [(broker.broker_name, broker.broker_ids) for broker in route.brokers] == [("broker-a", [0, 1])]
    pair.engine.stop(pair.broker)
    alone = pair.ask(RouteResult, GetRouteInfo("T"), ns)
    assert ([broker.broker_ids for broker in alone.brokers], alone.queues) == ([[1]], route.queues)
    pair.engine.stop(pair.slave)
    with pytest.raises(EngineError, match="No topic route info"):
        pair.engine.execute(ns, GetRouteInfo("T"))
    assert pair.ask(ClusterInfoResult, GetBrokerClusterInfo(), ns).brokers == {}
    pair.engine.start(pair.slave)
    assert pair.ask(RouteResult, GetRouteInfo("T"), ns).brokers[0].broker_ids == [1]


def test_topics_of_a_stopped_master_stay_in_routes_while_a_slave_runs(pair: Pair) -> None:
    """A master's topics, even ones that its slave lacks, stay in routes until the last of both brokers stops."""
    ns = pair.engine.name_server
    pair.topic("new")
    pair.engine.stop(pair.broker)
    assert pair.ask(RouteResult, GetRouteInfo("new"), ns).brokers[0].broker_ids == [1]
    pair.engine.stop(pair.slave)
    pair.engine.start(pair.slave)
    with pytest.raises(EngineError, match="No topic route info"):
        pair.engine.execute(ns, GetRouteInfo("new"))


# the log


def test_the_log_of_a_slave_equals_its_masters(pair: Pair) -> None:
    """A slave's log equals its master's byte for byte, with delayed, half and popped messages and check points."""
    pair.send("T", b"1", TAGS="a")
    pair.send("T", b"2", DELAY="1")
    pair.send("T", b"3", TRAN_MSG="true", PGROUP="PG", UNIQ_KEY="k")
    pair.popped("T", invisible_ms=5_000)
    pair.advance(200_000)
    pair.popped("T")
    master, slave = logs(pair)
    assert len(master) > 8
    assert slave == master
    assert pair.slave.store.queues.keys() == pair.broker.store.queues.keys()
    for place, queue in pair.broker.store.queues.items():
        follower = pair.slave.store.queues[place]
        assert (follower.first, follower.physical, follower.sizes, follower.tags_codes) == (
            queue.first,
            queue.physical,
            queue.sizes,
            queue.tags_codes,
        )


def test_a_slave_without_its_master_delivers_no_delayed_or_expired_messages(pair: Pair) -> None:
    """While its master is stopped, a slave delivers neither delayed nor unacknowledged messages."""
    pair.send("T", b"1", DELAY="1")
    pair.send("T", b"2")
    pair.popped("T", invisible_ms=5_000)
    pair.engine.stop(pair.broker)
    before = pair.slave.store.log.max_offset
    for again in (pair.engine.restart, pair.engine.crash):
        pair.advance(200_000)
        assert pair.slave.store.log.max_offset == before
        again(pair.slave)
    pair.engine.start(pair.broker)
    pair.advance(10_000)
    assert pair.slave.store.log.max_offset > before
    assert logs(pair)[0] == logs(pair)[1]


@pytest.mark.parametrize("who", ["master", "slave"])
def test_a_slave_catches_up_after_a_stop_of_either_broker(pair: Pair, who: str) -> None:
    """After a stop of either broker the slave receives the records that it lacks, and replication continues."""
    pair.send("T", b"1", TAGS="a")
    stopped = pair.broker if who == "master" else pair.slave
    pair.engine.stop(stopped)
    if who == "slave":
        pair.send("T", b"2", TAGS="b")
        pair.send("T", b"3", DELAY="2")
        assert [len(log) for log in logs(pair)] == [3, 1]
    pair.engine.start(stopped)
    pair.send("T", b"4")
    master, slave = logs(pair)
    assert (slave, len(master)) == (master, 4 if who == "slave" else 2)
    for place, queue in pair.broker.store.queues.items():
        assert pair.slave.store.queues[place].tags_codes == queue.tags_codes


@pytest.mark.parametrize("who", ["master", "slave"])
def test_master_and_slave_have_equal_logs_after_a_power_loss(pair: Pair, who: str) -> None:
    """After a power loss a slave receives its lost records again, and discards those that its master lost."""
    for number in range(5):
        pair.send("T", b"%d" % number)
    pair.engine.crash(pair.broker if who == "master" else pair.slave)
    pair.send("T", b"more")
    master, slave = logs(pair)
    assert slave == master
    assert len(master) == (1 if who == "master" else 6)


@pytest.mark.parametrize("how", ["killed", "stopped gracefully"])
def test_a_returning_slave_discards_records_that_its_master_lost(pair: Pair, how: str) -> None:
    """A slave that was stopped discards records that its master lost meanwhile, even if newer ones have equal sizes.

    The logs are compared from the first truncation of either log, not from their ends.
    """
    for number in range(5):
        pair.send("T", b"old-%d" % number)
    pair.engine.stop(pair.slave, kill=how == "killed")
    pair.engine.crash(pair.broker)
    for number in range(8):
        pair.send("T", b"new-%d" % number)
    pair.engine.start(pair.slave)
    master, slave = logs(pair)
    assert slave == master
    assert [decode(record).body for _, record in slave] == [b"new-%d" % number for number in range(8)]


def test_a_slave_deletes_its_oldest_files_with_its_master() -> None:
    """A slave deletes its oldest files with its master, and their queues start at the same offset."""
    pair = make_pair(store_max_bytes=1_000_000, max_message_size=1000, slave_read_enable=True)
    for number in range(3000):
        pair.send("T", b"%1000d" % number)
    first = pair.broker.store.min_offset("T", 0)
    assert first > 0
    assert pair.slave.store.min_offset("T", 0) == first
    assert pair.pull_slave(first).records == pair.pull("T", first).outcome.records  # type: ignore[union-attr]  # a result


def test_a_slave_that_lacks_deleted_records_receives_nothing_more() -> None:
    """A slave that lacks records which its master has deleted receives nothing more, as upstream."""
    pair = make_pair(store_max_bytes=1_000_000, max_message_size=1000)
    pair.send("T", b"first")
    pair.engine.stop(pair.slave)
    for number in range(3000):
        pair.send("T", b"%1000d" % number)
    pair.engine.start(pair.slave)
    pair.send("T", b"last")
    assert pair.slave.store.max_offset("T", 0) == 1


def test_an_empty_slave_receives_all_messages_that_its_master_has_left() -> None:
    """It begins with the first file of its master, where upstream begins with the last one (DefaultHAConnection)."""
    pair = make_pair(store_max_bytes=1_000_000, max_message_size=1000, slave_read_enable=True)
    pair.engine.stop(pair.slave)
    for number in range(3000):
        pair.send("T", b"%1000d" % number)
    pair.engine.start(pair.slave)
    pair.send("T", b"last")
    first = pair.broker.store.min_offset("T", 0)
    assert first > 0
    assert pair.slave.store.min_offset("T", 0) == first
    of_master, of_slave = logs(pair)
    assert of_master == of_slave
    assert pair.pull_slave(first).records == pair.pull("T", first).outcome.records  # type: ignore[union-attr]  # a result


def test_a_slave_keeps_the_old_queue_of_a_recreated_topic(pair: Pair) -> None:
    """A slave keeps the old queue of a recreated topic and adds no message until the master's queue is as long."""
    for number in range(3):
        pair.send("T", b"old %d" % number)
    pair.engine.execute(pair.broker, DeleteTopic("T"))
    pair.topic("T")
    for number in range(4):
        pair.send("T", b"new %d" % number)
    assert logs(pair)[0] == logs(pair)[1]
    assert pair.slave.store.max_offset("T", 0) == 4
    assert b"old 0" in (pair.slave.store.record("T", 0, 0) or b"")
    assert b"new 3" in (pair.slave.store.record("T", 0, 3) or b"")


# requests to a slave


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (SendMessage("PG", "T", 0, b"m", {}, ("10.0.0.1", 5000), START_MS), ResponseCode.SYSTEM_BUSY),
        (SendMessageBack("G", 0, 1), ResponseCode.SYSTEM_BUSY),
        (EndTransaction("PG", 0, 0, 8, False, "id"), ResponseCode.SLAVE_NOT_AVAILABLE),
        (RecallMessage("T", "handle", "PG"), ResponseCode.SLAVE_NOT_AVAILABLE),
    ],
    ids=("send", "send back", "end", "recall"),
)
def test_a_slave_rejects_all_writes(operation: Operation, code: ResponseCode) -> None:
    """A slave rejects all writes, even if reads from it are enabled."""
    pair = make_pair(slave_read_enable=True, recall_message_enable=True)
    assert refused(pair.engine.submit(pair.slave, operation)).code is code
    assert logs(pair) == [[], []]


def test_a_slave_rejects_pulls_unless_slave_read_is_enabled() -> None:
    """A slave rejects pulls unless slaveReadEnable is on; it is off by default."""
    pair = make_pair()
    pair.send("T")
    pull = pair.engine.submit(pair.slave, pull_of("G", "T"))
    assert refused(pull).remark == "[REJECTREQUEST]system busy, start flow control for a while"
    pair.slave.config.set("slaveReadEnable", "true")
    assert len(pair.pull_slave().records) == 1


def test_a_slave_serves_pulls_like_its_master(pair: Pair) -> None:
    """A slave returns the same responses to pulls, and parked pulls receive messages that the master stores."""
    pair.send("T", b"1")
    pair.send("T", b"2")
    found = pair.pull_slave()
    assert found == pair.pull("T").outcome
    pull = pull_of("G", "T", offset=2, suspend_ms=15_000)
    waiting = pair.engine.submit(pair.slave, pull)
    assert waiting.outcome is None
    pair.send("T", b"3")
    assert isinstance(waiting.outcome, PullResult)
    assert len(waiting.outcome.records) == 1
    nothing = pair.pull_slave(3)
    assert (nothing.code, nothing.status) == (ResponseCode.PULL_NOT_FOUND, PullStatus.OFFSET_OVERFLOW_ONE)
    assert nothing.suggest_which_broker_id == 0


@pytest.mark.parametrize(
    ("corrects", "code", "goes_on"),
    [(False, ResponseCode.PULL_RETRY_IMMEDIATELY, 7), (True, ResponseCode.PULL_OFFSET_MOVED, 1)],
)
def test_a_slave_corrects_pull_offsets_only_with_offset_check_in_slave(
    pair: Pair, corrects: bool, code: ResponseCode, goes_on: int
) -> None:
    """A slave does not correct an offset out of range unless offsetCheckInSlave is on."""
    pair.send("T")
    pair.slave.config.set("offsetCheckInSlave", corrects)
    response = pair.pull_slave(7)
    assert (response.code, response.next_begin_offset) == (code, goes_on)


def test_a_lagging_reader_is_suggested_a_slave(pair: Pair) -> None:
    """Responses suggest the broker that the group's settings name for lagging readers or for others.

    The master and the slave suggest the same.
    """
    for _ in range(3):
        pair.send("T")
    assert suggested(pair.pull("T").outcome) == 0
    for broker in pair.engine.brokers:
        broker.config.set("accessMessageInMemoryMaxRatio", 0)  # any lag counts
    assert suggested(pair.pull("T", count=1).outcome) == 1
    assert suggested(pair.pull("T", 3).outcome) == 0  # this pull returned no message
    assert pair.pull_slave().suggest_which_broker_id == 1
    assert pair.pull_slave(3).suggest_which_broker_id == 0
    group = GroupConfig("G", broker_id=3, which_broker_when_consume_slowly=2)
    for broker in pair.engine.brokers:
        pair.engine.execute(broker, CreateGroup(group))
    assert suggested(pair.pull("T", count=1).outcome) == 2
    assert suggested(pair.pull("T", 3).outcome) == 3
    for broker in pair.engine.brokers:
        broker.config.set("slaveReadEnable", "false")
    assert suggested(pair.pull("T", count=1).outcome) == 0


def suggested(outcome: Result | EngineError | None) -> int:
    """Return the suggested broker id in the response to a pull."""
    assert isinstance(outcome, PullResult)
    return outcome.suggest_which_broker_id


def test_the_ha_status_reports_slaves_and_their_offsets(pair: Pair) -> None:
    """A master reports its connected slaves, a slave its own state."""
    pair.send("T")
    end = pair.broker.store.log.max_offset
    now = pair.now_ms
    follower = FollowerState("broker-a", 1, end)
    assert pair.ask(HaStatusResult, GetBrokerHaStatus()) == HaStatusResult(end, [follower], None, now)
    assert pair.of_slave(HaStatusResult, GetBrokerHaStatus()) == HaStatusResult(end, [], "broker-a", now)
    pair.engine.stop(pair.slave)
    assert pair.ask(HaStatusResult, GetBrokerHaStatus()).followers == []
    pair.engine.start(pair.slave)
    pair.engine.stop(pair.broker)
    assert pair.of_slave(HaStatusResult, GetBrokerHaStatus()).master_name == ""


def test_a_slave_rejects_an_offset_reset(pair: Pair) -> None:
    """A slave rejects an offset reset, which only its master may do."""
    with pytest.raises(EngineError, match="Can not reset offset in slave broker"):
        pair.engine.execute(pair.slave, ResetOffset("G", "T", timestamp=-1))


# tables


def test_a_slave_copies_the_tables_of_its_master_after_63_s(pair: Pair) -> None:
    """A slave copies topics, groups and offsets after 63 s and deletes topics and groups that only it has."""
    pair.topic("U", 3)
    pair.engine.execute(pair.broker, CreateGroup(GroupConfig("H", retry_max_times=3)))
    pair.engine.execute(pair.broker, UpdateConsumerOffset("G", "T", 0, 0))
    pair.engine.execute(pair.slave, CreateTopic(TopicConfig("own", 1, 1)))
    pair.advance(62_999)
    assert pair.slave.topics.find("U") is None
    pair.advance(1)
    assert pair.slave.topics.table == pair.broker.topics.table
    assert pair.slave.groups.table == pair.broker.groups.table
    assert pair.of_slave(OffsetResult, QueryConsumerOffset("G", "T", 0)).offset == 0


def test_offsets_committed_at_a_slave_are_overwritten_by_its_returning_master(pair: Pair) -> None:
    """Offsets committed at a slave while its master is stopped are overwritten when the master returns."""
    for _ in range(3):
        pair.send("T")
    pair.engine.execute(pair.broker, UpdateConsumerOffset("G", "T", 0, 1))
    pair.advance(63_000)
    pair.engine.stop(pair.broker)
    pair.engine.execute(pair.slave, UpdateConsumerOffset("G", "T", 0, 3))
    pair.engine.execute(pair.slave, CreateGroup(GroupConfig("H")))
    pair.engine.execute(pair.slave, UpdateConsumerOffset("H", "T", 0, 2))
    pair.advance(63_000)
    assert pair.of_slave(OffsetResult, QueryConsumerOffset("G", "T", 0)).offset == 3
    pair.engine.start(pair.broker)
    pair.advance(63_000)
    assert pair.of_slave(OffsetResult, QueryConsumerOffset("G", "T", 0)).offset == 1
    assert pair.of_slave(OffsetResult, QueryConsumerOffset("H", "T", 0)).offset == 2


def test_a_slave_does_not_copy_offsets_of_groups_with_lmq_names() -> None:
    """Upstream's slave reads only the member offsetTable of the master's response, which has no LMQ offsets."""
    pair = make_pair(enable_lmq=True, slave_read_enable=True)
    pair.send("T")
    for group in ("G", "%LMQ%G"):
        pair.engine.execute(pair.broker, UpdateConsumerOffset(group, "T", 0, 1))
    pair.advance(63_000)
    asked = {group: QueryConsumerOffset(group, "T", 0, False) for group in ("G", "%LMQ%G")}
    assert [pair.ask(OffsetResult, each).offset for each in asked.values()] == [1, 1]
    assert pair.of_slave(OffsetResult, asked["G"]).offset == 1
    with pytest.raises(EngineError) as caught:
        pair.of_slave(OffsetResult, asked["%LMQ%G"])
    assert caught.value.code is ResponseCode.QUERY_NOT_FOUND


# synchronous masters


def test_a_synchronous_master_needs_no_slave_by_default() -> None:
    """A synchronous master waits for no slave by default, because inSyncReplicas counts the master."""
    pair = make_pair(slaves=0, broker_role="SYNC_MASTER")
    assert code_of(pair.sent()) is ResponseCode.SUCCESS


def test_a_send_without_its_slave_returns_flush_slave_timeout() -> None:
    """A send without a slave returns FLUSH_SLAVE_TIMEOUT after slaveTimeout and is stored; WAIT=false does not wait."""
    pair = make_pair(broker_role="SYNC_MASTER", in_sync_replicas=2, slave_read_enable=True)
    assert code_of(pair.sent()) is ResponseCode.SUCCESS
    pair.engine.stop(pair.slave)
    waiting = pair.sent()
    assert code_of(pair.sent(WAIT="false")) is ResponseCode.SUCCESS
    assert pair.broker.store.max_offset("T", 0) == 3
    pair.advance(2_999)
    assert waiting.outcome is None
    pair.advance(1)
    assert code_of(waiting) is ResponseCode.FLUSH_SLAVE_TIMEOUT


def test_a_waiting_send_gets_its_response_when_enough_replicas_have_the_message() -> None:
    """The response is sent when inSyncReplicas brokers, including the master, have the message."""
    pair = make_pair(slaves=2, broker_role="SYNC_MASTER", in_sync_replicas=3)
    pair.engine.stop(pair.slave)
    pair.engine.stop(pair.engine.brokers[2])
    waiting = pair.sent()
    pair.engine.start(pair.slave)
    assert waiting.outcome is None
    pair.engine.start(pair.engine.brokers[2])
    assert code_of(waiting) is ResponseCode.SUCCESS


def test_a_waiting_send_is_rejected_when_the_master_stops() -> None:
    """A waiting send is rejected when the master stops; the message is stored."""
    pair = make_pair(slaves=0, broker_role="SYNC_MASTER", in_sync_replicas=2)
    waiting = pair.sent()
    pair.engine.stop(pair.broker)
    assert refused(waiting).code is ResponseCode.SERVICE_NOT_AVAILABLE
    pair.engine.start(pair.broker)
    assert pair.broker.store.max_offset("T", 0) == 1
    pair.advance(10_000)


def code_of(call: DirectCall) -> ResponseCode:
    """Return the code in the response to a send."""
    assert isinstance(call.outcome, SendResult), call.outcome
    return call.outcome.code


# random events


@pytest.mark.parametrize("seed", [*range(11), 156])
def test_after_random_stops_and_losses_the_slave_is_a_copy_of_its_master(seed: int) -> None:
    """After random stops, kills and power losses, logs and queues of both are equal while both run."""
    chance = random.Random(seed)
    pair = make_pair(slave_read_enable=True, enable_pop_buffer_merge=bool(seed % 2))
    master, slave, engine = pair.broker, pair.slave, pair.engine
    for number in range(250):
        match chance.randrange(12):
            case 0 | 1 | 2 | 3 if master.running:
                properties = chance.choice([{}, {"DELAY": "1"}, {"TAGS": "a"}, {"TRAN_MSG": "true", "PGROUP": "PG"}])
                pair.sent(b"%d" % number, **properties)
            case 4 | 5 if master.running:
                for message in pair.popped("T", count=2, invisible_ms=5_000):
                    if chance.random() < 0.5:
                        pair.ack("T", pair.receipt(message))
            case 6:
                engine.stop(chance.choice([master, slave]), kill=chance.random() < 0.5)
            case 7 | 8:
                engine.start(chance.choice([master, slave]))
            case 9:
                engine.crash(chance.choice([master, slave]), power_loss=chance.random() < 0.5)
            case _:
                pair.advance(chance.choice([1, 900, 20_000]))
        ours, copy = logs(pair)
        if master.running and slave.running:
            assert copy == ours
            assert {place: list(queue.physical) for place, queue in slave.store.queues.items() if queue.physical} == {
                place: list(queue.physical) for place, queue in master.store.queues.items() if queue.physical
            }


@pytest.mark.parametrize(
    ("flush", "timeout", "code"),
    [
        ("SYNC_FLUSH", 0, ResponseCode.FLUSH_DISK_TIMEOUT),
        ("SYNC_FLUSH", 1, ResponseCode.SUCCESS),
        ("ASYNC_FLUSH", 0, ResponseCode.SUCCESS),
    ],
)
def test_only_sync_flush_with_timeout_0_returns_flush_disk_timeout(
    flush: str, timeout: int, code: ResponseCode
) -> None:
    harness = make_harness(flush_disk_type=flush, sync_flush_timeout=timeout)
    harness.topic("A")
    assert harness.send("A").code == code
