"""The states of one broker that rules of faults change. Without rules the broker works as configured."""

from collections import Counter
from dataclasses import field

from ..kernel.scheduler import Skew
from ..kernel.switch import Switch
from ..kernel.value_class import parts


@parts
class Interference:
    """The states, which are kept across the runs of the broker, because a crash ends no fault."""

    revive: Switch = field(default_factory=Switch)
    """Redelivery of popped messages."""
    transaction_checks: Switch = field(default_factory=Switch)
    """Rounds of transaction checks."""
    stolen_locks: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By group and topic, the number of rules that keep its queues locked, as if another client held the locks."""
    skew: Skew = field(default_factory=Skew)
    """The difference between the broker's clock and that of the engine."""

    def begin_run(self) -> None:
        """Begin a run of the broker: the services of the previous run are not resumed any more."""
        self.revive.begin_run()
        self.transaction_checks.begin_run()
