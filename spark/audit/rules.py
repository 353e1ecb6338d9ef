"""The rules: what a verdict is, said once for a single message in Python and for columns of a Spark job.

Facts are counted by `ledger.py` and by `facts.py`, each in its own way, and a property test holds the two equal. What
follows from facts is here. `docs/audit.md` says the same in words.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .events import OPEN_US

LOST, DUPLICATED, UNEXPECTED, RECOVERED = "lost", "duplicated", "unexpected", "recovered"
OUT_OF_ORDER, LATE, EARLY = "out of order", "late", "early"
DEAD, PENDING = "dead", "pending"
VERDICTS = (LOST, DUPLICATED, UNEXPECTED, OUT_OF_ORDER, EARLY, LATE, RECOVERED, DEAD, PENDING)
"""All verdicts, the worst first. A message may have several, or none: then it was delivered once and acknowledged."""
FAILURES = (LOST, DUPLICATED, UNEXPECTED, OUT_OF_ORDER, EARLY)
"""Verdicts that make an audit fail if nothing else is said."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How strict an audit is.

    A first delivery more than `late_after_ms` after the message became visible is late. Where several clocks wrote a
    journal, an instant that is wrong by `clock_slack_ms` or less is taken for right. `end_us` is when the journal ends,
    if that is not the instant of its last event.
    """

    late_after_ms: int = 10_000
    clock_slack_ms: int = 0
    end_us: int | None = None

    @property
    def slack_us(self) -> int:
        """The slack in microseconds."""
        return self.clock_slack_ms * 1000


@dataclass(slots=True)
class Facts:
    """What a journal says of one message for one group, or columns of it for all; never null.

    Counts: `copies` became visible, `attempts` of which the producer does not know, `recalls`, `skips`, `deliveries`,
    `duplicates` and `redeliveries` among them, `acks`, `deaths`. `wanted`: the subscription asks for it. Instants in
    microseconds: `visible_us` (of the first copy, 0 without one), `first_us` (of the first delivery, 0 without one),
    `hold_us` (until when the last event holds it back, 0 without one), `end_us` (of the run). `overtaken`: see
    `docs/audit.md`.
    """

    copies: Any
    attempts: Any
    recalls: Any
    skips: Any
    deliveries: Any
    duplicates: Any
    redeliveries: Any
    acks: Any
    deaths: Any
    wanted: Any
    visible_us: Any
    first_us: Any
    hold_us: Any
    end_us: Any
    overtaken: Any


def judge(of: Facts, rules: Rules, no: Callable[[Any], Any]) -> dict[str, Any]:
    """Which verdicts apply, by name. `no` negates: `operator.not_` for one message, `~` for columns."""
    visible = (of.copies > 0) & (of.recalls == 0)
    delivered = of.deliveries > 0
    open_ = visible & of.wanted & (of.skips == 0) & (of.acks + of.deaths == 0)
    held = (of.visible_us > of.end_us) | ((of.hold_us > of.end_us) & (of.hold_us < OPEN_US))
    # A producer that got no answer may be right or wrong in thinking that it failed.
    found = no(visible) & (of.attempts > 0)
    return {
        LOST: open_ & no(held),
        DUPLICATED: of.duplicates > 0,
        UNEXPECTED: delivered & no(visible) & (of.attempts == 0),
        OUT_OF_ORDER: of.overtaken,
        EARLY: visible & delivered & (of.first_us + rules.slack_us < of.visible_us),
        LATE: visible & delivered & (of.first_us - of.visible_us > rules.late_after_ms * 1000),
        RECOVERED: delivered & (of.acks > 0) & ((of.redeliveries > 0) | found),
        DEAD: of.deaths > 0,
        PENDING: open_ & held,
    }


def in_time(moment_us: Any, hold_us: Any, rules: Rules) -> Any:
    """Whether an acknowledgement came while the group had the message."""
    return moment_us <= hold_us + rules.slack_us


def too_soon(moment_us: Any, hold_us: Any, rules: Rules) -> Any:
    """Whether a delivery came while another still had the message to itself."""
    return (hold_us < OPEN_US) & (moment_us + rules.slack_us < hold_us)
