"""Make changes for explanations: acts that would change a verdict, as sentences without full stop."""

from .clock_text import span_text
from .facts import Change, ChangeAction
from .scene import Scene


def advance(scene: Scene, until_ms: int, effect: str = "") -> Change:
    """Advance the clock to an instant; `effect` is a clause about the event then."""
    by_ms = max(until_ms - scene.now_ms, 0)
    sentence = f"advance the clock by {span_text(by_ms)}"
    return Change(ChangeAction.ADVANCE, f"{sentence}: {effect}" if effect else sentence, by_ms=by_ms)


def acknowledge(scene: Scene, channel: str | None, messages: str = "it") -> Change:
    """A client acknowledges a message."""
    client = scene.client_id(channel)
    return Change(ChangeAction.ACKNOWLEDGE, f"{client or 'the client'} acknowledges {messages}", client=client)


def commit(scene: Scene, channel: str | None) -> Change:
    """A client commits an offset beyond a pulled message."""
    client = scene.client_id(channel)
    return Change(ChangeAction.ACKNOWLEDGE, f"{client or 'the client'} commits an offset beyond it", client=client)


def start_consumer(group: str, topic: str = "") -> Change:
    """Start a consumer of a group."""
    return Change(
        ChangeAction.START, f"start a consumer of {group}" + (f" that subscribes to {topic}" if topic else "")
    )


def subscribe(sentence: str, client: str | None = None) -> Change:
    """Change a subscription."""
    return Change(ChangeAction.SUBSCRIBE, sentence, client=client)


def configure(sentence: str) -> Change:
    """Change the configuration, a topic or a group."""
    return Change(ChangeAction.CONFIGURE, sentence)


def send(sentence: str = "send it again") -> Change:
    """Send a message."""
    return Change(ChangeAction.SEND, sentence)


def reset(group: str, topic: str, offset: int) -> Change:
    """Reset the offsets of a group to a message."""
    return Change(ChangeAction.RESET, f'rocketmq.reset_offset("{group}", "{topic}", to={offset})')


def remove_rule(rule: str) -> Change:
    """Remove a rule of faults."""
    return Change(ChangeAction.REMOVE_RULE, f"remove the rule {rule}")


def wait(sentence: str, client: str | None = None) -> Change:
    """Wait for an action of a client."""
    return Change(ChangeAction.WAIT, sentence, client=client)
