"""The last subscriptions of consumer groups, which brokers forget when the last consumer of a group leaves."""

from ..kernel.value_class import frozen_value

SUBSCRIPTIONS_MAX = 4_096
"""The maximum number of subscriptions; above it the one that changed longest ago is removed."""
EXPRESSION_MAX = 1_024
"""The maximum number of characters of an expression; a longer one is not recorded."""


@frozen_value
class LastSubscription:
    """A subscription to a topic as it was last in a heartbeat. `kind` is TAG, SQL92, or any text of a client."""

    expression: str
    kind: str


class LastSubscriptions:
    """The last subscription of each group to each topic. Deletions of groups remove theirs."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], LastSubscription] = {}

    def copy(self) -> "LastSubscriptions":
        """Return an independent copy."""
        made = LastSubscriptions()
        made._last = self._last.copy()
        return made

    def note(self, group: str, topic: str, subscription: LastSubscription) -> None:
        """Record the subscription of a group to a topic."""
        key, last = (group, topic), self._last
        if last.get(key) == subscription:
            return
        last.pop(key, None)
        if len(subscription.expression) + len(subscription.kind) > EXPRESSION_MAX:
            return
        last[key] = subscription
        if len(last) > SUBSCRIPTIONS_MAX:
            del last[next(iter(last))]

    def forget(self, group: str) -> None:
        """Remove the subscriptions of a group."""
        for key in [key for key in self._last if key[0] == group]:
            del self._last[key]

    def of(self, group: str, topic: str) -> LastSubscription | None:
        """Return the last subscription of a group to a topic, None if none is recorded."""
        return self._last.get((group, topic))
