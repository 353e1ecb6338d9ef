"""A client as the engine of a running emulator sees it, for tests of the clients that a jump of the clock waits for."""

from pull_operation import pull_of
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat
from rocketmq_testkit.emulator.operations.consume import AckMessage, PopMessage, PopResult
from rocketmq_testkit.fixtures import Emulator


class Peer:
    """A client as the engine sees it: a consumer of group `g` and a producer of group `p`."""

    def __init__(
        self,
        emulator: Emulator,
        consume_type: str = "CONSUME_PASSIVELY",
        version: int = 0,
        connection: str = "a-client",
    ) -> None:
        self.emulator = emulator
        self.channel = DirectChannel(connection)
        self.ask(Heartbeat("consumer-1", ["p"], [ConsumerData("g", consume_type)], version=version))

    def ask(self, operation: Operation) -> DirectCall:
        """Submit an operation to the first broker."""
        return self.emulator.run_on_loop(
            lambda host: host.engine.submit(host.engine.brokers[0], operation, self.channel)
        )

    def pull(self, offset: int = 0) -> DirectCall:
        """Pull from an offset, and wait at most 15 s."""
        return self.ask(pull_of("g", "orders", offset=offset, suspend_ms=15_000))

    def pop(self, poll_ms: int = 20_000) -> DirectCall:
        """Pop with an invisible duration of 10 s."""
        return self.ask(PopMessage("g", "orders", queue_id=-1, max_msg_nums=32, invisible_ms=10_000, poll_ms=poll_ms))

    def acknowledge(self, popped: DirectCall) -> None:
        """Acknowledge the first message of a pop."""
        result = popped.outcome
        assert isinstance(result, PopResult)
        [message] = result.messages
        receipt = f"0 {result.pop_time} {result.invisible_ms} {result.revive_qid} 0 broker-a 0 {message.queue_offset}"
        self.ask(AckMessage("g", "orders", 0, receipt, message.queue_offset))
