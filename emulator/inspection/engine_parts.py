"""The parts of a running emulator that inspection reads."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ..client.deliveries import Deliveries
from ..cluster.broker import Broker
from ..cluster.name_server import NameServer
from ..config import Config, EmulationConfig
from ..kernel.scheduler import Scheduler
from .connections import ConnectionView
from .rules import RuleView

if TYPE_CHECKING:
    from ..history.history import History


class EngineParts(Protocol):
    """The engine. `rocketmq_testkit.emulator.engine.Engine` implements it."""

    @property
    def brokers(self) -> Sequence[Broker]:
        """All brokers, slaves included."""
        ...

    @property
    def name_server(self) -> NameServer:
        """The name server."""
        ...

    @property
    def scheduler(self) -> Scheduler:
        """The clock."""
        ...

    @property
    def deliveries(self) -> Deliveries:
        """The messages and requests that clients have not completed."""
        ...

    @property
    def history(self) -> "History":
        """The recorded past."""
        ...

    @property
    def emulation(self) -> EmulationConfig:
        """The keys of the emulator itself."""
        ...


class Surroundings(Protocol):
    """Facts that the engine does not have. Its owner implements it."""

    def unreachable(self, broker: Broker) -> str | None:
        """Return why clients cannot reach a running broker, as a phrase; None if they can."""
        ...

    def sessions(self) -> Sequence[ConnectionView]:
        """Return the connected gRPC clients."""
        ...

    def rules(self) -> Sequence[RuleView]:
        """Return the rules of faults."""
        ...

    def configurations(self) -> Mapping[str, Config]:
        """Return the configurations of nodes that are not in the engine, such as the proxy, by name."""
        ...

    def origin(self, node: str, key: str) -> str:
        """Return the origin of a configuration value, see `KeyView.origin`."""
        ...


class NoSurroundings:
    """The surroundings of an engine without servers: every broker is reachable, and all else is empty."""

    def unreachable(self, broker: Broker) -> str | None:
        """Return None."""
        return None

    def sessions(self) -> Sequence[ConnectionView]:
        """Return no session."""
        return ()

    def rules(self) -> Sequence[RuleView]:
        """Return no rule."""
        return ()

    def configurations(self) -> Mapping[str, Config]:
        """Return no configuration."""
        return {}

    def origin(self, node: str, key: str) -> str:
        """Return `default`."""
        return "default"
