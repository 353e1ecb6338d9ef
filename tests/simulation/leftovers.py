"""What a broker still holds after everybody has consumed everything: nothing that grows with the work done."""

from session import Session

HOUSEKEEPING = {"client housekeeping", "slave synchronization", "clean up"}
"""Runs as long as clients are registered, slaves run, or files of the log wait to be old."""


LONGEST_LEVEL_MS = 2 * 3_600_000
"""Longer no delay level waits, also with nothing any more that was deleted."""
HIDDEN_MS = 310_000
"""Longer than any message is hidden. After a crash nobody waits for what may come again, and it is still known."""


def leftovers(session: Session) -> list[str]:
    """Everything that should be gone and is not, in words."""
    session.advance(HIDDEN_MS + LONGEST_LEVEL_MS * session.deletes)
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
    if broker.store.log.stored_bytes > session.engine.emulation.store_max_bytes + broker.store.log.segment_bytes:
        found.append("a store beyond its bound")
    return found
