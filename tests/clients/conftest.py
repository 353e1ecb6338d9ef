"""The fixture `server`: an emulator for real clients."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, start
from rocketmq_testkit.fixtures import Emulator


@dataclass(frozen=True)
class Server:
    """A running emulator for scenarios, which create topics and groups through its direct API."""

    emulator: Emulator

    @property
    def addresses(self) -> Addresses:
        return Addresses(namesrv=self.emulator.namesrv, endpoint=self.emulator.endpoint)

    def start(self, sdk: str) -> Driver:
        return start(sdk, self.addresses)

    def create_topic(self, name: str, *, type: str = "NORMAL", queues: int = 4) -> None:  # noqa: A002 upstream's word
        self.emulator.topic(name, type=type, queues=queues)

    def create_group(self, name: str, *, orderly: bool = False) -> None:
        self.emulator.group(name, orderly=orderly)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One emulator for the tests of a module, which use distinct names."""
    with Emulator() as emulator:
        yield Server(emulator)
