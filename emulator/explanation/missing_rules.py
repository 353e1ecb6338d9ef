"""Verdicts about messages of which no broker has a copy: lost, refused, dropped by a fault, deleted, never received."""

import re
from collections.abc import Callable

from ..history.events import RefusedRequest
from ..inspection.places import Place
from ..kernel.nearest_name import nearest_of
from ..kernel.value_class import frozen_view
from . import changes
from .facts import Change
from .reason import Reason
from .refused_rules import plain_remark, refused_fact, server
from .scene import Scene
from .subject import Finding, fact

_TYPE_CONFLICT = "MESSAGE_PROPERTY_CONFLICT_WITH_TYPE"
_ACTUAL_TYPE = re.compile(r"actual type is (\w+)")
_PREPARATIONS = frozenset(("QueryRoute", "GET_ROUTEINFO_BY_TOPIC", "Telemetry"))
"""Requests without which a producer cannot send."""
_ADDRESS = "check the name server address or endpoints that the producer uses"

_OWN_ERROR = changes.send("read the error of the send: gRPC SDKs refuse messages of another type than the topic's")


@frozen_view
class Missing:
    """A message that is not stored: the id or key that the user typed (`wanted`), and topic and place if known."""

    wanted: str
    topic: str | None
    place: Place | None


def missing(scene: Scene, message: Missing) -> Finding:
    """Return the verdict about a message that is not stored."""
    rules: tuple[Callable[[Scene, Missing], Finding | None], ...] = (_lost, _refused, _send_lost, _expired)
    for rule in rules:
        finding = rule(scene, message)
        if finding is not None:
            return finding
    return _never_received(scene, message)


def _lost(scene: Scene, message: Missing) -> Finding | None:
    """Return the verdict about a message that a crash removed."""
    found = [each for each in scene.history.lost() if message.wanted in (each.message_id, *each.keys.split())]
    if not found:
        return None
    lost = found[-1]
    return Finding(
        Reason.LOST_IN_CRASH,
        f"was stored (queue {lost.queue_id}, offset {lost.queue_offset}), and lost in the crash of {lost.broker} at "
        f"{scene.at(lost.at_ms)}, because it had not been flushed",
        (
            fact(
                "lost",
                at_ms=lost.at_ms,
                broker=lost.broker,
                topic=lost.topic,
                queue_id=lost.queue_id,
                offset=lost.queue_offset,
            ),
        ),
        (
            changes.configure("use flushDiskType=SYNC_FLUSH, or crash(power_loss=False)"),
            changes.send(),
        ),
    )


def _refused(scene: Scene, message: Missing) -> Finding | None:
    """Return the verdict about a message whose send was refused."""
    found = [
        each
        for each in scene.history.refused(message.topic)
        if message.wanted in (each.message_id, *each.keys.split()) and each.label.upper().startswith("SEND")
    ]
    if not found:
        return None
    refused = found[-1]
    facts = (refused_fact(scene, refused),)
    when = f"was refused at {scene.at(refused.at_ms)} and never stored"
    if refused.code == _TYPE_CONFLICT:
        return Finding(Reason.REFUSED_TYPE, f"{when}: {_conflict(scene, refused)}", facts, _other_type(refused))
    remark = f": {plain_remark(refused)}" if refused.remark else ""
    change = changes.send(f"remove the cause of {refused.code}, and send it again")
    return Finding(Reason.REFUSED, f"{when}: {refused.code}{remark}", facts, (change,))


def _conflict(scene: Scene, refused: RefusedRequest) -> str:
    topic, sent = scene.topic(refused.topic), _ACTUAL_TYPE.search(refused.remark)
    if topic is None or sent is None:
        return plain_remark(refused) or "the message has another type than its topic"
    return f"topic {refused.topic} has the type {topic.type}, and the message is {sent[1]}"


def _other_type(refused: RefusedRequest) -> tuple[Change, ...]:
    return (
        changes.configure(
            f'create the topic with the type of the message: rocketmq.topic("{refused.topic}", type=...)'
        ),
        changes.send("send a message of the topic's type: FIFO needs a message group, DELAY a delivery time"),
    )


