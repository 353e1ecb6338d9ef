"""The oracle's model of committed offsets and queue lengths at the end of every step.

Upstream allows the following and nothing else (ConsumerOffsetManager, ConsumeQueue 5.3.3):

- The offset of a popping group is after the messages that it got and before those that it has not got. That of an
  ordered group is at its first unacknowledged message, and that of a pulling group is what it committed last.
- The offset of the broker's own group is not past a half message that still waits for its end.
- A queue has every message stored in it, from the first one whose file was not deleted: consumption removes none.
"""

from collections.abc import Callable, Iterable

from observations import OffsetsSeen, Place, RangesSeen
from ordered_queues import OrderedQueues
from popped_messages import PoppedMessages
from pulled_queues import PulledQueues
from stored_messages import StoredMessages, Violation
from transactions import TRANSACTION_GROUP, Transactions

Judge = Callable[[str, Place, int], bool]


class QueueState:
    """The last observed offsets of every group and extents of every queue."""

    def __init__(
        self,
        log: StoredMessages,
        *,
        pops: tuple[PoppedMessages, Iterable[str]],
        ordered: tuple[OrderedQueues, Iterable[str]],
        pulls: tuple[PulledQueues, Iterable[str]],
        transactions: Transactions,
    ) -> None:
        self._log = log
        self._pops, self._ordered, self._pulls, self._transactions = pops[0], ordered[0], pulls[0], transactions
        self._judges: dict[str, Judge] = {
            **dict.fromkeys(pops[1], self._popped),
            **dict.fromkeys(ordered[1], self._taken_in_order),
            **dict.fromkeys(pulls[1], self._pulled),
            TRANSACTION_GROUP: self._checked,
        }
        self._offsets: dict[str, dict[Place, int]] = {group: {} for group in self._judges}
        self._extents: dict[Place, tuple[int, int]] = {}
        self._groups: set[str] = set()
        """Groups with an event in this step, whose offset must be checked."""
        self._queues: set[Place] = set()
        """Queues that changed in this step."""

    def offsets_seen(self, seen: OffsetsSeen) -> None:
        """Record changed offsets."""
        for group, place, offset in seen.offsets:
            self._offsets[group][place] = offset
            self._groups.add(group)

    def ranges_seen(self, seen: RangesSeen) -> None:
        """Record changed minimum and maximum offsets."""
        for place, low, high in seen.ranges:
            self._extents[place] = low, high
            self._queues.add(place)

    def something_happened(self, group: str) -> None:
        """Record that a group read, committed or was reset."""
        self._groups.add(group)

    def appeared(self, place: Place) -> None:
        """Record that a message was stored in a queue."""
        self._queues.add(place)

    def deleted(self) -> None:
        """Record a deletion: queues start later, and groups may continue there."""
        self._queues.update(self._extents)
        self.crashed()

    def crashed(self) -> None:
        """Record a crash: all offsets may have changed."""
        self._groups.update(self._offsets)

    def step_ended(self, now: int) -> None:
        """Check the offsets and queues that changed or should have changed."""
        for group in self._groups:
            judge = self._judges.get(group)
            for place, offset in self._offsets.get(group, {}).items():
                if judge is not None and not judge(group, place, offset):
                    what = self._expected(group, place)
                    raise Violation(f"at {now} {group} is committed at {offset} of {place}: {what}")
        self._groups.clear()
        for place in self._queues:
            extent = self._log.low(place), self._log.size(place)
            low, high = self._extents.get(place, extent)
            if (low, high) != extent:
                raise Violation(f"at {now} {place} reaches from {low} to {high}, observed were {extent}")
        self._queues.clear()

    def _popped(self, group: str, place: Place, offset: int) -> bool:
        return self._pops.may_stand(group, place, max(offset, 0))

    def _taken_in_order(self, group: str, place: Place, offset: int) -> bool:
        return self._ordered.may_stand(group, place, max(offset, 0))

    def _pulled(self, group: str, place: Place, offset: int) -> bool:
        return offset == self._pulls.committed.get((group, place), -1)

    def _checked(self, group: str, place: Place, offset: int) -> bool:
        return self._transactions.are_over(offset)

    def _expected(self, group: str, place: Place) -> str:
        judge = self._judges[group]
        if judge == self._popped:
            return "not from {} to {}".format(*self._pops.offset_bounds(group, place))
        if judge == self._taken_in_order:
            return f"not at {self._ordered.queues[group, place].committed}"
        if judge == self._pulled:
            return f"not at {self._pulls.committed.get((group, place), -1)}"
        return f"{self._transactions.first_open()} still waits"
