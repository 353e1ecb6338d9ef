"""Apache's own broker as a target: one for all cases with the common settings, more for cases that need others."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from ..deployment.target import (
    COMMON_SETTINGS,
    FULL_DISK_PERCENT_MIN,
    Access,
    Capability,
    Deployment,
    Target,
    TargetError,
    default_credentials,
)
from .address import AddressDeployment
from .apache import ApacheBroker
from .class_archive import quick_start

_ABLE = frozenset(
    {
        Capability.ADMIN,
        Capability.CONFIGURE,
        Capability.RESTART,
        Capability.CRASH,
        Capability.SEVERAL_BROKERS,
    }
)
"""Capabilities of every real broker; FULL_DISK depends on the disk usage."""
OWN_MAX = 8
"""Limit of brokers with settings of their own that run beside the common one; each uses 600 MB."""
_SHARED = {"timerFlushIntervalMs": "10000"}
"""Keys of brokers that several cases share and none stops.

A timer flush compares 38 MB byte by byte, which takes a twentieth of a processor at upstream's interval of one second.
"""
_SHORT_LIVED = tuple(f"-XX:Tier4{what}Threshold=1000000" for what in ("Invocation", "MinInvocation", "Compile"))
"""JVM options of brokers that live for seconds: only loops are worth optimizing.

The optimizing compiler is otherwise a third of a start's cost.
"""
_PLAIN = ("-Dtls.server.mode=disabled",)
"""JVM options of brokers without TLS clients; this halves the remaining cost of a start."""
STARTING_MAX = os.cpu_count() or 2
"""Limit of brokers that start at once: a start keeps a processor busy, and more of them only delay each other."""


class ApacheDeployment(AddressDeployment):
    """One real broker with its name server and proxy."""

    def __init__(self, broker: ApacheBroker, settings: Mapping[str, str], sleep: Callable[[float], None]) -> None:
        super().__init__(Access(broker.namesrv, broker.endpoint, credentials=default_credentials(settings)), sleep)
        self.broker = broker
        self.second_broker = broker.second_broker

    def restart(self) -> None:
        """Restart broker and proxy gracefully; the name server keeps running."""
        with self.stopped():
            pass

    def stop(self) -> None:
        """Stop broker and proxy gracefully; the name server keeps running."""
        self.broker.halt()

    def kill(self) -> None:
        """Kill broker and proxy; the name server keeps running."""
        self.broker.kill()

    @contextmanager
    def name_server_stopped(self) -> Iterator[None]:
        """Keep the name server stopped within the block."""
        self.broker.halt_name_server()
        try:
            yield
        finally:
            self.broker.resume_name_server()

    @property
    def commit_log(self) -> Path:
        """The folder of the commit log."""
        return self.broker.home / "store" / "commitlog"

    def start(self) -> None:
        """Start broker and proxy again and wait until the name server knows them."""
        self.broker.resume()
        self.broker.wait_registered()

    def crash(self) -> None:
        """Kill and restart broker and proxy; the name server keeps running."""
        self.broker.crash()
        self.broker.wait_registered()


def _disk_used() -> float:
    """Usage of the disk with the brokers' homes, in percent."""
    usage = shutil.disk_usage(tempfile.gettempdir())
    return 100 * usage.used / (usage.used + usage.free)


@dataclass(eq=False, slots=True)
class _Instance:
    """A broker, its settings, and the number of its users."""

    settings: frozenset[tuple[str, str]]
    encrypted: bool
    broker: ApacheBroker
    users: int = 0
    _: KW_ONLY
    ready: bool = False

    def serves(self, settings: frozenset[tuple[str, str]], *, encrypted: bool) -> bool:
        """True if the broker has these settings, and TLS if `encrypted`."""
        return self.settings == settings and self.encrypted >= encrypted


