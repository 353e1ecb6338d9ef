"""Documentation of generated types: names of fields in the helper's language, and lines of a limited width."""

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .shapes import Field, Shape

_CODE = re.compile(r"`([^`]+)`")
_LIST = re.compile(r"^- ", re.MULTILINE)


@dataclass(frozen=True)
class Prose:
    """Writes documentation for a language. `name` returns the name of a field in it.

    `code` is the markup of code in its documentation, such as `{@code {}}`, with `{}` in place of the code.
    """

    shapes: Sequence[Shape]
    name: Callable[[Field], str]
    code: str

    def renamed(self, text: str, shape: Shape) -> str:
        """Replace the JSON names of fields in a text about a type by their names in the language.

        These are the fields of the type, and of the types of its fields.
        """
        near = [each for each in self.shapes if each.name in shape.field_types()]
        names = {field.wire: self.name(field) for each in (*near, shape) for field in each.fields}
        return _CODE.sub(lambda found: self.code.replace("{}", names.get(found[1], found[1])), text)

    def paragraphs(self, shape: Shape) -> list[str]:
        """Return the documentation of a type in paragraphs."""
        found = [self.renamed(each, shape) for each in shape.about]
        return [each if _LIST.search(each) else " ".join(each.split()) for each in found]


def without_null(text: str) -> str:
    """Return a text for a language in which an absent value is not null."""
    return re.sub(r"\b(null|None)\b", "absent", text)


def wrapped(text: str, prefix: str, width: int = 120, *, item: str = "") -> list[str]:
    """Return the lines of a text, each with a prefix.

    Items of lists, which are indented by `item`, begin on lines of their own, and so do lines that begin with HTML.
    """
    lines: list[str] = []
    for each in re.split(r"\n(?=- |<)", text):
        indent = first = prefix
        if each.startswith("- "):
            first, indent = prefix + item, prefix + item + "  "
        whole = " ".join(each.split())
        lines += textwrap.wrap(
            whole,
            width,
            initial_indent=first,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines
