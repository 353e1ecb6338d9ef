"""A mutant put into functions that are already imported: they get the code of the changed text."""

import gc
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType

Functions = Mapping[str, Sequence[FunctionType]]
"""All functions of the process by the file of their code."""


def functions() -> Functions:
    """Find them. Objects of a process that called `gc.freeze` are not found any more."""
    found: dict[str, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if type(each) is FunctionType:
            found[each.__code__.co_filename].append(each)
    return found


def replace(alive: Sequence[FunctionType], path: str, before: bytes, after: bytes) -> int:
    """Give functions of a file their code of the text `after`; returns how many have another now."""
    old, new = (dict(_named(compile(text, path, "exec", dont_inherit=True))) for text in (before, after))
    changed = {name: code for name, code in old.items() if name in new and new[name] != code}
    count = 0
    for function in alive:
        for name, code in changed.items():
            # Nested functions that exist already are changed, too; the others come from their changed surroundings.
            if function.__code__ == code and len(new[name].co_freevars) == len(code.co_freevars):
                function.__code__ = new[name]
                count += 1
                break
    return count


def _named(code: CodeType) -> Iterator[tuple[tuple[str, int, int], CodeType]]:
    """The code of all functions in it, by name, line and number among those alike."""
    numbers: dict[tuple[str, int], int] = defaultdict(int)
    waiting = [code]
    while waiting:
        for constant in waiting.pop().co_consts:
            if isinstance(constant, CodeType):
                place = constant.co_qualname, constant.co_firstlineno
                yield (*place, numbers[place]), constant
                numbers[place] += 1
                waiting.append(constant)
