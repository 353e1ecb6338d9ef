"""The presets, one for each situation."""

from collections.abc import Sequence
from typing import Any

from ..criteria import Criteria, Names
from ..delay import Spread, SpreadCheck
from ..fault import Fault
from ..kinds.cluster import StopBroker
from ..kinds.requests import DelayPush, DropRequest
from ..kinds.responses import DelayResponse, DropResponse
from ..kinds.store import RefuseAppend
from ..occurrence import Occurrence
from ..parameters import DurationCheck, Flag, Number, PositiveDurationCheck, parameter
from ..rule import RuleSpec
from ..times import ms_of
from .preset import Preset, named
from .preset_parameters import BrokerNames

APPENDS = ("SendMessage", "SendMessageBack", "EndTransaction")
"""Operations for which a broker appends to its commit log."""
ACKNOWLEDGEMENTS = ("AckMessage", "BatchAckMessage", "UpdateConsumerOffset")
"""Operations with which consumers report that they are done with messages."""


@named("flaky-network")
class FlakyNetwork(Preset):
    """Some requests and responses get lost, and responses and pushes are delayed."""

    loss: float = parameter(
        Number(0, 1), "share of the requests, and of the responses to the others, that get lost", default=0.01
    )
    delay: str = parameter(SpreadCheck(), "delay of each response and push", default="20ms±10ms")

    def rules(self) -> list[RuleSpec]:
        """Return the rules."""
        return [*_lost(self.loss, None), *_late(DelayResponse, self.delay), *_late(DelayPush, self.delay)]


@named("slow-disk")
class SlowDisk(Preset):
    """Responses to appends are late, because the disk of a broker is slow, and some appends fail."""

    delay: str = parameter(SpreadCheck(), "time by which a response is late", default="200ms±100ms")
    busy: float = parameter(Number(0, 1), "share of the sends that are refused with a busy page cache", default=0.02)
    timeouts: float = parameter(
        Number(0, 1), "share of the sends that are stored and end with a timeout of the flush", default=0.02
    )

    def rules(self) -> list[RuleSpec]:
        """Return the rules."""
        return [
            *_refused("page_cache_busy", self.busy),
            *_late(DelayResponse, self.delay, list(APPENDS)),
            *_refused("flush_timeout", self.timeouts),
        ]


@named("rolling-restart")
class RollingRestart(Preset):
    """One broker after another stops and starts again."""

    brokers: Sequence[str] = parameter(
        BrokerNames(), "names of the brokers, in the order of their stops", default=("broker-a",)
    )
    down: str = parameter(PositiveDurationCheck(), "time for which each broker is stopped", default="5s")
    pause: str = parameter(DurationCheck(), "time between the start of a broker and the next stop", default="5s")
    kill: bool = parameter(Flag(), "true: each stop is a crash of the process; false: graceful", default=False)

    def rules(self) -> list[RuleSpec]:
        """Return the rules."""
        step = ms_of(self.down) + ms_of(self.pause)
        return [
            _rule(StopBroker(broker=broker, duration=self.down, kill=self.kill), start=f"{number * step}ms")
            for number, broker in enumerate(self.brokers)
        ]


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


def _late(kind: type[DelayResponse | DelayPush], delay: str, operation: Names = None) -> list[RuleSpec]:
    """Return a rule that delays; none without a delay."""
    spread = Spread.of(delay)
    if ms_of(spread.mean) == 0 and (spread.jitter is None or ms_of(spread.jitter) == 0):
        return []
    return [_rule(kind(duration=spread.mean, jitter=spread.jitter), operation=operation)]


def _refused(reason: str, share: float) -> list[RuleSpec]:
    """Return a rule that refuses a share of the sends; none if the share is 0."""
    often = Occurrence(probability=share or None)
    return [_rule(RefuseAppend(reason=reason), often, operation="SendMessage")] if share else []


def _rule(fault: Fault, often: Occurrence | None = None, /, **criteria: Any) -> RuleSpec:
    return RuleSpec(fault=fault, criteria=Criteria(**criteria), occurrence=often or Occurrence(), optional=True)
