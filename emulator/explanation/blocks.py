"""Text blocks of explanations: a head, the sentence, the facts that it rests on, and what would change it."""

from collections.abc import Sequence
from textwrap import wrap

from .explanation import Change, Fact

WIDTH = 120


def block(head: str, sentence: str, facts: Sequence[Fact], changes: Sequence[Change]) -> str:
    """Return a block of lines of up to 120 characters, the first in angle brackets. Ids are never broken."""
    lines = [f"<{head}>", *_wrapped(sentence, "")]
    if facts:
        lines += _wrapped(f"rests on: {'; '.join(map(fact_text, facts))}", "  ")
    if changes:
        lines += _wrapped(f"would change it: {', or '.join(each.sentence for each in changes)}", "  ")
    return "\n".join(lines)


def fact_text(fact: Fact) -> str:
    """Return a fact as text: `check_point queue_id=0 offset=4`."""
    return " ".join([fact.name, *(f"{name}={value}" for name, value in fact.values.items())])


def _wrapped(text: str, indent: str) -> list[str]:
    return wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent and indent * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )
