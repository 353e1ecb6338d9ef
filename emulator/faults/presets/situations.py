"""The presets, one for each situation."""

from collections.abc import Sequence
from typing import Any

from ..criteria import Criteria, Names
from ..fault import Fault
from ..kinds.connections import CloseConnection, RefuseConnection
from ..kinds.requests import DelayPush, DelayRequest, DropRequest
from ..kinds.responses import DelayResponse, DropResponse
from ..occurrence import Occurrence
from ..parameters import DurationCheck, Number, parameter
from ..rule import RuleSpec
from ..times import ms_of
from .preset import Preset, named
from .preset_parameters import BrokerNames, Spread, SpreadCheck

APPENDS = ("SendMessage", "SendMessageBack", "EndTransaction")
"""Operations for which a broker appends to its commit log."""
ACKNOWLEDGEMENTS = ("AckMessage", "BatchAckMessage", "UpdateConsumerOffset")
"""Operations with which consumers report that they are done with messages."""


@named("flaky-network")
class FlakyNetwork(Preset):
    """Requests and responses get lost, and everything takes time on its way."""

    loss: float = parameter(
        Number(0, 1), "share of the requests, and of the responses to the others, that get lost", default=0.01
    )
    delay: str = parameter(SpreadCheck(), "delay of each response and push", default="20ms±10ms")

    def rules(self) -> list[RuleSpec]:
        """Return the rules."""
        delay = Spread.of(self.delay)
        return [
            *_lost(self.loss, None),
            _rule(DelayResponse(duration=delay.mean, jitter=delay.jitter)),
            _rule(DelayPush(duration=delay.mean, jitter=delay.jitter)),
        ]


@named("slow-disk")
class SlowDisk(Preset):
    """A broker appends messages late, because its disk is slow."""

    delay: str = parameter(SpreadCheck(), "time that an append takes", default="200ms±100ms")

    def rules(self) -> list[RuleSpec]:
        """Return the rules."""
        delay = Spread.of(self.delay)
        return [_rule(DelayRequest(duration=delay.mean, jitter=delay.jitter), operation=list(APPENDS))]


@named("rolling-restart")
class RollingRestart(Preset):
    """One broker after another cannot be reached for some time."""

    brokers: Sequence[str] = parameter(BrokerNames(), "names of the brokers, in their order", default=("broker-a",))
    down: str = parameter(DurationCheck(), "time for which each broker cannot be reached", default="5s")
    pause: str = parameter(DurationCheck(), "time between one broker and the next", default="5s")

    def rules(self) -> list[RuleSpec]:
        """Return the rules."""
        found = []
        for number, broker in enumerate(self.brokers):
            start = number * (ms_of(self.down) + ms_of(self.pause))
            window: dict[str, Any] = {"broker": broker, "start": f"{start}ms", "end": f"{start + ms_of(self.down)}ms"}
            found += [_rule(CloseConnection(), **window), _rule(RefuseConnection(), **window)]
        return found


@named("lossy-acks")
class LossyAcks(Preset):
    """Acknowledgements and committed offsets of consumers get lost, before or after the broker applies them."""

    loss: float = parameter(
        Number(0, 1), "share of the acknowledgements, and of the responses to the others, that get lost", default=0.1
    )

    def rules(self) -> list[RuleSpec]:
        """Return the rules."""
        return _lost(self.loss, list(ACKNOWLEDGEMENTS))


def _lost(loss: float, operation: Names) -> list[RuleSpec]:
    """Return rules that lose requests and responses; none without loss."""
    if not loss:
        return []
    often = Occurrence(probability=loss)
    return [_rule(fault, often, operation=operation) for fault in (DropRequest(), DropResponse())]


def _rule(fault: Fault, often: Occurrence | None = None, /, **criteria: Any) -> RuleSpec:
    return RuleSpec(fault=fault, criteria=Criteria(**criteria), occurrence=often or Occurrence(), optional=True)
