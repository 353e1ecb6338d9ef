"""Small parts of Markdown that generated pages share."""

import inspect
import re
from collections.abc import Iterable
from typing import Any

_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")
_OUTSIDE_OF_CODE = re.compile(r"(`[^`]*`)")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; bars inside of cells are escaped."""
    columns = list(head)
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def prose(docstring: str) -> str:
    """A docstring as Markdown, in which text outside of backquotes appears as it is written."""
    parts = _OUTSIDE_OF_CODE.split(docstring)
    return "".join(
        part if number % 2 else part.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
        for number, part in enumerate(parts)
    )


def annotation(value: Any) -> str:
    """A type annotation without the modules of its names."""
    text = value if isinstance(value, str) else inspect.formatannotation(value)
    return _MODULES.sub("", text.replace("'", ""))
