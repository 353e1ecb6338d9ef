"""The state of a member in the queues of a topic: its queues, their contents, and locks of other members."""

from collections.abc import Iterator

from ..client.poll_habits import habit_of
from ..client.queue_uses import ANY_QUEUE
from ..inspection.assignments import NOT_KNOWN, AssignmentView
from ..inspection.groups import GroupView, MemberView
from .clock_text import span_text
from .facts import Change, ChangeAction, Fact
from .idle_clause import IdleClause, counted, listed, queues_text
from .scene import Scene


class QueueStates:
    """Describes members in the queues of their topics."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._inspection = scene.inspection
        self._now_ms = scene.now_ms

    def clauses(self, group: GroupView, member: MemberView, topic: str) -> Iterator[IdleClause]:
        """Yield the state of a member in the queues of a topic, nothing if it does not subscribe to the topic."""
        if not any(each.topic == topic for each in member.subscriptions):
            return
        queues = self._inspection.queues(topic)
        assignments = self._inspection.assignments(group.name, topic)
        own = [each for each in assignments if each.client == member.client]
        if any(each.queue_id == ANY_QUEUE for each in own):
            yield self._any_queue(group, topic)
        elif own:
            yield self._assigned(group, member, topic, own)
            yield from self._locks(group, member, own)
            yield from self._suspensions(group, topic, own)
            unrequested = [each for each in own if each.requested_ms is None]
            if unrequested:
                numbers = queues_text(each.queue_id for each in unrequested)
                habit = habit_of(member.language, through_proxy=member.protocol == "grpc")
                yield IdleClause(
                    f"has not requested {numbers} of {topic} yet ({habit})",
                    (Fact("assignment", {"topic": topic, "unrequested": len(unrequested)}),),
                    (Change(ChangeAction.WAIT, f"{member.client} requests {numbers}", client=member.client),),
                )
        elif any(each.client is not None for each in assignments):
            yield self._without_queue(group, member, topic, assignments)
            yield from self._locks(group, member, [each for each in assignments if self._is_silent(each)])
        elif queues:
            yield self._any_queue(group, topic)

    def _assigned(self, group: GroupView, member: MemberView, topic: str, own: list[AssignmentView]) -> IdleClause:
        places = {(each.broker, each.queue_id) for each in own}
        waiting = self._waiting(group, topic, places)
        by_broker: dict[str, list[int]] = {}
        for broker, queue_id in sorted(places):
            by_broker.setdefault(broker, []).append(queue_id)
        named = " and ".join(
            f"{queues_text(numbers)}{f' of {broker}' if len(by_broker) > 1 else ''}"
            for broker, numbers in by_broker.items()
        )
        fact = Fact(
            "queues", {"client": member.client, "topic": topic, "queues": len(own), "waiting": sum(waiting.values())}
        )
        return IdleClause(f"has {named} of {topic}, {_contents(waiting, len(own))}", (fact,), _send(topic, waiting))

    def _any_queue(self, group: GroupView, topic: str) -> IdleClause:
        """Return the state of a member that may read every queue, as with pops, or whose queues are not known."""
        places = {(each.broker, each.queue_id) for each in self._inspection.queues(topic) if each.readable}
        waiting = self._waiting(group, topic, places)
        fact = Fact("queues", {"topic": topic, "queues": len(places), "waiting": sum(waiting.values())})
        queues = "the only queue" if len(places) == 1 else f"all {len(places)} queues"
        sentence = f"may read {queues} of {topic}, {_contents(waiting, len(places))}"
        return IdleClause(sentence, (fact,), _send(topic, waiting))

    def _suspensions(self, group: GroupView, topic: str, own: list[AssignmentView]) -> Iterator[IdleClause]:
        """Yield the queues in which cold-data control suspends the group."""
        places = {(each.broker, each.queue_id) for each in own}
        for queue in self._inspection.queues(topic):
            progress = queue.groups.get(group.name)
            if (queue.broker, queue.queue_id) not in places or progress is None or progress.suspension is None:
                continue
            found = progress.suspension
            until = self._scene.at(found.until_ms)
            by_ms = max(found.until_ms - self._now_ms, 0)
            yield IdleClause(
                f"is suspended in queue {queue.queue_id} until {until}: {queue.broker} counts {found.read} bytes of "
                f"cold data, at least {found.limit} (coldDataFlowControlEnable)",
                (Fact("cold_data", {"queue_id": queue.queue_id, "read": found.read, "limit": found.limit}),),
                (Change(ChangeAction.ADVANCE, f"advance the clock by {span_text(by_ms)}", by_ms),),
            )

    def _without_queue(
        self, group: GroupView, member: MemberView, topic: str, assignments: list[AssignmentView]
    ) -> IdleClause:
        owners = sorted({each.client for each in assignments if each.client is not None})
        members, strategy = len(group.members), assignments[0].strategy
        division = "the SDKs assign" if strategy == NOT_KNOWN else f"strategy {strategy} assigns"
        facts = (Fact("assignments", {"topic": topic, "queues": len(assignments), "members": members}),)
        sentence = (
            f"has no queue of {topic}: {topic} has {counted(len(assignments), 'queue')} and group {group.name} "
            f"{counted(members, 'member')}; {division} the queues to {listed(owners)}"
        )
        if len(assignments) < members:
            return IdleClause(
                sentence, facts, (Change(ChangeAction.CONFIGURE, f"give {topic} at least {members} queues"),)
            )
        change = Change(ChangeAction.WAIT, f"{member.client} rebalances by its own clock", client=member.client)
        return IdleClause(sentence, facts, (change,))

    def has_waiting(self, group: GroupView, topic: str) -> bool:
        """True if messages of a topic wait for a group."""
        places = {(each.broker, each.queue_id) for each in self._inspection.queues(topic) if each.readable}
        return bool(self._waiting(group, topic, places))

    def _waiting(self, group: GroupView, topic: str, places: set[tuple[str, int]]) -> dict[str, int]:
        """Return the number of messages that wait in each queue, by its name; empty queues are left out."""
        found = {}
        for queue in self._inspection.queues(topic):
            progress = queue.groups.get(group.name)
            number = queue.end - queue.first if progress is None else queue.end - max(progress.position, queue.first)
            if (queue.broker, queue.queue_id) in places and number > 0:
                found[f"{queue.broker}/{queue.queue_id}"] = number
        return found

    def _is_silent(self, assignment: AssignmentView) -> bool:
        """True if the member that has a queue waits in no long poll of this queue."""
        place = (assignment.group, assignment.broker, assignment.topic, assignment.queue_id)
        return not any(
            (poll.group, poll.broker, poll.topic, poll.queue_id) == place
            and self._scene.client_id(poll.channel) == assignment.client
            for poll in self._inspection.polls()
        )

    def _locks(self, group: GroupView, member: MemberView, own: list[AssignmentView]) -> Iterator[IdleClause]:
        places = {(each.broker, each.topic, each.queue_id) for each in own}
        held = [each for each in self._inspection.locks() if each.group == group.name and each.client != member.client]
        for lock in held:
            if (lock.broker, lock.topic, lock.queue_id) not in places:
                continue
            until = self._scene.at(lock.until_ms)
            by_ms = max(lock.until_ms - self._now_ms, 0)
            yield IdleClause(
                f"waits for the lock of queue {lock.queue_id}, which {lock.client} holds until {until}",
                (Fact("lock", {"queue_id": lock.queue_id, "client": lock.client, "until_ms": lock.until_ms}),),
                (Change(ChangeAction.ADVANCE, f"advance the clock by {span_text(by_ms)}", by_ms),),
            )


def _contents(waiting: dict[str, int], queues: int) -> str:
    if not waiting:
        return "empty" if queues == 1 else "all empty"
    queue, number = next(iter(waiting.items()))
    total = counted(sum(waiting.values()), "message")
    return f"with {total} to read" + (f" in {queue}" if len(waiting) == 1 else f", {number} of them in {queue}")


def _send(topic: str, waiting: dict[str, int]) -> tuple[Change, ...]:
    return () if waiting else (Change(ChangeAction.SEND, f"send a message to {topic}"),)
