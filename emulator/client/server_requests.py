"""Requests of a broker to its clients, and the callbacks for their responses.

Source: Broker2Client.callClient (5.3.3).

Not emulated: the loss of a client's connection before its response. Here the request then ends by timeout.
"""

from collections.abc import Callable
from itertools import count

from ..gate.effects import Question
from ..gate.gate import Call, Channel
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.value_class import value
from ..operations import Done, PushAnswered

Then = Callable[[PushAnswered | None], None]
"""Called with the response, or with None after the timeout."""


@value
class _Waiting:
    then: Then
    timer: Timer


class ClientQuestions:
    """The pending requests of one broker to its clients, by ticket."""

    def __init__(self, scheduler: Scheduler, push: Callable[[Channel, Question], None]) -> None:
        self._scheduler = scheduler
        self._push = push
        self._tickets = count(1)
        self._waiting: dict[int, _Waiting] = {}

    def ask(
        self,
        channel: Channel,
        question: Callable[[int], Question],
        what: str,
        subject: str,
        timeout_ms: int,
        then: Then,
    ) -> None:
        """Send a request, created by `question(ticket)`. `what`, `subject`: kind and owner of the timeout timer."""
        ticket = next(self._tickets)
        timer = self._scheduler.call_later(timeout_ms, lambda: self._end(ticket, None), what, subject)
        self._waiting[ticket] = _Waiting(then, timer)
        self._push(channel, question(ticket))

    def answered(self, call: Call, operation: PushAnswered) -> Done:
        """Handle a client's response; a response after the timeout is ignored."""
        self._end(operation.ticket, operation)
        return Done()

    def _end(self, ticket: int, answer: PushAnswered | None) -> None:
        waiting = self._waiting.pop(ticket, None)
        if waiting is not None:
            waiting.timer.cancel()
            waiting.then(answer)
