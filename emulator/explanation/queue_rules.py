"""Rules about the queue of an unread message: order, locks, flow control, overload, owners, long polls."""

from ..client.poll_habits import habit_of
from ..history.events import RefusedRequest
from ..inspection.assignments import AssignmentView
from ..inspection.groups import MemberView
from ..inspection.polls import PollView
from . import changes
from .explanation import Change, Fact
from .progress_rules import fault_acted, lost_response
from .reason import Reason
from .subject import Finding, Subject, fact

_BUSY = ("SYSTEM_BUSY", "TOO_MANY_REQUESTS")
"""Codes with which a full request pool refuses, of the remoting and of the gRPC protocol."""


def behind_in_order(subject: Subject) -> Finding | None:
    """An earlier message of the queue is in flight, and the group pops in order."""
    place, scene = subject.stored.place, subject.scene
    blocking = [
        receipt
        for receipt in scene.look.receipts(subject.consumer.name)
        if receipt.holder == "order"
        and (receipt.place.broker, receipt.place.topic, receipt.place.queue_id)
        == (place.broker, place.topic, place.queue_id)
        and receipt.place.queue_offset < place.queue_offset
        and receipt.until_ms is not None
        and receipt.until_ms > scene.now_ms
    ]
    if not blocking:
        return None
    first = min(blocking, key=lambda each: each.place.queue_offset)
    last = max(blocking, key=lambda each: each.until_ms or 0)
    until_ms = last.until_ms
    assert until_ms is not None
    family = scene.look.at(first.place)
    name = f"message {family.message_id}" if family is not None else "the message"
    of_group = f" of message group {family.message_group}" if family is not None and family.message_group else ""
    state = "invisible" if first.returned else "in flight"
    text = (
        f"waits ({subject.where}) behind {name} (offset {first.place.queue_offset}){of_group}, which is {state} until "
        f"{subject.at(first.until_ms or until_ms)}"
    )
    facts = (
        fact(
            "order",
            group=first.group,
            queue_id=place.queue_id,
            offset=first.place.queue_offset,
            until_ms=first.until_ms,
            client=scene.client_id(first.channel),
        ),
        subject.place_fact,
    )
    options: tuple[Change, ...] = (
        changes.acknowledge(scene, first.channel, name),
        changes.advance(scene, until_ms, "the broker delivers the earlier message again"),
    )
    return Finding(Reason.BEHIND_IN_ORDER, text, facts, options, until_ms)


def locked(subject: Subject) -> Finding | None:
    """A client has locked the queue that belongs to another member, or that has no owner."""
    place, scene = subject.stored.place, subject.scene
    group = subject.consumer
    lock = next(
        (
            each
            for each in scene.look.locks()
            if (each.group, each.broker, each.topic, each.queue_id)
            == (group.name, place.broker, place.topic, place.queue_id)
        ),
        None,
    )
    if lock is None:
        return None
    assignment = _assignment(subject)
    owner = None if assignment is None else assignment.client
    if lock.client == owner or (owner is None and any(member.client == lock.client for member in group.members)):
        return None
    waits = f"; {owner} waits for the lock" if owner is not None else ""
    text = f"queue {place.queue_id} is locked by {lock.client} until {subject.at(lock.until_ms)}{waits}"
    facts = (
        fact(
            "lock", group=group.name, queue_id=place.queue_id, client=lock.client, until_ms=lock.until_ms, owner=owner
        ),
        subject.place_fact,
    )
    options = (
        changes.wait(f"{lock.client} unlocks the queue", lock.client),
        changes.advance(scene, lock.until_ms, "the lock ends, unless its owner renews it"),
    )
    return Finding(Reason.QUEUE_LOCKED, subject.but(text), facts, options, lock.until_ms)


