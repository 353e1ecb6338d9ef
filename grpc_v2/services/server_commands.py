"""Server-initiated commands for gRPC clients. Source: ProxyChannel.writeAndFlush (5.3.3)."""

from dataclasses import dataclass

from rocketmq_testkit.emulator.gate.effects import CheckTransactionState, Effect, RequestDirectConsumption

from ..proxy.sessions import SessionChannel
from .direct_consumption import DirectConsumption
from .transaction_check import TransactionCheckSender


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServerCommands:
    """Sends effects of the engine to clients."""

    transaction_check_sender: TransactionCheckSender
    direct_consumption: DirectConsumption

    def send_effect(self, channel: SessionChannel, effect: Effect) -> None:
        """Send an effect on the client's telemetry stream. Effects without a gRPC command are ignored."""
        if isinstance(effect, CheckTransactionState):
            self.transaction_check_sender.send(channel, effect)
        elif isinstance(effect, RequestDirectConsumption):
            self.direct_consumption.send_verify_message(channel, effect)
