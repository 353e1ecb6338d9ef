"""The parts of a running emulator that standing faults change, implemented by its owner."""

from typing import Protocol

from .defects import Defects


class StandingFault(Protocol):
    """A fault that holds until it is ended."""

    def end(self) -> None:
        """Restore what the fault changed. A no-op if it has ended."""


class World(Protocol):
    """Changes of brokers, name server and time that faults make."""

    @property
    def defects(self) -> Defects:
        """The switches of upstream's defects."""
