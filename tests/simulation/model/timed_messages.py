"""The oracle's model of timed messages and recalls.

Upstream allows the following and nothing else (HookUtils, TimerMessageStore, RecallMessageProcessor 5.3.3):

- A message whose time has passed is stored at once; one more than three days ahead is rejected.
- A timed message is delivered at the first full second at or after its time. Slots are a second wide, and a message is
  in the slot that ends when it is delivered.
- A recall succeeds until the slot of the message begins, and never with a handle for another topic. A delete mark, the
  message by which a client recalls without a handle, is a timed message itself, so its time must be in the future, at
  most three days ahead. It affects only a message in its own slot and in the topic that it names.
- A recalled message and a delete mark are never delivered.
"""

from collections import defaultdict

from observations import Recalled, TimedSent
from stored_messages import TIMER_LATE_MS, Promise, StoredMessages, Violation

SLOT_MS = 1_000
WHEEL_MS = 24 * 3_600_000
"""A delay for which the timer wheel certainly has a slot, so that the message waits in it without further copies."""
LONGEST_MS = 3 * 24 * 3_600_000
"""Upstream's maximum delay."""


def slot_end(due_ms: int) -> int:
    """Return the end of the slot of a time."""
    return -(-due_ms // SLOT_MS) * SLOT_MS


class TimedMessages:
    """All waiting timed messages."""

    def __init__(self, log: StoredMessages) -> None:
        self._log = log
        self._waiting: dict[tuple[str, str, int], list[Promise]] = defaultdict(list)
        self._last_slot_end = 0

    def sent(self, seen: TimedSent) -> None:
        """Check a response to a send of a timed message."""
        too_far = seen.due_ms - seen.now > LONGEST_MS
        if seen.code != ("MESSAGE_ILLEGAL" if too_far else "SUCCESS"):
            raise Violation(f"wrong code: {seen}")
        if too_far:
            return
        if seen.due_ms <= seen.now:
            self._log.there_at_once((seen.topic, seen.queue_id, seen.offset), seen.message_id)
            return
        self._last_slot_end = max(self._last_slot_end, slot_end(seen.due_ms))
        due, late = seen.due_ms, seen.due_ms + TIMER_LATE_MS
        # A message that waits longer than the window is copied in between.
        straight = due - seen.now < WHEEL_MS
        promise = Promise(seen.topic, seen.message_id, 0, due, latest=late, source=seen.physical, straight=straight)
        self._waiting[seen.topic, seen.message_id, slot_end(seen.due_ms)].append(self._log.promise(promise))

    def recalled(self, seen: Recalled) -> None:
        """Check a response to a recall."""
        end = slot_end(seen.due_ms)
        if seen.by_handle:
            in_time = seen.now <= end - SLOT_MS and seen.topic == seen.home
            right = "SUCCESS" if in_time else "ILLEGAL_OPERATION"
        else:
            right = "SUCCESS" if 0 < seen.due_ms - seen.now <= LONGEST_MS else "MESSAGE_ILLEGAL"
        if seen.code != right:
            raise Violation(f"the right code is {right}: {seen}")
        if right == "SUCCESS":
            self._last_slot_end = max(self._last_slot_end, end)
            for promise in self._waiting.pop((seen.topic, seen.message_id, end), ()):
                if promise.kept:
                    raise Violation(f"stored before its time: {promise}")
                promise.withdrawn = True

    def last_due(self, now: int) -> int:
        """Return the end of the last slot that was used, at least `now`."""
        return max(self._last_slot_end, now)
