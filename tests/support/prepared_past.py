"""A fake history and a fake inspection that return prepared values, for tests of explanations without a broker.

Other tests check the real ones with an engine.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import SimpleNamespace
from typing import Any

from rocketmq_testkit.emulator.gate.call import GRPC_CHANNEL, is_through_proxy
from rocketmq_testkit.emulator.history.deleted_groups import DeletedGroups
from rocketmq_testkit.emulator.history.events import BrokerEvent, LostMessage, RecordedEvent, RefusedRequest, RuleFiring
from rocketmq_testkit.emulator.history.last_subscriptions import LastSubscriptions
from rocketmq_testkit.emulator.history.seen_clients import SeenClients
from rocketmq_testkit.emulator.inspection.connections import ConnectionView
from rocketmq_testkit.emulator.inspection.groups import GroupView, MemberView, SubscriptionView
from rocketmq_testkit.emulator.inspection.messages import CopyState, CopyView, MessageWithCopies
from rocketmq_testkit.emulator.inspection.places import Place
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message.stored_record import encode, form_of, pack_host

NOON_MS = 1_795_694_400_000
"""2026-11-26 12:00:00 UTC."""
HOST = pack_host(("10.0.0.5", 4711))


@dataclass
class PreparedHistory:
    """Prepared events of the past.

    `deliveries` are by (broker, topic, queue id, queue offset), `states` by broker, and `names` are client ids by
    connection. `since_ms` is the time since which all deliveries are recorded, None if none was dropped.
    """

    deliveries: dict[tuple[str, str, int, int], list[RecordedEvent]] = field(default_factory=dict)
    since_ms: int | None = None
    refusals: list[RefusedRequest] = field(default_factory=list)
    fired: list[RuleFiring] = field(default_factory=list)
    _: KW_ONLY
    lost_messages: list[LostMessage] = field(default_factory=list)
    states: dict[str, list[BrokerEvent]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    clients: SeenClients = field(default_factory=SeenClients)
    deleted_groups: DeletedGroups = field(default_factory=DeletedGroups)
    subscriptions: LastSubscriptions = field(default_factory=LastSubscriptions)

    def of(self, node: str, topic: str, queue_id: int, queue_offset: int) -> list[RecordedEvent]:
        return self.deliveries.get((node, topic, queue_id, queue_offset), [])

    def complete_since_ms(self) -> int | None:
        return self.since_ms

    def client_of(self, channel: str) -> str | None:
        return channel.removeprefix(GRPC_CHANNEL) if is_through_proxy(channel) else self.names.get(channel)

    def refused(self, topic: str | None = None, group: str | None = None) -> Sequence[RefusedRequest]:
        return [each for each in self.refusals if topic in (None, each.topic) and group in (None, each.group)]

    def firings(self) -> Sequence[RuleFiring]:
        return self.fired

    def lost(self) -> Sequence[LostMessage]:
        return self.lost_messages

    def broker_events(self, broker: str) -> Sequence[BrokerEvent]:
        return self.states.get(broker, [])


def prepared_history(**fields: Any) -> Any:
    """Return a history with prepared events."""
    return PreparedHistory(**fields)


def connected(client: str, *, port: int = 4711) -> ConnectionView:
    """Return a connection of a Java client."""
    return ConnectionView(
        client,
        f"channel of {client}",
        "remoting",
        "JAVA",
        version="V5_3_3",
        address=f"10.0.0.5:{port}",
        since_ms=NOON_MS,
        last_heartbeat_ms=NOON_MS,
        groups=(),
    )


def prepared_inspection(**found: Any) -> Any:
    """Return an inspection whose readers return prepared values, by their names; all others return nothing.

    Pass `queues` and `assignments` as mappings by topic, and `groups` as a list, in which `group` finds by name.
    """
    by_name = {name: found.pop(name, {}) for name in ("queues", "assignments")}
    groups: list[GroupView] = found.pop("groups", [])
    readers: dict[str, Any] = {
        name: (lambda value: lambda *_arguments: value)(found.pop(name, []))
        for name in ("topics", "brokers", "connections", "locks", "receipts", "polls")
    }
    assert not found, f"there are no such readers: {sorted(found)}"
    return SimpleNamespace(
        **readers,
        groups=lambda: groups,
        group=lambda name: next((each for each in groups if each.name == name), absent_group(name)),
        queues=lambda topic: by_name["queues"].get(topic, []),
        assignments=lambda group, topic: by_name["assignments"].get(topic, []),
    )


def absent_group(name: str) -> GroupView:
    """Return a group that does not exist."""
    return GroupView(
        name, False, True, False, retry_max_times=16, members=(), subscriptions=(), disagreements=(), forbidden=()
    )


def copy_of(
    state: CopyState,
    topic: str,
    at_ms: int,
    *,
    queue: int = 0,
    offset: int = 0,
    due_ms: int | None = None,
    group: str | None = None,
    retry: int = 0,
    **properties: str,
) -> CopyView:
    """Return a stored copy. Times are ms after noon.

    `due_ms` is the time at which the copy becomes visible, `group` the consumer group that it is for, and `retry` its
    number of redeliveries.
    """
    encoded = props.encode({props.UNIQ_KEY: "ID1", **properties}).encode()
    at = NOON_MS + at_ms
    form = form_of(topic.encode(), len(HOST), len(HOST))
    record = encode(form, queue, 0, offset, 0, 0, at, HOST, at, HOST, retry, 0, b"x", encoded)
    due = None if due_ms is None else NOON_MS + due_ms
    return CopyView(
        Place("broker-a", topic, queue, offset, physical_offset=0),
        state,
        at,
        due,
        group=group,
        retry=retry,
        record=record,
    )


def message_of(*copies: CopyView, topic: str = "orders", **properties: str) -> MessageWithCopies:
    """Return the message `ID1` with its copies."""
    return MessageWithCopies(
        "ID1",
        topic,
        "a",
        ("1001",),
        message_group=None,
        born_at_ms=NOON_MS,
        sender="10.0.0.5:4711",
        properties={props.UNIQ_KEY: "ID1", **properties},
        copies=copies,
    )


def member_of(
    client: str, *topics: str, expression: str = "*", silent_ms: int = 0, protocol: str = "remoting"
) -> MemberView:
    """Return a member that subscribes to topics, `silent_ms` after its last heartbeat."""
    subscriptions = tuple(SubscriptionView(topic, expression, "TAG", 1) for topic in topics)
    return MemberView(
        client,
        f"channel of {client}",
        "JAVA",
        "V5_3_3",
        protocol=protocol,
        since_ms=NOON_MS,
        last_heartbeat_ms=NOON_MS - silent_ms,
        kind="push",
        consume_from="last",
        subscriptions=subscriptions,
    )
