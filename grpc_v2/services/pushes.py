"""Server-initiated commands for gRPC clients. Source: ProxyChannel.writeAndFlush (5.3.3)."""

from dataclasses import dataclass

from rocketmq_testkit.emulator.gate.effects import CheckTransactionState, Effect, RequestDirectConsumption

from ..proxy.sessions import SessionChannel
from .transaction_check import TransactionChecks
from .verification import DirectConsumption


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pushes:
    """Sends effects of the engine to clients."""

    transaction_checks: TransactionChecks
    direct_consumption: DirectConsumption

    def push(self, channel: SessionChannel, effect: Effect) -> None:
        """Send an effect on the client's telemetry stream. Effects without a gRPC command are ignored."""
        if isinstance(effect, CheckTransactionState):
            self.transaction_checks.send(channel, effect)
        elif isinstance(effect, RequestDirectConsumption):
            self.direct_consumption.ask_to_consume(channel, effect)