def flow_controlled(subject: Subject) -> Finding | None:
    """The group has too many messages of the queue in flight."""
    place, scene, progress = subject.stored.place, subject.scene, subject.progress
    if progress is None or scene.key(place.broker, "enablePopMessageThreshold") != "true":
        return None
    threshold = int(scene.key(place.broker, "popInflightMessageThreshold") or 0)
    if progress.in_flight <= threshold:
        return None
    count = f"{progress.in_flight} message{'' if progress.in_flight == 1 else 's'}"
    text = (
        f"group {subject.consumer.name} has {count} of queue {place.queue_id} in flight, more than "
        f"popInflightMessageThreshold={threshold}"
    )
    facts = (
        fact("flow_control", queue_id=place.queue_id, in_flight=progress.in_flight, threshold=threshold),
        subject.place_fact,
    )
    options = (
        changes.acknowledge(scene, None, "messages of the queue"),
        changes.configure(f'rocketmq.configure({{"popInflightMessageThreshold": {progress.in_flight}}})'),
    )
    return Finding(Reason.FLOW_CONTROLLED, subject.but(text), facts, options)


def overloaded(subject: Subject) -> Finding | None:
    """A request pool has refused a request of the group since the message was stored, and no delivery followed."""
    group, scene = subject.consumer.name, subject.scene
    found: list[RefusedRequest] = [
        each
        for each in scene.history.refused(group=group)
        if each.code in _BUSY and each.at_ms >= subject.stored.stored_at_ms
    ]
    if not found:
        return None
    refused = found[-1]
    remark = f": {refused.remark}" if refused.remark else ""
    text = (
        f"a request pool of {refused.node} refused {refused.label} of {scene.client(refused.channel)} at "
        f"{subject.at(refused.at_ms)} ({refused.code}{remark})"
    )
    facts = (
        fact(
            "refused", node=refused.node, label=refused.label, code=refused.code, at_ms=refused.at_ms, times=len(found)
        ),
        subject.place_fact,
    )
    again = changes.wait("the client requests again when the pool has room", scene.client_id(refused.channel))
    return Finding(Reason.OVERLOADED, subject.but(text), facts, (again,))


# owners


def no_queue_owner(subject: Subject) -> Finding | None:
    """No member reads the queue: fewer queues than members, a strategy of another member, or no rebalance yet."""
    if subject.is_retry:
        return None
    assignments = subject.scene.look.assignments(subject.consumer.name, subject.stored.place.topic)
    own = _assignment(subject, assignments)
    if own is None or own.client is None:
        return None
    members = {member.client: member for member in subject.consumer.members}
    owner = members.get(own.client)
    if owner is None:
        return None
    if own.requested_ms is None:
        return _unrequested(subject, own, owner, assignments)
    idle = sorted(set(members) - {each.client for each in assignments if each.client is not None})
    if not idle or len(assignments) >= len(members):
        return None
    topic, place = subject.family.topic, subject.stored.place
    queues = f"{len(assignments)} queue{'' if len(assignments) == 1 else 's'}"
    text = (
        f"{own.client} has queue {place.queue_id} and has not requested it since {subject.at(own.requested_ms)}; "
        f"{topic} has {queues} and group {subject.consumer.name} {len(members)} members, so {', '.join(idle)} cannot read it"
    )
    facts = (
        fact("assignments", topic=topic, queues=len(assignments), members=len(members), idle=tuple(idle)),
        subject.place_fact,
    )
    options = (
        changes.configure(f"give {topic} at least {len(members)} queues"),
        changes.wait(f"{own.client} requests queue {place.queue_id}", own.client),
    )
    return Finding(Reason.FEWER_QUEUES, subject.but(text), facts, options)


