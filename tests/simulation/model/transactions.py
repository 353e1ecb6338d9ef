"""The oracle's model of transactions: waiting half messages, checks, and committed messages.

Upstream allows the following and nothing else (TransactionalMessageServiceImpl, EndTransactionProcessor 5.3.3):

- A half message is stored in its real topic at each accepted commit, at that time, and never otherwise.
- An end is accepted if it names a copy in the half topic with its own group, even a late or repeated one. An end that
  does not come from a check is rejected after the immunity of the message, which is at least 6 s here.
- A half message without an end is re-appended to the half topic at most 15 times, at least 30 s apart. Then, or once it
  is older than files are kept, it is moved to TRANS_CHECK_MAX_TIME_TOPIC.
- At each re-append a connected producer of the group gets a check if the message's immunity is over, which may be
  shorter than the usual 6 s.
- The broker commits the position of its checks: every half message before it was re-appended, discarded, or ended.
- An end of the last copy stops the checks once its op message is stored, which takes up to 3 s.
- A half message whose file was deleted is neither checked nor re-appended, and its end returns SYSTEM_ERROR. If op
  messages were deleted, the next round only finds the first remaining one and ignores all ends.
- A crash loses ends without an op message, and the position of the checks in the last `GOES_BACK_MS`: messages
  re-appended since may be re-appended again. Nothing else is lost.
"""

from collections import defaultdict
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice

from members import Members
from observations import Checked, Ended, HalfStored, Prepared, Stored
from stored_messages import GOES_BACK_MS, Promise, StoredMessages, Violation

TRANSACTION_GROUP = "CID_RMQ_SYS_TRANS"
"""The broker's own group, which reads the half topic."""
HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
DISCARDED_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
TIME_OUT_MS = 6_000
"""Immunity of a half message that names none: the time before its first check."""
INTERVAL_MS = 30_000
"""Interval of the rounds in which the broker checks half messages."""
MOST_CHECKS = 15
NOTED_MS = 3_000
"""Longest time between an end and its op message."""
PAUSE_MS = 1_000
"""A round that finds no further op message waits this long, and then reads no more of them."""
ROUND_MS = 5_000
"""Longest duration of a round."""


@dataclass(slots=True, eq=False)
class Half:
    """One copy of a half message in the half topic.

    `ended` has the times of the ends that name this copy. `passed` is the time at which a round re-appended or
    discarded it, None if no round has. With `doubtful` it may have been re-appended or ended before a crash. `instead`
    has the other copies that the round may have processed at `passed` instead of this one.
    """

    seen: HalfStored
    since: int
    """Time at which it was stored, or of the last start of the broker."""
    ended: list[int] = field(default_factory=list)
    passed: int | None = None
    _: KW_ONLY
    doubtful: bool = False
    instead: "list[Half]" = field(default_factory=list)

    @property
    def immune_ms(self) -> int:
        """Minimum age, in ms, at which the broker checks it."""
        text = self.seen.immunity or ""
        return int(text) * 1000 if text.isdecimal() else TIME_OUT_MS

    @property
    def late_ms(self) -> int:
        """Maximum age, in ms, at which the broker accepts an end that does not come from a check."""
        return max(TIME_OUT_MS, self.immune_ms)

    def age(self, now: int) -> int:
        """Return the age of the message in ms."""
        return now - self.seen.born_ms

    def may_be_checked(self, now: int, *, forgets: bool = False) -> bool:
        """Return True if a round may re-append it for a check; with `forgets` the round may know no ends."""
        young = self.seen.immunity is None and self.age(now) <= TIME_OUT_MS
        again = self.seen.times > 0 and now - self.seen.now < INTERVAL_MS
        return not young and not again and self.may_seem_open(now, forgets=forgets)

    def may_seem_open(self, now: int, *, forgets: bool = False) -> bool:
        """Return True if a round may find it without an op message; with `forgets` the round may know no ends."""
        noted = any(when + NOTED_MS + PAUSE_MS < now for when in self.ended)
        return self.passed is None and (forgets or not noted)

    def latest(self) -> int:
        """Return the latest time at which a round must have processed it if it has no end."""
        due = max(self.since, self.seen.born_ms) if self.seen.immunity is not None else self.since
        return due + TIME_OUT_MS + INTERVAL_MS + ROUND_MS


