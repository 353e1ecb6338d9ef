"""The context of one run of a broker: configuration, time, random streams, and functions that send to clients."""

from collections.abc import Callable, Iterable

from ..config import BrokerConfig, EmulationConfig
from ..faults.defects import Defects
from ..gate.call import Call, Channel, Node, Outcome
from ..gate.effects import Effect
from ..gate.gate import Gate
from ..kernel.random_streams import RandomStream, RandomStreams
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import parts
from ..operations.base import Operation
from .interference import Interference

Complete = Callable[[Call, Operation, Outcome], None]
Push = Callable[[Channel, Effect], None]
PushToAll = Callable[[Iterable[Channel], Effect], None]


@parts
class BrokerContext:
    """The parts of a broker that each of its rooms may use. Each run of the broker has a context of its own."""

    node: Node
    config: BrokerConfig
    emulation: EmulationConfig
    defects: Defects
    """Upstream's defects that are switched on."""
    clock: Scheduler
    """The lifetime of the run: its timers end with the run."""
    master_clock: Scheduler
    """The lifetime of timers that run only on a master."""
    random_streams: RandomStreams
    gate: Gate
    interference: Interference
    """The states of the broker that rules of faults change."""
    complete: Complete
    """Reply to a parked request."""
    push: Push
    """Send a notification or a request to a client, unless its connection is closed."""
    push_to_all: PushToAll
    """Send the same notification to several clients."""

    @property
    def identity(self) -> str:
        """The broker's name and id; names its random streams."""
        return f"{self.config.broker_name}:{self.config.broker_id}"

    def stream(self, purpose: str) -> RandomStream:
        """Return the broker's random stream for a purpose."""
        return self.random_streams.stream(f"{self.identity} {purpose}")
