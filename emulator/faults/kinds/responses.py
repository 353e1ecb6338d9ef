"""Faults of responses: refusals, and responses that are lost, late, repeated, reordered or oversized."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...gate.call import Outcome
from ...kernel.nearest_name import nearest_of
from ..client_call import Response
from ..delay import DURATION_ABOUT, ONE_JITTER, Delay, SpreadCheck, distributed, varied_by
from ..errors import FaultError, shown
from ..events import FiringContext, RequestEvent, ResponseEvent
from ..fault import Fault, kind
from ..parameters import Code, DurationCheck, Number, Optional, Text, Whole, given, parameter
from ..phase import Phase
from ..times import ms_of
from ..vocabulary import Codes, RequestName, check_code, check_status

RESPONSE = (Phase.RESPONSE,)
HOW = ("silent", "close", "reset")
REMARK = "injected by a rule of faults"
REMARK_BYTES_MAX = 8 * 1024 * 1024


@kind(
    "respond",
    layer="responses",
    phases=(Phase.REQUEST,),
    situation="A broker or proxy rejects a request: it is overloaded, shuts down, lacks the topic, or denies access.",
)
class Respond(Fault):
    """Respond with a code, and do not carry the request out."""

    SCHEMA = {"oneOf": [given("code"), given("status")]}

    code: str | int | None = parameter(
        Optional(Code()),
        "response code of remoting or of gRPC responses, by name or number; a rule has either `code` or `status`",
        default=None,
    )
    remark: str = parameter(Text("too busy"), "text of the response", default=REMARK)
    status: str | int | None = parameter(
        Optional(Code()), "status of gRPC itself, by name or number; only in place of `code`", default=None
    )

    def check(self) -> None:
        """Raise FaultError unless there is exactly one of code and status."""
        if (self.code is None) == (self.status is None):
            raise FaultError(
                f"code={shown(self.code)} and status={shown(self.status)}: a response has exactly one of them; "
                "use respond('SYSTEM_BUSY') or respond(status='UNAVAILABLE')"
            )

    def possible_protocols(self) -> Sequence[str]:
        """Return gRPC for a status, which remoting does not have."""
        return self.KIND.protocols if self.status is None else ("grpc",)

    def usable_protocols(self, requests: Sequence[RequestName]) -> Sequence[str]:
        """Return the protocols in which the code or status exists for one of the requests."""
        return check_status(requests, self.status) if self.code is None else check_code(requests, self.code)

    def check_codes(self, codes: Codes) -> None:
        """Raise FaultError if the code or status does not exist at all."""
        if self.code is not None:
            codes.check(self.code)
        elif self.status is not None:
            codes.status(self.status)

    def on_request(self, event: RequestEvent) -> bool:
        """Refuse the request."""
        call, codes = event.call, event.firing.codes
        if self.code is not None:
            call.refuse(codes.number(call.protocol, self.code), self.remark)
        elif self.status is not None:
            call.fail(codes.status(self.status), self.remark)
        return True


@kind(
    "delay_response",
    layer="responses",
    phases=RESPONSE,
    situation="A slow network, a pause of the broker's garbage collector, or a client far away.",
)
class DelayResponse(Delay, Fault):
    """Carry the request out, and send the response later."""

    SCHEMA = {"anyOf": [given(name) for name in ("duration", "bytes_per_second")], **ONE_JITTER}

    duration: str = parameter(SpreadCheck(), DURATION_ABOUT, default="0ms")
    jitter: str | None = varied_by()
    distribution: str = distributed()
    bytes_per_second: float | None = parameter(
        Optional(Number(1)), "further delay, in proportion to the size of the response", default=None
    )

    def check(self) -> None:
        """Raise FaultError if there is no delay at all, or if jitter and duration contradict each other."""
        self.divide_duration()
        if self.bytes_per_second is None and ms_of(self.duration) == 0:
            raise FaultError("delay_response without a delay; give a duration, such as duration='200ms'")

    @property
    def writes_bytes(self) -> bool:
        """True if the delay depends on the size of the response."""
        return self.bytes_per_second is not None

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Send the response later."""
        return event.intercept(partial(self._send_later, event.firing))

    def _send_later(self, firing: FiringContext, response: Response) -> None:
        delay_ms = self.draw_ms(firing.chance)
        if self.bytes_per_second is None:
            firing.hold(delay_ms, response.send)
            return
        data = response.encoded()
        delay_ms += round(len(data) * 1000 / self.bytes_per_second)
        firing.hold(delay_ms, lambda: response.line.pace([(0, data)], firing.hold))


