"""The interface of all faults: their parameters, and a method for each phase in which a fault can act."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any, ClassVar

from ..gate.call import Outcome
from ..gate.effects import Effect
from ..kernel.user_error import hides_frames
from ..operations.base import Operation
from .errors import FaultError, shown
from .events import release
from .kind_declaration import FaultKind
from .phase import Phase

if TYPE_CHECKING:
    from ..gate.call import Node
    from .cluster_control import ClusterControl, StandingFault
    from .events import ConnectEvent, PushEvent, RequestEvent, ResponseEvent
    from .vocabulary import Codes, RequestName

__tracebackhide__ = hides_frames


class BaseFault:
    """A fault with its parameters. A subclass overrides the method of each phase in which it acts."""

    __slots__ = ()
    KIND: ClassVar[FaultKind]
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

    def check_brokers(self, cluster: "ClusterControl") -> None:
        """Raise FaultError if a parameter names a broker that does not exist."""

    def on_added(self, cluster: "ClusterControl", state: dict[Any, Any]) -> None:
        """Prepare the fault when its rule is added. `state`: as in `FiringContext`."""

    def selects(self, facts: Any, state: dict[Any, Any]) -> bool:
        """True if the fault acts on an event that meets all criteria. `state`: as in `FiringContext`."""
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

        `state`: as in `FiringContext`.
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

    def begin(self, cluster: "ClusterControl") -> "StandingFault":
        """Begin a standing fault. Returns an object whose `end()` ends the fault."""
        raise NotImplementedError(self.KIND.name)

    def begin_at(self, cluster: "ClusterControl", node: "Node | None") -> "StandingFault | None":
        """Begin a standing fault at the server of the request that fires it (None: no request does).

        Returns None if the fault is over at once.
        """
        return self.begin(cluster)
