"""Rules about the owner of an unread message's queue, and about its next request."""

from ..client.poll_habits import habit_of
from ..inspection.assignments import AssignmentView
from ..inspection.groups import MemberView
from ..inspection.polls import PollView
from . import changes
from .facts import Fact
from .flight_rules import fault_acted, lost_response
from .idle_clause import counted
from .reason import Reason
from .subject import DELIVERED, Finding, Subject, fact


def no_queue_owner(subject: Subject) -> Finding | None:
    """The owner of the queue has not requested it yet, or some members have no queue and cannot read it."""
    if subject.is_retry:
        return None
    assignments = subject.scene.assignments(subject.consumer.name, subject.stored.place.topic)
    own = assignment_of(subject, assignments)
    if own is None or own.client is None:
        return None
    members = {member.client: member for member in subject.consumer.members}
    owner = members.get(own.client)
    if owner is None:
        return None
    if own.requested_ms is None:
        return _unrequested(subject, own, owner, assignments)
    idle = members_without_queue(subject, assignments)
    if not idle or len(assignments) >= len(members):
        return None
    topic, place = subject.message.topic, subject.stored.place
    queues, last = counted(len(assignments), "queue"), subject.at(own.requested_ms)
    text = (
        f"{own.client} has queue {place.queue_id} and last requested it at {last}; {topic} has {queues} and group "
        f"{subject.consumer.name} {len(members)} members, so {', '.join(idle)} cannot read it"
    )
    facts = (
        fact("assignments", topic=topic, queues=len(assignments), members=len(members), idle=tuple(idle)),
        subject.place_fact,
    )
    options = (
        changes.configure(f"give {topic} at least {len(members)} queues"),
        changes.wait(f"{own.client} requests queue {place.queue_id}", own.client),
    )
    return Finding(Reason.FEWER_QUEUES, subject.stored_but(text), facts, options)


def members_without_queue(subject: Subject, assignments: list[AssignmentView]) -> list[str]:
    """Return the client ids of the members that have no queue of the topic."""
    members = {member.client for member in subject.consumer.members}
    return sorted(members - {each.client for each in assignments if each.client is not None})


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
            f"the strategy {own.strategy} of {other.client} assigns queue {place.queue_id} to {own.client}, and "
            f"{own.client} does not request it: the members divide the queues by different strategies"
        )
        change = changes.subscribe(f"give all members of {group.name} the same allocation strategy", own.client)
        return Finding(Reason.STRATEGY, subject.stored_but(text), facts, (change,))
    habit = habit_of(owner.language, through_proxy=owner.protocol == "grpc")
    sdk = f"{owner.language} {owner.version}".strip()
    text = (
        f"no member of {group.name} has requested queue {place.queue_id} yet; it is assigned to {own.client} ({sdk}), "
        f"and {habit}"
    )
    change = changes.wait(f'rocketmq.wait_for_consumer("{group.name}", assigned=True)', own.client)
    return Finding(Reason.NOT_REBALANCED, subject.stored_but(text), facts, (change,))


def assignment_of(subject: Subject, found: list[AssignmentView] | None = None) -> AssignmentView | None:
    """Return the assignment of the queue of the copy."""
    place = subject.stored.place
    if found is None:
        found = subject.scene.assignments(subject.consumer.name, place.topic)
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
        delivered = subject.last(*DELIVERED)
        past = "was not requested yet"
        if delivered is not None:
            client = subject.scene.client(delivered.channel)
            past = f"the offset of the group is before it, although {client} got it at {subject.at(delivered.at_ms)}"
        text = f"is available ({subject.where}) and {past}"
    poll = _poll(subject)
    assignment = None if subject.is_retry else assignment_of(subject)
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
        for poll in subject.scene.inspection.polls()
        if poll.group == subject.consumer.name
        and poll.broker == place.broker
        and poll.topic in (place.topic, subject.message.topic)
    ]
    return min(polls, key=lambda each: each.queue_id not in (place.queue_id, None), default=None)


def _waits_for(member: MemberView) -> str:
    """Return why a member has not requested messages, as far as the broker can know."""
    if "push" in member.kind:
        habit = habit_of(member.language, through_proxy=member.protocol == "grpc")
        return f"{member.client} waits in no long poll, and {habit}"
    return f"the application of {member.client} decides when it receives"
