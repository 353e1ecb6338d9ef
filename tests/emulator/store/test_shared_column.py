"""Columns of consume queues that forks share: each has the same numbers as a list with the same changes."""

import random
from array import array
from bisect import bisect_left

import pytest
from rocketmq_testkit.emulator.store.consume_queue import ConsumeQueue
from rocketmq_testkit.emulator.store.shared_column import SharedColumn, fork_column

Pair = tuple["array[int] | SharedColumn", list[int]]


def checked(column: "array[int] | SharedColumn", expected: list[int], chance: random.Random) -> None:
    """Compare all ways to read a column with a list."""
    assert len(column) == len(expected)
    assert bool(column) is bool(expected)
    assert list(column) == list(column[:]) == expected
    assert list(reversed(column)) == expected[::-1]
    first, stop = chance.randint(-2, len(expected) + 2), chance.randint(-2, len(expected) + 2)
    assert list(column[first:stop]) == expected[first:stop]
    assert list(column[first::3]) == expected[first::3]
    for at in range(-len(expected), len(expected)):
        assert column[at] == expected[at]
    for at in (len(expected), -len(expected) - 1):
        with pytest.raises(IndexError):
            column[at]
    wanted = chance.randint(0, 300)
    assert bisect_left(column, wanted) == bisect_left(expected, wanted)


@pytest.mark.parametrize("seed", range(20))
def test_each_column_of_a_family_has_only_its_own_and_inherited_numbers(seed: int) -> None:
    """Columns append numbers, and are forked, in random order."""
    chance = random.Random(seed)
    family: list[Pair] = [(array("q"), [])]
    for _ in range(60):
        column, expected = chance.choice(family)
        if chance.random() < 0.4 and len(family) < 12:
            family.append((fork_column(column), expected.copy()))
        elif chance.random() < 0.5:
            number = chance.randint(0, 300)
            column.append(number)
            expected.append(number)
        else:
            numbers = [chance.randint(0, 300) for _ in range(chance.randint(0, 4))]
            column.extend(numbers)
            expected.extend(numbers)
    for column, expected in family:
        checked(column, expected, chance)


def test_columns_with_equal_numbers_are_equal() -> None:
    own = array("i", [1, 2, 3])
    column = fork_column(own)
    assert column == own
    assert column == fork_column(column)
    own.append(4)
    assert column != own
    assert column != [1, 2, 3]


def test_a_queue_that_was_forked_can_remove_its_units() -> None:
    """Truncation and deletion of units in the parent do not change the fork's units, and the reverse."""
    parent = ConsumeQueue("T", 0)
    for number in range(6):
        parent.append(number * 100, 100, number)
    child = parent.fork()
    parent.trim(250)
    assert (parent.first, list(parent.physical)) == (3, [300, 400, 500])
    child.truncate(350)
    assert (child.first, list(child.physical)) == (0, [0, 100, 200, 300])
    grandchild = child.fork()
    child.append(900, 100, 9)
    grandchild.trim(250)
    parent.truncate(450)
    assert list(parent.tags_codes) == [3, 4]
    assert list(child.tags_codes) == [0, 1, 2, 3, 9]
    assert list(grandchild.tags_codes) == [3]
