"""Faults of requests and pushes: lost, late, carried out twice, throttled."""

from collections.abc import Sequence
from copy import copy

from ...gate.gate import Request
from ...operations.send import SendMessage, SendReplyMessage
from ..delay import DURATION_ABOUT, ONE_JITTER, Delay, SpreadCheck, distributed, varied_by
from ..events import FiringContext, PushEvent, RequestEvent
from ..fault import Fault, kind
from ..parameters import Code, Number, OneOf, Optional, Text, Whole, parameter
from ..phase import Phase
from ..vocabulary import Codes, RequestName, check_code
from .responses import REMARK

REQUEST = (Phase.REQUEST,)
DROP_ABOUT = "`silent` (the connection stays open), or `close` or `reset` of the connection"


@kind(
    "drop_request",
    layer="effects",
    phases=REQUEST,
    situation="A request is lost on the way: the broker never gets it, and the client gets no response.",
)
class DropRequest(Fault):
    """Do not carry the request out, and send no response."""

    how: str = parameter(OneOf("silent", "close", "reset"), DROP_ABOUT, default="silent")

    def on_request(self, event: RequestEvent) -> bool:
        """Drop the request."""
        if self.how == "close":
            event.call.line.close()
        elif self.how == "reset":
            event.call.line.reset()
        event.call.abandon()
        return True


@kind(
    "delay_request",
    layer="effects",
    phases=REQUEST,
    situation="A broker with a full request pool or a slow disk carries a request out after its client has given up.",
)
class DelayRequest(Delay, Fault):
    """Carry the request out later, even if the client no longer waits. It is lost if the broker stops before."""

    SCHEMA = ONE_JITTER

    duration: str = parameter(SpreadCheck(), DURATION_ABOUT)
    jitter: str | None = varied_by()
    distribution: str = distributed()

    def on_request(self, event: RequestEvent) -> bool:
        """Carry the request out later."""
        event.hold(self.draw_ms(event.firing.chance))
        return True


@kind(
    "duplicate_request",
    layer="effects",
    phases=REQUEST,
    situation="A client repeats a request whose response it missed, or a proxy sends it to the broker twice.",
)
class DuplicateRequest(Fault):
    """Carry the request out several times. The client gets the response to the first one."""

    copies: int = parameter(Whole(1, 100), "further times that the request is carried out", default=1)

    def on_request(self, event: RequestEvent) -> bool:
        """Carry the request out, then its copies."""
        copies = [_copy(event.operation) for _ in range(self.copies)]
        event.carry_out()
        for operation in copies:
            event.repeat(operation)
        return True


def _copy(operation: Request) -> Request:
    """Copy an operation with its own properties, which the broker changes when it stores the message."""
    copied = copy(operation)
    if isinstance(copied, SendMessage):
        copied.properties = dict(copied.properties)
    elif isinstance(copied, SendReplyMessage):
        copied.message = copy(copied.message)
        copied.message.properties = dict(copied.message.properties)
    return copied


@kind(
    "throttle",
    layer="effects",
    phases=REQUEST,
    situation="A broker or proxy limits the rate of requests.",
)
class Throttle(Fault):
    """Limit the rate of requests. Requests above the rate wait, or are refused with a code."""

    per_second: float = parameter(Number(0.001, 1_000_000, example=10), "requests per second of the emulator's time")
    burst: int = parameter(Whole(1, 1_000_000), "requests that are carried out at once after a pause", default=1)
    code: str | int | None = parameter(
        Optional(Code()), "response code of requests above the rate; without it they wait for their turn", default=None
    )
    remark: str = parameter(Text("too busy"), "text of the response to refused requests", default=REMARK)

    def usable_protocols(self, requests: Sequence[RequestName]) -> Sequence[str]:
        """Return the protocols in which the code exists for one of the requests; all if there is no code."""
        return self.KIND.protocols if self.code is None else check_code(requests, self.code)

    def check_codes(self, codes: Codes) -> None:
        """Raise FaultError if the code does not exist at all."""
        if self.code is not None:
            codes.check(self.code)

    def on_request(self, event: RequestEvent) -> bool:
        """Carry the request out now or later, or refuse it."""
        firing = event.firing
        wait_ms = self._wait_ms(firing)
        if wait_ms <= 0:
            return False
        if self.code is None:
            event.hold(round(wait_ms))
        else:
            firing.state["taken"] -= 1  # a refused request takes no token
            event.call.refuse(firing.codes.number(event.call.protocol, self.code), self.remark)
        return True

    def _wait_ms(self, firing: FiringContext) -> float:
        """Take a token, and return the time (ms) until there is one. A bucket of `burst` tokens fills at the rate."""
        now_ms, state = firing.scheduler.now_ms, firing.state
        interval_ms = 1000 / self.per_second
        first_ms = state.setdefault("first", now_ms)
        filled = (now_ms - first_ms) / interval_ms
        taken = max(state.get("taken", 0), filled)  # even a long pause only fills the bucket
        state["taken"] = taken + 1
        wait_ms: float = (taken + 1 - self.burst - filled) * interval_ms
        return wait_ms


@kind(
    "drop_push",
    layer="effects",
    phases=(Phase.PUSH,),
    situation="A notification or a transaction check of a broker is lost; brokers do not repeat notifications.",
)
class DropPush(Fault):
    """Do not send a broker's notification or request to a client: a transaction check, a change of a group, a reply."""

    def on_push(self, event: PushEvent) -> bool:
        """Drop the push."""
        return True


@kind(
    "delay_push",
    layer="effects",
    phases=(Phase.PUSH,),
    situation="A notification or a transaction check of a broker is late.",
)
class DelayPush(Delay, Fault):
    """Send a broker's notification or request to a client later."""

    SCHEMA = ONE_JITTER

    duration: str = parameter(SpreadCheck(), DURATION_ABOUT)
    jitter: str | None = varied_by()
    distribution: str = distributed()

    def on_push(self, event: PushEvent) -> bool:
        """Send the push later."""
        event.firing.hold(self.draw_ms(event.firing.chance), event.push)
        return True


@kind(
    "duplicate_push",
    layer="effects",
    phases=(Phase.PUSH,),
    situation="A broker checks a transaction again before it has the response to its first check.",
)
class DuplicatePush(Fault):
    """Send a broker's notification or request to a client several times."""

    copies: int = parameter(Whole(1, 100), "further copies of the push", default=1)

    def on_push(self, event: PushEvent) -> bool:
        """Send the push and its copies."""
        for _ in range(1 + self.copies):
            event.push()
        return True
