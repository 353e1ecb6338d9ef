"""A choice of mutants that a seed decides."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from .mutant import Mutant


def sample(rooms: Mapping[str, Sequence[Mutant]], number: int, seed: int) -> list[Mutant]:
    """So many mutants: as many of each room, and in a room as many of each operator, as far as there are any.

    A change of the code changes the choice only where it adds or removes mutants.
    """
    return _in_turn([_mixed(rooms[room], f"{seed} {room}") for room in sorted(rooms)], number)


def _mixed(mutants: Iterable[Mutant], salt: str) -> list[Mutant]:
    """All of them, the operators in turn."""
    by_operator: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in sorted(mutants):
        by_operator[mutant.operator].append(mutant)
    groups = [
        sorted(by_operator[name], key=lambda mutant: _rank(salt, mutant.key))
        for name in sorted(by_operator, key=lambda name: _rank(salt, name))
    ]
    return _in_turn(groups, sum(map(len, groups)))


def _rank(salt: str, name: str) -> str:
    return sha256(f"{salt} {name}".encode()).hexdigest()


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
