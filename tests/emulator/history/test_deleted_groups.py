"""Deletions of groups in the history: a bounded table with the newest deletion of each group that existed."""

from engine_harness import START_MS, make_harness
from rocketmq_testkit.emulator.history.deleted_groups import GROUPS_MAX, DeletedGroups, GroupDeletion
from rocketmq_testkit.emulator.operations.groups import CreateGroup, DeleteGroup, GroupConfig


def test_deletion_of_a_group_is_noted_with_its_time() -> None:
    harness = make_harness()
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("billing")))
    harness.advance(7)
    harness.engine.execute(harness.broker, DeleteGroup("billing"))
    harness.engine.execute(harness.broker, DeleteGroup("audit"))  # it never existed
    deleted = harness.engine.history.deleted_groups
    assert deleted.of("billing") == GroupDeletion(START_MS + 7, "broker-a")
    assert deleted.of("audit") is None


def test_the_newest_deletion_of_a_group_is_kept_across_a_restart_of_the_broker() -> None:
    """The deletion remains after a restart. A deletion after the restart replaces it."""
    harness = make_harness()
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("billing")))
    harness.engine.execute(harness.broker, DeleteGroup("billing"))
    harness.engine.restart()
    assert harness.engine.history.deleted_groups.of("billing") == GroupDeletion(START_MS, "broker-a")
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("billing")))
    harness.advance(5)
    harness.engine.execute(harness.broker, DeleteGroup("billing"))
    assert harness.engine.history.deleted_groups.of("billing") == GroupDeletion(START_MS + 5, "broker-a")


def test_deletions_are_bounded() -> None:
    """A full table drops the group whose deletion is the oldest."""
    deleted = DeletedGroups()
    for number in range(GROUPS_MAX):
        deleted.note(f"g{number}", GroupDeletion(number, "broker-a"))
    deleted.note("g0", GroupDeletion(GROUPS_MAX, "broker-a"))
    deleted.note("new", GroupDeletion(GROUPS_MAX, "broker-a"))
    names = list(deleted)
    assert (len(names), names[0], names[-2:]) == (GROUPS_MAX, "g2", ["g0", "new"])
