"""Who is connected: producers and consumers by group, their subscriptions, and the notices about changes.

Source: ClientManageProcessor, ConsumerManager, ProducerManager, ClientHousekeepingService,
DefaultConsumerIdsChangeListener (5.3.3).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

from ..config import BrokerConfig
from ..filter.filter_table import FilterData, FilterTable, Place
from ..filter.message_filter import EVERYTHING
from ..gate.effects import CloseConnection, Effect, NotifyConsumerIdsChanged
from ..gate.gate import Channel
from ..group.group_table import Groups
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import value
from ..message import names
from ..operations import ConsumerData, Heartbeat, SubscriptionData
from ..topic.topic_table import HAS_UNIT_SUBSCRIBERS, Topics
from .registrations import Registrations

SCAN_PERIOD_MS = 10_000
"""Upstream looks for expired channels this often (ClientHousekeepingService)."""
PRODUCER_EXPIRED_MS = 120_000
FIRST_LATE_NOTICE_MS, LATE_NOTICE_PERIOD_MS = 30_000, 15_000
"""When upstream tells of changes that it does not tell of at once (DefaultConsumerIdsChangeListener)."""
BROADCASTING = "BROADCASTING"
ACTIVELY = "CONSUME_ACTIVELY"
"""The consume type of consumers that ask for messages by themselves."""

Push = Callable[[Channel, Effect], None]


@value
class Member:
    """One client of a group."""

    channel: Channel
    client_id: str
    language: str
    version: int
    last_update_ms: int
    through_proxy: bool = False
    """Of such members nobody is told that they join or leave; they themselves are, and cannot hear it."""


@value
class ConsumerGroup:
    """A consumer group as its last heartbeat left it; the last writer wins."""

    name: str
    consume_type: str = "CONSUME_PASSIVELY"
    message_model: str = "CLUSTERING"
    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    members: dict[str, Member] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)

    def client_ids(self) -> list[str]:
        """Ids in the order of joining, one for each connection."""
        return [member.client_id for member in self.members.values()]


class Clients:
    """The tables of producers and consumers."""

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        topics: Topics,
        groups: Groups,
        push: Push,
        filters: Mapping[Place, FilterData] | None = None,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._topics = topics
        self._groups = groups
        self._push = push
        self._start_ms = scheduler.now_ms
        self.consumers: dict[str, ConsumerGroup] = {}
        self.producers: dict[str, dict[str, Member]] = {}
        self._registrations: Registrations[Member] = Registrations()
        self.filters = FilterTable(config, scheduler, filters)
        self._subscribers: dict[str, dict[str, None]] = {}
        """Groups by topic that are registered with a subscription to it."""
        self._fingerprints: dict[str, int] = {}
        """Of the last heartbeat for each group, 0 for one without; kept when the group has nobody any more."""
        self._late_notices: dict[str, list[Channel]] = {}
        self._compensated: dict[tuple[str, str], tuple[SubscriptionData, int]] = {}
        """What requests asked for, and when, by group and topic."""
        self._compensated_until_ms = 0
        """Until then nothing has to be looked for in it that is too old."""
        self._producer_turn = 0
        self._scanning = False

    # heartbeats

    def heartbeat(self, channel: Channel, beat: Heartbeat) -> bool:
        """Register everything in a heartbeat; True when a V2 client shall send its subscriptions again."""
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
            self._registrations.producer_came(group, channel.channel_id, member.client_id, member)
        else:  # it stays what it was first, whatever the client calls itself now
            known.last_update_ms = self._scheduler.now_ms

    def _member(self, channel: Channel, beat: Heartbeat) -> Member:
        return Member(channel, beat.client_id, beat.language, beat.version, self._scheduler.now_ms, beat.through_proxy)

    def _register_consumer(self, channel: Channel, beat: Heartbeat, data: ConsumerData) -> bool:
        resend = False
        if beat.through_proxy:
            config = self._groups.find(data.group)
        else:
            if self._config.reject_pull_consumer_enable and data.consume_type == ACTIVELY:
                return False
            resend = self._is_another(data.group, beat.fingerprint)
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
            known.last_update_ms = self._scheduler.now_ms
        else:
            if known is not None:
                self._registrations.consumer_left(group.name, channel.channel_id, known.client_id)
            group.members[channel.channel_id] = self._member(channel, beat)
            self._registrations.consumer_came(group.name, channel.channel_id, beat.client_id)
        topics_changed = False if beat.without_sub else self._update_subscriptions(group, data.subscriptions)
        wanted = config is not None and config.notify_consumer_ids_changed_enable and not beat.through_proxy
        if (known is None or topics_changed) and wanted:
            self.notify_ids_changed(group)
        if not beat.without_sub:
            self.filters.register(data.group, data.subscriptions)
        return resend

    def _is_another(self, group: str, fingerprint: int) -> bool:
        """Note the fingerprint of a heartbeat; whether the last one of the group, by whomever, had another."""
        last = self._fingerprints.get(group)
        self._fingerprints[group] = fingerprint
        return last is not None and last != fingerprint

    def _create_retry_topic(self, data: ConsumerData, queues: int) -> None:
        topic = names.retry_topic(data.group)
        subscribed = (self._topics.find(subscription.topic) for subscription in data.subscriptions)
        order = any(found is not None and found.order for found in subscribed)
        retry = self._topics.find(topic)
        if retry is None:
            retry = self._topics.create_internal(topic, queues)
            retry.topic_sys_flag = HAS_UNIT_SUBSCRIBERS if data.unit_mode else 0
        retry.order = order

    def _update_subscriptions(self, group: ConsumerGroup, subscriptions: list[SubscriptionData]) -> bool:
        """Take over newer subscriptions; True when a topic came or went (a new expression alone is no change)."""
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
        """Tell every member of a group, the joining one included; broadcasting groups are not told."""
        if not self._config.notify_consumer_ids_changed_enable or group.message_model == BROADCASTING:
            return
        channels = [member.channel for member in group.members.values()]
        if self._config.real_time_notify_consumer_change:
            self._tell(group.name, channels)
            return
        if not self._late_notices:
            self._scheduler.call_at(self._next_late_notice_ms(), self._tell_late, "late notices of changed groups")
        self._late_notices[group.name] = channels

    def _tell(self, group: str, channels: list[Channel]) -> None:
        effect = NotifyConsumerIdsChanged(group)
        for channel in channels:
            self._push(channel, effect)

    def _next_late_notice_ms(self) -> int:
        rounds = max(self._scheduler.now_ms - self._start_ms - FIRST_LATE_NOTICE_MS, -1) // LATE_NOTICE_PERIOD_MS + 1
        return self._start_ms + FIRST_LATE_NOTICE_MS + rounds * LATE_NOTICE_PERIOD_MS

    def _tell_late(self) -> None:
        """One notice for each group, however often it changed, to those who were in it after its last change."""
        notices, self._late_notices = self._late_notices, {}
        if self._config.notify_consumer_ids_changed_enable:
            for group, channels in notices.items():
                self._tell(group, channels)

    # leaving

    def unregister(self, channel: Channel, producer_group: str | None, consumer_group: str | None) -> None:
        """A client leaves a producer group, a consumer group, or both."""
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
        """A connection is gone; the other members are told whatever the group's own switch says, as upstream."""
        for group in self._registrations.producer_groups(channel.channel_id):
            self._leave_producer_group(group, channel.channel_id)
        for group in self._registrations.consumer_groups(channel.channel_id):
            self._leave_consumer_group(group, channel.channel_id, notify=True)

    def _leave_producer_group(self, name: str, channel_id: str) -> None:
        members = self.producers.get(name)
        member = None if members is None else members.pop(channel_id, None)
        if members is None or member is None:
            return
        self._registrations.producer_left(name, channel_id, member.client_id)
        if not members:
            del self.producers[name]

    def _leave_consumer_group(self, name: str, channel_id: str, *, notify: bool) -> None:
        group = self.consumers.get(name)
        member = None if group is None else group.members.pop(channel_id, None)
        if group is None or member is None:
            return
        self._registrations.consumer_left(name, channel_id, member.client_id)
        if not group.members:
            del self.consumers[name]
            for topic in group.subscriptions:
                self._unsubscribe(topic, name)
            self.filters.unregister(name)
        if notify and not member.through_proxy:
            self.notify_ids_changed(group)

    def is_consumer(self, group: str, client_id: str) -> bool:
        """Is a client registered as a consumer of a group?"""
        return self._registrations.is_consumer(group, client_id)

    def excuse(self, ms: int) -> None:
        """Do not hold the next `ms` against clients: the clock is about to jump, and they cannot beat meanwhile."""
        for members in (*(group.members for group in self.consumers.values()), *self.producers.values()):
            for member in members.values():
                member.last_update_ms += ms

    def _scan_later(self) -> None:
        self._scanning = True
        elapsed = self._scheduler.now_ms - self._start_ms
        next_scan = self._start_ms + (elapsed // SCAN_PERIOD_MS + 1) * SCAN_PERIOD_MS
        self._scheduler.call_at(next_scan, self._scan, "client housekeeping")

    def _scan(self) -> None:
        """Forget clients without heartbeat and close their connections.

        Their peers are not told, as upstream does not tell them here; those of other groups are when it is closed.
        """
        now = self._scheduler.now_ms
        self._expire(lambda member, timeout_ms: now - member.last_update_ms > timeout_ms)
        self._scanning = False
        if self.consumers or self.producers:
            self._scan_later()

    def expire(self, client_id: str) -> None:
        """End the registrations of a client and close its connections, as the scan does with a silent client."""
        self._expire(lambda member, _timeout_ms: member.client_id == client_id)

    def _expire(self, is_expired: Callable[[Member, int], bool]) -> None:
        """End the registrations that `is_expired(member, timeout in ms)` selects and close their connections."""
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
            self._push(channel, CloseConnection())

    # looking up

    def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """What a group wants of a topic: by heartbeat, else by its last request that carried an expression.

        Of the latter only for `subscriptionExpiredTimeout`. Source: ConsumerManager.removeExpireConsumerGroupInfo.
        """
        state = self.consumers.get(group)
        found = state.subscriptions.get(topic) if state is not None else None
        return found or self._compensation(group, topic)

    def may_consume(self, group: str, topic: str) -> bool:
        """Whether a group wants a topic as far as anybody knows: one that is not alive has not said otherwise.

        Source: AdminBrokerProcessor.getTopicsForCollectingConsumeStats, .cloneGroupOffset (5.3.3).
        """
        state = self.consumers.get(group)
        return state is None or not state.subscriptions or self.subscription(group, topic) is not None

    def compensate(self, group: str, subscription: SubscriptionData) -> None:
        """Remember the expression of a request of a group that may never heartbeat."""
        now = self._scheduler.now_ms
        if now >= self._compensated_until_ms:
            self._forget_compensated(now)
        self._compensated[group, subscription.topic] = subscription, now

    def compensate_pop(self, group: str, subscription: SubscriptionData, retry_topic: str) -> None:
        """Remember what a pop asked for, and that it reads the whole of its retry topic."""
        self.compensate(group, subscription)
        held = self._compensated.get((group, retry_topic))
        kind = subscription.expression_type
        if held is None or held[0].sub_string != EVERYTHING or held[0].expression_type != kind:
            retry = SubscriptionData(retry_topic, EVERYTHING, kind)
        else:
            retry = held[0]  # pops are many, and this one says the same again
        self._compensated[group, retry_topic] = retry, self._scheduler.now_ms

    def _compensation(self, group: str, topic: str) -> SubscriptionData | None:
        found = self._compensated.get((group, topic))
        if found is None or self._is_expired(found[1]):
            return None
        subscription, asked_ms = found
        return replace(subscription, sub_version=asked_ms)

    def _is_expired(self, asked_ms: int) -> bool:
        """Whether a scan has come by since the request was too old."""
        elapsed = self._scheduler.now_ms - self._start_ms
        last_scan = self._start_ms + elapsed // SCAN_PERIOD_MS * SCAN_PERIOD_MS
        return last_scan - asked_ms > self._config.subscription_expired_timeout

    def _forget_compensated(self, now: int) -> None:
        self._compensated = {key: value for key, value in self._compensated.items() if not self._is_expired(value[1])}
        self._compensated_until_ms = now + self._config.subscription_expired_timeout

    def groups_of_topic(self, topic: str) -> list[str]:
        """Consumer groups with live members that subscribe to a topic."""
        return list(self._subscribers.get(topic, ()))

    def producer_members(self, group: str) -> Iterator[Member]:
        """The producers of a group."""
        return iter(self.producers.get(group, {}).values())

    def available_channel(self, group: str) -> Channel | None:
        """A producer of a group that can be asked, in turn; None when none is connected.

        Source: ProducerManager.getAvailableChannel (5.3.3).
        """
        found = self.producers.get(group)
        if not found:
            return None
        members = self._registrations.listed(group, found)
        count = len(members)
        self._producer_turn += 1
        for turn in range(self._producer_turn, self._producer_turn + min(3, count)):
            channel = members[turn % count].channel
            if channel.active:
                return channel
        return next((member.channel for member in reversed(members) if member.channel.active), None)

    def producer_channel(self, client_id: str) -> Channel | None:
        """The channel of a producer by client id, for replies of requests."""
        members = self._registrations.producers_called(client_id)
        return next((member.channel for member in members if member.channel.active), None)
