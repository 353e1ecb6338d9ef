"""Operations and results as classes: one handler and one name each, and no field outside the declared ones."""

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterator

import pytest
from engine_harness import EngineHarness
from rocketmq_testkit.emulator import operations
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.operations.offsets import GetMaxOffset, GetMinOffset


def declared(base: type[Operation] | type[Result]) -> Iterator[type[Operation] | type[Result]]:
    """Yield the operations or results of all modules."""
    for module in pkgutil.iter_modules(operations.__path__):
        importlib.import_module(f"{operations.__name__}.{module.name}")
    for each in base.__subclasses__():
        if each.__module__.startswith(f"{operations.__name__}."):
            yield each
            yield from declared(each)


def test_each_operation_is_handled_by_a_broker_or_the_name_server(harness: EngineHarness) -> None:
    handled = {*harness.broker.handlers, *harness.engine.name_server.handlers}
    assert set(declared(Operation)) - handled == set()


def test_no_two_operations_or_results_have_the_same_name() -> None:
    """Fault rules, the journal and the page of operations name an operation by its class alone."""
    names = Counter(each.__name__ for base in (Operation, Result) for each in set(declared(base)))
    assert [name for name, count in names.items() if count > 1] == []


def test_operations_are_equal_if_class_and_fields_are() -> None:
    others: list[Operation] = [GetMaxOffset("orders", 0), GetMaxOffset("orders", 1), GetMinOffset("orders", 0)]
    assert [GetMaxOffset("orders", 0) == other for other in others] == [True, False, False]


def test_an_operation_has_only_its_declared_fields() -> None:
    """A misspelled field is an error, not a new attribute without effect."""
    with pytest.raises(AttributeError):
        GetMaxOffset("orders", 0).queue = 1  # type: ignore[attr-defined]  # the misspelled name of `queue_id`
