"""A choice of mutants that a seed decides."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from .mutant import Mutant


def sample(rooms: Mapping[str, Sequence[Mutant]], number: int, seed: int) -> list[Mutant]:
    """So many mutants: as many of each room, and in a room as many of each operator, as far as there are any."""
    random = Random(seed)
    queues = {room: _shuffled(mutants, random) for room, mutants in sorted(rooms.items())}
    return _in_turn(queues.values(), number)


def _shuffled(mutants: Iterable[Mutant], random: Random) -> list[Mutant]:
    """All of them, the operators in turn."""
    by_operator: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in sorted(mutants):
        by_operator[mutant.operator].append(mutant)
    for each in by_operator.values():
        random.shuffle(each)
    groups = list(by_operator.values())
    random.shuffle(groups)
    return _in_turn(groups, sum(map(len, groups)))


def _in_turn(queues: Iterable[Sequence[Mutant]], number: int) -> list[Mutant]:
    """The first of each queue, then the second of each, up to a number."""
    iterators = [iter(queue) for queue in queues]
    chosen: list[Mutant] = []
    while iterators and len(chosen) < number:
        for iterator in list(iterators):
            mutant = next(iterator, None)
            if mutant is None:
                iterators.remove(iterator)
            elif len(chosen) < number:
                chosen.append(mutant)
    return chosen
