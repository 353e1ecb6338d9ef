"""Driver processes of SDKs that several tests share, each started when it is first used."""

from contextlib import ExitStack
from types import TracebackType
from typing import Any

from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, start
from rocketmq_testkit.fixtures import Emulator

EVERYTHING = {"expr": "*", "type": "TAG"}


class SharedDrivers:
    """The drivers of one emulator by SDK, as a context manager.

    `names` are started at once, so that virtual machines start in parallel.
    """

    def __init__(self, emulator: Emulator, *names: str, **access: Any) -> None:
        self._addresses = Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint, **access)
        self._stack = ExitStack()
        self._drivers: dict[str, Driver] = {}
        self._names = names

    def __enter__(self) -> "SharedDrivers":
        for name in self._names:
            self._start(name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self, name: str) -> Driver:
        driver = self._drivers[name] = self._stack.enter_context(start(name, self._addresses))
        return driver

    def __getitem__(self, name: str) -> Driver:
        """Return the running driver of an SDK."""
        driver = self._drivers.get(name) or self._start(name)
        assert driver.hello["ok"]
        return driver
