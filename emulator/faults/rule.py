"""A rule: criteria, one fault, and how often it acts; with the record of its matches and firings."""

from collections import deque
from typing import Any

from ..kernel.random_streams import RandomStream
from ..kernel.value_class import frozen_value
from .criteria import PROTOCOLS, Criteria
from .errors import FaultError
from .fault import Fault
from .occurrence import Counter, Occurrence
from .phase import Phase

NAME_CHARACTERS_MAX = 100
EVENTS_MAX = 100
"""The most firings that a rule records; the oldest are dropped."""


@frozen_value
class RuleSpec:
    """The definition of a rule.

    `optional`: a rule that never fires does not fail the test that added it. `strict`: response codes that a request
    can never get are refused. `name`: given by the user, or made from the kind of fault.
    """

    fault: Fault
    criteria: Criteria
    occurrence: Occurrence
    name: str | None = None
    optional: bool = False
    strict: bool = True

    def __post_init__(self) -> None:
        if self.name is not None and not (isinstance(self.name, str) and 0 < len(self.name) <= NAME_CHARACTERS_MAX):
            raise FaultError(
                f"name={str(self.name)[:NAME_CHARACTERS_MAX]!r}: not a text of 1 to {NAME_CHARACTERS_MAX} characters; "
                "use a name such as 'lost-answers'"
            )
        phase = self.phase
        self.criteria.check_phase(phase)
        kind = self.fault.KIND
        if self.criteria.protocol is not None and self.criteria.protocol not in kind.protocols:
            raise FaultError(
                f"protocol={self.criteria.protocol!r}: {kind.name} acts on {' and '.join(kind.protocols)} only; "
                "choose another protocol or another fault"
            )

    @property
    def phase(self) -> Phase:
        """The phase in which the rule acts."""
        return self.fault.phase(self.criteria.phase)

    @property
    def must_fire(self) -> bool:
        """True if the test that added the rule should fail if the rule never fires."""
        return not self.optional and self.occurrence.probability is None


@frozen_value
class RuleEvent:
    """One firing: the time (ms since the epoch), the request, the client's channel, and ids of the messages."""

    now_ms: int
    operation: str
    channel: str
    message_ids: tuple[str, ...]


class Rule:
    """A rule that was added. `added_ms` is the emulator's time at which it was added."""

    def __init__(self, *, name: str, spec: RuleSpec, added_ms: int, chance: RandomStream, number: int = 0) -> None:
        self.name = name
        self.number = number
        """The position of the rule among all that were ever added."""
        self.spec = spec
        self.counter = Counter(occurrence=spec.occurrence, chance=chance)
        self.chance = chance
        self.predicates = spec.criteria.predicates()
        self.operations: frozenset[str] = frozenset()
        """Names of operations, effects, request codes and RPCs to which the rule is limited; empty if it is not."""
        self.protocols = frozenset(PROTOCOLS)
        """The protocols whose requests the rule acts on."""
        self.state: dict[Any, Any] = {}
        self.events: deque[RuleEvent] = deque(maxlen=EVENTS_MAX)
        self.failure: str | None = None
        """The error that the function `where` raised, if it raised one."""
        self.removed = False
        start, end = spec.criteria.window_ms()
        self._start_ms, self._end_ms = added_ms + start, None if end is None else added_ms + end

    @property
    def matched(self) -> int:
        """The number of events that met all criteria while the rule could still act."""
        return self.counter.matched

    @property
    def fired(self) -> int:
        """The number of events on which the fault acted."""
        return self.counter.fired

    def is_open(self, now_ms: int) -> bool:
        """True if the rule may act now: it is not removed, not used up, and within its time."""
        return (
            not self.removed
            and not self.counter.is_used_up
            and self._start_ms <= now_ms
            and (self._end_ms is None or now_ms < self._end_ms)
        )
