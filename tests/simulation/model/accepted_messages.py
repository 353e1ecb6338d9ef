"""The oracle for brokers in trouble: it checks rejections, and the fate of accepted messages.

Upstream allows the following and nothing else (BrokerFastFailure, HookUtils, PopLongPollingService 5.3.3):

- A healthy broker rejects no request. A broker in trouble rejects only the requests that the trouble affects, with the
  code of that trouble. It stops rejecting at most `RECOVERS_MS` after the trouble.
- A rejected message is not stored. An accepted message is stored once. A message whose send got no response may be
  stored once.
- After all troubles, each group gets every stored message, and its acknowledgements are accepted in the end.
- A redelivery that is due while the disk is full is lost, and the message with it: the broker can store neither the
  copy nor the check point that would try again, and ignores that (PopReviveService.rePutCK). This affects a message
  whose last delivery the client did not get, or could not acknowledge.
- A client waits `PAUSE_MS` after a rejection before it repeats the request; a producer waits only after every `TRIES`
  sends of a message.
"""

from collections import Counter, defaultdict
from math import inf
from typing import NamedTuple

from stored_messages import Violation

RECOVERS_MS = 11_000
"""The longest recovery takes 10 s, the interval in which a broker checks its disk; 1 s is margin."""
INVISIBLE_MS = 30_000
"""Invisible duration of each popped message."""
DECIDED_MS = 6_000
"""Longest time from the end of an invisible duration, or from a later start of the broker, to the redelivery."""
PAUSE_MS = 1_000
TRIES = 3
"""Sends of one message before its producer waits."""
BUSY, NOT_AVAILABLE, ERROR, FULL = "SYSTEM_BUSY", "SERVICE_NOT_AVAILABLE", "SYSTEM_ERROR", "POLLING_FULL"
KINDS = ("send", "pull", "pop", "ack")
REFUSALS: dict[str, dict[str, str]] = {
    # The pools of sends and pulls reject every request when it arrives.
    "busy": {"send": BUSY, "pull": BUSY, "pop": BUSY},
    # The pools of sends, pulls and acknowledgements reject every request as if it had waited too long for a thread.
    "late": {"send": BUSY, "pull": BUSY, "pop": BUSY, "ack": BUSY},
    # Requests take hundreds of ms, and each pool has one thread and a queue for two requests.
    "slow": {"send": BUSY, "pull": BUSY, "pop": BUSY, "ack": BUSY},
    "busy storing": {"send": BUSY},
    "busy with acknowledgements": {"ack": BUSY},
    "disk full": {"send": NOT_AVAILABLE},
    # The broker allows no waiting pops.
    "nobody may wait": {"pop": FULL},
    # The broker accepts sends only from a later time on.
    "not yet": {"send": ERROR},
    # The broker is stopped or killed.
    "down": dict.fromkeys(KINDS, NOT_AVAILABLE),
}
"""The code of a rejection, by trouble and then by kind of request. A kind without a code is not rejected."""


class InTrouble(NamedTuple):
    """A broker's new trouble, a key of `REFUSALS`; "" if its trouble is over.

    In all events `now` is the time in ms since the epoch.
    """

    now: int
    broker: str
    trouble: str


class Asked(NamedTuple):
    """A request of a client to a broker; `message_id` is set for sends and acknowledgements. `number` identifies it."""

    now: int
    number: int
    client: str
    broker: str
    kind: str
    message_id: str = ""


class Answered(NamedTuple):
    """The end of the request with the same `number`.

    `code` is "LOST" if the connection closed or the request timed out without response.
    """

    now: int
    number: int
    code: str


class Appeared(NamedTuple):
    """A message was stored."""

    now: int
    broker: str
    message_id: str


class Got(NamedTuple):
    """A delivery of a message to a group."""

    now: int
    group: str
    broker: str
    message_id: str


class AllWell(NamedTuple):
    """The end of all troubles, after enough time for all clients to finish."""

    now: int


Event = InTrouble | Asked | Answered | Appeared | Got | AllWell
Copy = tuple[str, str]
"""(broker, message id)"""