@kind(
    "drop_response",
    layer="responses",
    phases=RESPONSE,
    situation="The network or the broker fails after the request was carried out, before the client has the response.",
)
class DropResponse(Fault):
    """Carry the request out, and lose the response."""

    how: str | int = parameter(
        Code(),
        "`silent` (nothing is sent), `close`, `reset` (of the connection), or a response code to send",
        default="silent",
    )

    def usable_protocols(self, requests: Sequence[RequestName]) -> Sequence[str]:
        """Return the protocols in which the code exists for one of the requests; all if there is no code."""
        if self.how in HOW:
            return self.KIND.protocols
        try:
            return check_code(requests, self.how, "how", HOW)
        except FaultError:
            nearest = nearest_of(self.how, HOW)
            if nearest is None:
                raise
            text = f"how={shown(self.how)}: neither {', '.join(HOW)} nor a response code; did you mean {nearest}?"
            raise FaultError(text, nearest=nearest) from None

    def check_codes(self, codes: Codes) -> None:
        """Raise FaultError if the code does not exist at all."""
        if self.how not in HOW:
            codes.check(self.how)

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Lose the response."""
        return event.intercept(partial(self._lose, event), loses=True)

    def _lose(self, event: ResponseEvent, response: Response) -> None:
        if self.how == "close":
            response.line.close()
        elif self.how == "reset":
            response.line.reset()
        elif self.how != "silent":
            response.refuse(event.firing.codes.number(event.call.protocol, self.how), REMARK)


@kind(
    "duplicate_response",
    layer="responses",
    phases=RESPONSE,
    situation="A proxy between client and broker sends a response again.",
)
class DuplicateResponse(Fault):
    """Send the response several times."""

    copies: int = parameter(Whole(1, 100), "further copies of the response", default=1)

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Send the response again."""
        return event.intercept(lambda response: response.send(1 + self.copies))


@kind(
    "reorder_responses",
    layer="responses",
    phases=RESPONSE,
    situation="Threads of a broker's pool finish requests of one connection in another order.",
)
class ReorderResponses(Fault):
    """Swap two responses: hold one back until the rule fires on the next one of its connection, and send that first."""

    at_most: str = parameter(DurationCheck(), "time after which the response is sent in any case", default="1s")

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Hold this response back, or send it before the one that is held back."""
        return event.intercept(partial(self._hold_or_send, event.firing, event.call.channel.channel_id))

    def _hold_or_send(self, firing: FiringContext, channel_id: str, response: Response) -> None:
        """Hold a response back; if one of the connection is held back already, send this one and then that."""
        held = firing.state.pop(channel_id, None)
        if held is not None:
            response.send()
            held()
            return

        def release() -> None:
            if firing.state.get(channel_id) is release:
                del firing.state[channel_id]
            timer.cancel()
            response.send()

        timer = firing.later(ms_of(self.at_most), release)
        firing.state[channel_id] = release

    def on_removed(self, state: dict[Any, Any]) -> None:
        """Send the response that is held back."""
        for release in list(state.values()):
            release()


@kind(
    "wrong_opaque",
    layer="responses",
    phases=RESPONSE,
    situation="A broken proxy mixes up connections: the client gets a response to a request that it never sent.",
)
class WrongOpaque(Fault):
    """Send the response with the opaque (remoting) or the stream id (gRPC) of a request that does not exist."""

    @property
    def writes_bytes(self) -> bool:
        """True: no other fault may write the bytes of the response."""
        return True

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Send the response with a wrong id."""
        later = event.firing.hold
        return event.intercept(lambda response: response.line.pace([(0, response.misaddressed())], later), loses=True)


@kind(
    "oversized_remark",
    layer="responses",
    phases=RESPONSE,
    situation="A broker returns the stack trace of an exception as the text of its response.",
)
class OversizedRemark(Fault):
    """Carry the request out, and respond with a very long text."""

    size: int = parameter(Whole(1, REMARK_BYTES_MAX), "length of the text in bytes", default=64 * 1024)

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Replace the text of the response."""
        return event.intercept(self._send_long)

    def _send_long(self, response: Response) -> None:
        response.set_remark("x" * self.size)
        response.send()
