"""The base of standing faults: states with a begin and an end, such as a stopped broker."""

from ...kernel.durations import milliseconds
from ..cluster_control import ClusterControl
from ..fault import Fault
from ..parameters import Optional, PositiveDurationCheck, Text, parameter
from ..phase import Phase

STANDING = (Phase.STANDING, Phase.REQUEST, Phase.RESPONSE)
"""A standing fault begins with its rule, or with the request that fires it if the rule has criteria about requests."""
BROKER = Text("broker-a")


def lasting() -> str | None:
    """Declare the parameter `duration` of a standing fault."""
    declared: str | None = parameter(
        Optional(PositiveDurationCheck()),
        "time after which the fault ends; without it, it ends with its rule",
        default=None,
    )
    return declared


def of_brokers(about: str) -> str | None:
    """Declare the parameter `broker` of a fault that can concern all brokers."""
    declared: str | None = parameter(Optional(BROKER), about, default=None)
    return declared


class StandingKind(Fault):
    """A standing fault with a duration, and often with a broker."""

    __slots__ = ()
    duration: str | None

    @property
    def duration_ms(self) -> int | None:
        """The engine's time (ms) after which the fault ends on its own. None: it ends with its rule."""
        return None if self.duration is None else milliseconds(self.duration, "duration")

    def check_brokers(self, cluster: ClusterControl) -> None:
        """Raise FaultError if there is no broker with the given name."""
        name = getattr(self, "broker", None)
        if name is not None:
            cluster.check_broker(name)
