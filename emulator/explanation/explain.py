"""Explanations: the verdict about a message in the store and for groups.

Rules are tried in a fixed order, and the first that applies decides. Facts of the past come before hindrances of the
present: an acknowledged message stays acknowledged while its broker is stopped. The verdict rests on the tables of the
engine and on small tables of past events; the delivery record adds who and when. The journal is never read.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ..history.history import History
from ..inspection.groups import GroupView
from ..inspection.inspection import Inspection
from ..inspection.messages import CopyState, CopyView, MessageWithCopies
from ..inspection.places import Place
from .broker_rules import broker_not_readable, broker_stopped, broker_unreachable, topic_not_readable
from .explanation import Explanation
from .filter_rules import skipped_by_filter, would_be_filtered
from .flight_rules import in_flight, returned
from .group_rules import (
    broadcast,
    broadcast_read,
    disabled,
    forbidden,
    no_group,
    no_members,
    nobody_subscribes,
    other_cluster,
)
from .ignored_delay import with_ignored_delay
from .member_rules import dropped_by_member
from .missing_rules import Missing, missing
from .owner_rules import available, no_queue_owner, unread_fault
from .passed_rules import acknowledged, moved_past, with_deletion
from .queue_rules import behind_in_order, flow_controlled, locked, overloaded, suspended
from .reason import Reason
from .refused_rules import requests_refused
from .retry_rules import dead, delayed_retry, waiting_for_retry
from .row_scene import RowScene
from .scene import Scene
from .shared_scene import SharedScene
from .storage_rules import compacted, expired, recalled, stored, topic_deleted, waiting
from .subject import Finding, Rule, Subject
from .transaction_rules import discarded, rolled_back, undecided_half

UNSTORED_RULES: tuple[Rule, ...] = (undecided_half, discarded, recalled, waiting, rolled_back)
"""Rules about messages that groups cannot read yet, or never will."""
BROKER_RULES: tuple[Rule, ...] = (broker_stopped, broker_unreachable, topic_not_readable, broker_not_readable)
"""Rules about the broker and the topic of a message."""
STORE_RULES: tuple[Rule, ...] = (*UNSTORED_RULES, expired, compacted, topic_deleted, *BROKER_RULES, stored)
"""Rules for the verdict about a message in the store, in order."""
PAST_RULES: tuple[Rule, ...] = (
    in_flight,
    returned,
    skipped_by_filter,
    dropped_by_member,
    broadcast_read,
    moved_past,
    acknowledged,
)
"""Rules about past events: deliveries, acknowledgements, and moves of the group's offset."""
PRESENT_RULES: tuple[Rule, ...] = (
    *BROKER_RULES,
    disabled,
    forbidden,
    requests_refused,
    no_group,
    other_cluster,
    no_members,
    nobody_subscribes,
    would_be_filtered,
    broadcast,
    behind_in_order,
    locked,
    flow_controlled,
    suspended,
    overloaded,
    unread_fault,
    no_queue_owner,
    available,
)
"""Rules about present hindrances; the last one applies if there is none."""
GROUP_RULES: tuple[Rule, ...] = (
    *UNSTORED_RULES,
    dead,
    waiting_for_retry,
    expired,
    compacted,
    topic_deleted,
    *PAST_RULES,
    *PRESENT_RULES,
)
"""Rules for the verdict about a message and a group, in order."""
FINISHED = (Reason.ACKNOWLEDGED, Reason.FILTERED_BY_TAG, Reason.FILTERED_BY_SQL, Reason.FILTERED_BY_MEMBER)
"""Verdicts that matter less than those about another copy of the same message."""


