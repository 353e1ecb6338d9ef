"""The decorators `value`, `frozen_value` and `parts` for classes that only have fields."""

import inspect
import pydoc
from dataclasses import field, fields, replace

import pytest
from rocketmq_testkit.emulator.kernel.value_class import LazySignature, frozen_value, parts, value


@value
class Range:
    """A class with each kind of field."""

    first: int
    last: int = 9
    seen: list[int] = field(default_factory=list)
    label: str = field(default="range", init=False)
    size: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.size = self.last - self.first + 1


@frozen_value
class Place:
    """A class whose objects can be keys of a dictionary."""

    topic: str
    queue_id: int = 0


@parts
class Room:
    """A class with keyword arguments only."""

    name: str
    services: dict[str, int] = field(default_factory=dict)


@parts
class PopRoom(Room):
    """A class that adds a field to those of its base."""

    pops: int


def test_fields_have_the_given_values_and_the_defaults_of_their_declarations() -> None:
    given = Range(1, seen=[4])
    assert (given.first, given.last, given.seen, given.label, given.size) == (1, 9, [4], "range", 9)


def test_each_object_has_a_mutable_default_of_its_own() -> None:
    one, other = Range(1), Range(1)
    one.seen.append(4)
    assert other.seen == []


@pytest.mark.parametrize("arguments", [(), (1, 2, [], "label")])
def test_missing_and_surplus_arguments_raise_type_error_before_and_after_the_first_object(
    arguments: tuple[object, ...],
) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=r"Range\.__init__\(\)"):
            Range(*arguments)  # type: ignore[arg-type]  # the mistake
        Range(1)


def test_objects_of_one_class_with_equal_compared_fields_are_equal() -> None:
    assert Range(1) == Range(1) != Range(2)
    assert Place("orders") == Place("orders", 0)


def test_only_frozen_values_have_a_hash_which_is_that_of_equal_values() -> None:
    assert {Place("orders"), Place("orders"), Place("orders", 1)} == {Place("orders"), Place("orders", 1)}
    with pytest.raises(TypeError, match="unhashable"):
        hash(Range(1))


def test_the_representation_omits_fields_that_are_declared_as_hidden() -> None:
    assert repr(Range(1)) == "Range(first=1, last=9, seen=[], label='range')"


def test_parts_take_keyword_arguments_only_and_those_of_their_base() -> None:
    room = PopRoom(name="pop", pops=3)
    assert (room.name, room.services, room.pops) == ("pop", {}, 3)
    assert Room(name="pull") != Room(name="pull")
    with pytest.raises(TypeError, match="positional"):
        PopRoom("pop", 3)  # type: ignore[call-arg, arg-type]  # the mistake


def test_fields_and_replace_of_the_standard_library_work() -> None:
    assert [each.name for each in fields(Place)] == ["topic", "queue_id"]
    assert replace(Place("orders", 1), topic="bills") == Place("bills", 1)
    assert not hasattr(Place("orders"), "__dict__")


def test_a_lazy_signature_is_that_of_the_fields_before_and_after_the_first_object() -> None:
    """`help` shows this signature as well. A subclass has the signature of all its fields."""

    @frozen_value
    class Called:
        __signature__ = LazySignature()
        how: str
        copies: int = 1

    @frozen_value
    class CalledLater(Called):
        delay: str = "1s"

    assert "Called(how: str, copies: int = 1)" in pydoc.plain(pydoc.render_doc(Called))
    assert "*args" not in pydoc.plain(pydoc.render_doc(CalledLater))
    for _ in range(2):
        assert str(inspect.signature(Called)) == "(how: str, copies: int = 1)"
        assert str(inspect.signature(CalledLater)) == "(how: str, copies: int = 1, delay: str = '1s')"
        assert (Called("close").copies, CalledLater("close", delay="2s").delay) == (1, "2s")
