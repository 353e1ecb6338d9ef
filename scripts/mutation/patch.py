"""Applies a mutant to functions that are already imported, by giving them the code of the changed source."""

import gc
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType

Functions = Mapping[str, Sequence[FunctionType]]
"""All functions of the process by the file of their code."""


def functions() -> Functions:
    """Return all functions. After `gc.freeze` the process does not find its older objects any more."""
    found: dict[str, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if type(each) is FunctionType:
            found[each.__code__.co_filename].append(each)
    return found


def replace(alive: Sequence[FunctionType], path: str, before: bytes, after: bytes) -> int:
    """Give functions of a file their code from the source `after`; return the number of changed functions."""
    old, new = (dict(_named(compile(text, path, "exec", dont_inherit=True))) for text in (before, after))
    changed = {name: code for name, code in old.items() if name in new and new[name] != code}
    count = 0
    for function in alive:
        for name, code in changed.items():
            # Existing nested functions are changed as well; new ones are created by their changed outer function.
            if function.__code__ == code and len(new[name].co_freevars) == len(code.co_freevars):
                function.__code__ = new[name]
                count += 1
                break
    return count


def _named(code: CodeType) -> Iterator[tuple[tuple[str, int, int], CodeType]]:
    """Yield the code of all nested functions, by name, line and number among equal ones."""
    numbers: dict[tuple[str, int], int] = defaultdict(int)
    waiting = [code]
    while waiting:
        for constant in waiting.pop().co_consts:
            if isinstance(constant, CodeType):
                place = constant.co_qualname, constant.co_firstlineno
                yield (*place, numbers[place]), constant
                numbers[place] += 1
                waiting.append(constant)
