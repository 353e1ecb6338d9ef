"""The state of one member of a group: heartbeats, queues, locks, refused requests, messages in flight, long polls."""

from collections import Counter
from collections.abc import Iterator

from ..client.poll_habits import habit_of
from ..client.queue_uses import ANY_QUEUE
from ..history.events import RefusedRequest
from ..inspection.assignments import AssignmentView
from ..inspection.groups import GroupView, MemberView
from .clock_text import span_text
from .explanation import Action, Change, Fact
from .idle_clause import IdleClause, counted, listed, phrases, queues_text
from .idle_groups import own_topics
from .scene import Scene

HEARTBEAT_MS = {"grpc": 10_000, "remoting": 30_000}
"""The longest interval between two heartbeats of the SDKs, by protocol.

Source: ClientManager.HEART_BEAT_PERIOD of the gRPC SDK for Java, ClientConfig.heartbeatBrokerInterval (5.3.3).
"""


class MemberStates:
    """Describes members of the groups of a scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._look = scene.look
        self._now_ms = scene.now_ms

    def clause(self, group: GroupView, member: MemberView) -> IdleClause:
        """Return the state of a member as one clause."""
        found = [
            *self._silence(member),
            *(each for topic in own_topics(group) for each in self._queues(group, member, topic)),
            *self._refusals(group, member),
            *self._in_flight(group, member),
            *self._polls(group, member),
        ]
        return IdleClause(
            f"{member.client} {phrases([each.sentence for each in found] or ['is connected'])}",
            tuple(fact for each in found for fact in each.facts),
            tuple(change for each in found for change in each.changes),
        )

    def _silence(self, member: MemberView) -> Iterator[IdleClause]:
        silent_ms = self._now_ms - member.last_heartbeat_ms
        if silent_ms > HEARTBEAT_MS.get(member.protocol, 30_000):
            fact = Fact("heartbeat", {"client": member.client, "last_ms": member.last_heartbeat_ms})
            change = Change(Action.WAIT, f"{member.client} sends a heartbeat", client=member.client)
            whole = span_text(silent_ms // 1000 * 1000)
            yield IdleClause(f"has not sent a heartbeat for {whole} of emulator time", (fact,), (change,))

    # queues

    def _queues(self, group: GroupView, member: MemberView, topic: str) -> Iterator[IdleClause]:
        if not any(each.topic == topic for each in member.subscriptions):
            return
        queues = self._look.queues(topic)
        assignments = self._look.assignments(group.name, topic)
        own = [each for each in assignments if each.client == member.client]
        if any(each.queue_id == ANY_QUEUE for each in own):
            yield self._any_queue(group, topic)
        elif own:
            yield self._assigned(group, member, topic, own)
            yield from self._locks(group, member, own)
            unrequested = [each for each in own if each.requested_ms is None]
            if unrequested:
                numbers = queues_text(each.queue_id for each in unrequested)
                habit = habit_of(member.language, through_proxy=member.protocol == "grpc")
                yield IdleClause(
                    f"has not requested {numbers} of {topic} yet ({habit})",
                    (Fact("assignment", {"topic": topic, "unrequested": len(unrequested)}),),
                    (Change(Action.WAIT, f"{member.client} requests {numbers}", client=member.client),),
                )
        elif any(each.client is not None for each in assignments):
            yield self._without_queue(group, member, topic, assignments)
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
        places = {(each.broker, each.queue_id) for each in self._look.queues(topic) if each.readable}
        waiting = self._waiting(group, topic, places)
        fact = Fact("queues", {"topic": topic, "queues": len(places), "waiting": sum(waiting.values())})
        queues = "the only queue" if len(places) == 1 else f"all {len(places)} queues"
        sentence = f"may read {queues} of {topic}, {_contents(waiting, len(places))}"
        return IdleClause(sentence, (fact,), _send(topic, waiting))

    def _without_queue(
        self, group: GroupView, member: MemberView, topic: str, assignments: list[AssignmentView]
    ) -> IdleClause:
        owners = sorted({each.client for each in assignments if each.client is not None})
        members = len(group.members)
        facts = (Fact("assignments", {"topic": topic, "queues": len(assignments), "members": members}),)
        sentence = (
            f"has no queue of {topic}: {topic} has {counted(len(assignments), 'queue')} and {group.name} "
            f"{counted(members, 'member')}; strategy {assignments[0].strategy} gives the queues to {listed(owners)}"
        )
        if len(assignments) < members:
            return IdleClause(sentence, facts, (Change(Action.CONFIGURE, f"give {topic} at least {members} queues"),))
        change = Change(Action.WAIT, f"{member.client} rebalances by its own clock", client=member.client)
        return IdleClause(sentence, facts, (change,))

    def _waiting(self, group: GroupView, topic: str, places: set[tuple[str, int]]) -> dict[str, int]:
        """Return the number of messages that wait in each queue, by its name; empty queues are left out."""
        found = {}
        for queue in self._look.queues(topic):
            progress = queue.groups.get(group.name)
            number = queue.end - queue.first if progress is None else queue.end - max(progress.position, queue.first)
            if (queue.broker, queue.queue_id) in places and number > 0:
                found[f"{queue.broker}/{queue.queue_id}"] = number
        return found

    def _locks(self, group: GroupView, member: MemberView, own: list[AssignmentView]) -> Iterator[IdleClause]:
        places = {(each.broker, each.topic, each.queue_id) for each in own}
        held = [each for each in self._look.locks() if each.group == group.name and each.client != member.client]
        for lock in held:
            if (lock.broker, lock.topic, lock.queue_id) not in places:
                continue
            until = self._scene.at(lock.until_ms)
            by_ms = max(lock.until_ms - self._now_ms, 0)
            yield IdleClause(
                f"waits for the lock of queue {lock.queue_id}, which {lock.client} holds until {until}",
                (Fact("lock", {"queue_id": lock.queue_id, "client": lock.client, "until_ms": lock.until_ms}),),
                (Change(Action.ADVANCE, f"advance the clock by {span_text(by_ms)}", by_ms),),
            )

    # requests and messages

    def _refusals(self, group: GroupView, member: MemberView) -> Iterator[IdleClause]:
        refused = [each for each in self._scene.history.refused(group=group.name) if self._is_of(each, member)]
        for code, number in Counter(each.code for each in refused).items():
            last = max((each for each in refused if each.code == code), key=lambda each: each.at_ms)
            at = self._scene.at(last.at_ms)
            times = f"{counted(number, 'time')}, last {at}"
            remark = f": {last.remark}" if last.remark else ""
            fact = Fact("refused", {"client": member.client, "label": last.label, "code": code, "times": number})
            yield IdleClause(f"is refused {last.label}: {code} ({times}){remark}", (fact,))

    def _is_of(self, refused: RefusedRequest, member: MemberView) -> bool:
        return refused.channel == member.channel or self._scene.client_id(refused.channel) == member.client

    def _in_flight(self, group: GroupView, member: MemberView) -> Iterator[IdleClause]:
        held = [each for each in self._look.receipts(group.name) if each.channel == member.channel]
        if held:
            fact = Fact("in_flight", {"client": member.client, "messages": len(held)})
            change = Change(Action.ACKNOWLEDGE, f"{member.client} acknowledges its messages", client=member.client)
            yield IdleClause(f"has {counted(len(held), 'message')} in flight", (fact,), (change,))

    def _polls(self, group: GroupView, member: MemberView) -> Iterator[IdleClause]:
        polls = [each for each in self._look.polls() if (each.channel, each.group) == (member.channel, group.name)]
        if polls:
            since_ms = min(each.since_ms for each in polls)
            numbers = {each.queue_id for each in polls if each.queue_id is not None}
            where = f" of {queues_text(numbers)}" if numbers else ""
            fact = Fact("polls", {"client": member.client, "number": len(polls), "since_ms": since_ms})
            number = "a long poll" if len(polls) == 1 else f"{len(polls)} long polls"
            yield IdleClause(f"waits in {number}{where} since {self._scene.at(since_ms)}", (fact,))


def _contents(waiting: dict[str, int], queues: int) -> str:
    if not waiting:
        return "empty" if queues == 1 else "all empty"
    queue, number = next(iter(waiting.items()))
    total = counted(sum(waiting.values()), "message")
    return f"with {total} to read" + (f" in {queue}" if len(waiting) == 1 else f", {number} of them in {queue}")


def _send(topic: str, waiting: dict[str, int]) -> tuple[Change, ...]:
    return () if waiting else (Change(Action.SEND, f"send a message to {topic}"),)
