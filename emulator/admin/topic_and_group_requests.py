"""Admin requests about topics and groups of a broker. Source: AdminBrokerProcessor (5.3.3)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..assembly.handlers import handles
from ..client.client_registry import ClientRegistry
from ..config import BrokerConfig
from ..faults.defects import Defects
from ..gate.call import Call
from ..group.broker_tables import BrokerTables
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..message import names
from ..operations.base import Done
from ..operations.clients import MessageQueue
from ..operations.cluster import TopicListResult
from ..operations.groups import (
    BrokerConsumeStatsResult,
    CloneGroupOffset,
    ConsumeStatsResult,
    CreateGroup,
    CreateGroups,
    DeleteGroup,
    GetAllGroups,
    GetBrokerConsumeStats,
    GetConsumeStats,
    GetGroup,
    GroupForbiddenResult,
    GroupListResult,
    GroupResult,
    GroupsResult,
    OffsetWrapper,
    QueryGroupsOfTopic,
    QueryTopicsOfGroup,
    UpdateGroupForbidden,
)
from ..operations.topics import (
    CreateTopic,
    CreateTopics,
    DeleteTopic,
    GetAllTopics,
    GetBrokerTopicList,
    GetTopicConfig,
    GetTopicStats,
    TopicConfig,
    TopicOffset,
    TopicResult,
    TopicsResult,
    TopicStatsResult,
)
from ..pop.consumer_order_info import OrderInfoTable
from ..pop.pop_inflight_counter import PopInflightCounter
from ..pull.slow_group_guard import SlowGroupGuard
from ..schedule.timer_metrics import TimerMetrics
from ..static_topic.queue_mappings import QueueMappings


class TopicAdministration:
    """Creates, deletes and describes topics."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        tables: BrokerTables,
        orders: OrderInfoTable,
        in_flight: PopInflightCounter,
        slow_group_guard: SlowGroupGuard,
        timer_metrics: TimerMetrics,
        mappings: QueueMappings,
    ) -> None:
        self._config = config
        self._store = tables.store
        self._topics = tables.topics
        self._offsets = tables.offsets
        self._orders = orders
        self._in_flight = in_flight
        self._slow_group_guard = slow_group_guard
        self._timer_metrics = timer_metrics
        self._mappings = mappings

    @handles(CreateTopic)
    def create(self, call: Call, operation: CreateTopic) -> Done:
        """Create or change a topic. Errors: INVALID_PARAMETER, SYSTEM_ERROR."""
        with self._counted(operation):
            self._put(operation)
        return Done()

    @contextmanager
    def _counted(self, operation: CreateTopic) -> Iterator[None]:
        """Count a request that creates topics as succeeded or as failed. `operation` creates the first of them."""
        is_system = operation.config.topic_name in self._topics.system
        creations, succeeded = self._store.stats.by_name.counters.topic_creations, False
        try:
            yield
            succeeded = True
        finally:
            creations[succeeded, is_system] += 1

    def _put(self, operation: CreateTopic) -> None:
        config = self._topics.create(operation.config, operation.attributes)
        name, queues = config.topic_name, config.read_queue_nums
        self._orders.delete_topic(name, queues)

    @handles(CreateTopics)
    def create_all(self, call: Call, operation: CreateTopics) -> Done:
        """Create or change topics, none if a name or a number of queues is bad.

        Errors: INVALID_PARAMETER, SYSTEM_ERROR.
        """
        if not operation.topics:
            return Done()
        with self._counted(operation.topics[0]):
            for each in operation.topics:
                self._topics.check_name(each.config.topic_name)
                self._topics.check_queues(each.config)
            for each in operation.topics:
                self._put(each)
        return Done()

    @handles(DeleteTopic)
    def delete(self, call: Call, operation: DeleteTopic) -> Done:
        """Delete a topic with its queues and offsets; an unknown topic is not an error.

        With `clearRetryTopicWhenDeleteTopic` its pop retry topics are deleted as well.
        Errors: INVALID_PARAMETER (no name, system topic).
        """
        topic = operation.topic
        if not topic.strip():
            raise EngineError(ResponseCode.INVALID_PARAMETER, "The specified topic is blank.")
        self._topics.refuse_system(topic)
        doomed = [topic]
        if self._config.clear_retry_topic_when_delete_topic:
            for group in self._offsets.groups_of(topic):
                doomed += [names.pop_retry_topic(topic, group, v2=v2) for v2 in (False, True)]
        for name in doomed:
            self._topics.delete(name)
            self._mappings.delete(name)
            self._offsets.delete_topic(name)
            self._store.delete_topic(name)
            self._store.stats.by_name.delete_topic(name)
            self._timer_metrics.delete(name)
            self._orders.delete_topic(name)
            self._in_flight.delete_topic(name)
            self._slow_group_guard.delete_topic(name)
        return Done()

    @handles(GetTopicConfig)
    def get(self, call: Call, operation: GetTopicConfig) -> TopicResult:
        """Return the configuration of a topic. Errors: TOPIC_NOT_EXIST."""
        found = self._topics.find(operation.topic)
        if found is None:
            raise EngineError(ResponseCode.TOPIC_NOT_EXIST, f"No topic in this broker. topic: {operation.topic}")
        return TopicResult(found, self._mappings.table.get(operation.topic) if operation.with_mapping else None)

    @handles(GetAllTopics)
    def all(self, call: Call, operation: GetAllTopics) -> TopicsResult:
        """Return the whole topic table."""
        topics, mappings = self._topics, self._mappings
        return TopicsResult(
            dict(topics.table),
            topics.version_counter,
            topics.version_timestamp,
            dict(mappings.table),
            mapping_version=(mappings.version_counter, mappings.version_timestamp),
        )

    @handles(GetBrokerTopicList)
    def system(self, call: Call, operation: GetBrokerTopicList) -> TopicListResult:
        """Return the names of the system topics."""
        return TopicListResult(sorted(self._topics.system))

    @handles(GetTopicStats)
    def stats(self, call: Call, operation: GetTopicStats) -> TopicStatsResult:
        """Return minimum and maximum offset of each queue. Errors: TOPIC_NOT_EXIST.

        The last update is 0 for a queue that never had a message, and -1 if its last message is deleted.
        Source: AdminBrokerProcessor.getTopicStatsInfo, DefaultMessageStore.getMessageStoreTimeStamp (5.3.3).
        """
        topic = operation.topic
        config = self._topics.find(topic)
        if config is None:
            raise EngineError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
        offsets = {}
        for queue_id in range(max(config.read_queue_nums, config.write_queue_nums)):
            low, high = self._store.min_offset(topic, queue_id), self._store.max_offset(topic, queue_id)
            queue = self._store.queue(topic, queue_id)
            updated = -1 if high else 0
            if queue is not None and high > low:
                updated = self._store.store_timestamp(queue, high - 1)
            offsets[queue_id] = TopicOffset(low, high, updated)
        put_tps = self._store.stats.by_name.put_tps(topic)
        return TopicStatsResult(topic, self._config.broker_name, offsets, put_tps)


