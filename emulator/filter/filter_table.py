"""Table of compiled SQL92 expressions from heartbeats. They have their own version and lag behind subscriptions.

Source: ConsumerFilterManager, ConsumerFilterManager.FilterDataMapByTopic, ConsumerFilterData (5.3.3).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..config import BrokerConfig
from ..kernel.errors import SqlError
from ..kernel.file_image import LastWrite
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import value
from ..message import properties as props
from ..operations import SubscriptionData
from ..topic.topic_group_index import NameIndex
from .message_filter import SQL92, SqlFilter, is_tag_type

Place = tuple[str, str]
"""(topic, group)"""
FILE_INTERVAL_MS = 10_000
DEAD_AT_START_MS = 30_000
"""Filters of a previous run count as unused since this long (ms) before the broker's start."""


@value
class FilterData:
    """A compiled expression of a group and topic; `dead_since` is None while the group subscribes with it."""

    expression: str
    expression_type: str
    version: int
    filter: SqlFilter
    dead_since: int | None = None


class FilterTable:
    """The filters of one broker, by topic and group. They are kept for a while after the group stops using them.

    `written`: the filters of a previous run of the broker; until the next heartbeat they count as unused.
    """

    def __init__(
        self, config: BrokerConfig, scheduler: Scheduler, written: Mapping[Place, FilterData] | None = None
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        dead_since = scheduler.now_ms - DEAD_AT_START_MS
        self._data = {
            place: replace(data, dead_since=dead_since) if data.dead_since is None else data
            for place, data in (written or {}).items()
        }
        self._names: NameIndex[Place] = NameIndex()
        for topic, group in self._data:
            self._names.add(topic, group, (topic, group))
        self._file: LastWrite[Place, FilterData] = LastWrite(scheduler, lambda: FILE_INTERVAL_MS)

    def left(self) -> dict[Place, FilterData]:
        """Return the filters that a graceful stop leaves."""
        return dict(self._data)

    def written(self) -> dict[Place, FilterData]:
        """Return the filters as of the last write of the file, which a crash leaves."""
        filters: dict[Place, FilterData | None] = {**self._data, **self._file.lost()}
        return {place: data for place, data in filters.items() if data is not None}

    def find(self, topic: str, group: str) -> FilterData | None:
        """Return the filter of a group and topic, or None. Deletes it if it expired."""
        place = topic, group
        data = self._data.get(place)
        if data is None or data.dead_since is None:
            return data
        if self._scheduler.now_ms - data.dead_since < self._config.filter_data_clean_time_span:
            return data
        self._put(place, None)
        return None

    def register(self, group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        """Update a group's filters from a heartbeat: newer expressions replace older ones.

        A newer expression that does not compile deletes the older one. Empty expressions and tags change nothing.
        Filters of topics that the heartbeat omits become unused.
        """
        wanted = set()
        for subscription in subscriptions:
            wanted.add(subscription.topic)
            if not is_tag_type(subscription.expression_type) and subscription.sub_string:
                self._take_over(group, subscription)
        for place in self._names.of_group(group):
            if place[0] not in wanted:
                self._die(place)

    def _take_over(self, group: str, subscription: SubscriptionData) -> None:
        place = subscription.topic, group
        old = self.find(*place)
        if old is None or subscription.sub_version > old.version:
            unchanged = old is not None and (old.expression, old.expression_type) == (
                subscription.sub_string,
                subscription.expression_type,
            )
            if old is not None and unchanged:
                self._put(place, replace(old, version=subscription.sub_version, dead_since=None))
            else:
                self._put(place, _compiled(subscription))
        elif subscription.sub_version == old.version and old.dead_since is not None:
            self._put(place, replace(old, dead_since=None))

    def unregister(self, group: str) -> None:
        """Mark a group's filters as unused, because the group has no client any more."""
        for place in self._names.of_group(group):
            self._die(place)

    def _die(self, place: Place) -> None:
        data = self._data[place]
        if data.dead_since is None:
            self._put(place, replace(data, dead_since=self._scheduler.now_ms))

    def _put(self, place: Place, data: FilterData | None) -> None:
        old = self._data.pop(place, None)
        self._names.discard(*place, place)
        if self._file.is_first_change(place):
            self._file.keep(place, old)
        if data is not None:
            self._data[place] = data
            self._names.add(*place, place)


class RetryFilter:
    """Applies a group's own filters to retry messages, by the original topic of each message.

    A message passes if the group has no filter for its original topic. Source: ExpressionForRetryMessageFilter (5.3.3).
    """

    needs_properties = True

    def __init__(self, table: FilterTable, group: str) -> None:
        self._table = table
        self._group = group

    def matches_code(self, tags_code: int) -> bool:
        return True

    def matches_properties(self, properties: Mapping[str, str]) -> bool:
        data = self._table.find(properties.get(props.RETRY_TOPIC, ""), self._group)
        return data is None or data.filter.matches_properties(properties)


def _compiled(subscription: SubscriptionData) -> FilterData | None:
    """Compile a subscription; None if it does not compile or has an unknown expression type."""
    if subscription.expression_type != SQL92:
        return None
    try:
        compiled = SqlFilter(subscription.sub_string)
    except SqlError:
        return None
    return FilterData(subscription.sub_string, SQL92, subscription.sub_version, compiled)
