"""Server-initiated commands for gRPC clients. Source: ProxyChannel.writeAndFlush (5.3.3)."""

from rocketmq_testkit.emulator.gate.effects import AskToConsume, CheckTransactionState, Effect

from ..proxy.proxy import Proxy
from ..proxy.sessions import SessionChannel
from .transaction import check_transaction
from .verification import ask_to_consume


def pushed(proxy: Proxy, channel: SessionChannel, effect: Effect) -> None:
    """Send an effect on the client's telemetry stream. Effects without a gRPC command are ignored."""
    if isinstance(effect, CheckTransactionState):
        check_transaction(proxy, channel, effect)
    elif isinstance(effect, AskToConsume):
        ask_to_consume(proxy, channel, effect)
