"""A RocketMQ deployment that is already running, given by its addresses."""

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ..context.cluster import first_broker
from ..context.connections import open_connection
from ..deployment.target import REFERENCE_VERSION, Access, Capability, Deployment, Target, TargetError
from .likely_cause import differing_keys

REACHED_WITHIN_SECONDS = 10.0
WAIT_SECONDS = 15.0
"""A starting broker accepts connections after some seconds, and registers some seconds later."""
POLL_SECONDS = 0.2


class AddressDeployment(Deployment):
    """A user's RocketMQ deployment in real time."""

    def __init__(self, access: Access, sleep: Callable[[float], None] = time.sleep) -> None:
        self.access = access
        self._sleep = sleep

    def now_ms(self) -> int:
        """Read this machine's clock (ms since the epoch)."""
        return time.time_ns() // 1_000_000

    def advance_ms(self, ms: int) -> None:
        """Sleep for `ms` milliseconds."""
        self._sleep(ms / 1000)


class AddressTarget(Target):
    """A RocketMQ at given addresses. `admin`: True if topics and groups may be created there; `version`: its version.

    `wait_seconds`: timeout of `start` for a broker that is not up yet.
    """

    def __init__(
        self,
        name: str,
        access: Access,
        *,
        version: str | None = None,
        admin: bool = True,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.name = name
        self._wait_seconds = wait_seconds
        self.recorded_version = version or REFERENCE_VERSION
        if version is None:
            self.unrecordable_reason = "its version is unknown; add version=V if it is an unchanged Apache RocketMQ"
        self.capabilities = frozenset({Capability.ADMIN}) if admin else frozenset()
        self.access = access
        self._place = AddressDeployment(access, self.sleep)

    def start(self) -> None:
        """Wait until both addresses accept connections and a broker is registered: it may have just started.

        Raises TargetError with one sentence, instead of failing every case.
        """
        end = time.monotonic() + self._wait_seconds
        while True:
            try:
                return self.check()
            except TargetError as error:
                if time.monotonic() >= end:
                    waited = f" within {self._wait_seconds:g} s" if self._wait_seconds else ""
                    raise TargetError(f"{error}{waited}; wait=SECONDS waits until a broker has started") from error
            time.sleep(POLL_SECONDS)

    def check(self) -> None:
        """Raise TargetError if an address no longer accepts connections, or if no broker is registered."""
        _reach("namesrv", self.access.namesrv)
        _reach("endpoint", self.access.endpoint)
        try:
            with open_connection(self.access, self.access.namesrv) as namesrv:
                broker = first_broker(namesrv, self.access.namesrv)
        except OSError as error:
            raise TargetError(f"the name server {self.access.namesrv} does not answer: {error}") from error
        _reach(broker.name, broker.address)

    def likely_causes(self) -> list[str]:
        """Configuration keys of the broker that differ from those of the recorded one."""
        return differing_keys(self.access)

    @contextmanager
    def lend(
        self, settings: Mapping[str, str], *, alone: bool = False, encrypted: bool = False
    ) -> Iterator[Deployment]:
        """Lend the only deployment. Raises TargetError for `settings` or `alone`."""
        if settings or alone:
            raise TargetError(f"{self.name}: the suite cannot configure this broker or use it exclusively")
        yield self._place


def _reach(what: str, address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN_SECONDS).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise TargetError(f"{what}={address} cannot be reached: {why}") from error
