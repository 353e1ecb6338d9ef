"""The state of one member of a group: heartbeats, queues, refused requests, messages in flight, long polls."""

from collections import Counter
from collections.abc import Iterator

from ..history.events import RefusedRequest, RuleFiring
from ..inspection.groups import GroupView, MemberView
from ..inspection.receipts import ReceiptView
from . import changes
from .clock_text import span_text
from .facts import Change, ChangeAction, Fact
from .idle_clause import IdleClause, counted, phrases, queues_of_topics_text, queues_text
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
        self._inspection = scene.inspection
        self._queues = QueueStates(scene)
        self._now_ms = scene.now_ms

    def clause(self, group: GroupView, member: MemberView) -> IdleClause:
        """Return the state of a member as one clause."""
        found = [
            *self._silence(member),
            *(each for topic in own_topics(group) for each in self._queues.clauses(group, member, topic)),
            *self._silent_reader(group, member),
            *self._refusals(group, member),
            *self._faults(member),
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
            change = Change(ChangeAction.WAIT, f"{member.client} sends a heartbeat", client=member.client)
            whole = span_text(silent_ms // 1000 * 1000)
            yield IdleClause(f"has not sent a heartbeat for {whole} of emulator time", (fact,), (change,))

    # requests and messages

    def _refusals(self, group: GroupView, member: MemberView) -> Iterator[IdleClause]:
        refused = [each for each in self._scene.refusals(group.name) if self._is_of(each, member)]
        for code, number in Counter(each.code for each in refused).items():
            last = max((each for each in refused if each.code == code), key=lambda each: each.at_ms)
            at = self._scene.at(last.at_ms)
            times = f"{counted(number, 'time')}, last {at}"
            remark = f": {last.remark}" if last.remark else ""
            fact = Fact("refused", {"client": member.client, "label": last.label, "code": code, "times": number})
            yield IdleClause(f"got {last.label} refused with {code} ({times}){remark}", (fact,))

    def _is_of(self, event: RefusedRequest | RuleFiring, member: MemberView) -> bool:
        return event.channel == member.channel or self._scene.client_id(event.channel) == member.client

    def _in_flight(self, group: GroupView, member: MemberView) -> Iterator[IdleClause]:
        found = [each for each in self._inspection.receipts(group.name) if each.channel == member.channel]
        held, returned = [each for each in found if not each.returned], [each for each in found if each.returned]
        if held:
            fact = Fact("in_flight", {"client": member.client, "messages": len(held)})
            change = Change(
                ChangeAction.ACKNOWLEDGE, f"{member.client} acknowledges its messages", client=member.client
            )
            order = self._order(group, held)
            yield IdleClause(f"has {counted(len(held), 'message')} in flight{order}", (fact,), (change,))
        if returned:
            fact = Fact("returned", {"client": member.client, "messages": len(returned)})
            ends = [each.until_ms for each in returned if each.until_ms is not None]
            until = f", invisible until {self._scene.at(min(ends))}" if ends else ""
            options = (changes.advance(self._scene, min(ends), "the broker redelivers it"),) if ends else ()
            yield IdleClause(f"has returned {counted(len(returned), 'message')}{until}", (fact,), options)

    @staticmethod
    def _order(group: GroupView, held: list[ReceiptView]) -> str:
        """Return a clause about the queues that messages in flight of an orderly group block; empty for others."""
        places = [each.place for each in held if each.table == "order"]
        if not group.orderly or not places:
            return ""
        queues = queues_of_topics_text((each.topic, each.queue_id) for each in places)
        return f", and later messages of {queues} wait for it in order"

    def absent(self, group: GroupView) -> Iterator[IdleClause]:
        """Yield the messages in flight of clients that are no members of the group any more."""
        members = {member.channel for member in group.members} | {member.client for member in group.members}
        by_client: dict[str, list[ReceiptView]] = {}
        for each in self._inspection.receipts(group.name):
            if not {each.channel, each.client} & members:
                client = self._scene.client_id(each.channel) or "a client that is not known"
                by_client.setdefault(client, []).append(each)
        for client, held in by_client.items():
            ends = [each.until_ms for each in held if each.until_ms is not None]
            until = f" until {self._scene.at(min(ends))}" if ends else ""
            fact = Fact("in_flight", {"client": client, "messages": len(held)})
            options = (changes.advance(self._scene, min(ends), "the broker redelivers it"),) if ends else ()
            count = counted(len(held), "message")
            yield IdleClause(f"{client}, which is no member any more, has {count} in flight{until}", (fact,), options)

    def _faults(self, member: MemberView) -> Iterator[IdleClause]:
        """Yield the rules of faults that acted on requests of a member."""
        fired = [each for each in self._scene.history.firings() if self._is_of(each, member)]
        for rule in dict.fromkeys(each.rule for each in fired):
            last = [each for each in fired if each.rule == rule][-1]
            times = counted(sum(each.rule == rule for each in fired), "time")
            at = self._scene.at(last.at_ms)
            fact = Fact("firing", {"rule": rule, "effect": last.effect, "operation": last.operation})
            sentence = f"was affected by rule {rule} ({last.effect}) in {last.operation} ({times}, last {at})"
            yield IdleClause(sentence, (fact,), (changes.remove_rule(rule),))

    def _silent_reader(self, group: GroupView, member: MemberView) -> Iterator[IdleClause]:
        """Yield why a member does not request the messages that wait for it, as far as the broker can know."""
        if any((each.channel, each.group) == (member.channel, group.name) for each in self._inspection.polls()):
            return
        if not any(self._queues.has_waiting(group, topic) for topic in own_topics(group)):
            return
        if "push" in member.kind:
            return  # the clauses about its queues name the poll habit of its SDK
        change = Change(ChangeAction.WAIT, f"the application of {member.client} receives", client=member.client)
        yield IdleClause(
            "has no receive in progress (its application decides when it receives)",
            (Fact("polls", {"client": member.client, "number": 0}),),
            (change,),
        )

    def _polls(self, group: GroupView, member: MemberView) -> Iterator[IdleClause]:
        wanted = (member.channel, group.name)
        polls = [each for each in self._inspection.polls() if (each.channel, each.group) == wanted]
        if polls:
            since_ms = min(each.since_ms for each in polls)
            queues = {(each.topic, each.queue_id) for each in polls if each.queue_id is not None}
            several = len({topic for topic, _ in queues}) > 1
            text = queues_of_topics_text(queues) if several else queues_text(number for _, number in queues)
            where = f" of {text}" if queues else ""
            fact = Fact("polls", {"client": member.client, "number": len(polls), "since_ms": since_ms})
            number = "a long poll" if len(polls) == 1 else f"{len(polls)} long polls"
            yield IdleClause(f"waits in {number}{where} since {self._scene.at(since_ms)}", (fact,))
