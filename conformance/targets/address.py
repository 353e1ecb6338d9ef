"""Any RocketMQ that already runs somewhere, given by its addresses."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from .target import REFERENCE_VERSION, Access, Capability, Place, Target, TargetError


class AddressPlace(Place):
    """Somebody's RocketMQ in real time."""

    def __init__(self, access: Access) -> None:
        self.access = access

    def now_ms(self) -> int:
        """This machine's clock."""
        return time.time_ns() // 1_000_000

    def pass_ms(self, ms: int) -> None:
        """Wait."""
        time.sleep(ms / 1000)


class AddressTarget(Target):
    """A RocketMQ at given addresses. `admin`: topics and groups may be made there."""

    def __init__(self, name: str, access: Access, *, truth: str = REFERENCE_VERSION, admin: bool = True) -> None:
        self.name = name
        self.truth = truth
        self.capabilities = frozenset({Capability.ADMIN}) if admin else frozenset()
        self._place = AddressPlace(access)

    @contextmanager
    def lend(self, settings: Mapping[str, str], *, alone: bool = False) -> Iterator[Place]:
        """The one place."""
        if settings or alone:
            raise TargetError(f"{self.name} is as it is: it cannot be configured or had alone")
        yield self._place
