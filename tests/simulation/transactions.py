"""The oracle's book of transactions: which half messages wait, who is asked about them, and what appears in the end.

What upstream allows, and nothing else (TransactionalMessageServiceImpl, EndTransactionProcessor 5.3.3):

- A half message appears where it belongs at each commit that is accepted, in that instant, and never otherwise. An
  end is accepted whenever it names an appearance in the half topic with its own group, late and repeated ones too; only
  who ends by himself, not because he was asked, is too late after an immunity that the message asked for, and after
  6 s where it asked for less. An end with an unknown state gets no answer and has no effect.
- A half message that nobody has ended is put at the end of the half topic again and again, at most 15 times, at least
  30 s apart, and then, or as soon as it is older than files are kept, into TRANS_CHECK_MAX_TIME_TOPIC. Each time a
  producer of the group is asked, if one is connected and the immunity of the message is over (what it asked for, which
  may be shorter than the usual 6 s).
- How far the checks are is committed: what lies before that was put at the end again, given up, or ended.
- An end stops that, once it is noted, which takes up to 3 s, if it names the last appearance.
- One whose file was deleted is neither checked nor passed on any more, and cannot be ended: SYSTEM_ERROR. Where notes
  of ends are among what was deleted, the next round only finds out where the others begin: it knows of no end.
- A crash loses ends that are not noted, and how far the checks had come in the last `GOES_BACK_MS`: what was passed on
  since may be passed on again. Nothing else is forgotten.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from members import Members
from observations import Checked, Ended, HalfStored, Prepared, Stored
from stored_messages import GOES_BACK_MS, Promise, StoredMessages, Violation

TRANSACTION_GROUP = "CID_RMQ_SYS_TRANS"
"""The broker's own group, which goes through the half topic."""
HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
DISCARDED_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
TIME_OUT_MS = 6_000
INTERVAL_MS = 30_000
MOST_CHECKS = 15
NOTED_MS = 3_000
PAUSE_MS = 1_000
"""A round that has run out of notes waits this long, and reads no more of them."""
ROUND_MS = 5_000
"""How long a round takes, at most."""


@dataclass(slots=True, eq=False)
class Half:
    """One appearance in the half topic; `doubtful`: it may have been passed on, or ended, before a crash."""

    seen: HalfStored
    since: int
    """When it appeared, or the broker started again."""
    ended: list[int] = field(default_factory=list)
    passed: int | None = None
    doubtful: bool = False

    @property
    def immune_ms(self) -> int:
        """How old it must be to be asked about."""
        text = self.seen.immunity or ""
        return int(text) * 1000 if text.isdecimal() else TIME_OUT_MS

    @property
    def late_ms(self) -> int:
        """How old it may be when somebody ends it who was not asked."""
        return max(TIME_OUT_MS, self.immune_ms)

    def age(self, now: int) -> int:
        """How old the message is."""
        return now - self.seen.born_ms

    def may_go_on(self, now: int, *, forgets: bool = False) -> bool:
        """May a round take it up, to have it checked? `forgets`: it may know of no end."""
        young = self.seen.immunity is None and self.age(now) <= TIME_OUT_MS
        again = self.seen.times > 0 and now - self.seen.now < INTERVAL_MS
        return not young and not again and self.may_be_taken_up(now, forgets=forgets)

    def may_be_taken_up(self, now: int, *, forgets: bool = False) -> bool:
        """Does it still wait, as far as a round may know?"""
        noted = any(when + NOTED_MS + PAUSE_MS < now for when in self.ended)
        return self.passed is None and (forgets or not noted)

    def latest(self) -> int:
        """When a round must have taken it up, if nobody ends it."""
        due = max(self.since, self.seen.born_ms) if self.seen.immunity is not None else self.since
        return due + TIME_OUT_MS + INTERVAL_MS + ROUND_MS


def _lasting(seen: HalfStored) -> HalfStored:
    """What is the same in every appearance."""
    return seen._replace(now=0, offset=0, times=0, physical=0)


