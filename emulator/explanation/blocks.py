"""Text blocks of explanations: a head, the sentence, the facts that it rests on, and changes of the verdict."""

from collections.abc import Sequence
from textwrap import wrap

from .clock_text import clock_text
from .facts import Change, Fact

WIDTH = 120
"""The most characters of a line."""


def block(
    head: str, sentence: str, facts: Sequence[Fact], changes: Sequence[Change], *, now_ms: int | None = None
) -> str:
    """Return a block of lines of up to 120 characters, the first in angle brackets. Ids are never broken.

    With `now_ms` the instants among the facts are printed as `clock_text` does.
    """
    lines = [f"<{head}>", *_wrapped(sentence, "")]
    if facts:
        lines += _wrapped(f"rests on: {'; '.join(fact_text(each, now_ms) for each in facts)}", "  ")
    if changes:
        lines += _wrapped(f"would change it: {', or '.join(each.sentence for each in changes)}", "  ")
    return "\n".join(lines)


def fact_text(fact: Fact, now_ms: int | None = None) -> str:
    """Return a fact as text: `check_point queue_id=0 offset=4 popped=12:00:01`."""
    return " ".join([fact.name, *(_value_text(name, value, now_ms) for name, value in fact.values.items())])


def _value_text(name: str, value: object, now_ms: int | None) -> str:
    if now_ms is not None and isinstance(value, int) and name.endswith("_ms"):
        return f"{name.removesuffix('_ms')}={clock_text(value, now_ms)}"
    if isinstance(value, tuple | list):
        return f"{name}={', '.join(map(str, value)) or '-'}"
    return f"{name}={value}"


def _wrapped(text: str, indent: str) -> list[str]:
    return wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent and indent * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )
