"""Registered clients: heartbeats, notifications of changed members, queue locks, assignments, and expiry."""

import pytest
from engine_world import START_MS, World, make_world
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


def take_notifications(world: World, client: str) -> int:
    """Return the number of notifications that a client got since the last call."""
    effects = world.channels[client].effects
    count = len(effects)
    assert all(isinstance(effect, NotifyConsumerIdsChanged) for effect in effects)
    effects.clear()
    return count


def leave(world: World, client: str) -> None:
    channel = world.channels[client]
    channel.active = False
    world.engine.submit(world.broker, ChannelClosed(), channel)


def test_members_are_notified_of_joins_new_topics_and_leaves(world: World) -> None:
    """Every member, also a joining one, is notified of a new member, a new topic, a leave and a lost connection."""
    world.heartbeat("a", topics={"T": "*"})
    assert take_notifications(world, "a") == 1
    world.heartbeat("b", topics={"T": "*"})
    assert (take_notifications(world, "a"), take_notifications(world, "b")) == (1, 1)
    world.heartbeat("b", topics={"T": "*"})
    world.heartbeat("b", topics={"T": "x"}, version=2)
    assert (take_notifications(world, "a"), take_notifications(world, "b")) == (0, 0)
    world.heartbeat("b", topics={"T": "x", "U": "*"}, version=3)
    assert (take_notifications(world, "a"), take_notifications(world, "b")) == (1, 1)
    world.engine.submit(world.broker, UnregisterClient("b", None, "G"), world.channels["b"])
    assert (take_notifications(world, "a"), take_notifications(world, "b")) == (1, 0)
    world.heartbeat("b", topics={"T": "*"})
    assert take_notifications(world, "a") == 1
    leave(world, "b")
    assert take_notifications(world, "a") == 1


def test_members_of_a_broadcasting_group_are_not_notified(world: World) -> None:
    """A broadcasting group does not share queues, so no member is notified."""
    for client in "ab":
        world.heartbeat(client, topics={"T": "*"}, model="BROADCASTING")
    assert take_notifications(world, "a") == 0


def test_with_notify_consumer_ids_changed_off_a_join_notifies_no_member(world: World) -> None:
    """With notifyConsumerIdsChangedEnable=false a join notifies no member, a closed connection does, as on 5.3.3."""
    world.engine.execute(world.broker, CreateGroup(GroupConfig("G", notify_consumer_ids_changed_enable=False)))
    for client in "ab":
        world.heartbeat(client, topics={"T": "*"})
    assert take_notifications(world, "a") == 0
    leave(world, "b")
    assert take_notifications(world, "a") == 1


def test_the_consumer_list_has_client_ids_in_joining_order(world: World) -> None:
    """The consumer list has client ids in joining order; an empty group is an error."""
    with pytest.raises(EngineError, match="no consumer for this group, G"):
        world.engine.execute(world.broker, GetConsumerListByGroup("G"))
    for client in ("b", "a", "c"):
        world.heartbeat(client, topics={"T": "*"})
    listed = world.engine.execute(world.broker, GetConsumerListByGroup("G"))
    assert listed == ConsumerListResult(["b", "a", "c"])


def test_the_list_of_client_ids_is_built_once_for_each_change_of_members(world: World) -> None:
    """A second heartbeat builds no new list. Earlier results, which the journal has, keep the members of their time."""
    for client in ("b", "a"):
        world.heartbeat(client)
    group = world.broker.clients.consumers["G"]
    before = group.client_ids()
    world.heartbeat("b")
    assert group.client_ids() is before
    world.heartbeat("c")
    assert (before, group.client_ids()) == (["b", "a"], ["b", "a", "c"])
    leave(world, "a")
    assert group.client_ids() == ["b", "c"]
    world.advance(130_000)
    assert group.client_ids() == []


def test_a_client_without_heartbeats_is_removed_after_two_minutes(world: World) -> None:
    """A client without heartbeats for 120 s is removed at the next 10 s scan; others stay."""
    world.heartbeat("silent", topics={"T": "*"})
    world.heartbeat("alive", topics={"T": "*"})
    for _ in range(4):
        world.advance(30_000)
        world.heartbeat("alive", topics={"T": "*"})
    world.advance(10_001)
    listed = world.engine.execute(world.broker, GetConsumerListByGroup("G"))
    assert listed == ConsumerListResult(["alive"])
    world.advance(200_000)
    assert world.broker.clients.consumers == {}
    assert world.engine.scheduler.next_deadline_ms() is None


