"""Rules about a group: it does not exist, must not consume, has no members, or no member subscribes to the topic."""

from ..kernel.nearest_name import nearest_of
from ..message.names import is_retry
from . import changes
from .reason import Reason
from .subject import DELIVERED, Finding, Subject, fact


def no_group(subject: Subject) -> Finding | None:
    """There is no such group: it was deleted, or its name is wrong."""
    group = subject.consumer
    if group.exists:
        return None
    deletion = subject.scene.history.deleted_groups.of(group.name)
    if deletion is not None:
        return Finding(
            Reason.NO_SUCH_GROUP,
            subject.stored_but(f"group {group.name} was deleted at {subject.at(deletion.at_ms)}"),
            (fact("group", name=group.name, exists=False, deleted_at_ms=deletion.at_ms), subject.place_fact),
            (
                changes.configure(f'create it again: rocketmq.group("{group.name}")'),
                changes.start_consumer(group.name, subject.message.topic),
            ),
        )
    like = nearest_of(group.name, [each.name for each in subject.scene.groups])
    hint = f"; the nearest is {like}" if like is not None else ""
    return Finding(
        Reason.NO_SUCH_GROUP,
        subject.stored_but(f"there is no group {group.name}{hint}"),
        (fact("group", name=group.name, exists=False, nearest=like), subject.place_fact),
        (
            *(() if like is None else (changes.configure(f"use the name of the existing group: {like}"),)),
            changes.start_consumer(group.name, subject.message.topic),
        ),
    )


def disabled(subject: Subject) -> Finding | None:
    """The group must not consume: disabled by an administrator, or by a broker's guard against slow groups."""
    group = subject.consumer
    if group.consume_enable or not group.exists:
        return None
    enable = changes.configure(f'rocketmq.group("{group.name}", consume_enable=True)')
    facts = (fact("group", name=group.name, consume_enable=False), subject.place_fact)
    broker = subject.stored.place.broker
    if broker in group.too_slow_on:
        text = (
            f"{broker} disabled group {group.name}, because it reads too far behind the end of the log "
            f"(disableConsumeIfConsumerReadSlowly)"
        )
        slow = fact("slow_group", broker=broker)
        return Finding(Reason.SUSPENDED, subject.stored_but(text), (*facts, slow), (enable,))
    text = f"group {group.name} has consumption disabled, so brokers deliver nothing to it"
    return Finding(Reason.CONSUME_DISABLED, subject.stored_but(text), facts, (enable,))


def forbidden(subject: Subject) -> Finding | None:
    """The group must not consume the topic."""
    group, topic = subject.consumer, subject.message.topic
    if topic not in group.forbidden:
        return None
    return Finding(
        Reason.GROUP_FORBIDDEN,
        subject.stored_but(f"group {group.name} is forbidden to consume {topic}"),
        (fact("group", name=group.name, forbidden=group.forbidden), subject.place_fact),
        (changes.configure(f"allow {group.name} to consume {topic} (UPDATE_AND_GET_GROUP_FORBIDDEN)"),),
    )


def other_cluster(subject: Subject) -> Finding | None:
    """The members of the group are connected to brokers of other clusters only."""
    group, masters, place = subject.consumer, subject.scene.masters, subject.stored.place
    own = masters.get(place.broker)
    reached = {name for member in group.members for name in member.brokers}
    clusters = sorted({masters[name].cluster for name in reached if name in masters})
    if own is None or not clusters or own.cluster in clusters:
        return None
    others = ", ".join(clusters)
    text = f"is stored on cluster {own.cluster}, and the members of {group.name} are connected to {others} only"
    facts = (fact("clusters", stored=own.cluster, connected=tuple(clusters)), subject.place_fact)
    there = changes.start_consumer(f"{group.name} on cluster {own.cluster}", subject.message.topic)
    here = changes.configure(f"create {subject.message.topic} on {clusters[0]}, and send it there")
    return Finding(Reason.OTHER_CLUSTER, text, facts, (there, here))


def no_members(subject: Subject) -> Finding | None:
    """No client of the group is connected."""
    group = subject.consumer
    if group.members:
        return None
    newest = subject.last(*DELIVERED)
    last = ""
    if newest is not None:
        last = f"; {subject.scene.client(newest.channel)} received it last, at {subject.at(newest.at_ms)}"
    return Finding(
        Reason.NO_MEMBERS,
        subject.stored_but(f"group {group.name} has no connected member{last}"),
        (fact("group", name=group.name, members=0), subject.progress_fact, subject.place_fact),
        (changes.start_consumer(group.name, subject.message.topic),),
    )


def nobody_subscribes(subject: Subject) -> Finding | None:
    """No member of the group subscribes to the topic."""
    group, topic = subject.consumer, subject.message.topic
    topics = {each.topic for each in group.subscriptions}
    topics |= {each.topic for member in group.members for each in member.subscriptions}
    if topic in topics:
        return None
    others = sorted(each for each in topics if not is_retry(each))
    listed = ", ".join(others) if others else "no topic"
    count = len(group.members)
    members = (
        f"the only member of group {group.name} subscribes"
        if count == 1
        else f"the {count} members of group {group.name} subscribe"
    )
    text = f"{members} to {listed}, and not to {topic}"
    facts = (fact("subscriptions", group=group.name, topics=tuple(others)), subject.place_fact)
    return Finding(
        Reason.NOBODY_SUBSCRIBES,
        subject.stored_but(text),
        facts,
        (changes.subscribe(f"subscribe to {topic} in {group.name}"),),
    )


def broadcast_read(subject: Subject) -> Finding | None:
    """Members that consume by broadcasting have read the message. Their offsets say nothing about acknowledgements."""
    return broadcast(subject) if subject.is_passed or subject.deliveries else None


def broadcast(subject: Subject) -> Finding | None:
    """The members of the group consume by broadcasting, so a broker does not know their progress."""
    group = subject.consumer
    if not any("broadcast" in member.kind for member in group.members):
        return None
    receivers = list(dict.fromkeys(subject.scene.client(event.channel) for event in subject.deliveries))
    broker = subject.stored.place.broker
    if receivers:
        delivered = f"{broker} delivered it to {', '.join(receivers)}"
    elif subject.is_recorded:
        delivered = f"{broker} has delivered it to no member yet"
    else:
        delivered = "the deliveries to them are no longer held"
    text = f"the members of {group.name} consume by broadcasting and keep their own progress; {delivered}"
    facts = (fact("broadcast", group=group.name, delivered_to=tuple(receivers)), subject.place_fact)
    change = changes.configure(f"let {group.name} consume by clustering, so that the broker knows its progress")
    return Finding(Reason.BROADCAST, subject.stored_but(text), facts, (change,))
