"""Table of compiled SQL92 expressions from heartbeats, which may be older than the subscriptions of the groups.

Source: ConsumerFilterManager, ConsumerFilterManager.FilterDataMapByTopic, ConsumerFilterData (5.3.3).
"""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, replace

from ..config import BrokerConfig
from ..kernel.errors import SqlError
from ..kernel.file_image import FileImage
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import value
from ..message import properties as props
from ..operations.clients import SubscriptionData
from ..topic.topic_group_index import TopicGroupIndex
from .message_filter import SQL92, SqlFilter, is_tag_type

TopicGroup = tuple[str, str]
"""(topic, group)"""
FILE_INTERVAL_MS = 10_000
"""The interval at which upstream writes the filters to their file."""
UNUSED_AT_START_MS = 30_000
"""Filters of a previous run count as unused since this long (ms) before the start, or since they were registered."""


@value
class FilterData:
    """A compiled expression of a group and topic. `unused_since` is None while the group uses it.

    `born_ms` is the time of the heartbeat that brought the expression. Times are in ms since the epoch.
    """

    expression: str
    expression_type: str
    version: int
    filter: SqlFilter
    _: KW_ONLY
    born_ms: int
    unused_since: int | None = None


class FilterTable:
    """The filters of one broker, by topic and group.

    A filter that its group no longer uses expires after `filterDataCleanTimeSpan`.
    """

    def __init__(self, config: BrokerConfig, scheduler: Scheduler) -> None:
        self._config = config
        self._scheduler = scheduler
        self._data: dict[TopicGroup, FilterData] = {}
        self._names: TopicGroupIndex[TopicGroup] = TopicGroupIndex()
        self._file: FileImage[TopicGroup, FilterData] = FileImage(scheduler, lambda: FILE_INTERVAL_MS)

    def restore(self, state: Mapping[TopicGroup, FilterData]) -> None:
        """Start with the filters of the previous run; until the next heartbeat they count as unused.

        Source: ConsumerFilterManager.decode (5.3.3).
        """
        earliest = self._scheduler.now_ms - UNUSED_AT_START_MS
        for (topic, group), data in state.items():
            if data.unused_since is None:
                data = replace(data, unused_since=max(earliest, data.born_ms))
            self._data[topic, group] = data
            self._names.add(topic, group, (topic, group))

    def dump_on_stop(self) -> Mapping[TopicGroup, FilterData]:
        """Return the filters that a graceful stop leaves."""
        return dict(self._data)

    def dump_on_crash(self) -> Mapping[TopicGroup, FilterData]:
        """Return the filters as of the last write of the file, which a crash leaves."""
        filters: dict[TopicGroup, FilterData | None] = {**self._data, **self._file.values_at_last_write()}
        return {key: data for key, data in filters.items() if data is not None}

    def find(self, topic: str, group: str) -> FilterData | None:
        """Return the filter of a group and topic, or None. Deletes it if it expired."""
        key = topic, group
        data = self._data.get(key)
        if data is None or data.unused_since is None:
            return data
        if self._scheduler.now_ms - data.unused_since < self._config.filter_data_clean_time_span:
            return data
        self._put(key, None)
        return None

    def register(self, group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        """Update a group's filters from a heartbeat: newer expressions replace older ones.

        A newer expression that does not compile deletes the older one. Empty expressions and tag expressions change
        nothing. Filters of topics that the heartbeat omits become unused.
        """
        wanted = set()
        for subscription in subscriptions:
            wanted.add(subscription.topic)
            if not is_tag_type(subscription.expression_type) and subscription.sub_string:
                self._update(group, subscription)
        for key in self._names.of_group(group):
            if key[0] not in wanted:
                self._mark_unused(key)

    def _update(self, group: str, subscription: SubscriptionData) -> None:
        key = subscription.topic, group
        old = self.find(*key)
        if old is None or subscription.sub_version > old.version:
            unchanged = old is not None and (old.expression, old.expression_type) == (
                subscription.sub_string,
                subscription.expression_type,
            )
            if old is not None and unchanged:
                self._put(key, replace(old, version=subscription.sub_version, unused_since=None))
            else:
                self._put(key, _compiled(subscription, self._scheduler.now_ms))
        elif subscription.sub_version == old.version and old.unused_since is not None:
            self._put(key, replace(old, unused_since=None))

    def unregister(self, group: str) -> None:
        """Mark a group's filters as unused, because the group has no client any more."""
        for key in self._names.of_group(group):
            self._mark_unused(key)

    def _mark_unused(self, key: TopicGroup) -> None:
        data = self._data[key]
        if data.unused_since is None:
            self._put(key, replace(data, unused_since=self._scheduler.now_ms))

    def _put(self, key: TopicGroup, data: FilterData | None) -> None:
        old = self._data.pop(key, None)
        self._names.discard(*key, key)
        if self._file.unchanged_since_write(key):
            self._file.save(key, old)
        if data is not None:
            self._data[key] = data
            self._names.add(*key, key)


class RetryFilter:
    """Applies a group's own filters to retry messages, by the original topic of each message.

    A message passes if the group has no filter for its original topic. Source: ExpressionForRetryMessageFilter (5.3.3).
    """

    needs_properties = True

    def __init__(self, table: FilterTable, group: str) -> None:
        self._table = table
        self._group = group

    def may_match_tag(self, tags_code: int) -> bool:
        return True

    def matches_properties(self, properties: Mapping[str, str]) -> bool:
        data = self._table.find(properties.get(props.RETRY_TOPIC, ""), self._group)
        return data is None or data.filter.matches_properties(properties)


def _compiled(subscription: SubscriptionData, now_ms: int) -> FilterData | None:
    """Compile a subscription; None if it does not compile or has an unknown expression type."""
    if subscription.expression_type != SQL92:
        return None
    try:
        compiled = SqlFilter(subscription.sub_string)
    except SqlError:
        return None
    return FilterData(subscription.sub_string, SQL92, subscription.sub_version, compiled, born_ms=now_ms)
