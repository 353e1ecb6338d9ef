"""The protocol of services whose state survives a stop or a crash of their broker."""

from typing import Protocol, TypeVar

State = TypeVar("State")


class Durable(Protocol[State]):
    """A service of one run of a broker that starts from the state of the previous run."""

    def dump_on_stop(self) -> State:
        """Return the state that a graceful stop leaves now. It may share objects with the service."""

    def dump_on_crash(self) -> State:
        """Return the state that a crash leaves now: the content of the service's file as of its last write."""

    def restore(self, state: State) -> None:
        """Start from the state of the previous run. Called once, before the first request."""
