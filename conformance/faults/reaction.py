"""The reaction of an SDK to a fault, in values that a busy machine does not change."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace
from typing import Any, Self

NO_ERROR = "no error"
SILENCE = "no result"
"""The application still waits at the end of the observation."""
DIED = "the process ends"

_TIMES: Sequence[tuple[float, str]] = (
    (1.2, "at once"),
    (2.5, "about 2 s"),
    (4, "about 3 s"),
    (7, "about 5 s"),
    (14, "about 10 s"),
    (25, "about 20 s"),
    (45, "about 30 s"),
)
"""Upper ends of the classes of times in seconds of the wall clock. They are wide, as a busy machine delays results."""
_LONG = "later"
NEVER = "never"
_CLASSES = (*(name for _end, name in _TIMES), _LONG, NEVER)


def classes_in_words() -> str:
    """Return the classes of times and their upper ends in seconds, for readers."""
    return ", ".join(f"*{name}* less than {end:g} s" for end, name in _TIMES)


def time_class(seconds: float | None) -> str:
    """Return the class of a duration. None is a duration that did not end during the observation."""
    if seconds is None:
        return NEVER
    return next((name for end, name in _TIMES if seconds < end), _LONG)


@dataclass(frozen=True, slots=True)
class Reaction:
    """The reaction of an SDK. A field is None if the workload has no such thing.

    - `error`: class and code of the error that the application gets, or `no error`
    - `after`: the time until the result of the call, or until all deliveries, as a class of wall-clock time
    - `requests`: the number of requests that reached a server for the messages of the workload
    - `place`: the connection and broker of the first request after the one with the fault
    - `stored`: the number of messages in the topic
    - `deliveries`: the number of times that the consumer got each message, in the order in which they were sent
    - `order`: `kept` or `changed`, for workloads that send several messages to one queue
    - `checks`: the number of transaction checks that the application got
    - `or_after`: another class of time, if repeated observations had one of two
    """

    error: str
    after: str
    requests: int | None
    place: str | None
    _: KW_ONLY
    stored: int
    deliveries: list[int]
    order: str | None = None
    checks: int | None = None
    or_after: str | None = None

    def form(self) -> dict[str, Any]:
        """Return the fields that are set, as JSON holds them."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def of(cls, form: dict[str, Any]) -> Self:
        """Return the reaction that `form` gave."""
        return cls(**{"requests": None, "place": None, **form})

    def agrees_with(self, other: "Reaction") -> bool:
        """True if two reactions are the same, up to one class of time."""
        mine, others = self._untimed(), other._untimed()
        return mine == others and any(abs(a - b) <= 1 for a in self._times() for b in other._times())

    def _untimed(self) -> dict[str, Any]:
        return {name: value for name, value in self.form().items() if name not in ("after", "or_after")}

    def _times(self) -> list[int]:
        """Return the positions of its classes of time."""
        return [_CLASSES.index(name) for name in (self.after, self.or_after) if name is not None]


def varied(seen: Sequence[Reaction]) -> Reaction | None:
    """Return one reaction with the shortest and the longest time of several; None if they differ otherwise."""
    first, *_ = last = sorted(seen, key=lambda each: min(each._times()))
    if any(each._untimed() != first._untimed() for each in last):
        return None
    is_one = last[-1].agrees_with(first)
    return first if is_one else replace(first, or_after=last[-1].after)


@dataclass(frozen=True, slots=True)
class Impossible:
    """A fault that cannot reach an SDK, and the reason."""

    reason: str

    def form(self) -> dict[str, Any]:
        """Return the reason as JSON holds it."""
        return {"impossible": self.reason}


Cell = Reaction | Impossible
"""The entry of the matrix for one kind of fault and one SDK."""


def cell_of(form: dict[str, Any]) -> Cell:
    """Return the cell that a form describes."""
    return Impossible(form["impossible"]) if "impossible" in form else Reaction.of(form)


def agree(seen: Cell, recorded: Cell) -> bool:
    """True if two cells are the same, up to one class of time."""
    if isinstance(seen, Reaction) and isinstance(recorded, Reaction):
        return seen.agrees_with(recorded)
    return seen == recorded