def _lasting(seen: HalfStored) -> HalfStored:
    """Return the fields that are the same in every copy."""
    return seen._replace(now=0, offset=0, times=0, physical=0)


class Transactions:
    """All half messages."""

    def __init__(self, log: StoredMessages, members: Members, kept_ms: int) -> None:
        """`kept_ms`: how long log files are kept."""
        self._kept_ms = kept_ms
        self._forgets = False
        """True if the next round may find its op messages deleted."""
        self._forgets_until: int | None = None
        """End of that round; None while it has nothing to do."""
        self._log = log
        self._members = members
        self._halves: list[Half] = []
        self._by_message: dict[str, list[Half]] = defaultdict(list)
        self._open: dict[int, Half] = {}
        """By offset, half messages that no round has re-appended or discarded."""
        self._lately: list[Half] = []
        self._new: dict[int, HalfStored] = {}
        self._to_ask: dict[int, Half] = {}
        self._noticed_ms = 0
        """Time by which the last end is processed; of two ends of one message a round processes one."""

    def half_stored(self, seen: HalfStored) -> None:
        """Check a stored half message: a new one, or a re-appended one without an end."""
        if seen.offset != len(self._halves):
            raise Violation(f"the half topic continues at {seen.offset}, not at {len(self._halves)}")
        self._log.appended(seen.physical, seen)
        half = Half(seen, seen.now)
        self._something_to_do(seen.now)
        if seen.times == 0:
            self._new[seen.offset] = seen
        else:
            before = self._pass(seen.message_id, seen.times - 1, seen.now)
            if before is None or _lasting(before.seen) != _lasting(seen):
                raise Violation(f"re-appended although no check was due: {seen}")
            if half.age(seen.now) >= half.immune_ms:
                self._to_ask[seen.offset] = half
        self._halves.append(half)
        self._by_message[seen.message_id].append(half)
        self._open[seen.offset] = half

    def _pass(self, message_id: str, times: int, now: int) -> Half | None:
        """Return the copy that is processed now, preferring one that must be.

        Two copies have equal times after ResumeCheckHalfMessage. Which one a round has processed shows later.
        """
        there = list(filter(self._is_there, self._by_message[message_id]))
        allowed = [half for half in there if self._may_be_checked(half, times, now)]
        if not allowed:
            allowed = list(islice((half for half in there if self._exchange(half, times, now)), 1))
        half = min(allowed, key=lambda half: half.doubtful or bool(half.ended), default=None)
        if half is not None:
            half.passed, half.instead = now, [other for other in allowed if other is not half]
            del self._open[half.seen.offset]
            self._lately.append(half)
        return half

    def _exchange(self, half: Half, times: int, now: int) -> bool:
        """Let another copy count as processed when this one seemed to be, if this one may be processed now."""
        if half.passed is None:
            return False
        then, half.passed = half.passed, None
        other = next((other for other in half.instead if other.passed is None), None)
        if other is None or not self._may_be_checked(half, times, now):
            half.passed = then
            return False
        other.passed, other.instead, half.instead = then, [half], []
        self._lately = [other if lately is half else lately for lately in self._lately]
        self._open.pop(other.seen.offset, None)
        self._open = dict(sorted({**self._open, half.seen.offset: half}.items()))
        return True

    def _may_be_checked(self, half: Half, times: int, now: int) -> bool:
        forgets = self._forgets and (self._forgets_until is None or now <= self._forgets_until)
        if half.age(now) > self._kept_ms:
            return times == MOST_CHECKS and half.may_seem_open(now, forgets=forgets)
        return half.seen.times == times and half.may_be_checked(now, forgets=forgets)

    def _is_there(self, half: Half) -> bool:
        return half.seen.physical >= self._log.begin

    def prepared(self, seen: Prepared) -> None:
        """Check the accepted send of a half message."""
        there = self._new.pop(seen.half_offset, None)
        if there is None or (there.topic, there.message_id) != (seen.topic, seen.message_id):
            raise Violation(f"there is {there}: {seen}")

    def checked(self, seen: Checked) -> None:
        """Check that a producer should get this check."""
        half = self._to_ask.pop(seen.half_offset, None)
        if half is None or half.seen.now != seen.now:
            raise Violation(f"a check that is not due, {half}: {seen}")
        there = half.seen
        if (there.topic, there.message_id, there.times) != (seen.topic, seen.message_id, seen.times):
            raise Violation(f"there is {there}: {seen}")
        if not 1 <= seen.times <= MOST_CHECKS:
            raise Violation(f"a check too many: {seen}")
        if not self._members.may_be_there(seen.client, seen.now):
            raise Violation(f"a check although no producer is connected: {seen}")

    def ended(self, seen: Ended) -> None:
        """Check a response to an end."""
        half = self._halves[seen.half_offset]
        late = not seen.from_check and bool(half.seen.immunity) and half.age(seen.now) > half.late_ms
        if seen.decision == "unknown":
            right = "NO_ANSWER"
        elif not self._is_there(half):
            right = "SYSTEM_ERROR"
        elif late:
            right = "ILLEGAL_OPERATION"
        else:
            right = "SUCCESS" if seen.right else "SYSTEM_ERROR"
        if seen.code != right:
            raise Violation(f"the right code is {right}: {seen}")
        if right == "SUCCESS":
            half.ended.append(seen.now)
            self._something_to_do(seen.now)
            self._noticed_ms = seen.now + NOTED_MS + 2 * (INTERVAL_MS + ROUND_MS)
            if seen.decision == "commit":
                self._log.promise(Promise(half.seen.topic, seen.message_id, 0, seen.now, latest=seen.now))

    def discarded(self, seen: Stored) -> None:
        """Check that a half message may be discarded."""
        if self._pass(seen.message_id, MOST_CHECKS, seen.now) is None:
            raise Violation(f"discarded too early, or not a waiting half message: {seen}")
        self._log.promise(Promise(DISCARDED_TOPIC, seen.message_id, 0, seen.now, latest=seen.now))

    def deleted(self, now: int) -> None:
        """Record a deletion: deleted half messages wait no longer."""
        self._forgets, self._forgets_until = True, None
        if self._open:
            self._something_to_do(now)
        self._lately = list(filter(self._is_there, self._lately))
        self._open = {at: half for at, half in self._open.items() if self._is_there(half)}

    def _something_to_do(self, now: int) -> None:
        """Note that the next round will run soon."""
        if self._forgets_until is None:
            self._forgets_until = now + INTERVAL_MS + ROUND_MS

    def crashed(self, now: int) -> None:
        """Record a crash: the last rounds may be repeated, and recent ends may be lost."""
        for half in self._lately:
            if half.passed is not None and half.passed >= now - GOES_BACK_MS:
                half.passed, half.doubtful = None, True
                self._open[half.seen.offset] = half
        self._lately.clear()
        for half in self._open.values():
            half.since = now
            if any(when >= now - NOTED_MS for when in half.ended):
                half.doubtful = True
                half.ended = [when for when in half.ended if when < now - NOTED_MS]
        self._open = dict(sorted(self._open.items()))

    def step_ended(self, now: int) -> None:
        """Check that every half message was sent, every due check was made, and no half message is overdue."""
        for new in self._new.values():
            raise Violation(f"a half message that was not sent: {new}")
        for half in self._to_ask.values():
            if self._members.is_somebody_there(half.seen.now):
                raise Violation(f"no producer got the check of {half}")
        self._to_ask.clear()
        for half in self._open.values():
            if not half.ended and not half.doubtful and half.latest() < now:
                raise Violation(f"forgotten by {now}: {half}")

    def are_over(self, committed: int) -> bool:
        """Return True if no half message before this offset still waits."""
        first = self.first_open()
        return committed <= (len(self._halves) if first is None else first.seen.offset)

    def first_open(self) -> Half | None:
        """Return the first half message that certainly has no end and was not re-appended."""
        return next((half for half in self._open.values() if not half.ended and not half.doubtful), None)

    def last_due(self, now: int) -> int:
        """Return the time after which no check is made, at least `now`."""
        waiting = [half for half in self._open.values() if not half.ended]
        given_up = (half.since + (MOST_CHECKS + 2 - half.seen.times) * (INTERVAL_MS + ROUND_MS) for half in waiting)
        return max(now, self._noticed_ms, *given_up)
