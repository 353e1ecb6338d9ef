"""ACL policies: the actions that a user may perform on resources, and the precedence of policy entries.

Source: Acl, Policy, PolicyEntry, Resource, AclAuthorizationHandler, IPAddressUtils (5.3.3).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from ipaddress import ip_address
from typing import TypeVar

from ..kernel.value_class import value
from ..message.names import RETRY_PREFIX, is_retry

E = TypeVar("E", bound=Enum)


class ResourceType(Enum):
    """Type of a resource."""

    UNKNOWN = "Unknown"
    ANY = "Any"
    CLUSTER = "Cluster"
    NAMESPACE = "Namespace"
    TOPIC = "Topic"
    GROUP = "Group"


class Pattern(Enum):
    """Pattern by which a resource name matches."""

    ANY = "*"
    LITERAL = ""
    PREFIXED = "prefix*"


class Action(Enum):
    """Action on a resource."""

    UNKNOWN = "Unknown"
    ALL = "All"
    ANY = "Any"
    PUB = "Pub"
    SUB = "Sub"
    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"
    GET = "Get"
    LIST = "List"


class Decision(Enum):
    """Decision of a policy entry."""

    ALLOW = "Allow"
    DENY = "Deny"


class PolicyType(Enum):
    """Policy type, in order of precedence: Default entries count only if no Custom entry matches."""

    CUSTOM = "Custom"
    DEFAULT = "Default"


def by_name(kind: type[E], name: str | None) -> E | None:
    """Return the enum member with a value, ignoring case; None if there is none."""
    wanted = (name or "").lower()
    return next((member for member in kind if member.value.lower() == wanted), None)


@value
class Resource:
    """A topic, a group or a cluster, or several by a pattern. `name` is None if every name matches."""

    kind: ResourceType
    name: str | None
    pattern: Pattern = Pattern.LITERAL

    @classmethod
    def parse(cls, key: str | None) -> "Resource | None":
        """Parse `Topic:orders`, `Group:shop*`, `Cluster:*` or `*`; None for other texts."""
        if not (key or "").strip():
            return None
        if key == "*":
            return cls(ResourceType.ANY, None, Pattern.ANY)
        word, _, name = str(key).partition(":")
        kind = by_name(ResourceType, word)
        if kind is None:
            return None
        if name == "*":
            return cls(kind, None, Pattern.ANY)
        if name.endswith("*"):
            return cls(kind, name.partition("*")[0], Pattern.PREFIXED)
        return cls(kind, name)

    @property
    def key(self) -> str:
        """The resource in the form that `parse` reads."""
        if self.kind is ResourceType.ANY:
            return "*"
        name = "null" if self.name is None else self.name
        tail = {Pattern.ANY: "*", Pattern.LITERAL: name, Pattern.PREFIXED: f"{name}*"}[self.pattern]
        return f"{self.kind.value}:{tail}"

    def covers(self, other: "Resource") -> bool:
        """True if this resource equals or matches another one, which has no pattern."""
        if self.kind is ResourceType.ANY:
            return True
        if self.kind is not other.kind:
            return False
        if self.pattern is Pattern.PREFIXED:
            return (other.name or "").startswith(self.name or "")
        return self.pattern is Pattern.ANY or self.name == other.name


def topic_resource(name: str | None) -> Resource:
    """Return a topic as a resource."""
    return Resource(ResourceType.TOPIC, name)


def group_resource(name: str | None) -> Resource:
    """Return a group as a resource, by its own name or by that of its retry topic."""
    if name is not None and is_retry(name):
        name = name.removeprefix(RETRY_PREFIX)
    return Resource(ResourceType.GROUP, name)


@value
class PolicyEntry:
    """A policy entry: a decision for actions on a resource. `sources` are addresses and ranges; empty means any."""

    resource: Resource
    actions: tuple[Action, ...]
    sources: tuple[str, ...]
    decision: Decision

    def matches(self, resource: Resource, actions: Iterable[Action], source: str) -> bool:
        """True if the entry applies to one of these actions on a resource, from an address."""
        return (
            self.resource.covers(resource)
            and any(action in self.actions or Action.ALL in self.actions for action in actions)
            and (not self.sources or any(_within(source, each) for each in self.sources))
        )


@value
class Policy:
    """The policy entries of one type."""

    kind: PolicyType
    entries: tuple[PolicyEntry, ...]

    def updated(self, entries: Iterable[PolicyEntry]) -> "Policy":
        """Return the policy with added entries, which replace entries of the same resource."""
        mine = list(self.entries)
        for entry in entries:
            indexes = [index for index, old in enumerate(mine) if old.resource == entry.resource]
            if indexes:
                mine[indexes[0]] = entry
            else:
                mine.append(entry)
        return replace(self, entries=tuple(mine))


@value
class Acl:
    """The ACL of a user: all policies."""

    policies: tuple[Policy, ...]

    def policy(self, kind: PolicyType) -> Policy | None:
        """Return the first policy of a type, or None."""
        return next((policy for policy in self.policies if policy.kind is kind), None)

    def updated(self, policies: Iterable[Policy]) -> "Acl":
        """Return the ACL with added policies, whose entries replace those of the same type and resource."""
        mine = self
        for policy in policies:
            old = mine.policy(policy.kind)
            mine = Acl((*mine.policies, policy)) if old is None else mine._with(old, old.updated(policy.entries))
        return mine

    def without_entry(self, kind: PolicyType, resource: Resource) -> "Acl":
        """Return the ACL without the first entry of a type and resource."""
        old = self.policy(kind)
        index = next((n for n, each in enumerate(old.entries) if each.resource == resource), None) if old else None
        if old is None or index is None:
            return self
        left = old.entries[:index] + old.entries[index + 1 :]
        if left:
            return self._with(old, replace(old, entries=left))
        return Acl(tuple(policy for policy in self.policies if policy is not old))

    def decisive_entry(self, resource: Resource, actions: Sequence[Action], source: str) -> PolicyEntry | None:
        """Return the entry that decides on an action on a resource from an address, or None if no entry matches."""
        for kind in PolicyType:
            policy = self.policy(kind)
            if policy is not None:
                found = [entry for entry in policy.entries if entry.matches(resource, actions, source)]
                if found:
                    return _first(found)
        return None

    def _with(self, old: Policy, new: Policy) -> "Acl":
        return Acl(tuple(new if policy is old else policy for policy in self.policies))


def _first(entries: Iterable[PolicyEntry]) -> PolicyEntry:
    """Return the entry that upstream's sort puts first.

    Upstream's comparison is inconsistent: of two entries with different patterns, its first operand comes first. If
    that operand has the pattern for any name, only the decisions count instead. The result therefore depends on Java's
    sort, which is imitated here. It takes the initial run, reverses it if it is descending, and adds the other entries
    by binary insertion.
    """
    mine = list(entries)
    run = 2
    if len(mine) > 1 and _order(mine[1], mine[0]) < 0:
        while run < len(mine) and _order(mine[run], mine[run - 1]) < 0:
            run += 1
        mine[:run] = mine[:run][::-1]
    else:
        while run < len(mine) and _order(mine[run], mine[run - 1]) >= 0:
            run += 1
    for start in range(run, len(mine)):
        pivot, left, right = mine[start], 0, start
        while left < right:
            middle = (left + right) // 2
            if _order(pivot, mine[middle]) < 0:
                right = middle
            else:
                left = middle + 1
        mine.insert(left, mine.pop(start))
    return mine[0]


def _order(one: PolicyEntry, other: PolicyEntry) -> int:
    """Compare two entries; below 0: the first has precedence. Shorter prefixes come first, then Allow before Deny."""
    mine, its = one.resource, other.resource
    if mine.kind is not its.kind:
        if ResourceType.ANY in (mine.kind, its.kind):
            return 1 if mine.kind is ResourceType.ANY else -1
    elif mine.pattern is not its.pattern:
        if mine.pattern is not Pattern.ANY:
            return -1
    elif mine.pattern is Pattern.PREFIXED and len(mine.name or "") != len(its.name or ""):
        return -1 if len(mine.name or "") < len(its.name or "") else 1
    if one.decision is Decision.DENY:
        return 1
    return -1 if other.decision is Decision.DENY else 0


def _within(address: str, source: str) -> bool:
    """True if an address equals another, or is in a range."""
    base, slash, bits = source.partition("/")
    if not slash:
        return address == source
    first = ip_address(base)
    size = 1 << (first.max_prefixlen - int(bits))
    low = int(first) // size * size
    return low <= int(ip_address(address)) < low + size
