"""The gate: the single doorway for every request of either protocol and of the direct API.

    submit -> journal -> engine -> journal -> reply

It knows neither sockets nor what an operation means. A request that has to wait is parked by the engine and comes
back through `complete`.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..operations import Operation, Parked, Result
from .effects import Effect
from .journal import Journal
from .raw_request import RawRequest, Rejection

Outcome = Result | EngineError


class Channel(Protocol):
    """A client's connection as the engine sees it."""

    @property
    def channel_id(self) -> str:
        """Unique among all channels of an engine, stable while the connection lives."""

    @property
    def remote_address(self) -> tuple[str, int]:
        """The client's (address, port)."""

    @property
    def active(self) -> bool:
        """False once the connection is gone."""

    def push(self, effect: Effect) -> None:
        """Send an effect to the client, if it still can be sent."""


class Call(Protocol):
    """One request on its way through the gate."""

    @property
    def channel(self) -> Channel:
        """Who asks."""

    @property
    def label(self) -> str:
        """The request's name in its protocol (`SEND_MESSAGE_V2`, `ReceiveMessage`, `direct`), for the journal."""

    @property
    def active(self) -> bool:
        """False once nobody waits for the answer any more."""

    def reply(self, outcome: Outcome) -> None:
        """Take the outcome to the client. Called at most once."""


Handlers = Mapping[type[Operation], Callable[[Call, Any], Result | Parked]]
"""What carries out each kind of operation."""


class Node(Protocol):
    """A broker or a name server: something that carries out operations."""

    @property
    def name(self) -> str:
        """For the journal."""

    @property
    def handlers(self) -> Mapping[type[Operation], Callable[[Call, "Operation"], Result | Parked]]:
        """What it can do."""


class Gate:
    """Lets operations in and outcomes out, and writes both down."""

    def __init__(self, scheduler: Scheduler, journal: Journal, report_bug: Callable[[BaseException], None]) -> None:
        self._scheduler = scheduler
        self._journal = journal
        self._report_bug = report_bug
        self._under_way = 0
        self._afterwards: deque[Callable[[], None]] = deque()
        self.ahead_ms: Callable[[], int] = _not_ahead
        """How far the engine's time is ahead of the clocks of clients (negative: behind); set by who moves it."""

    def engine_time_ms(self, client_ms: int) -> int:
        """An instant close to now (ms since the epoch, 0 = not told) in the engine's time, whichever clock it is of.

        A client's clock does not follow jumps; a test may go by the engine's. Nearer to now is right.
        """
        ahead_ms, now_ms = self.ahead_ms(), self._scheduler.now_ms
        if client_ms > 0 and abs(client_ms + ahead_ms - now_ms) < abs(client_ms - now_ms):
            return client_ms + ahead_ms
        return client_ms

    def submit(self, node: Node, call: Call, operation: Operation) -> None:
        """Carry out an operation and reply, now or later.

        An operation that the node does not know is answered REQUEST_CODE_NOT_SUPPORTED. An exception that is not an
        EngineError is our bug: it is reported, answered SYSTEM_ERROR and leaves everything else untouched.
        """
        self._under_way += 1
        try:
            self._carry_out(node, call, operation)
        finally:
            self._under_way -= 1
            if self._afterwards:
                self._go_on()

    def complete(self, node: Node, call: Call, operation: Operation, outcome: Outcome) -> None:
        """Answer an operation that was parked."""
        self._under_way += 1
        try:
            self._journal.answered(self._scheduler.now_ms, node.name, call, operation, outcome)
            call.reply(outcome)
        finally:
            self._under_way -= 1
            if self._afterwards:
                self._go_on()

    def refuse(self, node: Node, call: Call, operation: Operation, refusal: EngineError) -> None:
        """Answer an operation that is not carried out."""
        self._under_way += 1
        try:
            client, label = call.channel.channel_id, call.label
            self._journal.refused(self._scheduler.now_ms, node.name, client, label, operation, refusal)
            call.reply(refusal)
        finally:
            self._under_way -= 1
            if self._afterwards:
                self._go_on()

    def refused(
        self, node: str, client: str, label: str, request: RawRequest, outcome: EngineError | Rejection
    ) -> None:
        """Write down a request that a protocol layer refused by itself.

        `client` is the id of the channel, `label` the name of the request in its protocol.
        """
        self._journal.refused(self._scheduler.now_ms, node, client, label, request, outcome)

    def served(self, node: str, client: str, label: str, request: RawRequest) -> None:
        """Write down a request that a protocol layer answered by itself, with success."""
        self._journal.served(self._scheduler.now_ms, node, client, label, request)

    def afterwards(self, action: Callable[[], None]) -> None:
        """Do what a request sets off once it has been answered, in turn; at once when none is under way.

        Upstream hands such things to another thread.
        """
        self._afterwards.append(action)
        self._go_on()

    def carry_on(self, action: Callable[[], None]) -> None:
        """Try once more for a request that was parked; what that sets off comes when it is answered or waits again."""
        self._under_way += 1
        try:
            action()
        finally:
            self._under_way -= 1
            if self._afterwards:
                self._go_on()

    def _carry_out(self, node: Node, call: Call, operation: Operation) -> None:
        handler = node.handlers.get(type(operation))
        outcome: Result | Parked | EngineError
        if handler is None:
            name = type(operation).__name__
            outcome = EngineError(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f"{name} is not supported by {node.name}")
        else:
            try:
                outcome = handler(call, operation)
            except EngineError as refusal:
                # Its traceback would hold this frame, which holds it: memory that only the garbage collector frees.
                outcome = refusal.with_traceback(None)
            except Exception as bug:
                self._report_bug(bug)
                outcome = EngineError(ResponseCode.SYSTEM_ERROR, f"{type(bug).__name__}: {bug}")
        if isinstance(outcome, Parked):
            self._journal.parked(self._scheduler.now_ms, node.name, call, operation)
            return
        self._journal.answered(self._scheduler.now_ms, node.name, call, operation, outcome)
        call.reply(outcome)

    def _go_on(self) -> None:
        if self._under_way:
            return
        self._under_way = 1  # what is done now may bring more, which comes after it
        try:
            while self._afterwards:
                try:
                    self._afterwards.popleft()()
                except Exception as bug:
                    self._report_bug(bug)
        finally:
            self._under_way = 0


def _not_ahead() -> int:
    return 0
