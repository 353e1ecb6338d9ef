"""The oracle's book of timed messages and of those that were taken back.

What upstream allows, and nothing else (HookUtils, TimerMessageStore, RecallMessageProcessor 5.3.3):

- A time that is over makes a plain message; one more than three days ahead is refused.
- A timed message appears at the first full second at or after its time. Slots are a second wide, and a message lies
  in the one that ends when it appears.
- Who takes a message back is told success as long as its slot has not begun, by a handle that names another topic
  never. A delete mark is a timed message itself, so its time must lie ahead, at most three days; it works on the
  message of its own slot only, in the topic that it names.
- A message that was taken back never appears, and a delete mark never does.
"""

from collections import defaultdict

from observations import TakenBack, TimedSent
from stored_messages import TIMER_LATE_MS, Promise, StoredMessages, Violation

SLOT_MS = 1_000
WHEEL_MS = 24 * 3_600_000
"""Less than the wheel looks ahead."""
LONGEST_MS = 3 * 24 * 3_600_000


def slot_end(due_ms: int) -> int:
    """When the slot of a time is over."""
    return -(-due_ms // SLOT_MS) * SLOT_MS


class TimedMessages:
    """All messages that wait for a time of their own."""

    def __init__(self, log: StoredMessages) -> None:
        self._log = log
        self._waiting: dict[tuple[str, str, int], list[Promise]] = defaultdict(list)
        self._last_slot_end = 0

    def sent(self, seen: TimedSent) -> None:
        """A send with a time was answered."""
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
        # What waits for longer than the wheel looks ahead is copied on the way.
        straight = due - seen.now < WHEEL_MS
        promise = Promise(seen.topic, seen.message_id, 0, due, late, source=seen.physical, straight=straight)
        self._waiting[seen.topic, seen.message_id, slot_end(seen.due_ms)].append(self._log.promise(promise))

    def taken_back(self, seen: TakenBack) -> None:
        """Somebody asked for a message back."""
        end = slot_end(seen.due_ms)
        if seen.by_handle:
            in_time = seen.now <= end - SLOT_MS and seen.topic == seen.home
            right = "SUCCESS" if in_time else "ILLEGAL_OPERATION"
        else:
            right = "SUCCESS" if 0 < seen.due_ms - seen.now <= LONGEST_MS else "MESSAGE_ILLEGAL"
        if seen.code != right:
            raise Violation(f"{right} was right: {seen}")
        if right == "SUCCESS":
            self._last_slot_end = max(self._last_slot_end, end)
            for promise in self._waiting.pop((seen.topic, seen.message_id, end), ()):
                if promise.kept:
                    raise Violation(f"was there before its time: {promise}")
                promise.withdrawn = True

    def last_due(self, now: int) -> int:
        """When the last slot that was used is over, at least `now`."""
        return max(self._last_slot_end, now)
