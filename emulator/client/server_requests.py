"""Requests of a broker to its clients, and the callbacks for their responses.

Source: Broker2Client.callClient (5.3.3).

Not emulated: the loss of a client's connection before its response. Here the request then ends by timeout.
"""

from collections.abc import Callable
from itertools import count

from ..assembly.broker_context import Push
from ..assembly.handlers import handles
from ..gate.effects import ServerRequest
from ..gate.gate import Call, Channel
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.value_class import value
from ..operations.base import Done
from ..operations.send import ClientResponded

Then = Callable[[ClientResponded | None], None]
"""Called with the response, or with None after the timeout."""


@value
class _Waiting:
    then: Then
    timer: Timer


class ClientQuestions:
    """The pending requests of one broker to its clients, by ticket."""

    def __init__(self, scheduler: Scheduler, push: Push) -> None:
        self._scheduler = scheduler
        self._push = push
        self._tickets = count(1)
        self._waiting: dict[int, _Waiting] = {}

    def ask(
        self,
        channel: Channel,
        question: Callable[[int], ServerRequest],
        what: str,
        subject: str,
        *,
        timeout_ms: int,
        then: Then,
    ) -> None:
        """Send a request, created by `question(ticket)`. `what`, `subject`: kind and owner of the timeout timer."""
        ticket = next(self._tickets)
        timer = self._scheduler.call_later(timeout_ms, lambda: self._end(ticket, None), what, subject)
        self._waiting[ticket] = _Waiting(then, timer)
        self._send(channel, question(ticket))

    def _send(self, channel: Channel, question: ServerRequest) -> None:
        """Push a request to a client, also to an inactive channel, which may report the failure."""
        if channel.active:
            self._push(channel, question)
        else:
            channel.push(question)

    @handles(ClientResponded)
    def answered(self, call: Call, operation: ClientResponded) -> Done:
        """Handle a client's response; a response after the timeout is ignored."""
        self._end(operation.ticket, operation)
        return Done()

    def _end(self, ticket: int, answer: ClientResponded | None) -> None:
        waiting = self._waiting.pop(ticket, None)
        if waiting is not None:
            waiting.timer.cancel()
            waiting.then(answer)
