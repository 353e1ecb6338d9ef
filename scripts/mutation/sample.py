"""A sample of mutants, determined by a seed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from .mutant import Mutant


def sample(rooms: Mapping[str, Sequence[Mutant]], number: int, seed: int) -> list[Mutant]:
    """Choose `number` mutants, spread evenly over the rooms and, within a room, over the operators.

    A change of the code changes the sample only where it adds or removes mutants.
    """
    return _in_turn([_mixed(rooms[room], f"{seed} {room}") for room in sorted(rooms)], number)


def _mixed(mutants: Iterable[Mutant], salt: str) -> list[Mutant]:
    """Return all mutants, alternating between operators."""
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
    """Take the first of each queue, then the second of each, up to `number`."""
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
