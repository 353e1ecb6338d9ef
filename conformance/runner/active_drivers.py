"""Driver processes of a run: their owners, their hellos, and their shutdown with the run."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..deployment.target import Access, Place, TargetError
from ..drivers.build import Announce
from ..sdk.scenario_context import Crew
from ..targets.address import AddressPlace

_NOWHERE = AddressPlace(Access("127.0.0.1:1", "127.0.0.1:1"))
_GONE_SECONDS = 20.0


class Crews:
    """Active crews, thread-safe; `close` ends them from another thread, such as after an interrupted run.

    `announce` shows builds of drivers in progress.
    """

    def __init__(self, announce: Announce | None = None) -> None:
        self._announce = announce
        self._changed = threading.Condition()
        self._at_work: set[Crew] = set()
        self._closed = False
        self._hellos: dict[str, tuple[threading.Lock, dict[str, Any]]] = {}

    @contextmanager
    def crew(self, sdk: str, place: Place) -> Iterator[Crew]:
        """A crew of an SDK for a deployment. Raises TargetError if the run is over."""
        crew = Crew(sdk, place, announce=self._announce)
        with self._changed:
            if self._closed:
                raise TargetError("the run is over")
            self._at_work.add(crew)
        try:
            with crew:
                yield crew
        finally:
            with self._changed:
                self._at_work.discard(crew)
                self._changed.notify_all()

    def hello(self, sdk: str) -> Mapping[str, Any]:
        """Return the hello of an SDK's driver, requested once. Raises LookupError, BuildError, DriverFailure."""
        with self._changed:
            lock, hello = self._hellos.setdefault(sdk, (threading.Lock(), {}))
        with lock:
            if not hello:
                # A hello needs no broker, so scenarios that need their own broker are ruled out before it is started.
                with self.crew(sdk, _NOWHERE) as crew:
                    hello.update(crew.process().hello)
        return hello

    def close(self) -> None:
        """End all processes and wait until their folders are removed; no new ones are started."""
        with self._changed:
            self._closed = True
            crews = list(self._at_work)
        for crew in crews:
            crew.close()
        with self._changed:
            self._changed.wait_for(lambda: not self._at_work, _GONE_SECONDS)
