"""Targets of cases: a target lends deployments (`Deployment`), and a deployment is one running RocketMQ.

A target names its capabilities; a case that needs others is not applicable to it.
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

from .uninterruptible import run_uninterrupted

REFERENCE_VERSION = "5.3.3"
"""The reference version: its records apply to every version without records of its own."""

COMMON_SETTINGS: Mapping[str, str] = {
    "autoCreateTopicEnable": "true",
    "autoCreateSubscriptionGroup": "true",
    "enablePropertyFilter": "true",
    "recallMessageEnable": "true",
    "traceTopicEnable": "true",
}
"""Keys of broker.conf of every deployment that this suite starts; a case may override them."""


FULL_DISK_PERCENT_MIN = 35
"""Smallest disk usage, in percent, that upstream accepts as the limit of a full disk."""
SECOND_BROKER = "second-broker."
"""Prefix of settings of a second broker, which runs beside the first if there are any."""


PROXY = "proxy."
"""Prefix of settings that belong to rmq-proxy.json."""


class SettingsByFile(NamedTuple):
    """Settings by configuration file. A second broker runs if `second_broker` has keys, in addition to the first's."""

    broker: dict[str, str]
    second_broker: dict[str, str]
    proxy: dict[str, str]


def settings_by_file(settings: Mapping[str, str]) -> SettingsByFile:
    """Group settings by the file that their prefix names, and remove the prefix."""
    files = SettingsByFile({}, {}, {})
    for key, value in settings.items():
        for prefix, keys in ((SECOND_BROKER, files.second_broker), (PROXY, files.proxy), ("", files.broker)):
            if key.startswith(prefix):
                keys[key.removeprefix(prefix)] = value
                break
    return files


def default_credentials(settings: Mapping[str, str]) -> Credentials | None:
    """Return the credentials that a case uses by default: those of the user created by its settings."""
    text = settings.get("initAuthenticationUser")
    user = None if text is None else json.loads(text)
    return None if user is None else Credentials(user["username"], user["password"])


class TargetError(Exception):
    """A target does not start or died; the text ends with the last lines of its logs."""


class Capability(StrEnum):
    """Optional features of a target."""

    ADMIN = "admin"
    """Topics, groups and offsets may be created and changed."""
    CONFIGURE = "configure"
    """It is started with the keys of broker.conf that a case requests."""
    RESTART = "restart"
    """It can be stopped and restarted on the same addresses, at once or later, and keeps stored data."""
    CRASH = "crash"
    """Its broker can be killed, and restarted with the files that the operating system has of it."""
    VIRTUAL_TIME = "virtual-time"
    """Its clock can be moved."""
    SEVERAL_BROKERS = "several-brokers"
    """It can have more than one broker."""
    FULL_DISK = "full-disk"
    """Its store's disk is more than 35 % full, so that a broker can be configured to treat it as full."""


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS options of clients. `ca`: PEM file of the authority to trust; None trusts any certificate."""

    ca: Path | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """Addresses of a deployment: `namesrv` and `endpoint` (gRPC) are `host:port`."""

    namesrv: str
    endpoint: str
    tls: Tls | None = None
    credentials: Credentials | None = None


class Deployment(ABC):
    """One running RocketMQ deployment, lent to a case or a driver."""

    access: Access
    second_broker: str = ""
    """The `host:port` of the second broker that a case has requested."""

    @abstractmethod
    def now_ms(self) -> int:
        """Read the deployment's clock, in milliseconds since the epoch."""

    @abstractmethod
    def advance_ms(self, ms: int) -> None:
        """Let `ms` milliseconds of the deployment's time pass: sleep, or jump if the target can."""

    def restart(self) -> None:
        """Restart it gracefully on the same addresses. Raises TargetError."""
        raise TargetError("this broker cannot be restarted")

    def stop(self) -> None:
        """Stop it gracefully until `start`; its name server keeps running. Raises TargetError."""
        raise TargetError("this broker cannot be stopped")

    def start(self) -> None:
        """Start it again on the same addresses, with its stored data. Raises TargetError."""
        raise TargetError("this broker cannot be started")

    def kill(self) -> None:
        """Kill its process until `start`; its name server keeps running. Raises TargetError."""
        raise TargetError("this broker cannot be killed")

    def fault(self, rule: Mapping[str, object]) -> AbstractContextManager[object] | None:
        """Add a fault rule, which ends with the context manager; None on a real broker, which cannot have rules."""
        return None

    def name_server_stopped(self) -> AbstractContextManager[None]:
        """Keep the name server stopped within the block. Raises TargetError."""
        raise TargetError("this name server cannot be stopped")

    @property
    def commit_log(self) -> Path:
        """The folder of its commit log. Raises TargetError."""
        raise TargetError("the files of this broker cannot be changed")

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Keep the broker stopped within the block. Raises TargetError."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def crash(self) -> None:
        """Kill its process, which writes nothing more, and restart it. Raises TargetError."""
        raise TargetError("this broker cannot be crashed")

    @property
    def has_virtual_time(self) -> bool:
        """True if `advance_ms` takes no real time."""
        return False


class Target(ABC):
    """A kind of RocketMQ under a name; a context manager that stops all processes it has started."""

    name: str
    """Name as given on the command line."""
    recorded_version: str
    """The version whose recorded outcomes apply to it."""
    capabilities: frozenset[Capability]
    emulated: bool = False
    """True for this project's emulator, to which the differences of `known_differences.py` apply."""
    defects: frozenset[str] = frozenset()
    """Upstream's defects that faults have switched on in the emulator."""
    own_deployments_max: int | None = None
    """Limit of deployments in use at once that have settings of their own or are lent alone; None: no limit."""
    _sleep: Callable[[float], None] = time.sleep
    unrecordable_reason: str = ""
    """Reason why its behavior is not that of a published version and cannot be recorded; empty if it can."""

    @abstractmethod
    def lend(
        self, settings: Mapping[str, str], *, alone: bool = False, encrypted: bool = False
    ) -> AbstractContextManager[Deployment]:
        """Lend a deployment whose broker.conf has these keys in addition to COMMON_SETTINGS. Raises TargetError.

        `alone`: no other user shares it. `encrypted`: a client may want TLS; otherwise a newly started deployment may
        have none.

        Keys that begin with SECOND_BROKER add a second broker, which has the keys of the first and these. Keys that
        begin with PROXY belong to the proxy.
        """

    def use_sleep(self, sleep: Callable[[float], None]) -> None:
        """Set the sleep function of deployments in real time. A run lets other work run meanwhile."""
        self._sleep = sleep

    def sleep(self, seconds: float) -> None:
        """Sleep in a deployment in real time."""
        self._sleep(seconds)

    def start(self) -> None:  # noqa: B027 a target may have nothing to start
        """Prepare slow steps before the first case needs them. Raises TargetError, BuildError."""

    def stop(self) -> None:  # noqa: B027 as above
        """Stop everything that was started."""

    def check(self) -> None:  # noqa: B027 some targets cannot die
        """Raise TargetError if it has died."""

    def likely_causes(self) -> list[str]:
        """Keys whose values differ from those of the recorded broker; empty if this project sets the broker's keys."""
        return []

    def describe(self) -> str:
        """Describe the target in one line for reports."""
        return self.name

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_uninterrupted(self.stop)
