"""Requests to brokers in trouble, through their thread pools; each gets a response, is lost, or times out."""

from collections.abc import Callable, Mapping

from accepted_messages import Answered, Appeared, Asked, Event
from patient_clients import FOUND_NOTHING, TOPIC, Answer
from rocketmq_testkit.emulator.assembly.listeners import ArrivalListener
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.consume import PopResult, PullResult
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

VERSION = 0
"""RocketMQ version that the clients report, as its ordinal number."""
TIMEOUT_MS = {"send": 3_000, "ack": 3_000, "pull": 30_000, "pop": 15_000}


class TroubledCall:
    """One request, which ends with its response, its connection or its timeout."""

    label = "patient"
    number = None

    def __init__(self, over: Callable[["TroubledCall", Outcome | None], None]) -> None:
        self._over = over
        self.channel = DirectChannel()

    @property
    def active(self) -> bool:
        """True while the connection, which belongs to this call alone, is open."""
        return self.channel.active

    def reply(self, outcome: Outcome) -> None:
        """Handle the response; a late one is ignored."""
        self.over(outcome)

    def over(self, outcome: Outcome | None) -> None:
        """End the call with a response, or with None if there will be none."""
        if self.channel.active:
            self.channel.active = False
            self._over(self, outcome)


class TroubledRequests:
    """All requests to the brokers of one engine; the onlooker receives their events."""

    def __init__(self, engine: Engine, onlooker: Callable[[Event], None]) -> None:
        self.engine = engine
        self.note = onlooker
        self._number = 0
        self._open: dict[TroubledCall, Broker] = {}

    @property
    def now_ms(self) -> int:
        """The simulated time (ms since the epoch)."""
        return self.engine.scheduler.now_ms

    def later(self, ms: int, action: Callable[[], None]) -> None:
        """Run an action after a delay."""
        self.engine.scheduler.call_later(ms, action, "patient client")

    def ask(
        self,
        client: str,
        broker: Broker,
        pool: BrokerPool,
        kind: str,
        *,
        operation: Operation,
        on_answer: Answer,
        message_id: str = "",
    ) -> None:
        """Send a request; `on_answer` is called with the code and the result, if there is one."""
        self._number += 1
        number = self._number

        def over(call: TroubledCall, outcome: Outcome | None) -> None:
            del self._open[call]
            timer.cancel()
            code = _code_of(outcome)
            self.note(Answered(self.now_ms, number, code))
            on_answer(code, outcome)

        call = TroubledCall(over)
        self._open[call] = broker
        timer = self.engine.scheduler.call_later(TIMEOUT_MS[kind], lambda: call.over(None), "patience")
        self.note(Asked(self.now_ms, number, client, broker.name, kind, message_id))
        pools = broker.request_pools
        if broker.running and pools.is_active:
            pools.enter(pool, call, operation, pools.go_away_error(VERSION))
        else:
            self.engine.gate.submit(broker, call, operation)

    def hang_up(self, broker: Broker) -> None:
        """Close all connections of a broker that has stopped."""
        for call in [call for call, asked in self._open.items() if asked is broker]:
            call.over(None)

    def listen(self, broker: Broker) -> None:
        """Observe messages stored from now on."""

        def stored(topic: str, queue_id: int, offset: int, _code: int, _properties: Mapping[str, str]) -> None:
            if topic == TOPIC:
                record = broker.store.record(topic, queue_id, offset)
                assert record is not None
                self.note(Appeared(self.now_ms, broker.name, decode(record).body.decode()))

        broker.store.arrivals.insert(0, ArrivalListener(stored))


def _code_of(outcome: Outcome | None) -> str:
    """Return SUCCESS, also for an empty result; LOST if there was no response; else the name of the error code."""
    if outcome is None:
        return "LOST"
    code = outcome.code.name if isinstance(outcome, EngineError | PullResult | PopResult) else "SUCCESS"
    return "SUCCESS" if code in FOUND_NOTHING else code
