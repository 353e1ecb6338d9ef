"""Connections of clients."""

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, replace

from ..client.client_registry import Member
from ..client.client_text import host_port, sdk_version
from ..cluster.broker import Broker
from ..kernel.value_class import frozen_view

REMOTING, GRPC = "remoting", "grpc"


@frozen_view
class ConnectionView:
    """A connected client."""

    client: str
    channel: str
    protocol: str
    """`remoting` or `grpc`."""
    language: str
    _: KW_ONLY
    version: str
    """The version of the SDK; empty if the client did not send it."""
    address: str
    """`host:port`."""
    since_ms: int
    last_heartbeat_ms: int | None
    groups: tuple[str, ...]


def read_connections(brokers: Iterable[Broker], sessions: Iterable[ConnectionView]) -> list[ConnectionView]:
    """Return the connections of clients to running brokers and to the proxy, by client id and connection.

    A remoting client has one connection to each broker. The session of a gRPC client is one connection; it names the
    version more exactly than the heartbeats that the proxy sends for it.
    """
    found: dict[str, ConnectionView] = {}
    for broker in brokers:
        if broker.running:
            for group, member in _members(broker):
                _add(found, _connection(group, member))
    for session in sessions:
        registered = found.pop(session.channel, None)
        _add(found, session)
        if registered is not None:
            _add(found, registered)
    return sorted(found.values(), key=lambda each: (each.client, each.channel))


def _members(broker: Broker) -> Iterator[tuple[str, Member]]:
    """Yield (group, member) of all producers and consumers."""
    for name, producers in broker.clients.producers.items():
        yield from ((name, member) for member in producers.values())
    for name, group in broker.clients.consumers.items():
        yield from ((name, member) for member in group.members.values())


def _connection(group: str, member: Member) -> ConnectionView:
    return ConnectionView(
        client=member.client_id,
        channel=member.channel.channel_id,
        protocol=GRPC if member.through_proxy else REMOTING,
        language=member.language,
        version=sdk_version(member.version),
        address=host_port(*member.channel.remote_address),
        since_ms=member.since_ms,
        last_heartbeat_ms=member.last_update_ms,
        groups=(group,),
    )


def _add(found: dict[str, ConnectionView], new: ConnectionView) -> None:
    """Add a registration to the connection that it belongs to. The first one decides client, language and version."""
    old = found.get(new.channel)
    if old is None:
        found[new.channel] = new
        return
    beats = [each.last_heartbeat_ms for each in (old, new) if each.last_heartbeat_ms is not None]
    found[new.channel] = replace(
        old,
        since_ms=min(old.since_ms, new.since_ms),
        last_heartbeat_ms=max(beats, default=None),
        groups=tuple(dict.fromkeys((*old.groups, *new.groups))),
    )
