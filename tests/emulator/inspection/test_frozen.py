"""Every object that an inspection, an explanation or a history returns is immutable at run time."""

import copy
import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from typing import Any

import pytest
from rocketmq_testkit.emulator import explanation, history, inspection
from rocketmq_testkit.emulator.inspection.places import Place


def classes() -> Iterator[type[Any]]:
    """Yield the value classes of the rooms inspection and explanation, and of the module `events` of the history."""
    for room in (inspection, explanation, history):
        for found in pkgutil.iter_modules(room.__path__):
            module = importlib.import_module(f"{room.__name__}.{found.name}")
            if room is history and found.name != "events":
                continue
            for each in vars(module).values():
                if isinstance(each, type) and is_dataclass(each) and each.__module__ == module.__name__:
                    yield each


ALL = sorted(classes(), key=lambda each: f"{each.__module__}.{each.__qualname__}")


def test_classes_of_all_rooms_are_found() -> None:
    assert {"QueueView", "CopyView", "ReceiptView", "Explanation", "RecordedEvent"} <= {each.__name__ for each in ALL}


@pytest.mark.parametrize("of", ALL, ids=lambda of: of.__name__)
def test_assignment_or_deletion_of_an_attribute_raises_an_error(of: type[Any]) -> None:
    values = {each.name: None for each in fields(of) if each.init}
    made = of(**values)
    for name in (*values, "new"):
        with pytest.raises(FrozenInstanceError, match=f"{of.__name__}.{name}"):
            setattr(made, name, 1)
        with pytest.raises(FrozenInstanceError, match=f"{of.__name__}.{name}"):
            delattr(made, name)
    assert all(getattr(made, name) is None for name in values)


def test_view_can_be_copied_pickled_and_replaced() -> None:
    place = Place("broker-a", "orders", 0, 1, physical_offset=2)
    assert copy.deepcopy(place) == copy.copy(place) == pickle.loads(pickle.dumps(place)) == place
    assert replace(place, queue_id=3) == Place("broker-a", "orders", 3, 1, physical_offset=2)
