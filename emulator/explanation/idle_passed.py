"""Stored messages that a group has passed without a delivery: its queues seem empty, and it will not get them."""

from collections.abc import Iterator

from ..inspection.groups import GroupView
from ..inspection.messages import CopyState
from ..inspection.queues import QueueView
from .filter_rules import skipped_by_filter
from .idle_clause import IdleClause
from .idle_groups import own_topics
from .member_rules import dropped_by_member
from .passed_rules import moved_past
from .scene import Scene
from .subject import Finding, Rule, Subject

SEARCHED_MAX = 16
"""The number of the newest passed messages of a queue that are searched for one without a delivery."""
_RULES: tuple[Rule, ...] = (skipped_by_filter, dropped_by_member, moved_past)


def passed_clauses(group: GroupView, scene: Scene) -> Iterator[IdleClause]:
    """Yield for each topic the newest message that the group has passed without a delivery, with the cause."""
    if any("broadcast" in member.kind for member in group.members):
        return  # a broker does not know their progress
    for topic in own_topics(group):
        found = [each for queue in scene.inspection.queues(topic) for each in _undelivered(group, scene, queue)]
        if found:
            subject, finding = max(found, key=lambda each: each[0].stored.stored_at_ms)
            sentence = f"message {subject.message.message_id} of {topic} {finding.text}"
            yield IdleClause(sentence, finding.facts, finding.changes)


def _undelivered(group: GroupView, scene: Scene, queue: QueueView) -> Iterator[tuple[Subject, Finding]]:
    """Yield the newest message of a queue that the group has passed without a delivery, if any, and its verdict."""
    progress = queue.groups.get(group.name)
    if progress is None or not queue.readable:
        return
    first = max(queue.first, progress.passed - SEARCHED_MAX)
    for offset in range(min(progress.passed, queue.end) - 1, first - 1, -1):
        message = scene.inspection.at_offset(queue.broker, queue.topic, queue.queue_id, offset)
        if message is None:
            continue
        copy = next(each for each in message.copies if each.state is CopyState.STORED)
        subject = Subject(scene, message, copy, group)
        finding = next((found for rule in _RULES if (found := rule(subject)) is not None), None)
        if finding is not None:
            yield subject, finding
            return
