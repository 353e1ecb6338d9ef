"""The fault that calls a function of the test, such as one that kills and starts a consumer."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ...gate.call import Outcome
from ..errors import FaultError, shown
from ..events import FiringContext, PushEvent, RequestEvent, ResponseEvent
from ..fault import Fault, kind
from ..parameters import PositiveDurationCheck, parameter
from ..phase import Phase
from ..times import ms_of


class FunctionCheck:
    """A function without parameters. `shown` is an example for errors."""

    shown = "lambda: None"

    def plain(self, name: str, value: Any) -> Any:
        """Return the function. Raises FaultError for another value."""
        if not callable(value):
            raise FaultError(f"{name}={shown(value)}: not a function; it is called without arguments; use {self.shown}")
        return value

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of no value, because JSON has no functions."""
        return {"not": {}}


@kind(
    "call",
    layer="effects",
    phases=(Phase.REQUEST, Phase.RESPONSE, Phase.PUSH),
    situation="The application itself fails at this point: its process is killed, or a consumer restarts.",
    in_python=True,
)
class CallFunction(Fault):
    """Call a function of the test, and process the request, its response or the push when it has returned.

    It runs on a thread of its own, so that it may use clients and the emulator. A coroutine function runs in an event
    loop of its own on that thread. It must not wait for the request, response or push that fires the rule. The emulator
    serves other requests meanwhile. If the function raises an exception, or does not return within `timeout` of real
    time, the exchange continues, and the test fails at its end with that exception.
    """

    function: Callable[[], Any] = parameter(FunctionCheck(), "function of the test, called without arguments")
    timeout: str = parameter(
        PositiveDurationCheck(), "real time after which the exchange continues without the function", default="10s"
    )

    def parameters(self) -> dict[str, Any]:
        """Return the name of the function, and the timeout if it differs from its default."""
        return {**Fault.parameters(self), "function": name_of(self.function)}

    def on_request(self, event: RequestEvent) -> bool:
        """Call the function, and carry the request out afterwards."""
        self._call(event.firing, event.carry_out, event.node)
        return True

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Call the function, and send the response afterwards."""
        return event.intercept(lambda response: self._call(event.firing, response.send, event.node))

    def on_push(self, event: PushEvent) -> bool:
        """Call the function, and send the push afterwards."""
        self._call(event.firing, event.push, event.node)
        return True

    def _call(self, firing: FiringContext, action: Callable[[], None], node: Any) -> None:
        firing.hold_for_call(self.function, ms_of(self.timeout), action, node)


def name_of(function: Callable[[], Any]) -> str:
    """Return the qualified name of a function, or that of the class of a callable object without a name."""
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__qualname__", None) or type(function).__qualname__
