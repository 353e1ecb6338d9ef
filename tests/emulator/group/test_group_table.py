"""The table of subscription groups: creation at first use, permissions, deletion, and the version of the table."""

from collections.abc import Callable

import pytest
from engine_harness import START_MS, EngineHarness
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.group.group_table import GroupTable
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.message.names import PREDEFINED_GROUPS
from rocketmq_testkit.emulator.operations.groups import GroupConfig

LMQ_GROUP = "%LMQ%g"


def table_of(**keys: object) -> GroupTable:
    config = BrokerConfig()
    for name, value in keys.items():
        setattr(config, name, value)
    return GroupTable(config, Scheduler(START_MS))


def test_a_new_table_has_the_predefined_groups() -> None:
    assert list(table_of().table) == list(PREDEFINED_GROUPS)


@pytest.mark.parametrize(
    ("group", "keys", "created"),
    [
        ("orders", {}, True),
        ("bad group!", {}, False),
        ("orders", {"auto_create_subscription_group": False}, False),
        ("CID_RMQ_SYS_x", {"auto_create_subscription_group": False}, True),
        ("CID_RMQ_SYS_x", {"auto_create_subscription_group": False, "enable_create_sys_group": False}, False),
    ],
)
def test_a_group_is_created_at_first_use_if_name_and_configuration_allow_it(
    group: str, keys: dict[str, object], created: bool
) -> None:
    """Groups of the system have a key of their own."""
    table = table_of(**keys)
    assert table.find(group) is None
    expected = GroupConfig(group) if created else None
    assert table.find_or_create(group) == expected
    assert table.find(group) == expected


def test_a_missing_group_that_may_not_be_created_is_an_error() -> None:
    with pytest.raises(EngineError, match=r"subscription group \[g\] does not exist") as refused:
        table_of(auto_create_subscription_group=False).get("g")
    assert refused.value.code is ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST


def test_a_group_whose_consumption_is_disabled_exists_but_may_not_consume() -> None:
    table = table_of()
    table.put(GroupConfig("g", retry_max_times=3))
    assert table.get_enabled("g").retry_max_times == 3
    assert table.disable_consume("g")
    assert table.get("g") == GroupConfig("g", consume_enable=False, retry_max_times=3)
    with pytest.raises(EngineError, match="subscription group no permission, g") as refused:
        table.get_enabled("g")
    assert (refused.value.code, refused.value.details) == (ResponseCode.NO_PERMISSION, {"forbidden_type": 2})


def test_with_lmq_each_group_with_an_lmq_name_exists_and_cannot_be_changed() -> None:
    assert table_of(auto_create_subscription_group=False).find_or_create(LMQ_GROUP) is None
    table = table_of(auto_create_subscription_group=False, enable_lmq=True)
    table.put(GroupConfig(LMQ_GROUP, retry_max_times=3))
    assert table.get(LMQ_GROUP) == GroupConfig(LMQ_GROUP)
    assert (LMQ_GROUP in table.table, table.version_counter) == (False, 0)


@pytest.mark.parametrize(
    ("change", "counted"),
    [
        (lambda table: table.put(GroupConfig("g")), 1),
        (lambda table: table.find_or_create("new"), 1),
        (lambda table: table.find_or_create("known"), 0),
        (lambda table: table.disable_consume("known"), 1),
        (lambda table: table.disable_consume("none"), 0),
        (lambda table: table.forbid("known", "T"), 1),
        (lambda table: table.allow("known"), 0),
        (lambda table: table.delete("known"), 1),
        (lambda table: table.delete("none"), 0),
    ],
)
def test_each_change_raises_the_version(change: Callable[[GroupTable], object], counted: int) -> None:
    """A call that changes nothing does not, so that slaves and tools see no new version."""
    scheduler = Scheduler(START_MS)
    table = GroupTable(BrokerConfig(), scheduler)
    table.put(GroupConfig("known"))
    scheduler.advance_to(START_MS + 5)
    change(table)
    assert (table.version_counter, table.version_timestamp) == (1 + counted, START_MS + 5 * counted)


def test_a_group_may_not_read_its_forbidden_topics_until_all_are_allowed() -> None:
    table = table_of()
    table.put(GroupConfig("g"))
    for topic in ("A", "B"):
        table.forbid("g", topic)
    assert [table.may_read("g", topic) for topic in ("A", "B", "C")] == [False, False, True]
    assert table.may_read("other", "A")
    table.allow("g")
    assert table.may_read("g", "A")
    assert table.may_read("g", "B")


def test_an_allowed_topic_changes_no_version_and_is_forbidden_again_after_a_crash() -> None:
    """A crash brings back what was allowed since the last write of the file, which any other change writes.

    Source: SubscriptionGroupManager.updateForbiddenValue (5.3.3).
    """
    table = table_of()
    table.forbid("g", "A")
    counted = table.version_counter
    table.allow("g")
    assert (table.may_read("g", "A"), table.version_counter) == (True, counted)
    table.recover()
    assert (table.may_read("g", "A"), table.version_counter) == (False, counted)
    table.allow("g")
    table.put(GroupConfig("other"))
    table.recover()
    assert table.may_read("g", "A")


def test_a_disabled_group_is_enabled_again_after_a_crash() -> None:
    """Source: SubscriptionGroupManager.disableConsume (5.3.3), which writes no file."""
    table = table_of()
    table.put(GroupConfig("g"))
    counted = table.version_counter
    table.disable_consume("g")
    table.recover()
    assert (table.get("g").consume_enable, table.version_counter) == (True, counted)
    table.disable_consume("g")
    table.write()
    table.recover()
    assert not table.get("g").consume_enable


def test_a_broker_writes_its_groups_when_it_stops_gracefully(harness: EngineHarness) -> None:
    """A graceful restart keeps that a topic was allowed, and a crash without a write before does not."""
    groups = harness.broker.groups
    groups.forbid("g", "A")
    groups.allow("g")
    harness.broker.restart()
    assert groups.may_read("g", "A")
    groups.forbid("g", "A")
    groups.allow("g")
    harness.broker.crash()
    assert not groups.may_read("g", "A")


def test_a_deletion_is_reported_once_and_also_deletes_forbidden_topics() -> None:
    deleted: list[str] = []
    table = GroupTable(BrokerConfig(), Scheduler(START_MS), deleted.append)
    table.put(GroupConfig("g"))
    table.forbid("g", "A")
    assert [table.delete("g"), table.delete("g")] == [True, False]
    assert (table.find("g"), table.may_read("g", "A"), deleted) == (None, True, ["g"])


def test_a_copy_has_the_groups_and_the_version_of_the_other_table_and_its_own_forbidden_topics() -> None:
    master, slave = table_of(), table_of()
    for name in ("a", "b"):
        master.put(GroupConfig(name))
    slave.put(GroupConfig("only here"))
    slave.forbid("a", "T")
    slave.copy_from(master)
    assert (slave.table, slave.version_counter) == (master.table, 2)
    assert not slave.may_read("a", "T")
    master.delete("a")
    assert slave.find("a") == GroupConfig("a")


def test_a_restored_table_keeps_groups_created_at_the_start() -> None:
    """The file of a previous run may not have them."""
    table = table_of()
    table.restore({"g": GroupConfig("g")}, {"g": {"T"}}, (7, START_MS - 1))
    assert list(table.table) == [*PREDEFINED_GROUPS, "g"]
    assert not table.may_read("g", "T")
    assert (table.version_counter, table.version_timestamp) == (7, START_MS - 1)
