"""Base classes of operations and results, and the results that many operations share."""

from typing import Final

from ..kernel.value_class import value


class Operation:
    """A request, independent of its protocol. Subclasses are plain data."""

    __slots__ = ()

    def journaled(self) -> "Operation":
        """Return the part that is journaled: the operation itself, or a copy whose secrets are masked."""
        return self


class Result:
    """A response, independent of its protocol. Subclasses are plain data."""

    __slots__ = ()

    def journaled(self) -> "Result":
        """Return the part that is journaled: the result itself, or a copy without message bytes."""
        return self


@value
class Done(Result):
    """The request was carried out; the response has no data."""

    remark: str | None = None


@value
class NoResponse(Result):
    """The request gets no response, as upstream does for an end of transaction with unknown state."""


class Parked:
    """The request waits and is completed later through the gate."""


DONE: Final = Done()
SHARED: Final = "shared"
"""Marks a list of a result that many results share, together with its items."""
NO_RESPONSE: Final = NoResponse()
PARKED: Final = Parked()
