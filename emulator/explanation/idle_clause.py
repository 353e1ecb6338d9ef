"""Clauses of the explanation of an idle consumer, and lists of numbers and names in them."""

from collections.abc import Iterable, Sequence

from ..kernel.value_class import frozen_view
from .facts import Change, Fact


@frozen_view
class IdleClause:
    """One cause or state: a clause of the sentence, with its facts and changes."""

    sentence: str
    facts: tuple[Fact, ...] = ()
    changes: tuple[Change, ...] = ()


def queues_text(numbers: Iterable[int]) -> str:
    """Return queue numbers as text: `queue 3`, `queues 0-3`, `queues 0, 2-3`."""
    found = sorted(set(numbers))
    runs: list[list[int]] = []
    for number in found:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"queue{'' if len(found) == 1 else 's'} {shown}"


def queues_of_topics_text(queues: Iterable[tuple[str, int]]) -> str:
    """Return queues of topics as text: `queues 0-1 of orders and queue 0 of payments`."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(queues):
        by_topic.setdefault(topic, []).append(number)
    return listed([f"{queues_text(numbers)} of {topic}" for topic, numbers in by_topic.items()])


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 message`, `3 messages`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(texts: Sequence[str]) -> str:
    """Join texts with commas, the last with `and`."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def phrases(texts: Sequence[str]) -> str:
    """Join the phrases of a sentence with one subject, the last with `and`. Phrases may have commas of their own."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])}, and {texts[-1]}"
