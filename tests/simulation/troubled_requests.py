"""Requests to brokers in trouble: through the pools of their threads, answered, lost or too late."""

from collections.abc import Callable, Mapping

from accepted_messages import Answered, Appeared, Asked, Event
from patient_clients import FOUND_NOTHING, TOPIC, Answer
from rocketmq_testkit.emulator import operations as ops
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.gate.gate import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.overload.request_pools import Pool
from rocketmq_testkit.emulator.store.arrival_listener import Arrival

VERSION = 0
"""Of the clients."""
TIMEOUT_MS = {"send": 3_000, "ack": 3_000, "pull": 30_000, "pop": 15_000}


class TroubledCall:
    """One request, which is over with its answer, its connection or its time."""

    label = "patient"

    def __init__(self, over: Callable[["TroubledCall", Outcome | None], None]) -> None:
        self._over = over
        self.channel = DirectChannel()

    @property
    def active(self) -> bool:
        """A call lives as long as its connection, which it has for itself."""
        return self.channel.active

    def reply(self, outcome: Outcome) -> None:
        """Take the answer; too late, nobody hears it."""
        self.over(outcome)

    def over(self, outcome: Outcome | None) -> None:
        """It is answered, or will not be."""
        if self.channel.active:
            self.channel.active = False
            self._over(self, outcome)


class TroubledRequests:
    """All requests to the brokers of one engine, and an onlooker of them."""

    def __init__(self, engine: Engine, onlooker: Callable[[Event], None]) -> None:
        self.engine = engine
        self.see = onlooker
        self._number = 0
        self._open: dict[TroubledCall, Broker] = {}

    @property
    def now_ms(self) -> int:
        """The simulated time."""
        return self.engine.scheduler.now_ms

    def later(self, ms: int, action: Callable[[], None]) -> None:
        """Do something after a while."""
        self.engine.scheduler.call_later(ms, action, "patient client")

    def ask(
        self,
        client: str,
        broker: Broker,
        pool: Pool,
        kind: str,
        operation: ops.Operation,
        on_answer: Answer,
        message_id: str = "",
    ) -> None:
        """Ask; `on_answer` gets the code, and the result if there is one."""
        self._number += 1
        number = self._number

        def over(call: TroubledCall, outcome: Outcome | None) -> None:
            del self._open[call]
            timer.cancel()
            code = _code_of(outcome)
            self.see(Answered(self.now_ms, number, code))
            on_answer(code, outcome)

        call = TroubledCall(over)
        self._open[call] = broker
        timer = self.engine.scheduler.call_later(TIMEOUT_MS[kind], lambda: call.over(None), "patience")
        self.see(Asked(self.now_ms, number, client, broker.name, kind, message_id))
        if broker.running and broker.request_pools.on:
            broker.request_pools.enter(pool, call, operation, VERSION)
        else:
            self.engine.gate.submit(broker, call, operation)

    def hang_up(self, broker: Broker) -> None:
        """The broker is gone, and all connections with it."""
        for call in [call for call, asked in self._open.items() if asked is broker]:
            call.over(None)

    def listen(self, broker: Broker) -> None:
        """See what is stored from now on."""

        def stored(topic: str, queue_id: int, offset: int, tags_code: int, properties: Mapping[str, str]) -> None:
            if topic == TOPIC:
                record = broker.store.record(topic, queue_id, offset)
                assert record is not None
                self.see(Appeared(self.now_ms, broker.name, decode(record).body.decode()))

        broker.store.arrivals.insert(0, Arrival(stored))


def _code_of(outcome: Outcome | None) -> str:
    """SUCCESS, also where nothing was found; LOST; or why not."""
    if outcome is None:
        return "LOST"
    code = outcome.code.name if isinstance(outcome, EngineError | ops.PullResult | ops.PopResult) else "SUCCESS"
    return "SUCCESS" if code in FOUND_NOTHING else code
