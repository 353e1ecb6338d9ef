"""Rules about the queue of an unread message: order, locks, flow control, cold data, full request pools."""

from ..history.passed_on import PROXY
from . import changes
from .facts import Change
from .idle_clause import listed
from .owner_rules import assignment_of, members_without_queue
from .reason import Reason
from .refused_rules import refused_requests, was_served_since
from .subject import Finding, Subject, fact

_BUSY = ("SYSTEM_BUSY", "TOO_MANY_REQUESTS")
"""Codes with which a full request pool refuses, of the remoting and of the gRPC protocol."""


def behind_in_order(subject: Subject) -> Finding | None:
    """An earlier message of the queue is in flight, and the group pops in order."""
    place, scene = subject.stored.place, subject.scene
    blocking = [
        receipt
        for receipt in scene.inspection.ordered_batch(subject.consumer.name, place.broker, place.topic, place.queue_id)
        if receipt.place.queue_offset < place.queue_offset
        and receipt.until_ms is not None
        and receipt.until_ms > scene.now_ms
    ]
    if not blocking:
        return None
    first = min(blocking, key=lambda each: each.place.queue_offset)
    last = max(blocking, key=lambda each: each.until_ms or 0)
    until_ms = last.until_ms
    assert until_ms is not None
    message = scene.inspection.at(first.place)
    name = f"message {message.message_id}" if message is not None else "the message"
    of_group = f" of message group {message.message_group}" if message is not None and message.message_group else ""
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
    return Finding(Reason.BEHIND_IN_ORDER, text, facts, options, until_ms=until_ms)


def locked(subject: Subject) -> Finding | None:
    """A client has locked the queue, and another member should read it: the queue's owner, or one without a queue.

    The member that requested a queue last counts as its owner, even if it hangs. If the owner has the lock, but no long
    poll of the queue, it may hang: the members without a queue then count as waiting for the lock.
    A lock of a client that has left the group also counts if the queue has no owner.
    """
    place, scene = subject.stored.place, subject.scene
    group = subject.consumer
    lock = next(
        (
            each
            for each in scene.inspection.locks(group.name)
            if (each.group, each.broker, each.topic, each.queue_id)
            == (group.name, place.broker, place.topic, place.queue_id)
        ),
        None,
    )
    if lock is None:
        return None
    assignments = scene.assignments(group.name, place.topic)
    assignment = assignment_of(subject, assignments)
    owner = None if assignment is None else assignment.client
    waiting = [owner] if owner is not None else []
    if lock.client == owner:
        waiting = [] if _polls(subject, lock.client) else members_without_queue(subject, assignments)
    if not waiting and (owner is not None or any(member.client == lock.client for member in group.members)):
        return None
    free_ms = lock.until_ms + 1  # a lock still counts at its end (RebalanceLockManager.LockEntry.isExpired)
    waits = f"; {listed(waiting)} wait{'s' if len(waiting) == 1 else ''} for the lock" if waiting else ""
    text = f"queue {place.queue_id} is locked by {lock.client} until {subject.at(lock.until_ms)}{waits}"
    facts = (
        fact(
            "lock", group=group.name, queue_id=place.queue_id, client=lock.client, until_ms=lock.until_ms, owner=owner
        ),
        subject.place_fact,
    )
    options = (
        changes.wait(f"{lock.client} unlocks the queue", lock.client),
        changes.advance(scene, free_ms, "the lock ends, unless its owner renews it"),
    )
    return Finding(Reason.QUEUE_LOCKED, subject.stored_but(text), facts, options, until_ms=free_ms)


def _polls(subject: Subject, client: str) -> bool:
    """True if a client waits in a long poll of the queue."""
    place, scene = subject.stored.place, subject.scene
    return any(
        (poll.group, poll.broker, poll.topic, poll.queue_id)
        == (subject.consumer.name, place.broker, place.topic, place.queue_id)
        and scene.client_id(poll.channel) == client
        for poll in scene.inspection.polls()
    )


def flow_controlled(subject: Subject) -> Finding | None:
    """The group has too many messages of the queue in flight."""
    place, scene = subject.stored.place, subject.scene
    if scene.key(place.broker, "enablePopMessageThreshold") != "true":
        return None
    progress = None if subject.queue is None else subject.queue.groups.get(subject.consumer.name)
    if progress is None:
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
    return Finding(Reason.FLOW_CONTROLLED, subject.stored_but(text), facts, options)


def suspended(subject: Subject) -> Finding | None:
    """Cold-data control suspends the group, because it reads too many bytes far behind the end of the log."""
    progress, place, scene, group = subject.progress, subject.stored.place, subject.scene, subject.consumer
    if progress is None or progress.suspension is None:
        return None
    found = progress.suspension
    reader = "all groups together have" if found.key == "globalColdReadThreshold" else f"group {group.name} has"
    limit = f"{found.key}={found.limit}" if found.key else f"the limit of the group, {found.limit}"
    text = (
        f"{place.broker} suspends group {group.name}, because {reader} read {found.read} bytes of cold data in the "
        f"last 5 s, at least {limit} (coldDataFlowControlEnable); the count starts again at "
        f"{subject.at(found.until_ms)}"
    )
    facts = (
        fact("cold_data", broker=place.broker, read=found.read, limit=found.limit, until_ms=found.until_ms),
        subject.progress_fact,
        subject.place_fact,
    )
    options: list[Change] = [changes.advance(scene, found.until_ms, "the broker serves the next pull")]
    if found.key:
        options.append(changes.configure(f'rocketmq.configure({{"{found.key}": {found.read + 1}}})'))
    return Finding(Reason.SUSPENDED, subject.stored_but(text), facts, tuple(options), until_ms=found.until_ms)


def overloaded(subject: Subject) -> Finding | None:
    """A request pool refused the group's newest request for the topic, and no request was accepted since then."""
    scene, place = subject.scene, subject.stored.place
    found = [
        each
        for each in refused_requests(subject, subject.message.topic, place.topic)
        if each.code in _BUSY and each.node in (place.broker, PROXY) and each.at_ms >= subject.stored.stored_at_ms
    ]
    if not found or was_served_since(subject, found[-1].at_ms):
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
    return Finding(Reason.OVERLOADED, subject.stored_but(text), facts, (again,))
