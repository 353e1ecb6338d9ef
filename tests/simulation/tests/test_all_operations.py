"""The simulation of all operations: no operation is missing, CI executes each, and its model finds planted defects.

SEED=n runs one seed, SEEDS=n runs n seeds, in addition to the schedules of CI.
"""

import importlib
import os
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import all_operations
import pytest
from all_operations import DRAWN, LEFT_OUT, OF_CLIENTS, OPERATIONS_IN_CI, failure, plan
from rocketmq_testkit.emulator import operations
from rocketmq_testkit.emulator.auth.user_table import UserTable
from rocketmq_testkit.emulator.cluster.name_server import NameServer
from rocketmq_testkit.emulator.gate.call import Call, Node, Outcome
from rocketmq_testkit.emulator.gate.gate import Gate
from rocketmq_testkit.emulator.group.group_table import GroupTable
from rocketmq_testkit.emulator.group.offset_table import OffsetTable
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.tools import GetBrokerEpochCache
from rocketmq_testkit.emulator.pop.pop_retry_writer import PopRetryWriter
from rocketmq_testkit.emulator.store.message_store import MessageStore
from rocketmq_testkit.emulator.topic.topic_table import TopicTable
from schedule_record import FIRST_OPERATIONS
from short_schedules import report
from simulation import VERBS

SEEDS = [int(os.environ["SEED"])] if "SEED" in os.environ else range(int(os.environ.get("SEEDS", "10")))
SAMPLE = range(FIRST_OPERATIONS, FIRST_OPERATIONS + OPERATIONS_IN_CI)
"""The schedules that run in CI."""
EXECUTE_EACH = 60
"""Number of the first schedules of CI, which together execute each operation."""
BLOCK = 35
"""Number of the other schedules that one test runs."""
NEVER_SUCCEEDS = {GetBrokerEpochCache}
"""Operations that every broker without a controller refuses."""
Plant = Callable[[pytest.MonkeyPatch], None]


def all_kinds(kind: type[Operation] = Operation) -> Iterator[type[Operation]]:
    """Yield all classes of operations of the engine."""
    for module in pkgutil.iter_modules(operations.__path__, f"{operations.__name__}."):
        importlib.import_module(module.name)
    for each in kind.__subclasses__():
        if each.__module__.startswith(operations.__name__):
            yield each
        yield from all_kinds(each)


def test_each_operation_is_drawn_or_left_out_with_a_reason() -> None:
    """A new operation needs an entry in a table of the simulation."""
    assert {kind.__name__ for kind in all_kinds()} == {kind.__name__ for kind in (*DRAWN, *LEFT_OUT)}
    assert not DRAWN & LEFT_OUT.keys()
    assert all(LEFT_OUT.values())
    assert set(OF_CLIENTS.values()) <= VERBS.keys()


def test_the_first_schedules_of_ci_execute_each_operation_without_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each drawn operation ends with a result in some schedule, unless every broker refuses it."""
    done: set[type[Operation]] = set()
    respond = Gate._respond

    def noted(  # noqa: PLR0917 - replaces a method that is called by position
        self: Gate, node: Node, call: Call, operation: Operation, outcome: Outcome
    ) -> None:
        if type(operation) in NEVER_SUCCEEDS or not isinstance(outcome, EngineError):
            done.add(type(operation))
        respond(self, node, call, operation, outcome)

    monkeypatch.setattr(Gate, "_respond", noted)
    reports = [text for number in SAMPLE[:EXECUTE_EACH] if (text := report(number))]
    assert not reports, "\n\n".join(reports)
    assert {kind.__name__ for kind in DRAWN - done} == set()


@pytest.mark.parametrize("begin", range(EXECUTE_EACH, OPERATIONS_IN_CI, BLOCK))
def test_no_other_schedule_of_ci_violates_the_model(begin: int) -> None:
    reports = [text for number in SAMPLE[begin : begin + BLOCK] if (text := report(number))]
    assert not reports, "\n\n".join(reports)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_seed_violates_the_model(seed: int) -> None:
    assert all_operations.report(seed) == ""


def the_messages_of_a_deleted_topic_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MessageStore, "delete_topic", lambda *_: None)


def the_offsets_of_a_deleted_topic_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OffsetTable, "delete_topic", lambda *_: None)


def a_deleted_group_keeps_its_forbidden_topics(patch: pytest.MonkeyPatch) -> None:
    delete = GroupTable.delete

    def keeping(self: GroupTable, group: str) -> bool:
        forbidden = self.forbidden.get(group)
        deleted = delete(self, group)
        if forbidden is not None:
            self.forbidden[group] = forbidden
        return deleted

    patch.setattr(GroupTable, "delete", keeping)


def a_clone_adds_to_the_offsets_of_the_group(patch: pytest.MonkeyPatch) -> None:
    def added(self: OffsetTable, source: str, dest: str, topic: str) -> None:
        for queue_id, offset in self.committed.get((source, topic), {}).items():
            self.commit(dest, topic, queue_id, offset)

    patch.setattr(OffsetTable, "clone", added)


def a_pending_reset_is_never_applied(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OffsetTable, "take_reset", lambda *_: None)


def a_message_in_flight_is_not_redelivered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PopRetryWriter, "put", lambda *_, **__: True)


def a_route_keeps_a_permission_after_the_registration_of_its_topic(patch: pytest.MonkeyPatch) -> None:
    register = NameServer.register_topic

    def keeping(self: NameServer, broker: object, topic: str) -> None:
        perms = dict(self._perms)
        register(self, broker, topic)  # type: ignore[arg-type]
        self._perms = perms

    patch.setattr(NameServer, "register_topic", keeping)


def a_query_of_statistics_registers_the_topic_again(patch: pytest.MonkeyPatch) -> None:
    find = TopicTable.find

    def touching(self: TopicTable, topic: str) -> object:
        self.version_counter += topic in self.table
        return find(self, topic)

    patch.setattr(TopicTable, "find", touching)


class Find(NamedTuple):
    """A part of the error that a defect causes, and a schedule of CI at or soon before the first one with that error.

    The earlier schedules are left out because they take time. In others, the oracle of the clients finds the same
    defect first, with another error.
    """

    error: str
    begin: int = 0


DEFECTS: Mapping[Plant, Find] = {
    the_messages_of_a_deleted_topic_stay: Find("end of side-", begin=26),
    the_offsets_of_a_deleted_topic_stay: Find("offsets: "),
    a_deleted_group_keeps_its_forbidden_topics: Find("forbidden topics: ", begin=59),
    a_clone_adds_to_the_offsets_of_the_group: Find("offsets: ", begin=52),
    a_pending_reset_is_never_applied: Find("is committed at"),
    a_message_in_flight_is_not_redelivered: Find("lost by"),
    a_route_keeps_a_permission_after_the_registration_of_its_topic: Find("routes: "),
    a_query_of_statistics_registers_the_topic_again: Find("changes topics from"),
}


@pytest.mark.parametrize("plant", DEFECTS, ids=lambda plant: plant.__name__)
def test_a_defect_of_an_operation_is_found(monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    plant(monkeypatch)
    find = DEFECTS[plant]
    errors = (failure(*plan(number)) for number in SAMPLE[find.begin :])

    assert next((error for error in errors if find.error in error), "").startswith("Violation: ")


def test_an_internal_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in a handler is no response code."""
    monkeypatch.setattr(UserTable, "stores_users", property(lambda self: dict[str, bool]()["bug"]))
    assert failure(*plan(SAMPLE[0])).startswith("KeyError: ")