def test_the_first_heartbeat_creates_the_group_and_its_retry_topic(world: World) -> None:
    """The first heartbeat creates the group and %RETRY%group with one queue."""
    world.heartbeat("a", topics={"T": "*"})
    assert world.broker.groups.find("G") is not None
    retry = world.broker.topics.find("%RETRY%G")
    assert retry is not None
    assert (retry.read_queue_nums, retry.perm) == (1, 6)
    closed = make_world(auto_create_subscription_group=False)
    assert isinstance(closed.heartbeat("a").outcome, HeartbeatResult)
    assert closed.broker.groups.find("G") is None


def test_a_v2_heartbeat_returns_changed_only_if_its_fingerprint_differs(world: World) -> None:
    """A V1 heartbeat always returns changed, V2 if the fingerprint differs; V2 may omit subscriptions."""

    def beat(fingerprint: int, *, without_sub: bool = False) -> bool:
        outcome = world.heartbeat("a", topics={"T": "*"}, fingerprint=fingerprint, without_sub=without_sub).outcome
        assert isinstance(outcome, HeartbeatResult)
        return outcome.is_sub_change

    assert [beat(12345), beat(12345, without_sub=True), beat(777)] == [False, False, True]
    assert beat(0) is True
    assert "T" in world.broker.clients.consumers["G"].subscriptions


def test_a_heartbeat_with_fewer_topics_removes_them_from_the_group(world: World) -> None:
    """A member that subscribes to fewer topics removes them from the whole group."""
    world.topic("T")
    world.topic("U")
    world.heartbeat("a", topics={"T": "*", "U": "*"})
    world.heartbeat("b", topics={"T": "*"})
    refused = world.engine.submit(world.broker, pull_of("G", "U", count=1, expression=None)).outcome
    assert isinstance(refused, EngineError)
    assert refused.code == 24


def test_a_queue_lock_is_held_for_60_s_and_released_only_by_its_owner(world: World) -> None:
    """A client holds a queue lock for 60 s after its last renewal; only the owner can release it."""
    queue = MessageQueue("T", "broker-a", 0)

    def lock(client: str) -> bool:
        granted = world.engine.execute(world.broker, LockBatchMq("G", client, [queue]))
        assert isinstance(granted, LockBatchResult)
        return granted.queues == [queue]

    assert (lock("a"), lock("b"), lock("a")) == (True, False, True)
    world.engine.execute(world.broker, UnlockBatchMq("G", "b", [queue]))
    assert not lock("b")
    world.engine.execute(world.broker, UnlockBatchMq("G", "a", [queue]))
    assert lock("b")
    world.advance(60_000)
    assert not lock("a")
    world.advance(1)
    assert lock("a")


def assigned(world: World, client: str, strategy: str = "AVG", model: str = "CLUSTERING") -> list[int] | None:
    result = world.engine.execute(world.broker, QueryAssignment("T", "G", client, strategy, message_model=model))
    assert isinstance(result, AssignmentResult)
    return None if result.assignments is None else [item.queue.queue_id for item in result.assignments]


def test_avg_assigns_consecutive_queues_and_avg_by_circle_every_nth(world: World) -> None:
    """AVG assigns consecutive queues, AVG_BY_CIRCLE every nth; each queue has one owner."""
    world.topic("T", 8)
    for client in "abc":
        world.heartbeat(client, topics={"T": "*"})
    assert [assigned(world, client) for client in "abc"] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert [assigned(world, c, "AVG_BY_CIRCLE") for c in "abc"] == [[0, 3, 6], [1, 4, 7], [2, 5]]
    assert assigned(world, "a", model="BROADCASTING") == list(range(8))
    assert assigned(world, "a", "NONE") is None
    assert assigned(world, "stranger") == []


def test_pop_mode_shares_queues_with_all_or_with_the_next_client(world: World) -> None:
    """In POP mode sharing with all clients gives queue -1; sharing with the next client adds its queues."""
    world.topic("T", 4)
    for client in "abcd":
        world.heartbeat(client, topics={"T": "*"})
    world.engine.execute(world.broker, SetMessageRequestMode("T", "G", "POP", -1))
    assert assigned(world, "b") == [-1]
    world.engine.execute(world.broker, SetMessageRequestMode("T", "G", "POP", 1))
    assert [assigned(world, client) for client in "abcd"] == [[0, 1], [1, 2], [2, 3], [3, 0]]


def test_available_producer_channels_rotate_and_skip_disconnected_ones(world: World) -> None:
    """Transaction checks rotate among the producers of a group; a disconnected one is skipped."""
    for client in ("p", "q"):
        world.heartbeat(client, "other")
        call = DirectCall(world.channels[client])
        world.engine.gate.submit(world.broker, call, Heartbeat(client, ["PG"], []))
    clients = world.broker.clients
    seen = {clients.next_producer_channel("PG") for _ in range(4)}
    assert seen == {world.channels["p"], world.channels["q"]}
    world.channels["p"].active = False
    assert {clients.next_producer_channel("PG") for _ in range(4)} == {world.channels["q"]}
    assert clients.next_producer_channel("nobody") is None


