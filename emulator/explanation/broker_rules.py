"""Rules about the broker and the topic of a message: stopped, unreachable, not readable."""

from ..history.events import BrokerEvent, BrokerEventKind
from ..topic.topic_table import PERM_READ, PERM_WRITE
from . import changes
from .reason import Reason
from .subject import Finding, Subject, fact

_ENDS = {
    BrokerEventKind.STOPPED: "is stopped since",
    BrokerEventKind.KILLED: "was killed at",
    BrokerEventKind.CRASHED: "is stopped since its crash at",
}


def broker_stopped(subject: Subject) -> Finding | None:
    """The broker does not run."""
    place, scene = subject.stored.place, subject.scene
    broker = scene.masters.get(place.broker)
    if broker is None or broker.running:
        return None
    event = _last_end(subject)
    state = "is stopped" if event is None else f"{_ENDS[event.kind]} {subject.at(event.at_ms)}"
    facts = (
        fact("broker", name=place.broker, running=False, since_ms=None if event is None else event.at_ms),
        subject.place_fact,
    )
    start = changes.configure(f'rocketmq.start_broker("{place.broker}")')
    return Finding(Reason.BROKER_STOPPED, subject.stored_but(f"{place.broker} {state}"), facts, (start,))


def _last_end(subject: Subject) -> BrokerEvent | None:
    events = subject.scene.history.broker_events(subject.stored.place.broker)
    return next((event for event in reversed(events) if event.kind in _ENDS), None)


def broker_unreachable(subject: Subject) -> Finding | None:
    """The broker runs, and clients cannot reach it."""
    name = subject.stored.place.broker
    broker = subject.scene.masters.get(name)
    if broker is None or broker.unreachable is None:
        return None
    text = f"{name} runs and clients cannot reach it: {broker.unreachable}"
    facts = (fact("broker", name=name, unreachable=broker.unreachable), subject.place_fact)
    change = changes.configure(f"make {name} reachable again")
    return Finding(Reason.BROKER_UNREACHABLE, subject.stored_but(text), facts, (change,))


def topic_not_readable(subject: Subject) -> Finding | None:
    """The topic has no read permission."""
    name = subject.stored.place.topic
    topic = subject.scene.topic(name)
    if topic is None or topic.perm & PERM_READ:
        return None
    text = f"topic {name} has the permission {permission_text(topic.perm)}; nobody can read it"
    facts = (fact("topic", name=name, perm=topic.perm), subject.place_fact)
    change = changes.configure(f"give {name} the permission RW (6)")
    return Finding(Reason.TOPIC_NOT_READABLE, subject.stored_but(text), facts, (change,))


def broker_not_readable(subject: Subject) -> Finding | None:
    """The broker has no read permission."""
    name = subject.stored.place.broker
    broker = subject.scene.masters.get(name)
    if broker is None or broker.permission & PERM_READ:
        return None
    text = f"{name} refuses pulls and pops: brokerPermission={broker.permission}"
    facts = (fact("broker", name=name, permission=broker.permission), subject.place_fact)
    change = changes.configure(f'rocketmq.configure({{"brokerPermission": 6}}, broker="{name}")')
    return Finding(Reason.BROKER_NOT_READABLE, subject.stored_but(text), facts, (change,))


def permission_text(perm: int) -> str:
    """Return a permission as mqadmin prints it without the bit for inheritance: `RW`, `-W`."""
    return f"{'R' if perm & PERM_READ else '-'}{'W' if perm & PERM_WRITE else '-'}"
