"""Driver processes of a run: the ones in use, their replies to `hello`, and their shutdown with the run."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..deployment.target import Access, Deployment, TargetError
from ..drivers.build import Announce
from ..sdk.scenario_context import DriverProcesses
from ..targets.address import AddressDeployment

_NOWHERE = AddressDeployment(Access("127.0.0.1:1", "127.0.0.1:1"))
_GONE_SECONDS = 20.0


class ActiveDrivers:
    """Driver processes in use, thread-safe; `close` ends them from another thread, such as after an interrupted run.

    `announce` shows builds of drivers in progress.
    """

    def __init__(self, announce: Announce | None = None) -> None:
        self._announce = announce
        self._changed = threading.Condition()
        self._at_work: set[DriverProcesses] = set()
        self._closed = False
        self._hellos: dict[str, tuple[threading.Lock, dict[str, Any]]] = {}

    @contextmanager
    def drivers(self, sdk: str, deployment: Deployment) -> Iterator[DriverProcesses]:
        """Start driver processes of an SDK for a deployment. Raises TargetError if the run is over."""
        drivers = DriverProcesses(sdk, deployment, announce=self._announce)
        with self._changed:
            if self._closed:
                raise TargetError("the run is over")
            self._at_work.add(drivers)
        try:
            with drivers:
                yield drivers
        finally:
            with self._changed:
                self._at_work.discard(drivers)
                self._changed.notify_all()

    def hello(self, sdk: str) -> Mapping[str, Any]:
        """Return the response of an SDK's driver to the verb `hello`, which lists what the driver supports.

        It is requested once. Raises LookupError, BuildError, DriverFailure.
        """
        with self._changed:
            lock, hello = self._hellos.setdefault(sdk, (threading.Lock(), {}))
        with lock:
            if not hello:
                # A hello needs no broker, so scenarios that need their own broker are ruled out before it is started.
                with self.drivers(sdk, _NOWHERE) as drivers:
                    hello.update(drivers.process().hello)
        return hello

    def close(self) -> None:
        """End all processes and wait until their folders are removed; no new ones are started."""
        with self._changed:
            self._closed = True
            active_drivers = list(self._at_work)
        for drivers in active_drivers:
            drivers.close()
        with self._changed:
            self._changed.wait_for(lambda: not self._at_work, _GONE_SECONDS)
