"""Idle consumers: why a group or a client receives no messages at this moment.

The explanation first names the causes that concern the whole group: its configuration, its subscriptions, brokers. The
state of each member follows: its queues, its requests, its messages in flight.
"""

from collections.abc import Sequence

from ..inspection.groups import GroupView
from ..kernel.nearest_name import nearest_of
from .departure import departure_text
from .explanation import IdleExplanation
from .facts import Change, ChangeAction, Fact
from .idle_clause import IdleClause
from .idle_groups import group_clauses
from .idle_members import MemberStates
from .idle_passed import passed_clauses
from .scene import Scene

MEMBERS_MAX = 5
"""The most members of a group that an explanation describes; it counts the others."""


class IdleConsumers:
    """Explains idle groups and clients of a scene. Unknown names are explained, too."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._members = MemberStates(scene)

    def group(self, name: str) -> IdleExplanation:
        """Explain why a group is idle."""
        group = self._scene.group(name)
        clauses = group_clauses(group, self._scene)
        clauses += [self._members.clause(group, member) for member in group.members[:MEMBERS_MAX]]
        if len(group.members) > MEMBERS_MAX:
            clauses.append(IdleClause(f"it has {len(group.members) - MEMBERS_MAX} more members"))
        clauses += [*self._members.absent(group), *passed_clauses(group, self._scene)]
        return _joined(f"group {name}", clauses)

    def client(self, client_id: str) -> IdleExplanation:
        """Explain why a client is idle."""
        groups = [each for each in self._scene.groups if client_id in {member.client for member in each.members}]
        connections = {each.client for each in self._scene.inspection.connections()}
        if not groups:
            clause = _producer(client_id) if client_id in connections else self._absent(client_id, sorted(connections))
            return _joined(f"client {client_id}", [clause])
        clauses = [clause for group in groups for clause in self._in_group(group, client_id)]
        return _joined(f"client {client_id}", clauses)

    def _absent(self, client_id: str, connected: Sequence[str]) -> IdleClause:
        seen = self._scene.history.clients.named(client_id)
        if seen is None:
            return _unknown(client_id, connected)
        is_connected = self._scene.history.clients.is_connected(client_id)
        when = departure_text(seen.left_ms, self._scene.now_ms, is_connected=is_connected)
        about = ", ".join(filter(None, (seen.sdk, seen.address)))
        values = {"left_ms": seen.left_ms, "is_connected": is_connected, "sdk": seen.sdk, "address": seen.address}
        fact = Fact("client", values)
        return IdleClause(
            f"{client_id} ({about}) {when}", (fact,), (Change(ChangeAction.START, f"start {client_id} again"),)
        )

    def _in_group(self, group: GroupView, client_id: str) -> list[IdleClause]:
        clauses = group_clauses(group, self._scene)
        members = [member for member in group.members if member.client == client_id]
        clauses += [self._members.clause(group, member) for member in members]
        return [*clauses, *passed_clauses(group, self._scene)]


def _producer(client_id: str) -> IdleClause:
    change = Change(ChangeAction.SUBSCRIBE, f"start a consumer in {client_id}", client=client_id)
    return IdleClause(f"{client_id} is connected and is no member of a consumer group", changes=(change,))


def _unknown(client_id: str, connected: Sequence[str]) -> IdleClause:
    nearest = nearest_of(client_id, connected)
    hint = f"; the nearest is {nearest}" if nearest is not None else ""
    count = len(connected)
    fact = Fact("connections", {"number": count, "nearest": nearest})
    sentence = f"no client {client_id} is connected; {count} client{' is' if count == 1 else 's are'}{hint}"
    return IdleClause(
        sentence, (fact,), (Change(ChangeAction.START, "start the client, or wait for its first heartbeat"),)
    )


def _joined(subject: str, clauses: Sequence[IdleClause]) -> IdleExplanation:
    """Join clauses to an explanation; equal changes are listed once."""
    return IdleExplanation(
        subject,
        "; ".join(clause.sentence for clause in clauses),
        tuple(fact for clause in clauses for fact in clause.facts),
        tuple(dict.fromkeys(change for clause in clauses for change in clause.changes)),
    )
