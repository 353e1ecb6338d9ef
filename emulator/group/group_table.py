"""Subscription groups of a broker, created by administrators and at first use.

Source: SubscriptionGroupManager (5.3.3).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..config import BrokerConfig
from ..kernel.errors import FAQ, EngineError
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..message import names
from ..operations.groups import GroupConfig


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupTable:
    """The table of subscription groups. `on_delete` is called with the name of each deleted group."""

    def __init__(
        self, config: BrokerConfig, scheduler: Scheduler, on_delete: Callable[[str], None] | None = None
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self.table: dict[str, GroupConfig] = {name: GroupConfig(name) for name in names.PREDEFINED_GROUPS}
        self.lmq_enabled = config.enable_lmq
        """True if groups with LMQ names exist without being created; they cannot be changed."""
        self.forbidden: dict[str, set[str]] = {}
        """Topics that a group may not read, by group."""
        self.version_counter = 0
        self.version_timestamp = scheduler.now_ms
        self._at_write: tuple[dict[str, GroupConfig], dict[str, set[str]], tuple[int, int]] | None = None
        """Table, forbidden topics and version as of the last write of the file; None if the file has all changes."""
        self._on_delete = on_delete

    def find(self, group: str) -> GroupConfig | None:
        """Return a group, or None if it does not exist. With LMQ enabled, every group with an LMQ name exists."""
        found = self.table.get(group)
        return GroupConfig(group) if found is None and self.lmq_enabled and names.is_lmq(group) else found

    def find_or_create(self, group: str) -> GroupConfig | None:
        """Return a group, created with defaults if auto-creation is allowed and its name is legal; None otherwise."""
        found = self.find(group)
        if found is not None:
            return found
        config = self._config
        allowed = config.auto_create_subscription_group or (
            config.enable_create_sys_group and group.startswith(names.SYSTEM_GROUP_PREFIX)
        )
        if not allowed or not names.is_legal_group(group):
            return None
        created = GroupConfig(group)
        self.put(created)
        return created

    def get(self, group: str) -> GroupConfig:
        """Return a consumer's group, created if allowed. Raises SUBSCRIPTION_GROUP_NOT_EXIST."""
        found = self.table.get(group) or self.find_or_create(group)
        if found is None:
            raise EngineError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group [{group}] does not exist, \n{FAQ}"
            )
        return found

    def get_enabled(self, group: str) -> GroupConfig:
        """Return a consumer's group. Raises as `get` does, and NO_PERMISSION if the group's consumeEnable is off."""
        found = self.get(group)
        if not found.consume_enable:
            raise EngineError(
                ResponseCode.NO_PERMISSION, f"subscription group no permission, {group}", forbidden_type=2
            )
        return found

    def put(self, config: GroupConfig) -> None:
        """Store a configuration; the name is not validated."""
        if self.lmq_enabled and names.is_lmq(config.group_name):
            return
        self.table[config.group_name] = config
        self._touch()
        self.write()

    def disable_consume(self, group: str) -> bool:
        """Disable consuming for a group; False if it is missing. Source: SubscriptionGroupManager.disableConsume.

        Upstream writes no file then, so a crash enables the group again.
        """
        found = self.table.get(group)
        if found is None:
            return False
        self._keep_written()
        self.table[group] = replace(found, consume_enable=False)
        self._touch()
        return True

    def copy_from(self, other: "GroupTable") -> None:
        """Replace the table by a copy of another broker's; forbidden topics stay as they are.

        Both share the configurations, which are replaced and never changed.
        """
        self.table = dict(other.table)
        self.version_counter, self.version_timestamp = other.version_counter, other.version_timestamp
        self.write()

    def restore(
        self, table: Mapping[str, GroupConfig], forbidden: Mapping[str, set[str]], version: tuple[int, int]
    ) -> None:
        """Restore the groups of a previous run. Groups created at start that are missing in `table` stay."""
        self.table |= table
        self.forbidden |= forbidden
        self.version_counter, self.version_timestamp = version
        self.write()

    def write(self) -> None:
        """Treat the current content as written to the file.

        Upstream writes this file with most changes. It never writes it periodically, unlike those of `FileImage`.
        """
        self._at_write = None

    def recover(self) -> None:
        """Recover after a crash: undo the changes that were not written to the file."""
        if self._at_write is not None:
            self.table, self.forbidden, (self.version_counter, self.version_timestamp) = self._at_write
            self._at_write = None

    def _keep_written(self) -> None:
        """Keep the content of the file before a change that is not written to it."""
        if self._at_write is None:
            self._at_write = dict(self.table), dict(self.forbidden), (self.version_counter, self.version_timestamp)

    def delete(self, group: str) -> bool:
        """Delete a group. Returns False if it does not exist."""
        self.allow(group)
        if self.table.pop(group, None) is None:
            return False
        self._touch()
        self.write()
        if self._on_delete is not None:
            self._on_delete(group)
        return True

    def forbid(self, group: str, topic: str) -> None:
        """Forbid a group to pull from a topic to which it is subscribed by heartbeat."""
        self.forbidden.setdefault(group, set()).add(topic)
        self._touch()
        self.write()

    def allow(self, group: str) -> None:
        """Allow a group to read all topics again: like upstream, not only the one that the request names.

        The version stays, and no file is written, so a crash before the next write forbids the topics again.
        Source: SubscriptionGroupManager.updateForbiddenValue (5.3.3).
        """
        if group in self.forbidden:
            self._keep_written()
            del self.forbidden[group]

    def may_read(self, group: str, topic: str) -> bool:
        """True if the group may read the topic."""
        return topic not in self.forbidden.get(group, ())

    def _touch(self) -> None:
        self.version_counter += 1
        self.version_timestamp = self._scheduler.now_ms
