"""The state of one member of a group: heartbeats, queues, refused requests, messages in flight, long polls."""

from collections import Counter
from collections.abc import Iterator

from ..history.events import RefusedRequest
from ..history.passed_on import original_refusals
from ..inspection.groups import GroupView, MemberView
from .clock_text import span_text
from .explanation import Action, Change, Fact
from .idle_clause import IdleClause, counted, phrases, queues_text
from .idle_groups import own_topics
from .idle_queues import QueueStates
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
        self._queues = QueueStates(scene)
        self._now_ms = scene.now_ms

    def clause(self, group: GroupView, member: MemberView) -> IdleClause:
        """Return the state of a member as one clause."""
        found = [
            *self._silence(member),
            *(each for topic in own_topics(group) for each in self._queues.clauses(group, member, topic)),
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

    # requests and messages

    def _refusals(self, group: GroupView, member: MemberView) -> Iterator[IdleClause]:
        found = original_refusals(self._scene.history.refused(group=group.name))
        refused = [each for each in found if self._is_of(each, member)]
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