class AcceptedMessages:
    """All messages of all brokers. Each of `groups` must get every message; the group named `takers` acknowledges."""

    def __init__(self, groups: tuple[str, ...], takers: str) -> None:
        self._groups = groups
        self._takers = takers
        self._open: dict[int, Asked] = {}
        """Requests without an end, by number."""
        self._trouble: dict[str, str] = {}
        """Present trouble by broker."""
        self._ended: dict[str, list[tuple[int, str]]] = defaultdict(list)
        """(time of the end, trouble) of earlier troubles, by broker."""
        self._asked: Counter[Copy] = Counter()
        self._refused: Counter[Copy] = Counter()
        self._accepted: Counter[Copy] = Counter()
        self._stored: Counter[Copy] = Counter()
        self._wanted: dict[str, None] = {}
        """Ids of all messages that were sent, whatever the response."""
        self._got: dict[str, set[Copy]] = defaultdict(set)
        """Delivered messages by group."""
        self._done: set[Copy] = set()
        """Messages whose acknowledgement was accepted."""
        self._popped_ms: dict[Copy, int] = {}
        """Time of the last delivery to the takers."""
        self._lost_pops: dict[str, list[tuple[int, int]]] = defaultdict(list)
        """(time of the request, time of its end) of pops without response, by broker. Each may have popped messages."""
        self._refused_at: dict[tuple[str, str, str], int] = {}
        """Time of the last rejection by (client, broker, kind of request)."""
        self._tries: dict[str, list[int]] = defaultdict(list)
        """Times of the sends of a message within the last `PAUSE_MS`, by message id."""
        self.refusals: Counter[tuple[str, str]] = Counter()
        """Number of rejections by trouble and kind of request."""

    def observe(self, seen: Event) -> None:
        """Process one event. Raises Violation."""
        match seen:
            case InTrouble():
                self._ended[seen.broker].append((seen.now, self._trouble.get(seen.broker, "")))
                self._trouble[seen.broker] = seen.trouble
            case Asked():
                self._ask(seen)
            case Answered():
                self._answer(seen, self._open.pop(seen.number))
            case Appeared():
                self._stored[seen.broker, seen.message_id] += 1
                self._judge((seen.broker, seen.message_id), seen)
            case Got():
                if not self._stored[seen.broker, seen.message_id]:
                    raise Violation(f"a message that is not stored was delivered: {seen}")
                self._got[seen.group].add((seen.broker, seen.message_id))
                if seen.group == self._takers:
                    self._popped_ms[seen.broker, seen.message_id] = seen.now
            case AllWell():
                for what in self.missing():
                    raise Violation(f"at {seen.now} {what}")

    def _ask(self, seen: Asked) -> None:
        self._open[seen.number] = seen
        if seen.kind == "send":
            self._wanted[seen.message_id] = None
            self._asked[seen.broker, seen.message_id] += 1
            lately = [then for then in self._tries[seen.message_id] if then > seen.now - PAUSE_MS]
            self._tries[seen.message_id] = [*lately, seen.now]
            if len(lately) >= TRIES:
                raise Violation(f"the producer does not wait after {len(lately)} sends: {seen}")
            return
        refused_ms = self._refused_at.get((seen.client, seen.broker, seen.kind))
        if refused_ms is not None and seen.now < refused_ms + PAUSE_MS:
            raise Violation(f"the client does not wait after the rejection at {refused_ms}: {seen}")

    def _answer(self, seen: Answered, asked: Asked) -> None:
        copy = (asked.broker, asked.message_id)
        if seen.code == "LOST":
            if asked.kind == "pop":
                self._lost_pops[asked.broker].append((asked.now, seen.now))
            return
        if seen.code != "SUCCESS":
            self._refuse(seen, asked)
        elif asked.kind == "send":
            self._accepted[copy] += 1
        elif asked.kind == "ack":
            self._done.add(copy)
        if asked.kind == "send":
            self._refused[copy] += seen.code != "SUCCESS"
            self._judge(copy, seen)

    def _refuse(self, seen: Answered, asked: Asked) -> None:
        self._refused_at[asked.client, asked.broker, asked.kind] = seen.now
        lately = [trouble for then, trouble in self._ended[asked.broker] if then >= seen.now - RECOVERS_MS]
        troubles = [self._trouble.get(asked.broker, ""), *lately]
        found = next((one for one in troubles if REFUSALS.get(one, {}).get(asked.kind) == seen.code), None)
        if found is None:
            raise Violation(f"no reason for {seen.code} among {troubles}: {asked}")
        self.refusals[found, asked.kind] += 1

    def _judge(self, copy: Copy, seen: Event) -> None:
        if not self._accepted[copy] <= self._stored[copy] <= self._asked[copy] - self._refused[copy]:
            counts = f"sent {self._asked[copy]}, rejected {self._refused[copy]}, accepted {self._accepted[copy]}"
            raise Violation(f"{copy} is stored {self._stored[copy]} times ({counts}): {seen}")

    def _lost_redelivery(self, copy: Copy) -> bool:
        """Return True if a redelivery of a message to the takers was due while the disk was full."""
        broker, _ = copy
        popped_ms = self._popped_ms.get(copy, 0)
        pops = [each for each in self._lost_pops[broker] if each[1] >= popped_ms]
        if copy in self._popped_ms:
            pops.append((popped_ms, popped_ms))
        return any(self._is_full_between(broker, first + INVISIBLE_MS, last + INVISIBLE_MS) for first, last in pops)

    def _is_full_between(self, broker: str, first_ms: int, last_ms: int) -> bool:
        """Return True if the disk was full at the decision of a redelivery that was due between two times."""
        until_ms: float = last_ms + DECIDED_MS
        begin_ms: float = 0
        for end_ms, trouble in (*self._ended[broker], (inf, self._trouble.get(broker, ""))):
            if begin_ms >= until_ms:
                return False
            if trouble == "disk full" and end_ms + RECOVERS_MS >= first_ms:
                return True
            if trouble == "down" and end_ms >= first_ms:
                until_ms = max(until_ms, end_ms + DECIDED_MS)
            begin_ms = end_ms
        return False

    def missing(self) -> list[str]:
        """Describe each message that was not accepted, delivered or acknowledged although all troubles are over."""
        accepted = {message_id for (_, message_id), count in self._accepted.items() if count}
        stored = [copy for copy, count in self._stored.items() if count]
        lost = {copy for copy in stored if copy not in self._done and self._lost_redelivery(copy)}
        finished = self._done | lost
        never_got = [
            (group, copy)
            for group in self._groups
            for copy in stored
            if copy not in self._got[group] and not (group == self._takers and copy in lost)
        ]
        return [
            *(f"{message_id} was never accepted" for message_id in self._wanted if message_id not in accepted),
            *(f"{group} never got {copy}" for group, copy in never_got),
            *(f"{self._takers} never acknowledged {copy}" for copy in stored if copy not in finished),
        ]
