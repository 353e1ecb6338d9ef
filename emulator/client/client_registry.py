"""Client registry: producers and consumers by group, their subscriptions, and notifications about changes.

Source: ClientManageProcessor, ConsumerManager, ProducerManager, ClientHousekeepingService (5.3.3).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, field, replace

from ..assembly.broker_context import Push
from ..config import BrokerConfig
from ..filter.filter_table import FilterTable
from ..filter.message_filter import EVERYTHING
from ..gate.call import Channel
from ..gate.effects import CloseExpiredConnection
from ..group.group_table import GroupTable
from ..kernel.scheduler import Scheduler
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import value
from ..message import names
from ..operations.clients import (
    ACTIVELY,
    BROADCASTING,
    CLUSTERING,
    PASSIVELY,
    ConsumerData,
    Heartbeat,
    SubscriptionData,
)
from ..topic.topic_table import HAS_UNIT_SUBSCRIBERS, TopicTable
from .client_index import ClientIndex
from .consumer_kind import ConsumerKind, kind_of
from .group_notices import GroupNotices

SCAN_PERIOD_MS = 10_000
"""The interval of upstream's scan for expired channels (ClientHousekeepingService)."""
PRODUCER_EXPIRED_MS = 120_000
"""The time without heartbeats after which a producer is removed (ProducerManager.CHANNEL_EXPIRED_TIMEOUT)."""
SUBSCRIPTIONS_MAX = 1_000
"""The number of a member's own subscriptions that are kept. Those of its group are not limited, as in upstream."""


@value
class Member:
    """One client of a group, on one connection."""

    channel: Channel
    client_id: str
    language: str
    version: int
    last_update_ms: int
    through_proxy: bool = False
    """True for a gRPC client registered by the proxy. When it joins or leaves, other members are not notified.
    The broker notifies it of other changes, but the proxy drops the notifications."""
    since_ms: int = field(default=0, compare=False)
    """The time of its first heartbeat on this connection (ms)."""
    consume_from_where: str = field(default="", compare=False)
    """The start of a new group, as its last heartbeat named it; empty for a producer."""
    subscriptions: Mapping[str, SubscriptionData] = field(default_factory=dict, compare=False)
    """The subscriptions by topic in its last heartbeat with any. The group has a table for all members."""


@value
class ConsumerGroup:
    """A consumer group as of its last heartbeat; a heartbeat of any member overwrites its modes."""

    name: str
    consume_type: str = PASSIVELY
    message_model: str = CLUSTERING
    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    _: KW_ONLY
    members: dict[str, Member] = field(default_factory=dict)
    """Members by channel id."""
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)
    """Subscriptions by topic, from the heartbeats of all members."""
    _client_ids: list[str] | None = field(default=None, init=False, repr=False, compare=False)
    """The result of `client_ids` until a member joins or leaves."""

    @property
    def kind(self) -> ConsumerKind:
        """The kind of consumers in the group."""
        return kind_of(self.consume_type, self.message_model)

    def client_ids(self) -> list[str]:
        """Return the client ids in the order of joining, one per connection. Callers must not change the list.

        After each change every member queries this list, so that building it each time would take quadratic time.
        """
        if self._client_ids is None:
            self._client_ids = [member.client_id for member in self.members.values()]
        return self._client_ids

    def channels(self) -> list[Channel]:
        """Return the channels of the members, in the order of joining."""
        return [member.channel for member in self.members.values()]

    def add(self, channel_id: str, member: Member) -> None:
        """Add a member, or replace the one of this channel."""
        self.members[channel_id] = member
        self._client_ids = None

    def remove(self, channel_id: str) -> Member | None:
        """Remove and return the member of a channel, None if there is none."""
        self._client_ids = None
        return self.members.pop(channel_id, None)


class Compensation:
    """The last requests of a group, which may never send a heartbeat.

    Source: ConsumerManager.consumerCompensationTable (5.3.3).
    """

    __slots__ = ("pops", "subscriptions")

    def __init__(self) -> None:
        self.pops = False
        """True if the last request was a pop, False if it was a pull."""
        self.subscriptions: dict[str, tuple[SubscriptionData, int]] = {}
        """Subscriptions of the requests, and the times of these requests (ms), by topic."""


