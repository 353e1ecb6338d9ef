"""Leak check: after everything was consumed, a broker may hold nothing that grows with the number of requests."""

from session import Session
from stored_messages import Violation

HOUSEKEEPING = {"client housekeeping", "slave synchronization", "clean up"}
"""Timers that run while clients are registered, slaves run, or log files wait to expire."""


LONGEST_LEVEL_MS = 2 * 3_600_000
"""Longest delay level; its timer may still wait for messages that were deleted."""
HIDDEN_MS = 310_000
"""Longer than any invisible duration of the simulation: no check point outlives it."""


def wait(session: Session) -> None:
    """Advance the time until nothing may wait any more; only a delay level with deleted messages may take hours."""
    session.advance(HIDDEN_MS)
    if session.lookers and session.engine.scheduler.has(lambda timer: timer.kind == "delay level"):
        session.advance(LONGEST_LEVEL_MS)


def leaks(session: Session) -> list[str]:
    """Wait, and return descriptions of everything that should not remain."""
    wait(session)
    return remaining(session)


def remaining(session: Session) -> list[str]:
    """Return descriptions of everything that should not remain after `wait`."""
    broker, scheduler = session.broker, session.engine.scheduler
    counted = {
        "waiting pops": broker.pops.polling.total,
        "waiting notifications": broker.notifications.polling.total,
        "waiting pulls": len(broker.pulls.hold),
        "check points in memory": len(broker.pop_buffer),
        "records of pops": len(broker.pop_records),
        "timer slots": len(broker.timers.slots),
    }
    found = [f"{count} {what}" for what, count in counted.items() if count]
    found += [
        f"timer {timer.kind} of {timer.owner}" for timer in scheduler.scheduled() if timer.kind not in HOUSEKEEPING
    ]
    if len(session.engine.journal) > session.engine.emulation.journal_max_entries:
        found.append("a journal beyond its bound")
    if len(session.engine.history.record) > session.engine.emulation.delivery_record_max_entries:
        found.append("a delivery record beyond its bound")
    if broker.store.log.stored_bytes > session.engine.emulation.store_max_bytes + broker.store.log.segment_bytes:
        found.append("a store beyond its bound")
    return found


def check_leaks(session: Session) -> None:
    """Raise Violation if something remains."""
    if found := leaks(session):
        raise Violation(f"left behind: {found}")