def _send_lost(scene: Scene, message: Missing) -> Finding | None:
    found = [each for each in scene.history.firings() if message.wanted in each.message_ids]
    if not found:
        return None
    firing = found[-1]
    return Finding(
        Reason.SEND_LOST_BY_FAULT,
        f"was never stored: rule {firing.rule} ({firing.effect}) acted on its send at {scene.at(firing.at_ms)}",
        (fact("firing", at_ms=firing.at_ms, rule=firing.rule, effect=firing.effect, operation=firing.operation),),
        (changes.remove_rule(firing.rule), changes.send("let the producer send it again")),
    )


def _expired(scene: Scene, message: Missing) -> Finding | None:
    """Return the verdict about a message whose place is known, and whose broker has deleted messages up to there."""
    place = message.place
    if place is None:
        return None
    found = [each for each in scene.history.trims(place.broker) if place.physical_offset < each.after]
    if not found:
        return None
    return deleted(scene, place, found[0].at_ms, found[0].reason)


def deleted(scene: Scene, place: Place, at_ms: int, reason: str) -> Finding:
    """Return the verdict EXPIRED about the message of a place. `reason`: a value of `TrimReason`."""
    cause, change = _CAUSES[reason]
    return Finding(
        Reason.EXPIRED,
        f"was deleted with the oldest messages of {place.broker} at {scene.at(at_ms)}, because {cause}",
        (
            fact("deleted", at_ms=at_ms, broker=place.broker, reason=reason, physical_offset=place.physical_offset),
            fact("copy", topic=place.topic, queue_id=place.queue_id, offset=place.queue_offset),
        ),
        (changes.configure(change), changes.send()),
    )


_CAUSES = {
    "limit": ("the log had reached storeMaxBytes", "raise storeMaxBytes"),
    "retention": ("fileReservedTime had ended", "raise fileReservedTime"),
    "disk": ("the simulated disk was full", "free the simulated disk"),
    "request": ("an administrator requested it", "do not request the clean-up"),
}
"""The cause of a deletion, and the change that prevents it, by the value of `TrimReason`."""


def _never_received(scene: Scene, message: Missing) -> Finding:
    """Return the verdict about a message of which nothing is known, with the nearest name and refused preparations."""
    nearest = scene.inspection.nearest(message.wanted, message.topic) or scene.inspection.nearest(message.wanted)
    topic, correction = message.topic, list[Change]()
    known = scene.topics
    text = "was never received by this emulator"
    if topic is not None and topic not in known:
        like = nearest_of(topic, known)
        text += f"; there is no topic {topic}" + (f", the nearest is {like}" if like is not None else "")
        correction = [] if like is None else [changes.send(f"correct the name of the topic: {like}")]
    if nearest is not None:
        text += f"; the nearest id or key is {nearest[0]} in {nearest[1]}"
    facts = [
        fact(
            "not_stored",
            message=message.wanted,
            topic=topic,
            nearest=None if nearest is None else nearest[0],
            nearest_topic=None if nearest is None else nearest[1],
        )
    ]
    options = [*correction, changes.send("send it"), changes.configure(_ADDRESS), _OWN_ERROR]
    refused = _refused_preparation(scene, topic)
    if refused is not None:
        about = f" for {refused.topic}" if refused.topic else ""
        remark = f": {plain_remark(refused)}" if refused.remark else ""
        client = scene.client(refused.channel)
        text += (
            f"; {server(refused)} refused {refused.label} of {client}{about} at {scene.at(refused.at_ms)} "
            f"({refused.code}{remark}), and a client without a route or a session sends nothing"
        )
        facts.append(refused_fact(scene, refused, topic=refused.topic or None))
        options.insert(len(correction) + 1, changes.configure(f"remove the cause of {refused.code}"))
    return Finding(Reason.NEVER_RECEIVED, text, tuple(facts), tuple(options))


def _refused_preparation(scene: Scene, topic: str | None) -> RefusedRequest | None:
    """Return the newest refused request that a client needs before it sends to a topic, or to any topic."""
    found = [each for each in scene.history.refused() if each.label in _PREPARATIONS and not each.group]
    return next((each for each in reversed(found) if topic is None or each.topic in ("", topic)), None)
