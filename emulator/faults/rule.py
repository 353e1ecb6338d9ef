"""A rule: criteria, one fault, and how often it acts; with the record of its matches and firings."""

from collections import deque
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any

from ..kernel.random_streams import RandomStream
from ..kernel.scheduler import Timer
from ..kernel.value_class import frozen_value
from .base_fault import BaseFault
from .cluster_control import StandingFault
from .criteria import OF_ALL_PHASES, Criteria, Predicate
from .errors import FaultError, shown
from .facts import PROTOCOLS
from .occurrence import Counter, Occurrence
from .phase import Phase

NAME_CHARACTERS_MAX = 100
"""The most characters of a rule's name."""
RESERVED_NAMES = ("schema", ".", "..")
"""Names that no rule may have, because the path `/v1/faults/{name}` of the control API could not hold them.

`/v1/faults/schema` is another path, and HTTP clients remove the segments `.` and `..` from a path (RFC 3986, 5.2.4).
"""
RULES_MAX = 20_000
"""The most rules of one emulator."""
EVENTS_MAX = 100
"""The most firings that a rule records; the oldest are dropped."""


@frozen_value
class RuleSpec:
    """The definition of a rule.

    `optional`: a rule that never fires does not fail the test that added it. `strict`: response codes that a request
    can never get are refused. `name`: given by the user, or made from the kind of fault.
    """

    fault: BaseFault
    criteria: Criteria
    occurrence: Occurrence
    name: str | None = None
    _: KW_ONLY
    optional: bool = False
    strict: bool = True

    def __post_init__(self) -> None:
        if self.name is not None and not (isinstance(self.name, str) and 0 < len(self.name) <= NAME_CHARACTERS_MAX):
            raise FaultError(
                f"name={shown(self.name)}: not a text of 1 to {NAME_CHARACTERS_MAX} characters; "
                "use a name such as 'lost-answers'"
            )
        if self.name in RESERVED_NAMES:
            raise FaultError(
                f"name={shown(self.name)}: not usable in paths of the control API; "
                "all names but 'schema', '.' and '..' are; use a name such as 'lost-answers'"
            )
        for flag in ("optional", "strict"):
            if not isinstance(getattr(self, flag), bool):
                raise FaultError(f"{flag}={shown(getattr(self, flag))}: neither true nor false; use true")
        for phase in self.phases:
            self.criteria.check_phase(phase)
        kind = self.fault.KIND
        if self.criteria.protocol is not None and self.criteria.protocol not in kind.protocols:
            raise FaultError(
                f"protocol={shown(self.criteria.protocol)}: {kind.name} acts on {' and '.join(kind.protocols)} only; "
                "choose another protocol or another fault"
            )

    @property
    def phase(self) -> Phase:
        """The phase in which the rule acts.

        A standing fault with criteria about requests begins at the first request that fires the rule.
        """
        phase = self.fault.phase_for(self.criteria.phase)
        if phase is Phase.STANDING and self.criteria.phase is None and self._waits_for_request:
            return self.fault.phase_for(Phase.REQUEST.value)
        return phase

    @property
    def phases(self) -> tuple[Phase, ...]:
        """All phases in which the rule acts."""
        kind = self.fault.KIND
        return kind.phases if kind.in_all_phases and self.criteria.phase is None else (self.phase,)

    @property
    def is_standing(self) -> bool:
        """True if the fault is a state with a begin and an end. Other faults act on single events."""
        return Phase.STANDING in self.fault.KIND.phases

    @property
    def _waits_for_request(self) -> bool:
        occurrence = self.occurrence
        counts = occurrence.nth is not None or occurrence.every is not None or occurrence.after > 0
        return counts or any(name not in OF_ALL_PHASES for name, _ in self.criteria.given())

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


class RunningRule:
    """A rule that was added. `number` grows with each rule; `added_ms` is the emulator's time of the addition."""

    def __init__(self, *, name: str, spec: RuleSpec, added_ms: int, chance: RandomStream, number: int = 0) -> None:
        self.name = name
        self.number = number
        """The position of the rule among all that were ever added."""
        self.spec = spec
        self.counter = Counter(occurrence=spec.occurrence, chance=chance)
        self.chance = chance
        self.state: dict[Any, Any] = {}
        """Values that the fault keeps between its firings; the keys are the fault's own."""
        self.operations: frozenset[str] = frozenset()
        """Names of operations, effects, request codes and RPCs to which the rule is limited; empty if it is not."""
        self.protocols = frozenset(PROTOCOLS)
        """The protocols whose requests the rule acts on."""
        self.failure: str | None = None
        """The error that the function `where` raised, if it raised one."""
        self.errors: list[BaseException] = []
        """The exceptions that the function of `faults.call` raised."""
        self.removed = False
        self.standing: StandingFault | None = None
        """The standing fault while it is in force, else None."""
        self.timers: list[Timer] = []
        """Timers for the begin and the end of the standing fault."""
        self.restored_ms: int | None = None
        """The engine's time (ms) at which the standing fault in force ends, None if it ends with the rule."""
        start, end = spec.criteria.window_ms()
        self.start_ms, self.end_ms = added_ms + start, None if end is None else added_ms + end

    @cached_property
    def predicates(self) -> list[Predicate]:
        """The tests of an event by the rule's criteria, made when they are first needed."""
        found, fault = self.spec.criteria.predicates(), self.spec.fault
        if type(fault).selects is not BaseFault.selects:
            found.append(lambda facts: fault.selects(facts, self.state))
        return found

    @cached_property
    def events(self) -> deque[RuleEvent]:
        """The last `EVENTS_MAX` firings, the oldest first."""
        return deque(maxlen=EVENTS_MAX)

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
        return self.start_ms <= now_ms and not self.counter.is_used_up and not self._has_ended(now_ms)

    def can_act_later(self, now_ms: int) -> bool:
        """True if the rule acts now, or can act on a later event or at a later time."""
        if self._has_ended(now_ms):
            return False
        if self.standing is not None:
            return True
        # A standing fault that no request fires begins once.
        is_over = self.matched > 0 if self.spec.phase is Phase.STANDING else self.counter.is_exhausted
        return not is_over

    def _has_ended(self, now_ms: int) -> bool:
        return self.removed or (self.end_ms is not None and now_ms >= self.end_ms)
