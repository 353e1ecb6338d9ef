"""Registered clients: heartbeats, notifications of changed members, queue locks, assignments, and expiry."""

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from pull_operation import pull_of
from rocketmq_testkit.emulator.client.client_registry import SUBSCRIPTIONS_MAX
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.effects import NotifyConsumerIdsChanged
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.clients import (
    ChannelClosed,
    ConsumerListResult,
    GetConsumerListByGroup,
    Heartbeat,
    HeartbeatResult,
    LockBatchMq,
    LockBatchResult,
    MessageQueue,
    UnlockBatchMq,
    UnregisterClient,
)
from rocketmq_testkit.emulator.operations.groups import (
    AssignmentResult,
    CreateGroup,
    GroupConfig,
    QueryAssignment,
    SetMessageRequestMode,
)


def take_notifications(harness: EngineHarness, client: str) -> int:
    """Return the number of notifications that a client got since the last call."""
    effects = harness.channels[client].effects
    count = len(effects)
    assert all(isinstance(effect, NotifyConsumerIdsChanged) for effect in effects)
    effects.clear()
    return count


def leave(harness: EngineHarness, client: str) -> None:
    channel = harness.channels[client]
    channel.active = False
    harness.engine.submit(harness.broker, ChannelClosed(), channel)


def test_members_are_notified_of_joins_new_topics_and_leaves(harness: EngineHarness) -> None:
    """Every member, also a joining one, is notified of a new member, a new topic, a leave and a lost connection."""
    harness.heartbeat("a", topics={"T": "*"})
    assert take_notifications(harness, "a") == 1
    harness.heartbeat("b", topics={"T": "*"})
    assert (take_notifications(harness, "a"), take_notifications(harness, "b")) == (1, 1)
    harness.heartbeat("b", topics={"T": "*"})
    harness.heartbeat("b", topics={"T": "x"}, version=2)
    assert (take_notifications(harness, "a"), take_notifications(harness, "b")) == (0, 0)
    harness.heartbeat("b", topics={"T": "x", "U": "*"}, version=3)
    assert (take_notifications(harness, "a"), take_notifications(harness, "b")) == (1, 1)
    harness.engine.submit(harness.broker, UnregisterClient("b", None, "G"), harness.channels["b"])
    assert (take_notifications(harness, "a"), take_notifications(harness, "b")) == (1, 0)
    harness.heartbeat("b", topics={"T": "*"})
    assert take_notifications(harness, "a") == 1
    leave(harness, "b")
    assert take_notifications(harness, "a") == 1


def test_members_of_a_broadcasting_group_are_not_notified(harness: EngineHarness) -> None:
    """A broadcasting group does not share queues, so no member is notified."""
    for client in "ab":
        harness.heartbeat(client, topics={"T": "*"}, model="BROADCASTING")
    assert take_notifications(harness, "a") == 0


def test_with_notify_consumer_ids_changed_off_a_join_notifies_no_member(harness: EngineHarness) -> None:
    """With notifyConsumerIdsChangedEnable=false a join notifies no member, a closed connection does, as on 5.3.3."""
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G", notify_consumer_ids_changed_enable=False)))
    for client in "ab":
        harness.heartbeat(client, topics={"T": "*"})
    assert take_notifications(harness, "a") == 0
    leave(harness, "b")
    assert take_notifications(harness, "a") == 1


def test_the_consumer_list_has_client_ids_in_joining_order(harness: EngineHarness) -> None:
    """The consumer list has client ids in joining order; an empty group is an error."""
    with pytest.raises(EngineError, match="no consumer for this group, G"):
        harness.engine.execute(harness.broker, GetConsumerListByGroup("G"))
    for client in ("b", "a", "c"):
        harness.heartbeat(client, topics={"T": "*"})
    listed = harness.engine.execute(harness.broker, GetConsumerListByGroup("G"))
    assert listed == ConsumerListResult(["b", "a", "c"])


def test_the_list_of_client_ids_is_built_once_for_each_change_of_members(harness: EngineHarness) -> None:
    """A second heartbeat builds no new list. Earlier results, which the journal has, keep the members of their time."""
    for client in ("b", "a"):
        harness.heartbeat(client)
    group = harness.broker.clients.consumers["G"]
    before = group.client_ids()
    harness.heartbeat("b")
    assert group.client_ids() is before
    harness.heartbeat("c")
    assert (before, group.client_ids()) == (["b", "a"], ["b", "a", "c"])
    leave(harness, "a")
    assert group.client_ids() == ["b", "c"]
    harness.advance(130_000)
    assert group.client_ids() == []


def test_a_client_without_heartbeats_is_removed_after_two_minutes(harness: EngineHarness) -> None:
    """A client without heartbeats for 120 s is removed at the next 10 s scan; others stay."""
    harness.heartbeat("silent", topics={"T": "*"})
    harness.heartbeat("alive", topics={"T": "*"})
    for _ in range(4):
        harness.advance(30_000)
        harness.heartbeat("alive", topics={"T": "*"})
    harness.advance(10_001)
    listed = harness.engine.execute(harness.broker, GetConsumerListByGroup("G"))
    assert listed == ConsumerListResult(["alive"])
    harness.advance(200_000)
    assert harness.broker.clients.consumers == {}
    assert harness.engine.scheduler.next_deadline_ms() is None


