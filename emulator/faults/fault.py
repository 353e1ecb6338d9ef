"""The base class of all kinds of faults, and the table in which each kind is declared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

from ..gate.effects import Effect
from ..gate.gate import Outcome
from ..kernel.user_error import hides_frames
from ..kernel.value_class import LazySignature, frozen_value
from ..operations.base import Operation
from .errors import FaultError, joined, shown, unknown_name, without_frames
from .events import release
from .facts import PROTOCOLS
from .kind_declaration import KEYWORDS, LAYERS, Kind, check_names
from .parameters import parameter
from .phase import Phase

if TYPE_CHECKING:
    from ..gate.gate import Node
    from .events import ConnectEvent, PushEvent, RequestEvent, ResponseEvent
    from .rule_keywords import RuleKeywords
    from .vocabulary import Codes, RequestName
    from .world import StandingFault, World
else:
    RuleKeywords = object

__tracebackhide__ = hides_frames

C = TypeVar("C", bound="type[Fault]")


class Called(type):
    """The metaclass of kinds of faults. A wrong call of a kind raises one sentence, without frames of the emulator."""

    if not TYPE_CHECKING:  # type checkers read the parameters of a kind from its fields

        def __call__(cls, *given: Any, **parameters: Any) -> Any:
            """Create a fault, or a RuleSpec if criteria or options of a rule are given. Raises FaultError."""
            kind = cls.KIND
            of_rule = {name: parameters.pop(name) for name in KEYWORDS if name in parameters.keys() - kind.parameters}
            if of_rule:
                from .given_fault import rule_of

                return without_frames(lambda: rule_of(cls(*given, **parameters), of_rule))
            names = list(kind.parameters)[: len(given)]
            if len(given) > len(names):
                at_most = joined(kind.parameters) or "none"
                raise FaultError(f"{kind.name}: {len(given)} values for its parameters; it has {at_most}; remove some")
            for name in names:
                if name in parameters:
                    raise FaultError(f"{kind.name}: the parameter {name} is given twice; remove one of its values")
            check_names(kind, [*names, *parameters], others=KEYWORDS)
            return without_frames(partial(super().__call__, *given, **parameters))


class Fault(RuleKeywords, metaclass=Called):
    """A fault with its parameters. A subclass overrides the method of each phase in which it acts.

    A call with criteria or numbers, such as `DropRequest(operation="AckMessage", times=1)`, returns a `RuleSpec`.
    """

    __slots__ = ()
    KIND: ClassVar[Kind]
    __signature__ = LazySignature()
    SCHEMA: ClassVar[Mapping[str, Any]] = {}
    """Keywords of JSON Schema about several parameters together."""

    def __post_init__(self) -> None:
        """Check each parameter, and convert it to a value that JSON and YAML can hold."""
        for name, each in self.KIND.parameters.items():
            setattr(self, name, each.metadata["check"].plain(name, getattr(self, name)))
        self.check()

    def check(self) -> None:
        """Raise FaultError if the parameters contradict each other."""

    def possible_protocols(self) -> "Sequence[str]":
        """Return the protocols in which the fault with its parameters can act on any request."""
        return self.KIND.protocols

    def usable_protocols(self, requests: "Sequence[RequestName]") -> "Sequence[str]":
        """Return the protocols in which the fault can act on one of the requests (empty: on any).

        Raises FaultError if there is none.
        """
        return self.KIND.protocols

    def usable_operations(self) -> tuple[type[Operation] | type[Effect], ...] | None:
        """Return the operations or effects for which the fault with its parameters makes sense, None for all."""
        return self.KIND.operations

    def check_codes(self, codes: "Codes") -> None:
        """Raise FaultError if a code of the fault does not exist in any protocol."""

    def check_world(self, world: "World") -> None:
        """Raise FaultError if a parameter names a broker that does not exist."""

    def on_added(self, world: "World", state: dict[Any, Any]) -> None:
        """Prepare the fault when its rule is added. `state`: as in `Firing`."""

    def selects(self, facts: Any, state: dict[Any, Any]) -> bool:
        """True if the fault acts on an event that meets all criteria. `state`: as in `Firing`."""
        return True

    @property
    def writes_bytes(self) -> bool:
        """True if the fault writes the bytes of the response itself. Only one fault can do so for each response."""
        return False

    def acts_on(self, outcome: Outcome) -> bool:
        """True if the fault can act on an outcome. Otherwise the request does not match the rule."""
        return True

    @property
    def loses_exchange(self) -> bool:
        """True if the request that fires a standing fault is lost with its connection, or its response is."""
        return False

    @property
    def duration_ms(self) -> int | None:
        """The engine's time (ms) after which a standing fault ends on its own. None: it ends with its rule."""
        return None

    def on_removed(self, state: dict[Any, Any]) -> None:
        """Release requests, responses and pushes that the fault holds back, because its rule is removed.

        `state`: as in `Firing`.
        """
        release(state)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults, by name."""
        return {
            name: value
            for name, each in self.KIND.parameters.items()
            if (value := getattr(self, name)) != each.default or each.default is MISSING
        }

    def phase_for(self, chosen: str | None) -> Phase:
        """Return the phase in which a rule with this fault acts. Raises FaultError if it cannot act in `chosen`."""
        kind = self.KIND
        if chosen is None:
            return kind.phases[0]
        for phase in kind.phases:
            if phase.value == chosen:
                return phase
        allowed = ", ".join(phase.value for phase in kind.phases)
        raise FaultError(
            f"phase={shown(chosen)}: {kind.name} does not act in this phase; it acts in {allowed}; use one of them"
        )

    def on_request(self, event: "RequestEvent") -> bool:
        """Act on a request. Returns True if the gate must not carry it out."""
        raise NotImplementedError(self.KIND.name)

    def on_response(self, event: "ResponseEvent") -> Outcome:
        """Act on the outcome of a request, or on its response by `event.intercept`. Returns the outcome to use."""
        raise NotImplementedError(self.KIND.name)

    def on_push(self, event: "PushEvent") -> bool:
        """Act on a push to a client. Returns True if it must not be sent."""
        raise NotImplementedError(self.KIND.name)

    def on_connect(self, event: "ConnectEvent") -> None:
        """Act on a new connection."""
        raise NotImplementedError(self.KIND.name)

    def begin(self, world: "World") -> "StandingFault":
        """Begin a standing fault. Returns an object whose `end()` ends the fault."""
        raise NotImplementedError(self.KIND.name)

    def begin_at(self, world: "World", node: "Node | None") -> "StandingFault | None":
        """Begin a standing fault at the server of the request that fires it (None: no request does).

        Returns None if the fault is over at once.
        """
        return self.begin(world)


KINDS: dict[str, type[Fault]] = {}
"""The kinds of faults that every interface can add, by name. Importing `kinds` fills it."""
IN_PYTHON: dict[str, type[Fault]] = {}
"""The kinds of faults that only Python can add, because a parameter is a function, by name."""


@dataclass_transform(field_specifiers=(parameter,), frozen_default=True)
def kind(
    name: str,
    *,
    layer: str,
    phases: tuple[Phase, ...],
    situation: str,
    protocols: tuple[str, ...] = PROTOCOLS,
    operations: tuple[type[Operation] | type[Effect], ...] | None = None,
    in_all_phases: bool = False,
    in_python: bool = False,
) -> Callable[[C], C]:
    """Declare the decorated subclass of Fault as a kind. Its annotated fields are the parameters.

    `in_python`: True if only Python can add it, because files, the control port and the command have no functions.
    """
    assert layer in LAYERS, layer
    assert name not in KINDS.keys() | IN_PYTHON.keys(), f"{name} is declared twice"

    def declare(cls: C) -> C:
        made: Any = frozen_value(cls)
        parameters = {each.name: each for each in fields(made)}
        made.KIND = Kind(name, layer, phases, protocols, operations, situation, in_all_phases, parameters)
        (IN_PYTHON if in_python else KINDS)[name] = made
        declared: C = made
        return declared

    return declare


def create(name: str, parameters: Mapping[str, Any]) -> Fault:
    """Create a fault from the name of its kind and its parameters. Raises FaultError."""
    cls = KINDS.get(name)
    if name in IN_PYTHON:
        raise FaultError(f"fault={shown(name)}: a function can only be given in Python; use faults.{name}(function)")
    if cls is None:
        raise unknown_name("fault", name, KINDS)
    check_names(cls.KIND, parameters)
    return cls(**parameters)