class Explainer:
    """Explains messages of an engine. `now_ms` returns engine time. It keeps no state between two calls."""

    def __init__(self, inspection: Inspection, history: History, now_ms: Callable[[], int]) -> None:
        self._inspection = inspection
        self._history = history
        self._now_ms = now_ms

    def explain(
        self,
        message: MessageWithCopies | None,
        wanted: str,
        group: str | None = None,
        *,
        topic: str | None = None,
        place: Place | None = None,
    ) -> Explanation:
        """Explain a message (None: no broker has it) for one group or, with None, in the store and for all groups.

        `wanted` is the id or key that the user typed; `topic` and `place` are those of the message, None if not known.
        The place selects one stored record of several with the same id. If the group or the topic does not exist, the
        verdict says so.
        """
        scene = Scene(self._inspection, self._history, self._now_ms())
        if message is None:
            finding = missing(scene, Missing(wanted, topic, place))
            return _explanation(scene, finding, wanted, topic or (place.topic if place else ""), group, place)
        return _of_message(scene, message, group, place)

    def explain_each(self, messages: Iterable[MessageWithCopies], group: str | None = None) -> Iterator[Explanation]:
        """Explain messages as `explain` does, in less time for each. The engine must not run meanwhile."""
        scene = SharedScene(self._inspection, self._history, self._now_ms())
        return (_of_message(scene, message, group, None) for message in messages)

    def explain_rows(self, messages: Iterable[MessageWithCopies], groups_max: int) -> Iterator[tuple[Explanation, int]]:
        """Explain a few messages for the first groups by name. Yields explanation and number of further groups.

        The engine must not run meanwhile. Unlike with `explain_each`, the time does not grow with the number of
        messages in flight.
        """
        scene = RowScene(self._inspection, self._history, self._now_ms())
        for message in messages:
            groups = _groups(scene, message)
            explained = tuple(_of_group(scene, message, each, None) for each in groups[:groups_max])
            yield _of_store(scene, message, None, explained), max(len(groups) - groups_max, 0)


def _of_message(scene: Scene, message: MessageWithCopies, group: str | None, place: Place | None) -> Explanation:
    if group is not None:
        return _of_group(scene, message, scene.group(group), place)
    groups = tuple(_of_group(scene, message, each, place) for each in _groups(scene, message))
    return _of_store(scene, message, place, groups)


def _of_store(
    scene: Scene, message: MessageWithCopies, place: Place | None, groups: tuple[Explanation, ...]
) -> Explanation:
    copy = _own_copies(message, place)[-1]
    subject = Subject(scene, message, copy)
    finding = with_ignored_delay(subject, _first(STORE_RULES, subject))
    return replace(_of_finding(subject, finding), groups=groups)


def _of_group(scene: Scene, message: MessageWithCopies, group: GroupView, place: Place | None) -> Explanation:
    """Return the verdict about the newest retry or, without retries, about the copies in the message's own topic.

    A message that its producer sent twice has several such copies, each with its own retries, so all are judged. The
    first verdict that is not in FINISHED counts.
    """
    own = [Subject(scene, message, copy, group) for copy in _own_copies(message, place)]
    retries = [copy for copy in message.copies if copy.state is CopyState.RETRY and copy.group == group.name]
    if retries and delayed_retry(own[-1]) is None:
        judged = reversed(retries) if len(own) > 1 else retries[-1:]
        own = [*(Subject(scene, message, copy, group) for copy in judged), *(own if len(own) > 1 else ())]
    found = [(subject, _first(GROUP_RULES, subject)) for subject in own]
    subject, finding = next((each for each in found if each[1].reason not in FINISHED), found[0])
    return _of_finding(subject, with_ignored_delay(subject, with_deletion(subject, finding)))


def _own_copies(message: MessageWithCopies, place: Place | None) -> list[CopyView | None]:
    """Return the copies in the message's own topic, or the one at a place; [None] if there is none."""
    copies = [copy for copy in message.copies if copy.state is CopyState.STORED]
    chosen = [copy for copy in copies if copy.place == place]
    return list(chosen or copies) or [None]


def _groups(scene: Scene, message: MessageWithCopies) -> list[GroupView]:
    """Return the groups that subscribe to the topic, have an offset in it, or have a retry or dead copy."""
    names = {copy.group for copy in message.copies if copy.group is not None}
    names |= scene.groups_of_topic(message.topic)
    return [
        group
        for group in scene.groups
        if group.name in names or any(each.topic == message.topic for each in group.subscriptions)
    ]


def _first(rules: tuple[Rule, ...], subject: Subject) -> Finding:
    for rule in rules:
        finding = rule(subject)
        if finding is not None:
            return finding
    raise AssertionError("the last rule applies to every message")


def _of_finding(subject: Subject, finding: Finding) -> Explanation:
    message, group = subject.message, subject.group
    place = None if subject.copy is None else subject.copy.place
    name = None if group is None else group.name
    return _explanation(subject.scene, finding, message.message_id, message.topic, name, place)


def _explanation(  # noqa: PLR0917 - the parts of an explanation
    scene: Scene, finding: Finding, message_id: str, topic: str, group: str | None, place: Place | None
) -> Explanation:
    of_topic = f" of {topic}" if topic else ""
    return Explanation(
        finding.reason,
        f"message {message_id}{of_topic} {finding.text}",
        message_id,
        topic,
        group=group,
        place=place,
        until_ms=finding.until_ms,
        facts=finding.facts,
        changes=finding.changes,
        history_since_ms=scene.complete_since_ms,
        at_ms=scene.now_ms,
    )
