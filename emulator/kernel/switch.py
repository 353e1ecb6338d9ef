"""A switch for a periodic service of a broker, which rules of faults turn off for a while."""

from collections.abc import Callable


class Switch:
    """A service that can be stopped. It runs again when everybody who stopped it has resumed it."""

    __slots__ = ("_holds", "_resumed", "stopped")

    def __init__(self) -> None:
        self.stopped = False
        self._holds = 0
        self._resumed: list[Callable[[], None]] = []

    def begin_run(self) -> None:
        """Forget the services of the previous run of the broker. A stopped service stays stopped."""
        self._resumed.clear()

    def on_resumed(self, action: Callable[[], None]) -> None:
        """Call an action each time the service may continue, for the rest of the run."""
        self._resumed.append(action)

    def stop(self) -> None:
        """Stop the service."""
        self._holds += 1
        self.stopped = True

    def resume(self) -> None:
        """Undo one `stop`."""
        self._holds -= 1
        if self._holds == 0:
            self.stopped = False
            for action in self._resumed:
                action()
