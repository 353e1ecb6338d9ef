"""The oracle's book of what is committed and how far queues reach, as it stands at the end of every step.

What upstream allows, and nothing else (ConsumerOffsetManager, ConsumeQueue 5.3.3):

- A group that pops is committed behind what it got and never passes what it has not got; one that pops in order is
  committed at its first message not acknowledged; one that pulls at what it committed last.
- The broker's own group is committed behind no half message that still waits for its end.
- A queue has every message that appeared in it, from the first on whose file was not deleted: consumption removes
  nothing.
"""

from collections.abc import Callable, Iterable

from observations import OffsetsSeen, Place, RangesSeen
from ordered_queues import OrderedQueues
from popped_messages import PoppedMessages
from pulled_queues import PulledQueues
from stored_messages import StoredMessages, Violation
from transactions import TRANSACTION_GROUP, Transactions

Judge = Callable[[str, Place, int], bool]


class Standing:
    """The last that was seen of every group and queue."""

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
        """Those that anything happened to in this step, which may have to stand elsewhere now."""
        self._queues: set[Place] = set()
        """Those that something appeared in."""

    def offsets_seen(self, seen: OffsetsSeen) -> None:
        """Offsets have changed."""
        for group, place, offset in seen.offsets:
            self._offsets[group][place] = offset
            self._groups.add(group)

    def ranges_seen(self, seen: RangesSeen) -> None:
        """Queues have grown, or begin later."""
        for place, low, high in seen.ranges:
            self._extents[place] = low, high
            self._queues.add(place)

    def something_happened(self, group: str) -> None:
        """A group read, committed or was moved."""
        self._groups.add(group)

    def appeared(self, place: Place) -> None:
        """A queue has grown."""
        self._queues.add(place)

    def deleted(self) -> None:
        """Queues begin later, and groups may go on there."""
        self._queues.update(self._extents)
        self.crashed()

    def crashed(self) -> None:
        """All may stand somewhere else."""
        self._groups.update(self._offsets)

    def step_ended(self, now: int) -> None:
        """All of them fit what happened, whether they have changed or should have."""
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
                raise Violation(f"at {now} {place} reaches from {low} to {high} and has those from {extent}")
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
