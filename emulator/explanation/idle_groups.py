"""Causes for which a whole group is idle: its configuration, its subscriptions, its topics and their brokers."""

from collections.abc import Iterator, Mapping

from ..inspection.groups import GroupView, MemberView
from ..inspection.topics import TopicView
from ..kernel.nearest_name import nearest_of
from ..message.names import is_retry
from ..topic.topic_table import PERM_READ
from .facts import Change, ChangeAction, Fact
from .idle_clause import IdleClause, listed
from .scene import Scene


def group_clauses(group: GroupView, scene: Scene) -> list[IdleClause]:
    """Return the causes for which a group is idle, the most general first; empty if there is none."""
    if not group.exists:
        return [_no_group(group.name, scene)]
    return [
        *_configuration(group),
        *_subscriptions(group),
        *_topics(group, scene.topics),
        *_brokers(group, scene),
    ]


def own_topics(group: GroupView) -> list[str]:
    """Return the topics that a group subscribes to, without its retry topic, which the SDKs add."""
    return sorted({each.topic for each in group.subscriptions if not is_retry(each.topic)})


def _no_group(name: str, scene: Scene) -> IdleClause:
    deletion = scene.history.deleted_groups.of(name)
    if deletion is not None:
        fact = Fact("group", {"exists": False, "deleted_at_ms": deletion.at_ms})
        again = Change(ChangeAction.CONFIGURE, f'create it again: rocketmq.group("{name}")')
        return IdleClause(f"group {name} was deleted at {scene.at(deletion.at_ms)}", (fact,), (again,))
    nearest = nearest_of(name, [each.name for each in scene.groups])
    hint = f"; the nearest is {nearest}" if nearest is not None else ""
    change = Change(ChangeAction.START, f"start a consumer of {name}")
    return IdleClause(
        f"there is no group {name}{hint}", (Fact("group", {"exists": False, "nearest": nearest}),), (change,)
    )


def _configuration(group: GroupView) -> Iterator[IdleClause]:
    if not group.consume_enable:
        fact = Fact("group", {"consume_enable": False})
        change = Change(ChangeAction.CONFIGURE, f'rocketmq.group("{group.name}", consume_enable=True)')
        cause = f"group {group.name} has consumption disabled, so brokers deliver nothing to it"
        if group.too_slow_on:
            cause = (
                f"{listed(group.too_slow_on)} disabled group {group.name}, because it reads too far behind the end of"
                " the log (disableConsumeIfConsumerReadSlowly)"
            )
        yield IdleClause(cause, (fact,), (change,))
    if group.forbidden:
        fact = Fact("group", {"forbidden": group.forbidden})
        change = Change(ChangeAction.CONFIGURE, f"allow {group.name} to consume {listed(group.forbidden)}")
        yield IdleClause(f"group {group.name} is forbidden to consume {listed(group.forbidden)}", (fact,), (change,))
    if not group.members:
        change = Change(ChangeAction.START, f"start a consumer of {group.name}")
        yield IdleClause(f"group {group.name} has no connected member", (Fact("group", {"members": 0}),), (change,))


def _subscriptions(group: GroupView) -> Iterator[IdleClause]:
    if group.members and not own_topics(group):
        change = Change(ChangeAction.SUBSCRIBE, "subscribe to a topic")
        yield IdleClause(f"the members of {group.name} subscribe to no topic", changes=(change,))
    for topic in group.disagreements:
        texts = [_subscription_text(member, topic) for member in group.members]
        fact = Fact("subscriptions", {"topic": topic, "members": tuple(texts)})
        change = Change(ChangeAction.SUBSCRIBE, f"give all members of {group.name} the same subscription to {topic}")
        sentence = f"the members of {group.name} subscribe differently to {topic}: {listed(texts)}"
        yield IdleClause(sentence, (fact,), (change,))


def _subscription_text(member: MemberView, topic: str) -> str:
    found = [each for each in member.subscriptions if each.topic == topic]
    if not found:
        return f"{member.client} does not subscribe to it"
    return f"{member.client} subscribes `{found[0].expression}`"


def _topics(group: GroupView, topics: Mapping[str, TopicView]) -> Iterator[IdleClause]:
    for name in own_topics(group):
        topic = topics.get(name)
        if topic is None:
            nearest = nearest_of(name, topics)
            hint = f"; the nearest is {nearest}" if nearest is not None else ""
            change = Change(ChangeAction.CONFIGURE, f"create {name}, or correct the name in the subscription")
            fact = Fact("topic", {"name": name, "exists": False, "nearest": nearest})
            yield IdleClause(f"group {group.name} subscribes to {name}, which does not exist{hint}", (fact,), (change,))
        elif not topic.perm & PERM_READ:
            fact = Fact("topic", {"name": name, "perm": topic.perm})
            change = Change(ChangeAction.CONFIGURE, f"give {name} the read permission")
            yield IdleClause(f"topic {name} has no read permission", (fact,), (change,))


def _brokers(group: GroupView, scene: Scene) -> Iterator[IdleClause]:
    """Yield a clause for each master that has topics of the group and does not serve the group."""
    topics = [scene.topics[name] for name in own_topics(group) if name in scene.topics]
    names = {broker for topic in topics for broker in topic.brokers}
    for name in sorted(names & scene.masters.keys()):
        broker = scene.masters[name]
        if not broker.running:
            events = scene.history.broker_events(name)
            since = f" since {scene.at(events[-1].at_ms)}" if events else ""
            fact = Fact("broker", {"name": name, "running": False})
            change = Change(ChangeAction.CONFIGURE, f'rocketmq.start_broker("{name}")')
            yield IdleClause(f"{name} is stopped{since}", (fact,), (change,))
        elif broker.unreachable is not None:
            fact = Fact("broker", {"name": name, "unreachable": broker.unreachable})
            change = Change(ChangeAction.CONFIGURE, f"make {name} reachable again")
            yield IdleClause(f"{name} runs and clients cannot reach it: {broker.unreachable}", (fact,), (change,))
        elif not broker.permission & PERM_READ:
            fact = Fact("broker", {"name": name, "permission": broker.permission})
            change = Change(ChangeAction.CONFIGURE, f'rocketmq.configure({{"brokerPermission": 6}}, broker="{name}")')
            yield IdleClause(f"{name} refuses pulls and pops: brokerPermission={broker.permission}", (fact,), (change,))
