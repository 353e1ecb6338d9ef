"""The rule about a group whose requests for messages a broker or the proxy refuses.

Such a group may not exist yet: the broker creates it with the first request that it accepts.
"""

import re

from ..history.events import RefusedRequest
from . import changes
from .facts import Change, Fact
from .reason import Reason
from .scene import Scene
from .subject import DELIVERED, Finding, Subject, fact

_REQUESTS = frozenset(
    ("ReceiveMessage", "PopMessage", "PullMessage", "LitePullMessage", "QueryAssignment", "QueryRoute", "Telemetry")
)
"""Operations and RPCs with which consumers get messages, or prepare for it."""
_IGNORED = frozenset(
    (
        "SYSTEM_BUSY",
        "TOO_MANY_REQUESTS",
        "POLLING_FULL",
        "PULL_NOT_FOUND",
        "PULL_RETRY_IMMEDIATELY",
        "PULL_OFFSET_MOVED",
        "SUBSCRIPTION_NOT_EXIST",
        "SUBSCRIPTION_NOT_LATEST",
        "TOPIC_NOT_EXIST",
        "TOPIC_NOT_FOUND",
        "QUERY_NOT_FOUND",
    )
)
"""Codes that the rule ignores: the SDK requests again after them, or other rules explain them."""
_EXCEPTION = re.compile(r"^(?:[a-z]\w*\.)+\w+(?:Exception|Error): ")
_RIGHTS = frozenset(("UNAUTHORIZED", "FORBIDDEN", "NO_PERMISSION"))
_FILTERS = frozenset(("SUBSCRIPTION_PARSE_FAILED", "ILLEGAL_FILTER_EXPRESSION", "FILTER_DATA_NOT_EXIST"))


def requests_refused(subject: Subject) -> Finding | None:
    """The newest request of the group for the topic was refused, and no request was accepted since then."""
    group, scene = subject.consumer, subject.scene
    found = [each for each in refused_requests(subject, subject.message.topic) if each.code not in _IGNORED]
    if not found or was_served_since(subject, found[-1].at_ms):
        return None
    refused = found[-1]
    times = sum(each.code == refused.code for each in found)
    client = scene.client(refused.channel)
    again = "" if times == 1 else f", {times} times so far"
    remark = f": {plain_remark(refused)}" if refused.remark else ""
    text = (
        f"{server(refused)} refused {refused.label} of {client} for group {group.name} at {subject.at(refused.at_ms)}"
        f"{again}: {refused.code}{remark}"
    )
    facts = (
        refused_fact(scene, refused, times=times),
        subject.place_fact,
    )
    return Finding(Reason.REQUESTS_REFUSED, subject.stored_but(text), facts, (remedy(refused),))


def refused_requests(subject: Subject, *topics: str) -> list[RefusedRequest]:
    """Return the refused requests by which the group receives from topics or prepares for it, the oldest first."""
    return [
        each
        for each in subject.scene.refusals(subject.consumer.name)
        if {each.label, each.operation} & _REQUESTS and each.topic in ("", *topics)
    ]


def refused_fact(scene: Scene, refused: RefusedRequest, **others: object) -> Fact:
    """Return the fact that a request was refused, with the client's id if the client is known."""
    return fact(
        "refused",
        at_ms=refused.at_ms,
        node=refused.node,
        client=scene.client_id(refused.channel),
        label=refused.label,
        code=refused.code,
        **others,
    )


def plain_remark(refused: RefusedRequest) -> str:
    """Return the remark of a refusal on one line, without the class of upstream's exception before it."""
    return _EXCEPTION.sub("", " ".join(refused.remark.split()), count=1)


def server(refused: RefusedRequest) -> str:
    """Return the name of the server that refused a request."""
    return {"proxy": "the proxy", "namesrv": "the name server"}.get(refused.node, refused.node)


def remedy(refused: RefusedRequest) -> Change:
    """Return the change that would make the refused request succeed."""
    if refused.code in _RIGHTS:
        return changes.configure("grant the right that the refusal names: rocketmq.user(..., allow={...})")
    if refused.code in _FILTERS:
        return changes.subscribe("correct the filter expression of the subscription")
    return changes.wait(f"remove the cause of {refused.code}, and wait until the client requests again")


def was_served_since(subject: Subject, at_ms: int) -> bool:
    """True if a broker accepted a request of the group for the queue after an instant."""
    place, group = subject.stored.place, subject.consumer.name
    delivered = subject.last(*DELIVERED)
    if delivered is not None and delivered.at_ms > at_ms:
        return True
    inspection = subject.scene.inspection
    if any(
        poll.since_ms >= at_ms and (poll.group, poll.broker, poll.topic) == (group, place.broker, place.topic)
        for poll in inspection.polls()
    ):
        return True
    return any(
        each.requested_ms is not None and each.requested_ms > at_ms and each.broker == place.broker
        for each in inspection.assignments(group, place.topic)
    )
