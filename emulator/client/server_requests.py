"""Requests of a broker to its clients that are answered, and who waits for the answers.

Source: Broker2Client.callClient (5.3.3).

Not emulated: a client whose connection breaks before it has answered counts as one that does not answer.
"""

from collections.abc import Callable
from itertools import count

from ..gate.effects import Question
from ..gate.gate import Call, Channel
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.value_class import value
from ..operations import Done, PushAnswered

Then = Callable[[PushAnswered | None], None]
"""Told the answer, or None when none came in time."""


@value
class _Waiting:
    then: Then
    timer: Timer


class ClientQuestions:
    """The questions of one broker that are not answered yet, by ticket."""

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
        """Send what `question` makes of a ticket. `what` and `subject` name the time limit among scheduled things."""
        ticket = next(self._tickets)
        timer = self._scheduler.call_later(timeout_ms, lambda: self._end(ticket, None), what, subject)
        self._waiting[ticket] = _Waiting(then, timer)
        self._push(channel, question(ticket))

    def answered(self, call: Call, operation: PushAnswered) -> Done:
        """A client has answered; an answer that comes too late is nothing."""
        self._end(operation.ticket, operation)
        return Done()

    def _end(self, ticket: int, answer: PushAnswered | None) -> None:
        waiting = self._waiting.pop(ticket, None)
        if waiting is not None:
            waiting.timer.cancel()
            waiting.then(answer)
