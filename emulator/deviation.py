"""Deliberate differences from upstream, as the pages about each protocol list them."""

from collections.abc import Iterable
from typing import NamedTuple


class Deviation(NamedTuple):
    """One difference: where a client sees it, the behavior of 5.3.3, and the behavior of the emulator.

    `defects`: the upstream defects that faults can switch on; then the emulator behaves like 5.3.3.
    """

    where: str
    upstream: str
    here: str
    defects: tuple[str, ...] = ()


def table(deviations: Iterable[Deviation]) -> str:
    """Format differences as a Markdown table, with a column for defects if there are any."""
    listed = list(deviations)
    with_defects = any(each.defects for each in listed)
    head = "| where | 5.3.3 | emulator |\n|---|---|---|\n"
    if with_defects:
        head = "| where | 5.3.3 | emulator | defect, as a fault |\n|---|---|---|---|\n"
    return head + "".join(_row(each, with_defects) for each in listed)


def _row(each: Deviation, with_defects: bool) -> str:
    names = ", ".join(f"`{name}`" for name in each.defects)
    return f"| {each.where} | {each.upstream} | {each.here} |" + (f" {names} |\n" if with_defects else "\n")
