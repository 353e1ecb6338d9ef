"""The gate: the single entry for every request of either protocol and of the direct API.

    submit -> journal -> engine -> journal -> reply

It must not know sockets or the meaning of an operation. The engine parks a request that has to wait and
completes it later through `complete`.
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
        """An id that is unique among all channels of an engine and stable while the connection lives."""

    @property
    def remote_address(self) -> tuple[str, int]:
        """The client's (address, port)."""

    @property
    def active(self) -> bool:
        """False once the connection is closed."""

    def push(self, effect: Effect) -> None:
        """Send an effect to the client, if the connection still allows it."""


class Call(Protocol):
    """One request on its way through the gate."""

    @property
    def channel(self) -> Channel:
        """The channel of the client that sent the request."""

    @property
    def label(self) -> str:
        """The request's name in its protocol (`SEND_MESSAGE_V2`, `ReceiveMessage`, `direct`), for the journal."""

    @property
    def active(self) -> bool:
        """False once the client no longer waits for the response."""

    def reply(self, outcome: Outcome) -> None:
        """Send the outcome to the client. Called at most once."""


Handlers = Mapping[type[Operation], Callable[[Call, Any], Result | Parked]]
"""The function that carries out each type of operation."""


class Node(Protocol):
    """A broker or a name server: something that carries out operations."""

    @property
    def name(self) -> str:
        """The name that the journal shows."""

    @property
    def handlers(self) -> Mapping[type[Operation], Callable[[Call, "Operation"], Result | Parked]]:
        """The handler of each type of operation that the node supports."""


class Gate:
    """Carries out operations, replies with their outcomes, and writes both to the journal."""

    def __init__(self, scheduler: Scheduler, journal: Journal, report_bug: Callable[[BaseException], None]) -> None:
        self._scheduler = scheduler
        self._journal = journal
        self._report_bug = report_bug
        self._under_way = 0
        self._afterwards: deque[Callable[[], None]] = deque()
        self.ahead_ms: Callable[[], int] = _not_ahead
        """Returns the engine's time minus the clients' clock (ms, negative: behind). Set by the clock's driver."""

    def engine_time_ms(self, client_ms: int) -> int:
        """Convert a client's timestamp close to now (ms since the epoch, 0 = not set) to the engine's time.

        A client's clock does not follow jumps of the engine's clock, but a test may send the engine's time. Of the two
        readings, the one closer to now is right.
        """
        ahead_ms, now_ms = self.ahead_ms(), self._scheduler.now_ms
        if client_ms > 0 and abs(client_ms + ahead_ms - now_ms) < abs(client_ms - now_ms):
            return client_ms + ahead_ms
        return client_ms

    def submit(self, node: Node, call: Call, operation: Operation) -> None:
        """Carry out an operation and reply, now or later.

        An operation that the node does not support gets REQUEST_CODE_NOT_SUPPORTED. Any exception but EngineError is a
        bug of the emulator: it is reported, the client gets SYSTEM_ERROR, and nothing else is affected.
        """
        self._under_way += 1
        try:
            self._carry_out(node, call, operation)
        finally:
            self._under_way -= 1
            if self._afterwards:
                self._go_on()

    def complete(self, node: Node, call: Call, operation: Operation, outcome: Outcome) -> None:
        """Reply to an operation that was parked."""
        self._under_way += 1
        try:
            self._journal.answered(self._scheduler.now_ms, node.name, call, operation, outcome)
            call.reply(outcome)
        finally:
            self._under_way -= 1
            if self._afterwards:
                self._go_on()

    def refuse(self, node: Node, call: Call, operation: Operation, refusal: EngineError) -> None:
        """Reply with a refusal to an operation that is not carried out."""
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
        """Write to the journal a request that a protocol layer refused on its own.

        `client` is the id of the channel, `label` the name of the request in its protocol.
        """
        self._journal.refused(self._scheduler.now_ms, node, client, label, request, outcome)

    def served(self, node: str, client: str, label: str, request: RawRequest) -> None:
        """Write to the journal a request that a protocol layer completed successfully on its own."""
        self._journal.served(self._scheduler.now_ms, node, client, label, request)

    def afterwards(self, action: Callable[[], None]) -> None:
        """Run a follow-up action of a request after its reply, in order of arrival; at once if no request is running.

        Upstream runs such actions on another thread.
        """
        self._afterwards.append(action)
        self._go_on()

    def carry_on(self, action: Callable[[], None]) -> None:
        """Retry a parked request. Its follow-up actions run after it is completed or parked again."""
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
        self._under_way = 1  # an action may append further ones, which run after it
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
