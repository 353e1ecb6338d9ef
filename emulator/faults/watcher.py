"""A watcher sees all events on which rules can act, before they do."""

from typing import Protocol

from ..gate.call import Outcome
from .event_facts import EventFacts


class Watcher(Protocol):
    """Called on the emulator's thread. `facts.call` is None for direct calls of a test and for copies of requests."""

    def arrived(self, facts: EventFacts) -> None:
        """Note a request that is not carried out yet."""

    def carried_out(self, facts: EventFacts, outcome: Outcome) -> None:
        """Note a request with its outcome; its client has no response yet."""

    def pushed(self, facts: EventFacts) -> None:
        """Note a notification or a request to a client that is not sent yet."""
