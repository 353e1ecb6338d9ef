"""The auditor: reconstructs the fate of every message from a journal of events.

`audit_events` judges a journal in memory, `audit_journals` files of any size as a Spark job; both apply `rules.py`. It
must not know a running emulator. Modules that need Spark are loaded on demand.
"""

from typing import TYPE_CHECKING, Any

from .events import Event, EventKind, JournalError, read_lines, write_lines
from .ledger import Account, Audit, audit_events
from .rules import VERDICTS, AuditRules

if TYPE_CHECKING:
    from .job import SparkAudit, audit_journals
    from .kept_journals import events_of_file
    from .recording import events_of

__all__ = [
    "VERDICTS",
    "Account",
    "Audit",
    "AuditRules",
    "Event",
    "EventKind",
    "JournalError",
    "SparkAudit",
    "audit_events",
    "audit_journals",
    "events_of",
    "events_of_file",
    "read_lines",
    "write_lines",
]


def __getattr__(name: str) -> Any:
    if name in ("SparkAudit", "audit_journals"):
        from . import job

        return getattr(job, name)
    if name == "events_of":
        from .recording import events_of

        return events_of
    if name == "events_of_file":
        from .kept_journals import events_of_file

        return events_of_file
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