def test_the_first_heartbeat_creates_the_group_and_its_retry_topic(harness: EngineHarness) -> None:
    """The first heartbeat creates the group and %RETRY%group with one queue."""
    harness.heartbeat("a", topics={"T": "*"})
    assert harness.broker.groups.find("G") is not None
    retry = harness.broker.topics.find("%RETRY%G")
    assert retry is not None
    assert (retry.read_queue_nums, retry.perm) == (1, 6)
    closed = make_harness(auto_create_subscription_group=False)
    assert isinstance(closed.heartbeat("a").outcome, HeartbeatResult)
    assert closed.broker.groups.find("G") is None


def test_a_v2_heartbeat_returns_changed_only_if_its_fingerprint_differs(harness: EngineHarness) -> None:
    """A V1 heartbeat always returns changed, V2 if the fingerprint differs; V2 may omit subscriptions."""

    def beat(fingerprint: int, *, without_sub: bool = False) -> bool:
        outcome = harness.heartbeat("a", topics={"T": "*"}, fingerprint=fingerprint, without_sub=without_sub).outcome
        assert isinstance(outcome, HeartbeatResult)
        return outcome.is_sub_change

    assert [beat(12345), beat(12345, without_sub=True), beat(777)] == [False, False, True]
    assert beat(0) is True
    assert "T" in harness.broker.clients.consumers["G"].subscriptions


def test_a_heartbeat_with_fewer_topics_removes_them_from_the_group(harness: EngineHarness) -> None:
    """A member that subscribes to fewer topics removes them from the whole group."""
    harness.topic("T")
    harness.topic("U")
    harness.heartbeat("a", topics={"T": "*", "U": "*"})
    harness.heartbeat("b", topics={"T": "*"})
    refused = harness.engine.submit(harness.broker, pull_of("G", "U", count=1, expression=None)).outcome
    assert isinstance(refused, EngineError)
    assert refused.code == 24


def test_a_queue_lock_is_held_for_60_s_and_released_only_by_its_owner(harness: EngineHarness) -> None:
    """A client holds a queue lock for 60 s after its last renewal; only the owner can release it."""
    queue = MessageQueue("T", "broker-a", 0)

    def lock(client: str) -> bool:
        granted = harness.engine.execute(harness.broker, LockBatchMq("G", client, [queue]))
        assert isinstance(granted, LockBatchResult)
        return granted.queues == [queue]

    assert (lock("a"), lock("b"), lock("a")) == (True, False, True)
    harness.engine.execute(harness.broker, UnlockBatchMq("G", "b", [queue]))
    assert not lock("b")
    harness.engine.execute(harness.broker, UnlockBatchMq("G", "a", [queue]))
    assert lock("b")
    harness.advance(60_000)
    assert not lock("a")
    harness.advance(1)
    assert lock("a")


def assigned(harness: EngineHarness, client: str, strategy: str = "AVG", model: str = "CLUSTERING") -> list[int] | None:
    result = harness.engine.execute(harness.broker, QueryAssignment("T", "G", client, strategy, message_model=model))
    assert isinstance(result, AssignmentResult)
    return None if result.assignments is None else [item.queue.queue_id for item in result.assignments]


def test_avg_assigns_consecutive_queues_and_avg_by_circle_every_nth(harness: EngineHarness) -> None:
    """AVG assigns consecutive queues, AVG_BY_CIRCLE every nth; each queue has one owner."""
    harness.topic("T", 8)
    for client in "abc":
        harness.heartbeat(client, topics={"T": "*"})
    assert [assigned(harness, client) for client in "abc"] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert [assigned(harness, c, "AVG_BY_CIRCLE") for c in "abc"] == [[0, 3, 6], [1, 4, 7], [2, 5]]
    assert assigned(harness, "a", model="BROADCASTING") == list(range(8))
    assert assigned(harness, "a", "NONE") is None
    assert assigned(harness, "stranger") == []


def test_pop_mode_shares_queues_with_all_or_with_the_next_client(harness: EngineHarness) -> None:
    """In POP mode sharing with all clients gives queue -1; sharing with the next client adds its queues."""
    harness.topic("T", 4)
    for client in "abcd":
        harness.heartbeat(client, topics={"T": "*"})
    harness.engine.execute(harness.broker, SetMessageRequestMode("T", "G", "POP", -1))
    assert assigned(harness, "b") == [-1]
    harness.engine.execute(harness.broker, SetMessageRequestMode("T", "G", "POP", 1))
    assert [assigned(harness, client) for client in "abcd"] == [[0, 1], [1, 2], [2, 3], [3, 0]]