class ApacheTarget(Target):
    """Apache RocketMQ of one version, assembled from its published jars; `settings`: keys of every broker.conf."""

    own_deployments_max = OWN_MAX

    def __init__(self, version: str, settings: Mapping[str, str] | None = None) -> None:
        self._settings = dict(settings or {})
        self._jvm: tuple[str, ...] = ()
        keys = ",".join(f"{key}={value}" for key, value in self._settings.items())
        self.name = f"apache:{version},{keys}" if keys else f"apache:{version}"
        self.version = version
        self.recorded_version = version
        if keys:
            self.unrecordable_reason = f"records come from brokers without changed keys, and this broker has {keys}"
        self._instances: list[_Instance] = []
        self._apart: set[ApacheBroker] = set()
        """Brokers of single cases, and unused brokers that are being stopped."""
        self._over = False
        self._changed = threading.Condition()
        self._starting = threading.Semaphore(STARTING_MAX)
        self.capabilities = _ABLE | {Capability.FULL_DISK} if _disk_used() > FULL_DISK_PERCENT_MIN else _ABLE

    def start(self) -> None:
        """Download the jars; brokers start on first use."""
        self._over = False
        self._jvm = quick_start(self.version)

    def stop(self) -> None:
        """Stop all brokers."""
        with self._changed:
            self._over = True  # threads that still wait for a broker receive none
            self._changed.notify_all()
            brokers = [*(each.broker for each in self._instances), *self._apart]
            self._instances = []
        for broker in brokers:
            broker.stop()

    def check(self) -> None:
        """Raise TargetError if a broker has died."""
        with self._changed:
            dead = [each for each in self._instances if each.ready and not each.broker.alive]
        for instance in dead:
            raise TargetError(f"{self.name} died; the end of its log:\n{instance.broker.log_tail()}")

    def describe(self) -> str:
        """Describe version, keys and processor count."""
        keys = "".join(f", {key}={value}" for key, value in self._settings.items())
        return f"Apache RocketMQ {self.version}{keys}, {os.cpu_count()} cores"

    @contextmanager
    def lend(
        self, settings: Mapping[str, str], *, alone: bool = False, encrypted: bool = False
    ) -> Iterator[Deployment]:
        """Lend the broker with these settings; `alone` starts a new one that is stopped afterwards."""
        wanted = {**COMMON_SETTINGS, **self._settings, **settings}
        if alone:
            broker = self._own(wanted, encrypted=encrypted)
            with self._changed:
                self._check_open()
                self._apart.add(broker)  # before it starts: an interrupted run stops it from another thread
                idle = self._out_of_use()
            self._end(idle)
            try:
                self._bring_up(broker)
                yield ApacheDeployment(broker, wanted, self.sleep)
            finally:
                broker.stop()
                self._apart.discard(broker)
            return
        instance = self._take(frozenset({**_SHARED, **wanted}.items()), encrypted=encrypted)
        try:
            yield ApacheDeployment(instance.broker, wanted, self.sleep)
        finally:
            with self._changed:
                instance.users -= 1
                self._changed.notify_all()

    def _own(self, settings: Mapping[str, str], *, encrypted: bool) -> ApacheBroker:
        """Create a broker that has settings of its own or a single user."""
        return ApacheBroker(self.version, settings, jvm=(*self._jvm, *_SHORT_LIVED, *(() if encrypted else _PLAIN)))

    def _take(self, settings: frozenset[tuple[str, str]], *, encrypted: bool) -> _Instance:
        idle: list[_Instance] = []
        try:
            with self._changed:
                while True:
                    self._check_open()
                    instance = next(
                        (each for each in self._instances if each.serves(settings, encrypted=encrypted)), None
                    )
                    if instance is not None:
                        instance.users += 1
                        while not instance.ready and instance in self._instances:
                            self._changed.wait()
                        if not instance.ready:
                            raise TargetError(f"{self.name} did not start")
                        return instance
                    idle += self._out_of_use()
                    if settings == self._common or self._own_count < OWN_MAX:
                        break
                    self._changed.wait()
                if settings == self._common:
                    instance = _Instance(settings, True, ApacheBroker(self.version, dict(settings), jvm=self._jvm))
                else:
                    instance = _Instance(settings, encrypted, self._own(dict(settings), encrypted=encrypted))
                instance.users = 1
                self._instances.append(instance)
        finally:
            self._end(idle)
        try:
            self._bring_up(instance.broker)
        except BaseException:
            with self._changed:
                if instance in self._instances:
                    self._instances.remove(instance)
                self._changed.notify_all()
            raise
        with self._changed:
            instance.ready = True
            self._changed.notify_all()
        return instance

    def _end(self, idle: Iterable[_Instance]) -> None:
        for each in idle:
            each.broker.stop()
            self._apart.discard(each.broker)

    def _bring_up(self, broker: ApacheBroker) -> None:
        with self._starting:
            broker.start()
            broker.wait_registered()

    @property
    def _common(self) -> frozenset[tuple[str, str]]:
        """The settings of a deployment requested without settings."""
        return frozenset({**_SHARED, **COMMON_SETTINGS, **self._settings}.items())

    @property
    def _own_count(self) -> int:
        return sum(1 for each in self._instances if each.settings != self._common)

    def _check_open(self) -> None:
        if self._over:
            raise TargetError(f"{self.name} was stopped")

    def _out_of_use(self) -> list[_Instance]:
        """Remove unused brokers from the list, because they cost processor time.

        The broker with the common settings stays: it will be used again.
        """
        idle = [each for each in self._instances if each.ready and not each.users and each.settings != self._common]
        self._instances = [each for each in self._instances if each not in idle]
        self._apart.update(each.broker for each in idle)
        return idle
