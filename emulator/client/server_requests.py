"""Requests of a broker to its clients, and the callbacks for their responses.

Source: Broker2Client.callClient (5.3.3).

Not emulated: the loss of a client's connection before its response. Here the request then ends by timeout.
"""

from collections.abc import Callable
from itertools import count

from ..assembly.broker_context import Push
from ..assembly.handlers import handles
from ..gate.call import Call, Channel
from ..gate.effects import ServerRequest
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.value_class import value
from ..operations.base import Done
from ..operations.send import ClientResponded

OnResponse = Callable[[ClientResponded | None], None]
"""Called with the response, or with None after the timeout."""


@value
class _PendingRequest:
    on_response: OnResponse
    timer: Timer


class ServerRequests:
    """The pending requests of one broker to its clients, by ticket."""

    def __init__(self, scheduler: Scheduler, push: Push) -> None:
        self._scheduler = scheduler
        self._push = push
        self._tickets = count(1)
        self._pending: dict[int, _PendingRequest] = {}

    def send(
        self,
        channel: Channel,
        make_request: Callable[[int], ServerRequest],
        kind: str,
        owner: str,
        *,
        timeout_ms: int,
        on_response: OnResponse,
    ) -> None:
        """Send a request, created by `make_request(ticket)`. `kind` and `owner` name the timer of its timeout."""
        ticket = next(self._tickets)
        timer = self._scheduler.call_later(timeout_ms, lambda: self._end(ticket, None), kind, owner)
        self._pending[ticket] = _PendingRequest(on_response, timer)
        self._push_request(channel, make_request(ticket))

    def _push_request(self, channel: Channel, request: ServerRequest) -> None:
        """Push a request to a client.

        The gate pushes nothing to an inactive channel. The channel itself can report that: that of a gRPC client
        without a telemetry stream makes the proxy respond with a timeout.
        """
        if channel.active:
            self._push(channel, request)
        else:
            channel.push(request)

    @handles(ClientResponded)
    def handle_response(self, call: Call, operation: ClientResponded) -> Done:
        """Handle a client's response; a response after the timeout is ignored."""
        self._end(operation.ticket, operation)
        return Done()

    def _end(self, ticket: int, response: ClientResponded | None) -> None:
        pending = self._pending.pop(ticket, None)
        if pending is not None:
            pending.timer.cancel()
            pending.on_response(response)
