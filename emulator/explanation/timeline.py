"""Makes the history of a message from its stored copies and the recorded events."""

from ..history.history import History
from ..inspection.inspection import Inspection
from ..inspection.messages import MessageWithCopies
from .history_events import steps_of, steps_without_copies
from .known_clients import KnownClients
from .message_history import MessageHistory
from .trace_context import trace_context


def history_of(message: MessageWithCopies, inspection: Inspection, history: History) -> MessageHistory:
    """Return the history of a stored message."""
    steps = tuple(steps_of(message, history, KnownClients(inspection, history)))
    since_ms = history.complete_since_ms()
    first_ms = min((copy.stored_at_ms for copy in message.copies), default=message.born_at_ms)
    return MessageHistory(
        message.message_id,
        message.topic,
        since_ms if since_ms is not None and since_ms > first_ms else None,  # the dropped records are older otherwise
        trace_context(message.properties),
        steps=steps,
    )


def history_of_unknown(id_or_key: str, topic: str | None, inspection: Inspection, history: History) -> MessageHistory:
    """Return the history of a message that is not stored; it has no step if no broker has received the message."""
    steps = tuple(steps_without_copies(id_or_key, history, KnownClients(inspection, history)))
    return MessageHistory(id_or_key, topic or "", history.complete_since_ms(), {}, steps=steps)