class ClientRegistry:
    """The registry of producers and consumers of one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        topics: TopicTable,
        groups: GroupTable,
        notices: GroupNotices,
        push: Push,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._topics = topics
        self._groups = groups
        self._notices = notices
        self._push = push
        self._start = scheduler.instant_after(0)
        self.consumers: dict[str, ConsumerGroup] = {}
        """Consumer groups with at least one member, by name."""
        self.producers: dict[str, dict[str, Member]] = {}
        """Producers by group, then by channel id."""
        self._index: ClientIndex[Member] = ClientIndex()
        self.filters = FilterTable(config, scheduler)
        self._subscribers: dict[str, dict[str, None]] = {}
        """By topic, the registered groups that subscribe to it."""
        self._fingerprints: dict[str, int] = {}
        """The fingerprint of each group's last heartbeat, 0 if it had none; kept after the last member has left."""
        self._compensated: dict[str, Compensation] = {}
        """The last requests of groups whose requests had subscriptions."""
        self._compensated_until_ms = 0
        """The time (ms) of the next removal of expired subscriptions; until then they stay but are ignored."""
        self._producer_turn = 0
        self._scanning = False

    def channel_ids(self) -> set[str]:
        """Return the connections on which clients are registered."""
        members = [*self.producers.values(), *(group.members for group in self.consumers.values())]
        return {channel_id for each in members for channel_id in each}

    def client_ids_of(self, channel_id: str) -> list[str]:
        """Return the ids of the clients that registered on a connection."""
        index = self._index
        found = [
            *(self.consumers[group].members.get(channel_id) for group in index.consumer_groups(channel_id)),
            *(self.producers[group].get(channel_id) for group in index.producer_groups(channel_id)),
        ]
        return list(dict.fromkeys(member.client_id for member in found if member is not None))

    # heartbeats

    def heartbeat(self, channel: Channel, beat: Heartbeat) -> bool:
        """Register everything in a heartbeat.

        Returns True if a client with heartbeat V2 must send its subscriptions again; for V1 always True.
        """
        for group in beat.producer_groups:
            self._register_producer(channel, beat, group)
        changed = beat.fingerprint == 0
        for data in beat.consumers:
            changed = self._register_consumer(channel, beat, data) or changed
        if not self._scanning:
            self._scan_later()
        return changed

    def _register_producer(self, channel: Channel, beat: Heartbeat, group: str) -> None:
        members = self.producers.setdefault(group, {})
        known = members.get(channel.channel_id)
        if known is None:
            members[channel.channel_id] = member = self._member(channel, beat)
            self._index.add_producer(group, channel.channel_id, member.client_id, member)
        else:  # the first registration stays, even if the client id has changed
            known.last_update_ms = self._scheduler.now_ms

    def _member(self, channel: Channel, beat: Heartbeat) -> Member:
        now_ms = self._scheduler.now_ms
        return Member(
            channel,
            beat.client_id,
            beat.language,
            beat.version,
            now_ms,
            beat.through_proxy,
            now_ms,
        )

    def _register_consumer(self, channel: Channel, beat: Heartbeat, data: ConsumerData) -> bool:
        """Register a member of a group. Returns True if the client must send its subscriptions again."""
        resend = False
        if beat.through_proxy:
            config = self._groups.find(data.group)
        else:
            if self._config.reject_pull_consumer_enable and data.consume_type == ACTIVELY:
                return False
            resend = self._fingerprint_changed(data.group, beat.fingerprint)
            config = self._groups.find_or_create(data.group)
            if config is None:
                return resend
            self._create_retry_topic(data, config.retry_queue_nums)
        group = self.consumers.get(data.group)
        if group is None:
            group = self.consumers[data.group] = ConsumerGroup(data.group)
        group.consume_type = data.consume_type
        group.message_model = data.message_model
        group.consume_from_where = data.consume_from_where
        known = group.members.get(channel.channel_id)
        if known is not None and known.client_id == beat.client_id:
            member = known
            member.last_update_ms = self._scheduler.now_ms
        else:
            if known is not None:
                self._index.remove_consumer(group.name, channel.channel_id, known.client_id)
            member = self._member(channel, beat)
            group.add(channel.channel_id, member)
            self._index.add_consumer(group.name, channel.channel_id, beat.client_id)
        member.consume_from_where = data.consume_from_where
        if not beat.without_sub:
            member.subscriptions = {each.topic: each for each in data.subscriptions[:SUBSCRIPTIONS_MAX]}
        topics_changed = False if beat.without_sub else self._update_subscriptions(group, data.subscriptions)
        wanted = config is not None and config.notify_consumer_ids_changed_enable and not beat.through_proxy
        if (known is None or topics_changed) and wanted:
            self.notify_ids_changed(group)
        if not beat.without_sub:
            self.filters.register(data.group, data.subscriptions)
        return resend

    def _fingerprint_changed(self, group: str, fingerprint: int) -> bool:
        """Store the fingerprint of a heartbeat. Returns True if it differs from that of the group's last heartbeat."""
        last = self._fingerprints.get(group)
        self._fingerprints[group] = fingerprint
        return last is not None and last != fingerprint

    def _create_retry_topic(self, data: ConsumerData, queues: int) -> None:
        topic = names.retry_topic(data.group)
        subscribed = (self._topics.find(subscription.topic) for subscription in data.subscriptions)
        order = any(found is not None and found.order for found in subscribed)
        retry = self._topics.find(topic)
        if retry is None:
            retry = self._topics.create_internal(topic, queues, sys_flag=HAS_UNIT_SUBSCRIBERS if data.unit_mode else 0)
        retry.order = order

    def _update_subscriptions(self, group: ConsumerGroup, subscriptions: list[SubscriptionData]) -> bool:
        """Apply newer subscriptions. Returns True if a topic was added or removed; a new expression is no change."""
        changed = False
        wanted = set()
        for subscription in subscriptions:
            wanted.add(subscription.topic)
            current = group.subscriptions.get(subscription.topic)
            if current is None:
                changed = True
                group.subscriptions[subscription.topic] = subscription
                self._subscribers.setdefault(subscription.topic, {})[group.name] = None
            elif subscription.sub_version > current.sub_version:
                group.subscriptions[subscription.topic] = subscription
        for topic in [topic for topic in group.subscriptions if topic not in wanted]:
            del group.subscriptions[topic]
            self._unsubscribe(topic, group.name)
            changed = True
        return changed

    def _unsubscribe(self, topic: str, group: str) -> None:
        groups = self._subscribers[topic]
        del groups[group]
        if not groups:
            del self._subscribers[topic]

    def notify_ids_changed(self, group: ConsumerGroup) -> None:
        """Notify every member of a group, including the one that joined, unless it is a broadcasting group."""
        if group.message_model != BROADCASTING:
            self._notices.note_change(group.name, group.channels)

    # leaving

    def unregister(self, channel: Channel, producer_group: str | None, consumer_group: str | None) -> None:
        """Remove a client from a producer group, a consumer group, or both."""
        if producer_group:
            self._leave_producer_group(producer_group, channel.channel_id)
        if consumer_group:
            config = self._groups.find(consumer_group)
            self._leave_consumer_group(
                consumer_group,
                channel.channel_id,
                notify=config is None or config.notify_consumer_ids_changed_enable,
            )

    def channel_closed(self, channel: Channel) -> None:
        """Remove all registrations of a closed connection.

        The other members are notified regardless of the group's own setting, as in upstream.
        """
        for group in self._index.producer_groups(channel.channel_id):
            self._leave_producer_group(group, channel.channel_id)
        for group in self._index.consumer_groups(channel.channel_id):
            self._leave_consumer_group(group, channel.channel_id, notify=True)

    def _leave_producer_group(self, name: str, channel_id: str) -> None:
        members = self.producers.get(name)
        member = None if members is None else members.pop(channel_id, None)
        if members is None or member is None:
            return
        self._index.remove_producer(name, channel_id, member.client_id)
        if not members:
            del self.producers[name]

    def _leave_consumer_group(self, name: str, channel_id: str, *, notify: bool) -> None:
        group = self.consumers.get(name)
        member = None if group is None else group.remove(channel_id)
        if group is None or member is None:
            return
        self._index.remove_consumer(name, channel_id, member.client_id)
        if not group.members:
            del self.consumers[name]
            for topic in group.subscriptions:
                self._unsubscribe(topic, name)
            self.filters.unregister(name)
        if notify and not member.through_proxy:
            self.notify_ids_changed(group)

    def is_consumer(self, group: str, client_id: str) -> bool:
        """True if a client is registered as a consumer of a group."""
        return self._index.is_consumer(group, client_id)

    def connected_consumer(self, group: str, channel_id: str) -> Member | None:
        """Return the member of a consumer group with this channel; None if there is none, or if it is disconnected."""
        state = self.consumers.get(group)
        member = None if state is None else state.members.get(channel_id)
        return member if member is not None and member.channel.active else None

    def connected_producer(self, channel_id: str) -> Member | None:
        """Return a producer with this channel, in any group; None if there is none, or if it is disconnected."""
        for group in self._index.producer_groups(channel_id):
            member = self.producers[group][channel_id]
            if member.channel.active:
                return member
        return None

    def extend_leases(self, ms: int) -> None:
        """Extend all registrations by `ms` before a clock jump, during which clients cannot send heartbeats."""
        for members in (*(group.members for group in self.consumers.values()), *self.producers.values()):
            for member in members.values():
                member.last_update_ms += ms

    def _scan_later(self) -> None:
        self._scanning = True
        elapsed = self._scheduler.now_ms - self._start.ms
        next_scan = self._start.ms + (elapsed // SCAN_PERIOD_MS + 1) * SCAN_PERIOD_MS
        self._scheduler.call_at(next_scan, self._scan, TimerKind.CLIENT_HOUSEKEEPING)

    def _scan(self) -> None:
        """Remove clients without heartbeat and close their connections.

        The other members are not notified here, as in upstream. When the connection is closed, members of the client's
        other groups are notified.
        """
        now = self._scheduler.now_ms
        self._expire(lambda member, timeout_ms: now - member.last_update_ms > timeout_ms)
        self._scanning = False
        if self.consumers or self.producers:
            self._scan_later()

    def expire(self, client_id: str) -> None:
        """Remove the registrations of a client and close its connections, as the scan does for expired clients."""
        expired: dict[str, Channel] = {}
        for name, group in list(self.consumers.items()):
            for channel_id in self._index.consumer_channels(name, client_id):
                expired[channel_id] = group.members[channel_id].channel
                self._leave_consumer_group(name, channel_id, notify=False)
        for name, channel_id in self._index.producers_of(client_id):
            expired[channel_id] = self.producers[name][channel_id].channel
            self._leave_producer_group(name, channel_id)
        for channel in expired.values():
            self._push(channel, CloseExpiredConnection())

    def _expire(self, is_expired: Callable[[Member, int], bool]) -> None:
        """Remove the registrations selected by `is_expired(member, timeout in ms)` and close their connections."""
        expired: dict[str, Channel] = {}
        for name, group in list(self.consumers.items()):
            for channel_id, member in list(group.members.items()):
                if is_expired(member, self._config.channel_expired_timeout):
                    expired[channel_id] = member.channel
                    self._leave_consumer_group(name, channel_id, notify=False)
        for name, members in list(self.producers.items()):
            for channel_id, member in list(members.items()):
                if is_expired(member, PRODUCER_EXPIRED_MS):
                    expired[channel_id] = member.channel
                    self._leave_producer_group(name, channel_id)
        for channel in expired.values():
            self._push(channel, CloseExpiredConnection())

    # looking up

    def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """Return a group's subscription to a topic: from heartbeats, else from its last request with an expression.

        The latter expires after `subscriptionExpiredTimeout`. Source: ConsumerManager.removeExpireConsumerGroupInfo.
        """
        state = self.consumers.get(group)
        found = state.subscriptions.get(topic) if state is not None else None
        return found or self._compensated_subscription(group, topic)

    def may_consume(self, group: str, topic: str) -> bool:
        """True if a group subscribes to a topic, or if the group has no connected member or no subscriptions.

        Source: AdminBrokerProcessor.getTopicsForCollectingConsumeStats, .cloneGroupOffset (5.3.3).
        """
        state = self.consumers.get(group)
        return state is None or not state.subscriptions or self.subscription(group, topic) is not None

    def note_pull(self, group: str) -> None:
        """Record that the last request of a group is a pull. Source: ConsumerManager.compensateBasicConsumerInfo."""
        held = self._compensated.get(group)
        if held is not None:
            held.pops = False

    def compensate(self, group: str, subscription: SubscriptionData) -> None:
        """Store the subscription of a pull, because its group may never send a heartbeat."""
        now = self._scheduler.now_ms
        held = self._compensation(group, now)
        held.pops = False
        held.subscriptions[subscription.topic] = subscription, now

    def compensate_pop(self, group: str, subscription: SubscriptionData, retry_topic: str) -> None:
        """Store the subscription of a pop, and one to all messages of its retry topic."""
        now = self._scheduler.now_ms
        held = self._compensation(group, now)
        held.pops = True
        held.subscriptions[subscription.topic] = subscription, now
        kind = subscription.expression_type
        retry, _ = held.subscriptions.get(retry_topic, (None, 0))  # reused if it is equal, because pops are frequent
        if retry is None or retry.sub_string != EVERYTHING or retry.expression_type != kind:
            retry = SubscriptionData(retry_topic, EVERYTHING, kind)
        held.subscriptions[retry_topic] = retry, now

    def _compensation(self, group: str, now: int) -> Compensation:
        if now >= self._compensated_until_ms:
            self._forget_compensated(now)
        held = self._compensated.get(group)
        if held is None:
            held = self._compensated[group] = Compensation()
        return held

    def _compensated_subscription(self, group: str, topic: str) -> SubscriptionData | None:
        held = self._compensated.get(group)
        found = None if held is None else held.subscriptions.get(topic)
        if found is None or self._is_expired(found[1]):
            return None
        subscription, requested_ms = found
        return replace(subscription, sub_version=requested_ms)

    def compensated(self, group: str) -> list[SubscriptionData]:
        """Return the subscriptions of a group's requests that have not expired."""
        held = self._compensated.get(group)
        subscriptions = () if held is None else held.subscriptions.values()
        return [each for each, requested_ms in subscriptions if not self._is_expired(requested_ms)]

    def has_popped_last(self, group: str) -> bool:
        """True if the last request of a group was a pop. False if the group has no subscriptions of requests."""
        held = self._compensated.get(group)
        return held is not None and held.pops

    def compensated_groups(self) -> list[str]:
        """Return the groups whose requests had subscriptions, which may have expired."""
        return list(self._compensated)

    def _is_expired(self, requested_ms: int) -> bool:
        """True if a scan has run since the request became too old."""
        elapsed = self._scheduler.now_ms - self._start.ms
        last_scan = self._start.ms + elapsed // SCAN_PERIOD_MS * SCAN_PERIOD_MS
        return last_scan - requested_ms > self._config.subscription_expired_timeout

    def _forget_compensated(self, now: int) -> None:
        for group, held in list(self._compensated.items()):
            subscriptions = held.subscriptions
            held.subscriptions = {topic: each for topic, each in subscriptions.items() if not self._is_expired(each[1])}
            if not held.subscriptions:
                del self._compensated[group]
        self._compensated_until_ms = now + self._config.subscription_expired_timeout

    def subscribed_groups(self, topic: str) -> list[str]:
        """Return the consumer groups with connected members that subscribe to a topic."""
        return list(self._subscribers.get(topic, ()))

    def producer_members(self, group: str) -> Iterator[Member]:
        """Return the producers of a group."""
        return iter(self.producers.get(group, {}).values())

    def next_producer_channel(self, group: str) -> Channel | None:
        """Return the channel of a connected producer of a group, round robin; None if none is connected.

        Source: ProducerManager.getAvailableChannel (5.3.3).
        """
        found = self.producers.get(group)
        if not found:
            return None
        members = self._index.producer_list(group, found)
        count = len(members)
        self._producer_turn += 1
        for turn in range(self._producer_turn, self._producer_turn + min(3, count)):
            channel = members[turn % count].channel
            if channel.active:
                return channel
        return next((member.channel for member in reversed(members) if member.channel.active), None)

    def producer_channel(self, client_id: str) -> Channel | None:
        """Return the channel of a producer by client id, to which reply messages are pushed."""
        members = self._index.producers_with_client_id(client_id)
        return next((member.channel for member in members if member.channel.active), None)
