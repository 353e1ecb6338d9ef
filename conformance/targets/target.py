"""What cases run against: a target lends places, and a place is one running RocketMQ.

A target says what it can do; a case that needs more is not applicable to it.
"""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from rocketmq_testkit.remoting.client import Credentials

from ..undisturbed import undisturbed

REFERENCE_VERSION = "5.3.3"
"""The version whose recorded outcomes everything is compared with that has none of its own."""

COMMON_SETTINGS: Mapping[str, str] = {
    "autoCreateTopicEnable": "true",
    "autoCreateSubscriptionGroup": "true",
    "enablePropertyFilter": "true",
    "recallMessageEnable": "true",
    "traceTopicEnable": "true",
}
"""Keys of broker.conf that every place has that we start ourselves; a case may set them otherwise."""


FULL_FROM = 35
"""Percent of a disk: the least level that upstream takes for full."""
BESIDE = "beside."
"""Settings whose names begin so are keys of a second broker, which stands beside the first where there are any."""


PROXY = "proxy."
"""Settings whose names begin so are keys of rmq-proxy.json."""


class Files(NamedTuple):
    """Settings by the file that they belong to. There is a second broker if `beside` has keys, those of its own."""

    broker: dict[str, str]
    beside: dict[str, str]
    proxy: dict[str, str]


def of_each(settings: Mapping[str, str]) -> Files:
    """Settings whose names say with a prefix where they belong, without it."""
    files = Files({}, {}, {})
    for key, value in settings.items():
        for prefix, keys in ((BESIDE, files.beside), (PROXY, files.proxy), ("", files.broker)):
            if key.startswith(prefix):
                keys[key.removeprefix(prefix)] = value
                break
    return files


def own_user(settings: Mapping[str, str]) -> Credentials | None:
    """As whom a case asks where it says nothing else: the user that its settings make."""
    text = settings.get("initAuthenticationUser")
    user = None if text is None else json.loads(text)
    return None if user is None else Credentials(user["username"], user["password"])


class TargetError(Exception):
    """A target does not start or died; the text ends with what its logs say."""


class Capability(StrEnum):
    """What a target may be able to do, beyond answering clients."""

    ADMIN = "admin"
    """Topics, groups and offsets may be made and changed."""
    CONFIGURE = "configure"
    """It is started with the keys of broker.conf that a case asks for."""
    RESTART = "restart"
    """It can be stopped and started again on the same addresses, at once or later, keeping what was stored."""
    CRASH = "crash"
    """Its broker can be killed, and started again on what the operating system has of its files."""
    VIRTUAL_TIME = "virtual-time"
    """Its time can be moved."""
    SEVERAL_BROKERS = "several-brokers"
    """It can have more than one broker."""
    FULL_DISK = "full-disk"
    """The disk of its store is used so far that a broker can be told to take it for full: by more than 35 %."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How clients encrypt. `ca`: PEM file of the authority to trust; None trusts anyone."""

    ca: Path | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """How clients reach a place: `namesrv` and `endpoint` (gRPC) are `host:port`."""

    namesrv: str
    endpoint: str
    tls: Tls | None = None
    credentials: Credentials | None = None


class Place(ABC):
    """One running RocketMQ, lent to a case or a driver."""

    access: Access
    beside: str = ""
    """The `host:port` of a second broker that a case has asked for."""

    @abstractmethod
    def now_ms(self) -> int:
        """Its time, milliseconds since the epoch."""

    @abstractmethod
    def pass_ms(self, ms: int) -> None:
        """Let its time pass: wait, or jump where the target can."""

    def restart(self) -> None:
        """Stop it in order and start it again on the same addresses. Errors: TargetError."""
        raise TargetError("this place cannot be restarted")

    def stop(self) -> None:
        """Stop it in order until `start`; its name server stays. Errors: TargetError."""
        raise TargetError("this place cannot be stopped")

    def start(self) -> None:
        """Start it again on the same addresses, with what was stored. Errors: TargetError."""
        raise TargetError("this place cannot be started")

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nobody is there within the block. Errors: TargetError."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def crash(self) -> None:
        """Kill its process, which writes nothing more, and start it again. Errors: TargetError."""
        raise TargetError("this place cannot be crashed")

    @property
    def jumps(self) -> bool:
        """Whether `pass_ms` takes no time."""
        return False


class Target(ABC):
    """A kind of RocketMQ under a name; a context manager that stops what it has started."""

    name: str
    """As on the command line."""
    truth: str
    """The version whose recorded outcomes it is compared with."""
    capabilities: frozenset[Capability]
    emulated: bool = False
    """Whether it is this project's emulator, to which the differences of `explained.py` belong."""
    own_at_once: int | None = None
    """How many places with settings of their own, or lent alone, may be in use at once; None: any number."""
    sleep: Callable[[float], None] = time.sleep
    """How places in real time wait; a run makes room for others meanwhile."""
    unrecordable: str = ""
    """Why what it does is not what a version does, so that it cannot become recorded truth; empty if it can."""

    @abstractmethod
    def lend(
        self, settings: Mapping[str, str], *, alone: bool = False, encrypted: bool = False
    ) -> AbstractContextManager[Place]:
        """A place whose broker.conf has these keys besides COMMON_SETTINGS; `alone`: nobody else uses it meanwhile.

        `encrypted`: a client may want TLS. Where none does, a place that is started for this may have none.

        Keys that begin with BESIDE bring a second broker, which has the keys of the first and these; those that begin
        with PROXY are the proxy's.

        Errors: TargetError.
        """

    def start(self) -> None:  # noqa: B027 a target may have nothing to start
        """Start what takes long before the first case asks for it. Errors: TargetError, BuildError."""

    def stop(self) -> None:  # noqa: B027 as above
        """Stop everything that was started."""

    def check(self) -> None:  # noqa: B027 what cannot die needs no look
        """Raise TargetError when it has died."""

    def likely_causes(self) -> list[str]:
        """Keys of its broker that differ from those of the recorded one; none where this project sets them."""
        return []

    def describe(self) -> str:
        """One line for reports: what it turned out to be."""
        return self.name

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        undisturbed(self.stop)