def test_a_lock_of_a_client_that_left_expires_in_a_clock_jump(world: World) -> None:
    """A lock of a client that left, or never joined the group, expires in a clock jump."""
    queue = MessageQueue("T", "broker-a", 0)
    world.engine.execute(world.broker, LockBatchMq("G", "gone", [queue]))
    world.heartbeat("b", topics={"T": "*"})
    world.engine.extend_client_leases(60_001)
    world.advance(60_001)
    assert world.engine.execute(world.broker, LockBatchMq("G", "b", [queue])) == LockBatchResult([queue])


def test_an_excused_clock_jump_expires_no_registration_or_lock(world: World) -> None:
    """A clock jump with excused clients expires no registration or lock; silence after it counts as usual."""
    queue = MessageQueue("T", "broker-a", 0)
    world.heartbeat("a", topics={"T": "*"})
    world.engine.execute(world.broker, LockBatchMq("G", "a", [queue]))
    world.advance(30_000)
    world.engine.extend_client_leases(3_600_000)
    world.advance(3_600_000)
    assert world.broker.clients.consumers["G"].client_ids() == ["a"]
    granted = world.engine.execute(world.broker, LockBatchMq("G", "b", [queue]))
    assert granted == LockBatchResult([])
    world.advance(100_001)
    assert world.broker.clients.consumers == {}


def test_a_connected_producer_is_found_among_disconnected_ones(world: World) -> None:
    """A connected producer is found among disconnected ones: after three attempts in rotation, all are tried."""
    channels = [DirectChannel(f"p{number}") for number in range(5)]
    for channel in channels:
        world.engine.submit(world.broker, Heartbeat(channel.channel_id, ["PG"], []), channel)
    clients = world.broker.clients
    for left in range(5):
        for number, channel in enumerate(channels):
            channel.active = number == left
        assert [clients.next_producer_channel("PG") for _ in range(5)] == 5 * [channels[left]]
    channels[left].active = False
    assert clients.next_producer_channel("PG") is None


def test_a_silent_client_is_removed_at_the_first_scan_after_its_timeout(world: World) -> None:
    """A client is removed at the first scan after its timeout; a scan exactly at 120 s keeps it."""
    world.heartbeat("c")
    world.advance(120_000)
    assert list(world.broker.clients.consumers["G"].members)
    world.advance(9_999)
    assert list(world.broker.clients.consumers["G"].members)
    world.advance(1)
    group = world.broker.clients.consumers.get("G")
    assert group is None or not group.members


# members


def test_member_keeps_its_own_subscriptions_and_the_time_of_its_first_heartbeat(world: World) -> None:
    """The group has the newest subscription of any member; each member has that of its own heartbeat."""
    world.heartbeat("a", topics={"T": "x"})
    world.advance(5)
    world.heartbeat("b", topics={"T": "y"}, version=2)
    world.advance(5)
    world.heartbeat("a", topics={"T": "x", "U": "*"})
    members = world.broker.clients.consumers["G"].members
    own = {
        name: {topic: each.sub_string for topic, each in member.subscriptions.items()}
        for name, member in members.items()
    }
    assert own == {"a": {"T": "x", "U": "*"}, "b": {"T": "y"}}
    assert [member.since_ms - START_MS for member in members.values()] == [0, 5]
    assert [member.last_update_ms - START_MS for member in members.values()] == [10, 5]
    assert members["a"].consume_from_where == "CONSUME_FROM_LAST_OFFSET"


def test_heartbeat_without_subscriptions_keeps_those_of_the_member(world: World) -> None:
    """The member's subscriptions, like those of the group, stay until a heartbeat has others."""
    world.heartbeat("a", topics={"T": "x"}, fingerprint=7)
    world.heartbeat("a", fingerprint=7, without_sub=True)
    assert list(world.broker.clients.consumers["G"].members["a"].subscriptions) == ["T"]
    world.heartbeat("a", topics={}, fingerprint=8)
    assert world.broker.clients.consumers["G"].members["a"].subscriptions == {}


def test_member_keeps_a_limited_number_of_its_own_subscriptions(world: World) -> None:
    """The engine stores a limited number of subscriptions of one member's heartbeat."""
    world.heartbeat("a", topics={f"T{number}": "*" for number in range(SUBSCRIPTIONS_MAX + 1)})
    assert len(world.broker.clients.consumers["G"].members["a"].subscriptions) == SUBSCRIPTIONS_MAX
