"""The SQL92 expressions of heartbeats, compiled, with a version of their own: they lag behind subscriptions.

Source: ConsumerFilterManager, ConsumerFilterManager.FilterDataMapByTopic, ConsumerFilterData (5.3.3).
"""

from collections.abc import Iterable

from .errors import SqlError
from .filters import SQL92, SqlFilter, is_tag_type
from .operations import SubscriptionData
from .scheduler import Scheduler
from .value import value

DEAD_FOR_MS = 24 * 3600 * 1000
"""What nobody wants any more is forgotten after a day (filterDataCleanTimeSpan)."""


@value
class FilterData:
    """What was compiled for a group of a topic; `dead_since` is None while the group wants it."""

    expression: str
    expression_type: str
    version: int
    filter: SqlFilter
    dead_since: int | None = None


class FilterTable:
    """The filters of one broker, by topic and group. They outlive the group that wanted them by a day."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._data: dict[tuple[str, str], FilterData] = {}

    def find(self, topic: str, group: str) -> FilterData | None:
        """What is kept for a group of a topic."""
        data = self._data.get((topic, group))
        if data is None or data.dead_since is None or self._scheduler.now_ms - data.dead_since < DEAD_FOR_MS:
            return data
        del self._data[topic, group]
        return None

    def register(self, group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        """Take over what a heartbeat wants: what is newer and compiles; what is newer and does not takes the old away.

        Expressions that are empty change nothing, and neither do tags.
        """
        wanted = set()
        for subscription in subscriptions:
            wanted.add(subscription.topic)
            if not is_tag_type(subscription.expression_type) and subscription.sub_string:
                self._take_over(group, subscription)
        for topic, of_group in list(self._data):
            if of_group == group and topic not in wanted:
                self._die(topic, group)

    def _take_over(self, group: str, subscription: SubscriptionData) -> None:
        place = subscription.topic, group
        old = self.find(*place)
        if old is not None and subscription.sub_version <= old.version:
            if subscription.sub_version == old.version:
                old.dead_since = None
            return
        unchanged = old is not None and (old.expression, old.expression_type) == (
            subscription.sub_string,
            subscription.expression_type,
        )
        if old is not None and unchanged:
            old.version, old.dead_since = subscription.sub_version, None
            return
        new = _compiled(subscription)
        if new is None:
            self._data.pop(place, None)
        else:
            self._data[place] = new

    def unregister(self, group: str) -> None:
        """The group has no client any more."""
        for topic, of_group in list(self._data):
            if of_group == group:
                self._die(topic, group)

    def _die(self, topic: str, group: str) -> None:
        data = self._data[topic, group]
        if data.dead_since is None:
            data.dead_since = self._scheduler.now_ms


def _compiled(subscription: SubscriptionData) -> FilterData | None:
    """None for what does not compile, and for kinds of expressions that nobody knows."""
    if subscription.expression_type != SQL92:
        return None
    try:
        compiled = SqlFilter(subscription.sub_string)
    except SqlError:
        return None
    return FilterData(subscription.sub_string, SQL92, subscription.sub_version, compiled)
