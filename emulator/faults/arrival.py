"""Observe when a delayed response is sent. The messages in it are in flight from that moment on."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from .client_call import Later, Line, Piece, Response, ResponseHandler


def observed(writer: ResponseHandler | None, arrived: Callable[[], None]) -> ResponseHandler:
    """Return a handler that sends a response, or lets a fault write its bytes, and calls `arrived` once it is sent."""
    pending = [arrived]

    def arrive() -> None:
        if pending:
            pending.pop()()

    def send(response: Response) -> None:
        if writer is None:
            arrive()
            response.send()
        else:
            writer(cast(Response, _WrittenResponse(response, arrive)))

    return send


class _WrittenResponse:
    """A response whose bytes a fault writes."""

    def __init__(self, response: Response, arrive: Callable[[], None]) -> None:
        self._response: Any = response
        self.line = cast(Line, _WrittenLine(response.line, arrive))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)


class _WrittenLine:
    """A connection on which a fault writes a response in pieces. The response has arrived with the last piece."""

    def __init__(self, line: Line, arrive: Callable[[], None]) -> None:
        self._line: Any = line
        self._arrive = arrive

    def __getattr__(self, name: str) -> Any:
        return getattr(self._line, name)

    def pace(self, pieces: Sequence[Piece], later: Later) -> None:
        """Send pieces with pauses."""
        self._line.pace(pieces, later)
        pause_ms = sum(ms for ms, _data in pieces)
        if pause_ms:
            later(pause_ms, self._arrive_if_open)
        else:
            self._arrive()

    def _arrive_if_open(self) -> None:
        if self._line.is_open:
            self._arrive()