def _unrequested(
    subject: Subject, own: AssignmentView, owner: MemberView, assignments: list[AssignmentView]
) -> Finding:
    """Return the verdict about a queue that its owner has not requested."""
    place, group = subject.stored.place, subject.consumer
    facts = (
        fact("assignment", queue_id=place.queue_id, client=own.client, strategy=own.strategy, requested=False),
        subject.place_fact,
    )
    requesting = {each.client for each in assignments if each.requested_ms is not None}
    other = next((member for member in group.members if member.client != own.client), None)
    if other is not None and {member.client for member in group.members} <= requesting:
        text = (
            f"the strategy {own.strategy} of {other.client} gives queue {place.queue_id} to {own.client}, and "
            f"{own.client} does not request it: the members divide the queues by different strategies"
        )
        change = changes.subscribe(f"give all members of {group.name} the same allocation strategy", own.client)
        return Finding(Reason.STRATEGY, subject.but(text), facts, (change,))
    habit = habit_of(owner.language, through_proxy=owner.protocol == "grpc")
    sdk = f"{owner.language} {owner.version}".strip()
    text = (
        f"no member of {group.name} has requested queue {place.queue_id} yet; {own.client} ({sdk}) has the queue, and "
        f"{habit}"
    )
    change = changes.wait(f'rocketmq.wait_for_consumer("{group.name}", assigned=True)', own.client)
    return Finding(Reason.NOT_REBALANCED, subject.but(text), facts, (change,))


def _assignment(subject: Subject, found: list[AssignmentView] | None = None) -> AssignmentView | None:
    """Return the assignment of the queue of the copy."""
    place = subject.stored.place
    if found is None:
        found = subject.scene.look.assignments(subject.consumer.name, place.topic)
    return next((each for each in found if (each.broker, each.queue_id) == (place.broker, place.queue_id)), None)


# available


def unread_fault(subject: Subject) -> Finding | None:
    """A rule of faults acted on the response with the message, and the group is not past it."""
    firing = lost_response(subject, subject.stored.stored_at_ms)
    return None if firing is None else fault_acted(subject, firing, None)


def available(subject: Subject) -> Finding:
    """The group can read the message, and no client has requested it yet."""
    place, group = subject.stored.place, subject.consumer
    if subject.is_retry:
        text = f"is available for {subject.retry_text} ({place.topic}, {subject.where}) and was not requested yet"
    else:
        text = f"is available ({subject.where}) and was not requested yet"
    poll = _poll(subject)
    assignment = None if subject.is_retry else _assignment(subject)
    facts: tuple[Fact, ...] = (subject.progress_fact, subject.place_fact)
    if poll is not None:
        client = subject.scene.client(poll.channel)
        queue = "any queue" if poll.queue_id is None else f"queue {poll.queue_id}"
        text += f"; {client} waits in a long poll of {queue} of {poll.topic} since {subject.at(poll.since_ms)}"
        facts = (fact("poll", client=client, queue_id=poll.queue_id, since_ms=poll.since_ms), *facts)
    elif assignment is not None and assignment.client is not None and assignment.requested_ms is not None:
        text += f"; {assignment.client} requested queue {place.queue_id} last at {subject.at(assignment.requested_ms)}"
        facts = (fact("assignment", client=assignment.client, requested_ms=assignment.requested_ms), *facts)
    elif group.members:
        waits = ", ".join(_waits_for(member) for member in group.members[:3])
        text += f"; {waits}"
    change = changes.wait(f"a member of {group.name} requests messages")
    return Finding(Reason.AVAILABLE, text, facts, (change,))


def _poll(subject: Subject) -> PollView | None:
    """Return a long poll of the group for the topic, one for the queue of the copy first."""
    place = subject.stored.place
    polls = [
        poll
        for poll in subject.scene.look.polls()
        if poll.group == subject.consumer.name
        and poll.broker == place.broker
        and poll.topic in (place.topic, subject.family.topic)
    ]
    return min(polls, key=lambda each: each.queue_id not in (place.queue_id, None), default=None)


def _waits_for(member: MemberView) -> str:
    """Return why a member has not requested messages, as far as the broker can know."""
    if "push" in member.kind:
        habit = habit_of(member.language, through_proxy=member.protocol == "grpc")
        return f"{member.client} waits in no long poll, and {habit}"
    return f"the application of {member.client} decides when it receives"