def test_available_producer_channels_rotate_and_skip_disconnected_ones(harness: EngineHarness) -> None:
    """Transaction checks rotate among the producers of a group; a disconnected one is skipped."""
    for client in ("p", "q"):
        harness.heartbeat(client, "other")
        call = DirectCall(harness.channels[client])
        harness.engine.gate.submit(harness.broker, call, Heartbeat(client, ["PG"], []))
    clients = harness.broker.clients
    seen = {clients.next_producer_channel("PG") for _ in range(4)}
    assert seen == {harness.channels["p"], harness.channels["q"]}
    harness.channels["p"].active = False
    assert {clients.next_producer_channel("PG") for _ in range(4)} == {harness.channels["q"]}
    assert clients.next_producer_channel("nobody") is None


def test_a_lock_of_a_client_that_left_expires_in_a_clock_jump(harness: EngineHarness) -> None:
    """A lock of a client that left, or never joined the group, expires in a clock jump."""
    queue = MessageQueue("T", "broker-a", 0)
    harness.engine.execute(harness.broker, LockBatchMq("G", "gone", [queue]))
    harness.heartbeat("b", topics={"T": "*"})
    harness.engine.extend_client_leases(60_001)
    harness.advance(60_001)
    assert harness.engine.execute(harness.broker, LockBatchMq("G", "b", [queue])) == LockBatchResult([queue])


def test_an_excused_clock_jump_expires_no_registration_or_lock(harness: EngineHarness) -> None:
    """A clock jump with excused clients expires no registration or lock; silence after it counts as usual."""
    queue = MessageQueue("T", "broker-a", 0)
    harness.heartbeat("a", topics={"T": "*"})
    harness.engine.execute(harness.broker, LockBatchMq("G", "a", [queue]))
    harness.advance(30_000)
    harness.engine.extend_client_leases(3_600_000)
    harness.advance(3_600_000)
    assert harness.broker.clients.consumers["G"].client_ids() == ["a"]
    granted = harness.engine.execute(harness.broker, LockBatchMq("G", "b", [queue]))
    assert granted == LockBatchResult([])
    harness.advance(100_001)
    assert harness.broker.clients.consumers == {}


def test_a_connected_producer_is_found_among_disconnected_ones(harness: EngineHarness) -> None:
    """A connected producer is found among disconnected ones: after three attempts in rotation, all are tried."""
    channels = [DirectChannel(f"p{number}") for number in range(5)]
    for channel in channels:
        harness.engine.submit(harness.broker, Heartbeat(channel.channel_id, ["PG"], []), channel)
    clients = harness.broker.clients
    for left in range(5):
        for number, channel in enumerate(channels):
            channel.active = number == left
        assert [clients.next_producer_channel("PG") for _ in range(5)] == 5 * [channels[left]]
    channels[left].active = False
    assert clients.next_producer_channel("PG") is None


def test_a_silent_client_is_removed_at_the_first_scan_after_its_timeout(harness: EngineHarness) -> None:
    """A client is removed at the first scan after its timeout; a scan exactly at 120 s keeps it."""
    harness.heartbeat("c")
    harness.advance(120_000)
    assert list(harness.broker.clients.consumers["G"].members)
    harness.advance(9_999)
    assert list(harness.broker.clients.consumers["G"].members)
    harness.advance(1)
    group = harness.broker.clients.consumers.get("G")
    assert group is None or not group.members


# members


def test_member_keeps_its_own_subscriptions_and_the_time_of_its_first_heartbeat(harness: EngineHarness) -> None:
    """The group has the newest subscription of any member; each member has that of its own heartbeat."""
    harness.heartbeat("a", topics={"T": "x"})
    harness.advance(5)
    harness.heartbeat("b", topics={"T": "y"}, version=2)
    harness.advance(5)
    harness.heartbeat("a", topics={"T": "x", "U": "*"})
    members = harness.broker.clients.consumers["G"].members
    own = {
        name: {topic: each.sub_string for topic, each in member.subscriptions.items()}
        for name, member in members.items()
    }
    assert own == {"a": {"T": "x", "U": "*"}, "b": {"T": "y"}}
    assert [member.since_ms - START_MS for member in members.values()] == [0, 5]
    assert [member.last_update_ms - START_MS for member in members.values()] == [10, 5]
    assert members["a"].consume_from_where == "CONSUME_FROM_LAST_OFFSET"


def test_heartbeat_without_subscriptions_keeps_those_of_the_member(harness: EngineHarness) -> None:
    """The member's subscriptions, like those of the group, stay until a heartbeat has others."""
    harness.heartbeat("a", topics={"T": "x"}, fingerprint=7)
    harness.heartbeat("a", fingerprint=7, without_sub=True)
    assert list(harness.broker.clients.consumers["G"].members["a"].subscriptions) == ["T"]
    harness.heartbeat("a", topics={}, fingerprint=8)
    assert harness.broker.clients.consumers["G"].members["a"].subscriptions == {}


def test_member_keeps_a_limited_number_of_its_own_subscriptions(harness: EngineHarness) -> None:
    """The engine stores a limited number of subscriptions of one member's heartbeat."""
    harness.heartbeat("a", topics={f"T{number}": "*" for number in range(SUBSCRIPTIONS_MAX + 1)})
    assert len(harness.broker.clients.consumers["G"].members["a"].subscriptions) == SUBSCRIPTIONS_MAX