class GroupAdministration:
    """Creates, deletes and describes groups and their progress."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        defects: Defects,
        tables: BrokerTables,
        clients: ClientRegistry,
        orders: OrderInfoTable,
        in_flight: PopInflightCounter,
        slow_group_guard: SlowGroupGuard,
        mappings: QueueMappings,
    ) -> None:
        self._config = config
        self._mappings = mappings
        self._store = tables.store
        self._topics = tables.topics
        self._groups = tables.groups
        self._clients = clients
        self._defects = defects
        self._offsets = tables.offsets
        self._orders = orders
        self._in_flight = in_flight
        self._slow_group_guard = slow_group_guard

    @handles(CreateGroup)
    def create(self, call: Call, operation: CreateGroup) -> Done:
        """Create or change a group; as upstream, its name is not checked. Errors: INVALID_PARAMETER."""
        self._topics.check_queue_nums("retryQueueNums", operation.config.retry_queue_nums)
        self._put(operation)
        self._store.stats.by_name.counters.group_creations[True] += 1
        return Done()

    def _put(self, operation: CreateGroup) -> None:
        self._groups.put(operation.config)

    @handles(CreateGroups)
    def create_all(self, call: Call, operation: CreateGroups) -> Done:
        """Create or change groups; none if one is invalid. Errors: INVALID_PARAMETER."""
        for each in operation.groups:
            self._topics.check_queue_nums("retryQueueNums", each.config.retry_queue_nums)
        for each in operation.groups:
            self._put(each)
        self._store.stats.by_name.counters.group_creations[True] += 1
        return Done()

    @handles(DeleteGroup)
    def delete(self, call: Call, operation: DeleteGroup) -> Done:
        """Delete a group, and with `clean_offset` its offsets and its counts of messages in flight."""
        self._groups.delete(operation.group)
        if operation.clean_offset:
            self._offsets.delete_group(operation.group)
            self._in_flight.delete_group(operation.group)
        self._orders.delete_group(operation.group)
        self._store.stats.by_name.delete_group(operation.group)
        self._slow_group_guard.delete_group(operation.group)
        return Done()

    @handles(GetGroup)
    def get(self, call: Call, operation: GetGroup) -> GroupResult:
        """Return a group, creating it if that is allowed. Errors: SUBSCRIPTION_GROUP_NOT_EXIST."""
        found = self._groups.find_or_create(operation.group)
        if found is None:
            raise EngineError(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "No group in this broker")
        return GroupResult(found)

    @handles(GetAllGroups)
    def all(self, call: Call, operation: GetAllGroups) -> GroupsResult:
        """Return the whole group table."""
        return GroupsResult(dict(self._groups.table), self._groups.version_counter, self._groups.version_timestamp)

    @handles(GetConsumeStats)
    def stats(self, call: Call, operation: GetConsumeStats) -> ConsumeStatsResult:
        """Return the progress of a group by queue, on the topics that GetConsumeStats describes."""
        group = operation.consumer_group
        topics = operation.topics
        if not topics:
            asked = [operation.topic] if operation.topic else self._offsets.topics_of(group)
            topics = [topic for topic in asked if self._clients.may_consume(group, topic)]
        found: dict[MessageQueue, OffsetWrapper] = {}
        consume_tps = 0.0
        for topic in topics:
            config = self._topics.find(topic)
            if config is None:
                continue
            for queue_id in range(config.read_queue_nums):
                found[MessageQueue(topic, self._config.broker_name, queue_id)] = self._progress(group, topic, queue_id)
            consume_tps += self._store.stats.by_name.got_tps(topic, group)
        return ConsumeStatsResult(found, consume_tps)

    @handles(GetBrokerConsumeStats)
    def all_stats(self, call: Call, operation: GetBrokerConsumeStats) -> BrokerConsumeStatsResult:
        """Return the progress of each group, for topics in which it has offsets and which it may consume."""
        found: dict[str, list[ConsumeStatsResult]] = {}
        for group in self._groups.table:
            topics = [(topic, self._topics.find(topic)) for topic in self._offsets.topics_of(group)]
            found[group] = [
                self._stats_of_topic(group, config)
                for topic, config in topics
                if config is not None
                and (config.order or not operation.only_ordered)
                and self._clients.may_consume(group, topic)
            ]
        return BrokerConsumeStatsResult(found)

    def _stats_of_topic(self, group: str, config: TopicConfig) -> ConsumeStatsResult:
        """Return the progress by write queue and without pull offsets, as upstream."""
        topic = config.topic_name
        offsets = {
            MessageQueue(topic, self._config.broker_name, queue_id): replace(
                self._progress(group, topic, queue_id), pull_offset=0
            )
            for queue_id in range(config.write_queue_nums)
        }
        return ConsumeStatsResult(offsets, self._store.stats.by_name.got_tps(topic, group))

    def _progress(self, group: str, topic: str, queue_id: int) -> OffsetWrapper:
        consumed = self._offsets.query(group, topic, queue_id)
        if topic not in self._mappings.table:  # a static topic keeps the -1: another broker may hold the offset
            consumed = max(consumed, 0)
        pulled = max(self._offsets.pull_offset(group, topic, queue_id), consumed)
        queue = self._store.queue(topic, queue_id)
        timestamp = 0
        if queue is not None and queue.min_offset < consumed <= queue.max_offset:
            timestamp = self._store.store_timestamp(queue, consumed - 1)
        return OffsetWrapper(queue.max_offset if queue is not None else 0, consumed, pulled, timestamp)

    @handles(UpdateGroupForbidden)
    def forbidden(self, call: Call, operation: UpdateGroupForbidden) -> GroupForbiddenResult:
        """Forbid a group to read a topic, or allow it to read every topic. Neither group nor topic has to exist.

        The result has the state of the named topic after the change.
        """
        group, topic = operation.group, operation.topic
        if operation.readable is False:
            self._groups.forbid(group, topic)
        elif operation.readable:
            self._groups.allow(group)
        return GroupForbiddenResult(group, topic, self._groups.may_read(group, topic))

    @handles(QueryGroupsOfTopic)
    def groups_of_topic(self, call: Call, operation: QueryGroupsOfTopic) -> GroupListResult:
        """Return the groups that consume a topic: those online and those with offsets."""
        online = self._clients.subscribed_groups(operation.topic)
        if online and self._defects.topic_listed_as_group:
            # ConsumerManager.queryTopicConsumeByWho adds the topic's own name in place of each group's.
            online = [operation.topic]
        names_found = [*online, *self._offsets.groups_of(operation.topic)]
        return GroupListResult(list(dict.fromkeys(names_found)))

    @handles(QueryTopicsOfGroup)
    def topics_of_group(self, call: Call, operation: QueryTopicsOfGroup) -> TopicListResult:
        """Return the topics in which a group has offsets."""
        return TopicListResult(self._offsets.topics_of(operation.group))

    @handles(CloneGroupOffset)
    def clone_offset(self, call: Call, operation: CloneGroupOffset) -> Done:
        """Copy a group's offsets of a topic to another group; as upstream, a blank topic copies nothing.

        An unknown topic copies nothing either. A topic to which the online consumers of the source group do not
        subscribe is copied only with `offline`.
        """
        source, topic = operation.src_group, operation.topic
        wanted = operation.offline or self._clients.may_consume(source, topic)
        if self._topics.find(topic) is not None and wanted:
            self._offsets.clone(source, operation.dest_group, topic)
        return Done()
