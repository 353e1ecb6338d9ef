"""Deliberate differences from upstream, as the pages about each protocol list them."""

from collections.abc import Iterable
from typing import NamedTuple


class Deviation(NamedTuple):
    """One difference: where a client sees it, the behavior of 5.3.3, and the behavior of the emulator."""

    where: str
    upstream: str
    here: str


def table(deviations: Iterable[Deviation]) -> str:
    """Format differences as a Markdown table."""
    rows = "".join(f"| {each.where} | {each.upstream} | {each.here} |\n" for each in deviations)
    return f"| where | 5.3.3 | emulator |\n|---|---|---|\n{rows}"
