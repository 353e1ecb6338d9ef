"""Any RocketMQ that already runs somewhere, given by its addresses."""

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from .target import REFERENCE_VERSION, Access, Capability, Place, Target, TargetError

REACHED_WITHIN_SECONDS = 10.0


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

    def start(self) -> None:
        """See that somebody listens at both addresses: one sentence is better than a failure of every case.

        Errors: TargetError.
        """
        access = self._place.access
        for what, address in (("namesrv", access.namesrv), ("endpoint", access.endpoint)):
            host, _, port = address.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN_SECONDS).close()
            except (OSError, OverflowError) as error:
                why = getattr(error, "strerror", None) or error
                raise TargetError(f"{what}={address} cannot be reached: {why}") from error

    @contextmanager
    def lend(self, settings: Mapping[str, str], *, alone: bool = False) -> Iterator[Place]:
        """The one place."""
        if settings or alone:
            raise TargetError(f"{self.name} is as it is: it cannot be configured or had alone")
        yield self._place
