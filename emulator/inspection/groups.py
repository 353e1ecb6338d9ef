"""Consumer groups, their members and subscriptions."""

from ..kernel.value_class import frozen_value


@frozen_value
class SubscriptionView:
    """A subscription to a topic."""

    topic: str
    expression: str
    kind: str
    """`TAG` or `SQL92`."""
    version: int


@frozen_value
class MemberView:
    """A connected member of a group."""

    client: str
    channel: str
    language: str
    version: str
    protocol: str
    """`remoting` or `grpc`."""
    since_ms: int
    last_heartbeat_ms: int
    kind: str
    """The kind of consumer: `push`, `pull`, `simple` and so on."""
    consume_from: str
    subscriptions: tuple[SubscriptionView, ...]
    """The subscriptions of its own heartbeats."""
    brokers: tuple[str, ...] = ()
    """The masters at which it is registered."""


@frozen_value
class GroupView:
    """A consumer group; with `exists` False all else is empty."""

    name: str
    exists: bool
    consume_enable: bool
    orderly: bool
    retry_max_times: int
    members: tuple[MemberView, ...]
    subscriptions: tuple[SubscriptionView, ...]
    """The subscriptions that the broker uses: of each topic the newest of any member."""
    disagreements: tuple[str, ...]
    """Topics that members subscribe to with different expressions, or that only some of them subscribe to."""
    forbidden: tuple[str, ...]
    """Topics that the group must not consume."""
    too_slow_on: tuple[str, ...] = ()
    """Brokers whose guard against slow consumers found the group too far behind."""
