"""Consumer groups, their members and subscriptions."""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY

from ..client.client_registry import ConsumerGroup, Member
from ..client.client_text import sdk_version
from ..cluster.broker import Broker
from ..kernel.value_class import frozen_view
from ..message.names import PREDEFINED_GROUPS, is_retry
from ..operations.clients import SubscriptionData
from ..operations.groups import GroupConfig
from .brokers import stores_of
from .engine_parts import EngineParts

TAG = "TAG"
"""The kind of an expression that a client did not name."""


@frozen_view
class SubscriptionView:
    """A subscription to a topic."""

    topic: str
    expression: str
    kind: str
    """`TAG` or `SQL92`."""
    version: int


@frozen_view
class MemberView:
    """A connected member of a group."""

    client: str
    channel: str
    language: str
    version: str
    """The version that the SDK states: `V5_3_3` of a remoting client, `5.0.7` of a gRPC client."""
    _: KW_ONLY
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


@frozen_view
class GroupView:
    """A consumer group; with `exists` False all else is empty."""

    name: str
    exists: bool
    consume_enable: bool
    orderly: bool
    _: KW_ONLY
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

    def __str__(self) -> str:
        """Return one line: the name, the members, their subscriptions, and hindrances such as disabled consumption."""
        if not self.exists:
            return f"{self.name}  there is no such group"
        members = ", ".join(member.client for member in self.members) or "no members"
        own = (f"{each.topic} `{each.expression}`" for each in self.subscriptions if not is_retry(each.topic))
        subscribed = ", ".join(own) or "no subscriptions"
        disagree = f"; members disagree on {', '.join(self.disagreements)}" if self.disagreements else ""
        return f"{self.name}  {members}; {subscribed}{disagree}{'' if self.consume_enable else '; consume disabled'}"


class GroupInspection:
    """Reads the groups of all brokers."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def names(self) -> list[str]:
        """Return the names of all consumer groups that clients or administrators have created."""
        found: set[str] = set()
        for broker in stores_of(self._parts.brokers).values():
            found.update(name for name in broker.groups.table if name not in PREDEFINED_GROUPS)
            found.update(broker.clients.consumers)
        return sorted(found)

    def one(self, name: str) -> GroupView:
        """Return a group, see `Inspection.group`."""
        brokers = list(stores_of(self._parts.brokers).values())
        configs = [config for broker in brokers if (config := broker.groups.find(name)) is not None]
        registered = [group for broker in brokers if (group := broker.clients.consumers.get(name)) is not None]
        members = self._members(brokers, name)
        exists = bool(configs or registered)  # a gRPC client registers before the broker creates its group
        config = configs[0] if configs else GroupConfig(name, consume_enable=exists, retry_max_times=16 * exists)
        return GroupView(
            name=name,
            exists=exists,
            consume_enable=exists and all(each.consume_enable for each in configs),
            orderly=config.consume_message_orderly,
            retry_max_times=config.retry_max_times,
            members=members,
            subscriptions=_subscriptions(registered, brokers, name),
            disagreements=_disagreements(members),
            too_slow_on=tuple(broker.name for broker in brokers if name in broker.slow_group_guard.slow_groups()),
            forbidden=tuple(sorted({topic for broker in brokers for topic in broker.groups.forbidden.get(name, ())})),
        )

    def _members(self, brokers: Iterable[Broker], name: str) -> tuple[MemberView, ...]:
        """Return the members of a group, each once, although a remoting client registers at each broker.

        A group may have thousands of members, so nothing is computed for each that several have in common.
        """
        newest: dict[str, tuple[str, str, Member]] = {}
        registered: dict[str, tuple[str, ...]] = {}
        for broker in brokers:
            group = broker.clients.consumers.get(name)
            if group is None:
                continue
            kind, own = group.kind.name, (broker.name,)
            for channel, member in group.members.items():
                client = member.client_id
                before = newest.get(client)
                registered[client] = own if before is None else (*registered[client], broker.name)
                if before is None or before[2].last_update_ms < member.last_update_ms:
                    newest[client] = (kind, channel, member)
        versions: dict[int, str] = {}
        return tuple(
            MemberView(
                client,
                channel,
                *self._sdk(channel, member, versions),
                protocol="grpc" if member.through_proxy else "remoting",
                since_ms=member.since_ms,
                last_heartbeat_ms=member.last_update_ms,
                kind=kind,
                consume_from=member.consume_from_where,
                subscriptions=tuple([_subscription(each) for each in member.subscriptions.values()]),
                brokers=registered[client],
            )
            for client, (kind, channel, member) in newest.items()
        )

    def _sdk(self, channel: str, member: Member, versions: dict[int, str]) -> tuple[str, str]:
        """Return language and version of a member's SDK. `versions`: the versions that are known by their numbers.

        The proxy registers its clients with a version of RocketMQ (ClientActivity.parseClientVersion, 5.3.3), which
        mqadmin shows. The SDK states its own in its settings.
        """
        seen = self._parts.history.clients.on(channel) if member.through_proxy else None
        if seen is not None:
            return seen.language, seen.version
        version = versions.get(member.version)
        if version is None:
            version = versions[member.version] = sdk_version(member.version)
        return member.language, version


def _subscription(data: SubscriptionData) -> SubscriptionView:
    return SubscriptionView(data.topic, data.sub_string, data.expression_type or TAG, data.sub_version)


def _subscriptions(
    registered: Iterable[ConsumerGroup], brokers: Iterable[Broker], name: str
) -> tuple[SubscriptionView, ...]:
    """Return the subscriptions that the brokers use, by topic: of members, or else of requests of the group."""
    found: dict[str, SubscriptionData] = {}
    for group in registered:
        for topic, data in group.subscriptions.items():
            if topic not in found or found[topic].sub_version < data.sub_version:
                found[topic] = data
    for broker in brokers:
        for data in broker.clients.compensated(name):
            found.setdefault(data.topic, data)
    return tuple(_subscription(found[topic]) for topic in sorted(found))


def _disagreements(members: Sequence[MemberView]) -> tuple[str, ...]:
    """Return the topics to which members subscribe differently, or only some of them; retry topics do not count."""
    expressions: dict[str, list[tuple[str, str]]] = {}
    for member in members:
        for each in member.subscriptions:
            expressions.setdefault(each.topic, []).append((each.expression, each.kind))
    return tuple(
        sorted(
            topic
            for topic, found in expressions.items()
            if (len(found) < len(members) or len(set(found)) > 1) and not is_retry(topic)
        )
    )
