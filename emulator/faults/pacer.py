"""The output of a connection on which a fault sends pieces with pauses."""

from collections import deque
from collections.abc import Callable, Sequence

from .client_call import Later, Piece


class Pacer:
    """Keeps the output of a connection in order: data that is sent during a pause waits behind the remaining pieces."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._waiting: deque[tuple[int, bytes | Callable[[], None]]] = deque()
        """Pauses in ms, each before bytes to send or an action to run."""
        self._later: Later | None = None
        self._running = False

    @property
    def is_running(self) -> bool:
        """True while a pause is pending."""
        return self._running

    def send(self, data: bytes) -> None:
        """Send ordinary output of the connection."""
        if self._running:
            self._waiting.append((0, data))
        else:
            self._write(data)

    def pace(self, pieces: Sequence[Piece], later: Later) -> None:
        """Send pieces with pauses. `later` runs an action after some ms."""
        self._later = later
        self._waiting.extend(pieces)
        self._continue()

    def finish(self, action: Callable[[], None]) -> None:
        """Run an action, such as the close of the connection, once everything before it is sent."""
        if self._running:
            self._waiting.append((0, action))
        else:
            action()

    def _continue(self) -> None:
        if self._running:
            return
        self._running = True
        self._drain()

    def _drain(self) -> None:
        """Send everything that has no pause before it, and continue after the next pause."""
        while self._waiting:
            pause_ms, item = self._waiting[0]
            if pause_ms > 0:
                assert self._later is not None, "only a paced piece has a pause"
                self._waiting[0] = (0, item)
                self._later(pause_ms, self._drain)
                return
            self._waiting.popleft()
            if isinstance(item, bytes):
                self._write(item)
            else:
                item()
        self._running = False
        self._later = None  # it refers to the engine, and the connection may outlive that
