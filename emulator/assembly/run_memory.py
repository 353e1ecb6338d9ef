"""The protocol of services whose state a stop of their broker loses, and a fork keeps."""

from typing import Protocol, TypeVar

State = TypeVar("State")


class RunMemory(Protocol[State]):
    """A service of one run of a broker with state that exists in memory only."""

    def fork_state(self) -> State:
        """Return the state for a fork. The service does not change it later.

        Times are durations from or until now, because the fork may start at another instant. Only a time that is
        compared with times in messages stays an instant.
        """

    def continue_from(self, state: State) -> None:
        """Continue with the state of the parent's service. Called once, before the first request of a fork."""
