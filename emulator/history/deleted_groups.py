"""Deletions of consumer groups."""

from collections.abc import Iterator

from ..kernel.value_class import frozen_value

GROUPS_MAX = 1_000
"""The maximum number of deleted groups; above it the oldest deletion is removed."""


@frozen_value
class GroupDeletion:
    """The last deletion of a group."""

    at_ms: int
    broker: str
    """The broker that deleted it; of several, the last."""


class DeletedGroups:
    """The last deletion of each group, also of groups that were created again."""

    def __init__(self) -> None:
        self._deletions: dict[str, GroupDeletion] = {}

    def copy(self) -> "DeletedGroups":
        """Return an independent copy."""
        made = DeletedGroups()
        made._deletions = self._deletions.copy()
        return made

    def note(self, group: str, deletion: GroupDeletion) -> None:
        """Record a deletion."""
        self._deletions.pop(group, None)  # so that the newest deletion is the last
        self._deletions[group] = deletion
        if len(self._deletions) > GROUPS_MAX:
            del self._deletions[next(iter(self._deletions))]

    def of(self, group: str) -> GroupDeletion | None:
        """Return the last deletion of a group, None if it is not known."""
        return self._deletions.get(group)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the groups, the group that was deleted last at the end."""
        return iter(list(self._deletions))
