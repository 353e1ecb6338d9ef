"""The rules of verdicts, written once for a single message in Python and for columns of a Spark job.

`ledger.py` and `facts.py` count the facts, each in its own way, and a property test compares them. This module derives
the verdicts from the facts. `docs/audit.md` explains the same rules.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from .events import OPEN_US

LOST, DUPLICATED, UNEXPECTED, RECOVERED = "lost", "duplicated", "unexpected", "recovered"
OUT_OF_ORDER, LATE, EARLY = "out of order", "late", "early"
DEAD, PENDING = "dead", "pending"
VERDICTS = (LOST, DUPLICATED, UNEXPECTED, OUT_OF_ORDER, EARLY, LATE, RECOVERED, DEAD, PENDING)
"""All verdicts, the worst first. A message may have several for a group, or none; `docs/audit.md` has the cases."""
FAILURES = (LOST, DUPLICATED, UNEXPECTED, OUT_OF_ORDER, EARLY)
"""Verdicts that make an audit fail by default."""


@dataclass(frozen=True, slots=True)
class AuditRules:
    """Strictness of an audit.

    A first delivery more than `late_after_ms` after the message became visible is late. If several clocks wrote a
    journal, deviations of an instant by up to `clock_slack_ms` are accepted. `end_us` is the end of the journal, if
    that is not the instant of its last event.
    """

    late_after_ms: int = 10_000
    clock_slack_ms: int = 0
    end_us: int | None = None

    @property
    def slack_us(self) -> int:
        """The slack in microseconds."""
        return self.clock_slack_ms * 1000


@dataclass(slots=True)
class DeliveryFacts:
    """Facts of a journal about one message for one group, or columns of them for all messages; never null.

    - Counts: `times_stored` (events `stored` and `txnCommitted`), `failed_sends` (the producer does not know if the
      message is stored), `recalls`, `skips`, `deliveries`, of which some are `duplicates`, `acks`, `deaths` (events
      `deadlettered`).
    - `retried`: the group acknowledged the message after a redelivery that was no duplicate.
    - `wanted`: the subscription includes the message.
    - Instants in microseconds, 0 if there is none: `visible_us` at which the message becomes visible, `first_us` of the
      first delivery, `reserved_until_us` at which the last reservation ends (see `OPEN_US`), `end_us` of the
      recording's end.
    - `overtaken`: see `docs/audit.md`.
    """

    times_stored: Any
    failed_sends: Any
    recalls: Any
    skips: Any
    _: KW_ONLY
    deliveries: Any
    duplicates: Any
    retried: Any
    acks: Any
    deaths: Any
    wanted: Any
    visible_us: Any
    first_us: Any
    reserved_until_us: Any
    end_us: Any
    overtaken: Any


def judge(of: DeliveryFacts, rules: AuditRules, no: Callable[[Any], Any]) -> dict[str, Any]:
    """Return each verdict by name, with True if it applies. `no` negates: `operator.not_`, or `~` for columns."""
    visible = (of.times_stored > 0) & (of.recalls == 0)
    delivered = of.deliveries > 0
    unsettled = visible & of.wanted & (of.skips == 0) & (of.acks + of.deaths == 0)
    waits = (of.visible_us > of.end_us) | ((of.reserved_until_us > of.end_us) & (of.reserved_until_us < OPEN_US))
    return {
        LOST: unsettled & no(waits),
        DUPLICATED: of.duplicates > 0,
        UNEXPECTED: delivered & no(visible) & (of.failed_sends == 0),
        OUT_OF_ORDER: of.overtaken,
        EARLY: visible & delivered & (of.first_us + rules.slack_us < of.visible_us),
        LATE: visible & delivered & (of.first_us - of.visible_us > rules.late_after_ms * 1000),
        RECOVERED: of.retried | (delivered & (of.acks > 0) & (of.failed_sends > 0)),
        DEAD: of.deaths > 0,
        PENDING: unsettled & waits,
    }


def in_time(moment_us: Any, reserved_until_us: Any, rules: AuditRules) -> Any:
    """True if an acknowledgement came while the message was reserved."""
    return moment_us <= reserved_until_us + rules.slack_us


def too_soon(moment_us: Any, reserved_until_us: Any, rules: AuditRules) -> Any:
    """True if a delivery came while the message was reserved for a known time."""
    return (reserved_until_us < OPEN_US) & (moment_us + rules.slack_us < reserved_until_us)
