"""Views of rules of faults."""

from dataclasses import KW_ONLY

from ..kernel.value_class import frozen_view


@frozen_view
class RuleView:
    """A rule of faults, with the number of events that matched it, and of those on which it acted."""

    name: str
    kind: str
    matched: int
    fired: int
    _: KW_ONLY
    open: bool
    """True if it acts now, or can act on a later event or at a later time."""
