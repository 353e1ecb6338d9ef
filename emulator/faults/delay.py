"""The delay of a fault: a duration with an optional range around it, which is drawn for each firing."""

import re
from collections.abc import Mapping
from typing import Any

from ..kernel.durations import DurationError, milliseconds
from ..kernel.random_streams import RandomStream
from ..kernel.value_class import frozen_value
from .errors import FaultError, shown
from .parameters import DURATION_PATTERN, DurationCheck, OneOf, Optional, duration_error, given, parameter
from .times import drawn_ms, ms_of

_SIGN = re.compile(r"±|\+-|\+/-")
_RANGE = rf"(±|\+-|\+/-){DURATION_PATTERN}"


@frozen_value
class Spread:
    """A duration with a range around it, from `mean` - `jitter` to `mean` + `jitter` (None: no range)."""

    mean: str
    jitter: str | None

    @classmethod
    def of(cls, text: str) -> "Spread":
        """Parse `20ms±10ms`, or `20ms`."""
        mean, *jitter = _SIGN.split(text, maxsplit=1)
        return cls(mean.strip(), jitter[0].strip() if jitter else None)


class SpreadCheck:
    """A duration, or one with a range around it: `20ms±10ms`, which may be written `20ms+-10ms` as well."""

    def plain(self, name: str, value: Any) -> str:
        """Return the text."""
        if not isinstance(value, str):
            return DurationCheck().plain(name, value)
        spread = Spread.of(value)
        try:
            for part in (spread.mean, spread.jitter):
                if part is not None:
                    milliseconds(part, name)
        except DurationError as wrong:
            raise duration_error(name, value, wrong) from None
        return spread.mean if spread.jitter is None else f"{spread.mean}±{spread.jitter}"

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of a spread."""
        return {"type": "string", "pattern": f"^{DURATION_PATTERN}({_RANGE})?$", "examples": ["200ms", "20ms±10ms"]}


ONE_JITTER: Mapping[str, Any] = {
    "not": {"allOf": [given("jitter"), {"required": ["duration"], "properties": {"duration": {"pattern": _RANGE}}}]}
}
"""JSON Schema: a jitter is given once, as a parameter or within the duration."""


def varied_by() -> str | None:
    """Declare the parameter `jitter`."""
    about = "half of the range of a uniform delay, or standard deviation of a normal one"
    declared: str | None = parameter(Optional(DurationCheck()), about, default=None)
    return declared


def distributed() -> str:
    """Declare the parameter `distribution`."""
    declared: str = parameter(OneOf("uniform", "normal"), "distribution of the jitter", default="uniform")
    return declared


DURATION_ABOUT = "delay, or its mean if there is jitter; `50ms±20ms` is a short form of `50ms` with the `jitter` `20ms`"


class Delay:
    """The parameters of a delay: `duration`, `jitter` and `distribution`. Base of faults that have them."""

    __slots__ = ()
    duration: str
    jitter: str | None
    distribution: str

    def check(self) -> None:
        """Raise FaultError if there is no delay, or if jitter and duration contradict each other."""
        self.divide_duration()
        if ms_of(self.duration) == 0:
            raise FaultError(f"duration={shown(self.duration)}: no delay; use '200ms'")

    def draw_ms(self, chance: RandomStream) -> int:
        """Return the delay of one firing in ms, at least 0."""
        return drawn_ms(chance, self.duration, self.jitter, self.distribution)

    def divide_duration(self) -> None:
        """Move the range of a duration such as `50ms±20ms` to `jitter`.

        Raises FaultError for a jitter that is given twice, for one that exceeds the duration, and for a normal
        distribution without one.
        """
        spread = Spread.of(self.duration)
        if spread.jitter is not None:
            if self.jitter is not None:
                raise FaultError(
                    f"duration={shown(self.duration)} and jitter={shown(self.jitter)}: the duration has a jitter "
                    "already; remove one of them"
                )
            self.duration, self.jitter = spread.mean, spread.jitter  # type: ignore[misc]  # before the first use
        if self.jitter is None:
            if self.distribution == "normal":
                raise FaultError(
                    "distribution='normal': without a jitter all delays are equal; add its standard deviation, such as "
                    "jitter='10ms'"
                )
        elif ms_of(self.jitter) > ms_of(self.duration):
            raise FaultError(
                f"jitter={shown(self.jitter)}: greater than duration={shown(self.duration)}, so that delays would be "
                f"negative; use duration={shown(self.jitter)}, or a smaller jitter"
            )
