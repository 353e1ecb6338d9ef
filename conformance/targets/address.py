"""Any RocketMQ that already runs somewhere, given by its addresses."""

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ..likely_cause import differing_keys
from ..worlds.cluster import first_broker
from ..worlds.connections import open_connection
from .target import REFERENCE_VERSION, Access, Capability, Place, Target, TargetError

REACHED_WITHIN_SECONDS = 10.0
WAIT_SECONDS = 15.0
"""A broker that starts accepts connections after some seconds, and registers after some more."""
POLL_SECONDS = 0.2


class AddressPlace(Place):
    """Somebody's RocketMQ in real time."""

    def __init__(self, access: Access, sleep: Callable[[float], None] = time.sleep) -> None:
        self.access = access
        self._sleep = sleep

    def now_ms(self) -> int:
        """This machine's clock."""
        return time.time_ns() // 1_000_000

    def pass_ms(self, ms: int) -> None:
        """Wait."""
        self._sleep(ms / 1000)


class AddressTarget(Target):
    """A RocketMQ at given addresses. `admin`: topics and groups may be made there; `version`: what runs there.

    `wait_seconds`: how long `start` waits for a broker that is not up yet.
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
        self.truth = version or REFERENCE_VERSION
        if version is None:
            self.unrecordable = "nobody says which version runs there; add version=V if it is Apache's own, unchanged"
        self.capabilities = frozenset({Capability.ADMIN}) if admin else frozenset()
        self.access = access
        self._place = AddressPlace(access, lambda seconds: self.sleep(seconds))

    def start(self) -> None:
        """Wait until both addresses accept connections and a broker is registered: it may have just started.

        Raises TargetError with one sentence, which is better than a failure of every case.
        """
        end = time.monotonic() + self._wait_seconds
        while True:
            try:
                return self.check()
            except TargetError as error:
                if time.monotonic() >= end:
                    waited = f", {self._wait_seconds:g} s long" if self._wait_seconds else ""
                    raise TargetError(f"{error}{waited}; wait=SECONDS waits for a broker that starts") from error
            time.sleep(POLL_SECONDS)

    def check(self) -> None:
        """Raise TargetError when nobody listens there any more, or the broker behind the name server is gone."""
        _reach("namesrv", self.access.namesrv)
        _reach("endpoint", self.access.endpoint)
        try:
            with open_connection(self.access, self.access.namesrv) as namesrv:
                broker = first_broker(namesrv, self.access.namesrv)
        except OSError as error:
            raise TargetError(f"the name server {self.access.namesrv} does not answer: {error}") from error
        _reach(broker.name, broker.address)

    def likely_causes(self) -> list[str]:
        """Keys of the broker that differ from those of the recorded one."""
        return differing_keys(self.access)

    @contextmanager
    def lend(self, settings: Mapping[str, str], *, alone: bool = False, encrypted: bool = False) -> Iterator[Place]:
        """The one place."""
        if settings or alone:
            raise TargetError(f"{self.name} is as it is: it cannot be configured or had alone")
        yield self._place


def _reach(what: str, address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN_SECONDS).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise TargetError(f"{what}={address} cannot be reached: {why}") from error