class Transactions:
    """All half messages."""

    def __init__(self, log: StoredMessages, members: Members, kept_ms: int) -> None:
        """`kept_ms`: how long files of the log are kept."""
        self._kept_ms = kept_ms
        self._forgets = False
        """Whether a round is still to come that may find its notes deleted."""
        self._forgets_until: int | None = None
        """When it is over, None while there is nothing for it to do."""
        self._log = log
        self._members = members
        self._halves: list[Half] = []
        self._by_message: dict[str, list[Half]] = defaultdict(list)
        self._open: dict[int, Half] = {}
        """By offset, those that no round has passed on."""
        self._lately: list[Half] = []
        self._new: dict[int, HalfStored] = {}
        self._to_ask: dict[int, Half] = {}
        self._noticed_ms = 0
        """When the last end will have been noticed; of two that name one message a round notices one."""

    def half_stored(self, seen: HalfStored) -> None:
        """A half message appeared: a new one, or one that was not ended comes again."""
        if seen.offset != len(self._halves):
            raise Violation(f"the half topic went on at {seen.offset}, not at {len(self._halves)}")
        self._log.appended(seen.physical, seen)
        half = Half(seen, seen.now)
        self._something_to_do(seen.now)
        if seen.times == 0:
            self._new[seen.offset] = seen
        else:
            before = self._pass(seen.message_id, seen.times - 1, seen.now)
            if before is None or _lasting(before.seen) != _lasting(seen):
                raise Violation(f"nothing was to be checked: {seen}")
            if half.age(seen.now) >= half.immune_ms:
                self._to_ask[seen.offset] = half
        self._halves.append(half)
        self._by_message[seen.message_id].append(half)
        self._open[seen.offset] = half

    def _pass(self, message_id: str, times: int, now: int) -> Half | None:
        """The appearance that is passed on now: rather one that must be than one that may be."""
        halves = self._by_message[message_id]
        there = filter(self._is_there, halves)
        half = min(
            (half for half in there if self._may_go_on(half, times, now)),
            key=lambda half: half.doubtful or bool(half.ended),
            default=None,
        )
        if half is not None:
            half.passed = now
            del self._open[half.seen.offset]
            self._lately.append(half)
        return half

    def _may_go_on(self, half: Half, times: int, now: int) -> bool:
        forgets = self._forgets and (self._forgets_until is None or now <= self._forgets_until)
        if half.age(now) > self._kept_ms:
            return times == MOST_CHECKS and half.may_be_taken_up(now, forgets=forgets)
        return half.seen.times == times and half.may_go_on(now, forgets=forgets)

    def _is_there(self, half: Half) -> bool:
        return half.seen.physical >= self._log.begin

    def prepared(self, seen: Prepared) -> None:
        """The send of a half message was accepted."""
        there = self._new.pop(seen.half_offset, None)
        if there is None or (there.topic, there.message_id) != (seen.topic, seen.message_id):
            raise Violation(f"there is {there}: {seen}")

    def checked(self, seen: Checked) -> None:
        """A producer was asked."""
        half = self._to_ask.pop(seen.half_offset, None)
        if half is None or half.seen.now != seen.now:
            raise Violation(f"nobody had to be asked about {half}: {seen}")
        there = half.seen
        if (there.topic, there.message_id, there.times) != (seen.topic, seen.message_id, seen.times):
            raise Violation(f"there is {there}: {seen}")
        if not 1 <= seen.times <= MOST_CHECKS:
            raise Violation(f"asked too often: {seen}")
        if not self._members.may_be_there(seen.client, seen.now):
            raise Violation(f"nobody is there to be asked: {seen}")

    def ended(self, seen: Ended) -> None:
        """An end was answered."""
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
            raise Violation(f"{right} was right: {seen}")
        if right == "SUCCESS":
            half.ended.append(seen.now)
            self._something_to_do(seen.now)
            self._noticed_ms = seen.now + NOTED_MS + 2 * (INTERVAL_MS + ROUND_MS)
            if seen.decision == "commit":
                self._log.promise(Promise(half.seen.topic, seen.message_id, 0, seen.now, seen.now))

    def discarded(self, seen: Stored) -> None:
        """A half message is given up."""
        if self._pass(seen.message_id, MOST_CHECKS, seen.now) is None:
            raise Violation(f"given up too early, or nothing was there: {seen}")
        self._log.promise(Promise(DISCARDED_TOPIC, seen.message_id, 0, seen.now, seen.now))

    def deleted(self, now: int) -> None:
        """What is gone waits for nothing."""
        self._forgets, self._forgets_until = True, None
        if self._open:
            self._something_to_do(now)
        self._lately = list(filter(self._is_there, self._lately))
        self._open = {at: half for at, half in self._open.items() if self._is_there(half)}

    def _something_to_do(self, now: int) -> None:
        """The next round comes soon."""
        if self._forgets_until is None:
            self._forgets_until = now + INTERVAL_MS + ROUND_MS

    def crashed(self, now: int) -> None:
        """The last rounds may be repeated, and who has just ended a transaction may have done so in vain."""
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
        """Nothing appeared in the half topic by itself, everybody was asked who had to be, and nothing is forgotten."""
        for new in self._new.values():
            raise Violation(f"nothing accounts for {new}")
        for half in self._to_ask.values():
            if self._members.is_somebody_there(half.seen.now):
                raise Violation(f"nobody was asked about {half}")
        self._to_ask.clear()
        for half in self._open.values():
            if not half.ended and not half.doubtful and half.latest() < now:
                raise Violation(f"forgotten by {now}: {half}")

    def are_over(self, committed: int) -> bool:
        """Does nothing wait any more before this offset of the half topic?"""
        first = self.first_open()
        return committed <= (len(self._halves) if first is None else first.seen.offset)

    def first_open(self) -> Half | None:
        """The first half message that nobody has ended and no round has passed on, that is known for sure."""
        return next((half for half in self._open.values() if not half.ended and not half.doubtful), None)

    def last_due(self, now: int) -> int:
        """When nobody will be asked any more, at least `now`."""
        waiting = [half for half in self._open.values() if not half.ended]
        given_up = (half.since + (MOST_CHECKS + 2 - half.seen.times) * (INTERVAL_MS + ROUND_MS) for half in waiting)
        return max(now, self._noticed_ms, *given_up)
