"""The oracle: checks that the observations of a broker are what upstream allows.

It processes observations and raises Violation at the first that upstream's broker would not cause. Each of its models
states its rules in its module docstring. It must not know the engine.
"""

from collections.abc import Iterable

import observations as obs
from delayed_messages import DelayedMessages
from deleted_files import FOR_EVER, DeletedFiles, Retention
from members import Members
from message_states import MessageStates
from ordered_queues import OrderedQueues
from popped_messages import CHECK_POINTS, Mode, PoppedMessages
from pulled_queues import PulledQueues
from queue_state import QueueState
from stored_messages import StoredMessages, Violation
from timed_messages import TimedMessages
from transactions import DISCARDED_TOPIC, Transactions
from waiting_notifications import WaitingNotifications


class Oracle:
    """Checks all observations of one broker.

    `tags` are the tags that a group wants; other groups want all messages. Without `retention` the broker deletes no
    files.
    """

    def __init__(
        self,
        *,
        pop_groups: Iterable[str],
        ordered_groups: Iterable[str],
        pull_groups: Iterable[str],
        topics: Iterable[str],
        tags: dict[str, tuple[str, ...]],
        mode: Mode = CHECK_POINTS,
        retry_v2: bool = False,
        retention: Retention | None = None,
    ) -> None:
        self.pop_groups = tuple(pop_groups)
        self.ordered_groups = tuple(ordered_groups)
        self.pull_groups = tuple(pull_groups)
        self.topics = tuple(topics)
        self.log = StoredMessages()
        self.pops = PoppedMessages(self.log, mode, tags, retry_v2=retry_v2)
        self.states = MessageStates(self.log, self.pops, self.pop_groups, self.topics)
        self.notifications = WaitingNotifications(self.pops, self.pop_groups, retry_v2=retry_v2)
        self.ordered = OrderedQueues(self.log)
        self.pulls = PulledQueues(self.log, tags)
        self.members = Members()
        self.delayed = DelayedMessages()
        self.timed = TimedMessages(self.log)
        self.files = DeletedFiles(self.log, retention)
        self.transactions = Transactions(self.log, self.members, (retention or FOR_EVER).reserved_ms)
        self.queue_state = QueueState(
            self.log,
            pops=(self.pops, self.pop_groups),
            ordered=(self.ordered, self.ordered_groups),
            pulls=(self.pulls, self.pull_groups),
            transactions=self.transactions,
        )
        self._now = 0

    def observe(self, seen: obs.Observation) -> None:
        """Process one observation. Raises Violation."""
        if seen.now < self._now:
            raise Violation(f"time went back from {self._now}: {seen}")
        self._now = seen.now
        match seen:
            case obs.Stored():
                if seen.topic == DISCARDED_TOPIC:
                    self.transactions.discarded(seen)
                self.log.stored(seen)
                self.delayed.appeared(seen)
                self.notifications.appeared(seen)
                self.states.appeared(seen)
                self.queue_state.appeared((seen.topic, seen.queue_id))
            case obs.Sent():
                self.log.sent(seen)
                self.delayed.sent(seen)
            case obs.Popped():
                self._popped(seen)
            case obs.PopParked():
                (self.ordered if seen.order else self.pops).parked(seen)
            case obs.Acked():
                (self.ordered if seen.order else self.pops).acked(seen)
                if not seen.order:
                    self.states.acked(seen)
                self.queue_state.something_happened(seen.handle.group)
            case obs.Hidden():
                (self.ordered if seen.order else self.pops).hidden(seen)
                if not seen.order:
                    self.states.hidden(seen)
            case obs.NotifyParked():
                self.notifications.parked(seen)
            case obs.Notified():
                self.notifications.notified(seen)
            case obs.Pulled():
                self.pulls.pulled(seen)
            case obs.PullHeld():
                self.pulls.held(seen)
            case obs.Committed():
                self.pulls.committed_offset(seen)
                self.queue_state.something_happened(seen.group)
            case obs.Reset():
                self._reset(seen)
            case obs.OffsetSeen():
                self._offset_seen(seen)
            case obs.RangeSeen():
                self._range_seen(seen)
            case obs.OffsetsSeen():
                self.queue_state.offsets_seen(seen)
            case obs.RangesSeen():
                self.queue_state.ranges_seen(seen)
            case obs.SentBack():
                self.pulls.sent_back(seen)
            case obs.Beat():
                self.members.beat(seen)
            case obs.Left():
                self._left(seen)
            case obs.MembersSeen():
                self.members.members_seen(seen)
            case obs.Locked():
                self.members.locked(seen)
            case obs.Unlocked():
                self.members.unlocked(seen)
            case obs.TimedSent():
                self.timed.sent(seen)
            case obs.Recalled():
                self.timed.recalled(seen)
            case obs.HalfStored():
                self.transactions.half_stored(seen)
            case obs.Prepared():
                self.transactions.prepared(seen)
            case obs.Ended():
                self.transactions.ended(seen)
            case obs.Checked():
                self.transactions.checked(seen)
            case obs.Crashed():
                self._crashed(seen)
            case obs.DeletionRequested():
                self.files.deletion_requested(seen)
            case obs.Deleted():
                self._deleted(seen)
            case obs.StepEnded():
                self._step_ended(seen.now)
            case obs.Drained():
                self._drained()

    def _step_ended(self, now: int) -> None:
        for book in (self.log, self.pops, self.ordered, self.pulls, self.transactions):
            book.step_ended(now)
        # These use the results of the models above.
        self.states.step_ended(now)
        self.notifications.step_ended(now)
        self.queue_state.step_ended(now)

    def _popped(self, seen: obs.Popped) -> None:
        if not seen.messages and seen.now < seen.deadline:
            raise Violation(f"gave up before its time: {seen}")
        if (seen.code == "SUCCESS") != bool(seen.messages):
            raise Violation(f"code and messages do not fit: {seen}")
        (self.ordered if seen.order else self.pops).popped(seen)
        if not seen.order:
            self.states.popped(seen)
        self.queue_state.something_happened(seen.group)

    def _reset(self, seen: obs.Reset) -> None:
        self.queue_state.something_happened(seen.group)
        if seen.group in self.pop_groups:
            self.pops.reset(seen)
            self.notifications.reset(seen)
            self.states.reset(seen)
        elif seen.group in self.ordered_groups:
            self.ordered.reset(seen)
        else:
            self.pulls.reset(seen)

    def _range_seen(self, seen: obs.RangeSeen) -> None:
        place = (seen.topic, seen.queue_id)
        if (seen.low, seen.high) != (self.log.low(place), self.log.size(place)):
            raise Violation(f"the queue has messages {self.log.low(place)} to {self.log.size(place)}: {seen}")

    def _offset_seen(self, seen: obs.OffsetSeen) -> None:
        """Check a queried offset of a popping group: after the messages that it got, before those it has not got."""
        place = (seen.topic, seen.queue_id)
        if seen.group in self.pull_groups:
            self.pulls.offset_seen(seen)
            return
        if seen.offset is None:
            if self.log.size(place) and not self.log.low(place):
                raise Violation(f"no offset, although the group received messages: {seen}")
            return
        book = self.ordered if seen.group in self.ordered_groups else self.pops
        if not book.may_stand(seen.group, place, seen.offset):
            raise Violation(f"the group cannot be there: {seen}")

    def _left(self, seen: obs.Left) -> None:
        self.members.left(seen)
        if seen.closed:
            for book in (self.pops, self.notifications, self.ordered, self.pulls):
                book.gone(seen.client)

    def _crashed(self, seen: obs.Crashed) -> None:
        known = {(group, place): offset for group, place, offset in seen.positions}
        self.log.crashed(seen.now, seen.away_ms)
        for groups, book in (
            (self.pop_groups, self.pops),
            (self.ordered_groups, self.ordered),
            (self.pull_groups, self.pulls),
        ):
            book.crashed(seen.now, {key: offset for key, offset in known.items() if key[0] in groups})
        self.transactions.crashed(seen.now)
        self.members.crashed()
        self.notifications.crashed()
        self.queue_state.crashed()
        self.states.crashed()

    def _deleted(self, seen: obs.Deleted) -> None:
        self.files.deleted(seen)
        self.log.deleted(seen.low)
        self.delayed.deleted(seen.low)
        self.transactions.deleted(seen.now)
        self.queue_state.deleted()
        self.states.deleted()

    def _drained(self) -> None:
        """Check that every group got every message that it wants, and that none is still due."""
        for what in self.missing():
            raise Violation(f"never got {what}")
        for group in self.pull_groups:
            for topic in (*self.topics, f"%RETRY%{group}"):
                for queue_id in self.log.queue_ids(topic):
                    if unread := self.pulls.unread(group, (topic, queue_id)):
                        raise Violation(f"{group} never got {topic}@{queue_id}:{unread}")
        self.log.step_ended(self._now + 1)  # a message due at this very time has not arrived
        self.states.drained()
        self.states.step_ended(self._now)
        if (due := self.last_due(self._now)) > self._now:
            raise Violation(f"something is still due until {due}")

    def last_due(self, now: int) -> int:
        """Return the time by which every waiting message must be delivered, at least `now`."""
        return max(book.last_due(now) for book in (self.log, self.timed, self.transactions))

    def missing(self) -> list[str]:
        """Describe messages that popping groups have not got, or ordered groups have not finished."""
        popped = [
            f"{group}: {place}"
            for group in self.pop_groups
            for topic in self.topics
            for name in (topic, self.pops.retry_topic(group, topic))
            for place in self.pops.unread(group, name)
        ]
        ordered = [
            f"{group}: {place}"
            for group in self.ordered_groups
            for topic in self.topics
            for place in self.ordered.unread(group, topic)
        ]
        return popped + ordered
