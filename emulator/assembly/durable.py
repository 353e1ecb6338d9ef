"""The protocol of services whose state survives a stop or a crash of their broker."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

State = TypeVar("State")


class Durable(Protocol[State]):
    """A service of one run of a broker that starts from the state of the previous run."""

    def dump_on_stop(self) -> State:
        """Return the state that a graceful stop leaves now. It may share objects with the service."""

    def dump_on_crash(self) -> State:
        """Return the state that a crash leaves now: the content of the service's file as of its last write."""

    def restore(self, state: State) -> None:
        """Start from the state of the previous run. Called once, before the first request."""


def joined_durables(*tables: Mapping[str, Durable[Any]]) -> dict[str, Durable[Any]]:
    """Join tables of durable services. Raises ValueError for a field of ServiceState that is in two of them."""
    found: dict[str, Durable[Any]] = {}
    for table in tables:
        for name, durable in table.items():
            if name in found:
                both = f"{type(found[name]).__name__} and {type(durable).__name__}"
                raise ValueError(f"{name}: state of {both}; a field of ServiceState has one durable service")
            found[name] = durable
    return found
