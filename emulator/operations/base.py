"""What all operations and results share."""

from typing import Final

from ..kernel.value_class import value


class Operation:
    """A request in the engine's own words. Subclasses are plain data."""

    __slots__ = ()

    def journaled(self) -> "Operation":
        """The part that the journal keeps: the operation itself, or a copy whose secrets are masked."""
        return self


class Result:
    """An answer in the engine's own words. Subclasses are plain data."""

    __slots__ = ()

    def journaled(self) -> "Result":
        """What the journal keeps: the answer itself, or a light copy where it holds message bytes."""
        return self


@value
class Done(Result):
    """The request was carried out and there is nothing more to say."""

    remark: str | None = None


@value
class NoAnswer(Result):
    """The request gets no answer at all, as upstream does for an end of transaction with unknown state."""


class Parked:
    """The request waits; the gate is told its outcome later."""


NO_ANSWER: Final = NoAnswer()
PARKED: Final = Parked()
