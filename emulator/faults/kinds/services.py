"""Faults of a broker's services: a wrong clock, stopped redelivery, stopped checks, and stolen queue locks."""

from datetime import timedelta
from typing import Any

from ...kernel.durations import DurationError, milliseconds
from ..cluster_control import ClusterControl, StandingFault
from ..errors import FaultError, shown
from ..fault import kind
from ..parameters import DURATION_PATTERN, DurationCheck, Text, duration_error, parameter
from ..times import ms_of
from .standing import BROKER, STANDING, StandingKind, lasting, of_brokers


class SignedDurationCheck(DurationCheck):
    """A duration that may be negative: `"90s"`, `"-90s"` or a timedelta. Held as text."""

    def plain(self, name: str, value: Any) -> str:
        """Return the duration as text."""
        sign, size = _divided(value)
        try:
            ms = milliseconds(size, name)
        except DurationError as wrong:
            raise duration_error(name, value, wrong, sign) from None
        return f"{sign}{ms}ms" if isinstance(value, timedelta) else str(value)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a duration with a sign."""
        return {"type": "string", "pattern": f"^-?{DURATION_PATTERN}$", "examples": ["90s", "-90s"]}


def _divided(value: Any) -> tuple[str, Any]:
    """Return the sign of a value, empty if it is not negative, and the value without it."""
    if isinstance(value, str):
        return ("-", value[1:]) if value.startswith("-") else ("", value)
    is_negative = value < timedelta(0) if isinstance(value, timedelta) else isinstance(value, int | float) and value < 0
    return ("-", -value) if is_negative else ("", value)


@kind(
    "skew_clock",
    layer="cluster",
    phases=STANDING,
    situation="The clock of a broker's machine is wrong: no NTP, a paused virtual machine.",
)
class SkewClock(StandingKind):
    """Set the clock of one broker fast or slow.

    The broker writes its own time into messages and receipts, and compares the times of clients with it. Its timers,
    which measure durations, stay on the shared clock. Timers that are set when the skew changes keep their instants.
    """

    broker: str = parameter(BROKER, "name of the broker; of a slave, with its id: `broker-a:1`")
    by: str = parameter(SignedDurationCheck(), "how far the clock is fast; negative: slow")
    duration: str | None = lasting()

    def check(self) -> None:
        """Raise FaultError if the clock would be right."""
        if self._by_ms == 0:
            raise FaultError(f"by={shown(self.by)}: the clock stays right; use '90s' or '-90s'")

    @property
    def _by_ms(self) -> int:
        slow = self.by.startswith("-")
        ms = ms_of(self.by.removeprefix("-"))
        return -ms if slow else ms

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Set the clock."""
        return cluster.skew_clock(self.broker, self._by_ms)


@kind(
    "stop_revive",
    layer="cluster",
    phases=STANDING,
    situation="The thread that redelivers popped messages hangs or is far behind: it reads its queues too slowly.",
)
class StopRevive(StandingKind):
    """Redeliver no message whose invisible duration is over. The broker redelivers these messages at the end."""

    broker: str | None = of_brokers("name of the broker; by default all brokers")
    duration: str | None = lasting()

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Stop redelivery."""
        return cluster.stop_revive(self.broker)


@kind(
    "stop_transaction_checks",
    layer="cluster",
    phases=STANDING,
    situation="The thread that checks half messages hangs: transactions without an end stay undecided.",
)
class StopTransactionChecks(StandingKind):
    """Check no half message: no producer gets a check, and no half message is discarded."""

    broker: str | None = of_brokers("name of the broker; by default all brokers")
    duration: str | None = lasting()

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Stop the checks."""
        return cluster.stop_transaction_checks(self.broker)


@kind(
    "steal_queue_lock",
    layer="cluster",
    phases=STANDING,
    protocols=("remoting",),
    situation="A consumer that died or was cut off from the network still owns the locks of its queues.",
)
class StealQueueLock(StandingKind):
    """Give the queue locks of an orderly group to a client that does not exist. No consumer gets them until the end."""

    group: str = parameter(Text("order-service"), "consumer group")
    topic: str = parameter(Text("orders"), "topic of the queues")
    duration: str | None = lasting()

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Take the locks."""
        return cluster.steal_queue_locks(self.group, self.topic)
