"""The emulator as a target: a new one for every case, which costs milliseconds, so that its clock can jump freely."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta

from rocketmq_testkit.emulator.config import AccessConfig
from rocketmq_testkit.emulator.faults.kinds.upstream import UpstreamDefectFault
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.values.addresses import LOOPBACK
from rocketmq_testkit.remoting.client import Credentials

from ..deployment.target import (
    COMMON_SETTINGS,
    REFERENCE_VERSION,
    Access,
    Capability,
    Deployment,
    Target,
    default_credentials,
    settings_by_file,
)


class EmulatorDeployment(Deployment):
    """One emulator in this process, with upstream's defaults (profile `faithful`)."""

    def __init__(self, emulator: Emulator, credentials: Credentials | None = None) -> None:
        self.emulator = emulator
        self.access = Access(emulator.namesrv, emulator.endpoint, credentials=credentials)
        self.second_broker = next(iter([*list(emulator.brokers.values())[1:], *emulator.slaves.values()]), "")

    def now_ms(self) -> int:
        """Read the emulator's clock (ms since the epoch)."""
        return self.emulator.clock.now_ms

    def advance_ms(self, ms: int) -> None:
        """Advance the clock by `ms` without waiting for clients, as on a real broker."""
        self.emulator.clock.advance(timedelta(milliseconds=ms), wait=None)

    def restart(self) -> None:
        """Restart the broker, which takes no time."""
        self.emulator.restart()

    def stop(self) -> None:
        """Stop broker and proxy; their ports are closed."""
        self.emulator.stop_broker(self._broker)

    def start(self) -> None:
        """Start broker and proxy again."""
        self.emulator.start_broker(self._broker)

    def fault(self, rule: Mapping[str, object]) -> AbstractContextManager[object]:
        """Add a rule of faults."""
        [added] = self.emulator.faults.load([rule])
        return added

    @property
    def _broker(self) -> str:
        return next(iter(self.emulator.brokers))

    def crash(self) -> None:
        """Crash and restart the broker's process without power loss, which takes no time."""
        self.emulator.crash(power_loss=False)

    @property
    def has_virtual_time(self) -> bool:
        """Always True."""
        return True


class EmulatorTarget(Target):
    """This project's emulator. `defects`: upstream's defects that are switched on."""

    name = "emulator"
    emulated = True
    unrecordable_reason = "only real brokers can be recorded; give --target apache:VERSION"
    recorded_version = REFERENCE_VERSION
    capabilities = frozenset(
        {
            Capability.ADMIN,
            Capability.CONFIGURE,
            Capability.RESTART,
            Capability.CRASH,
            Capability.VIRTUAL_TIME,
            Capability.SEVERAL_BROKERS,
            Capability.FULL_DISK,
        }
    )

    def __init__(self, defects: Collection[str] = ()) -> None:
        self.defects = frozenset(defects)

    def describe(self) -> str:
        """Name the emulator, and upstream's defects if it has any."""
        return f"{self.name} with {', '.join(sorted(self.defects))}" if self.defects else self.name

    @contextmanager
    def lend(
        self, settings: Mapping[str, str], *, alone: bool = False, encrypted: bool = False
    ) -> Iterator[Deployment]:
        """Start a new emulator and lend it."""
        files = settings_by_file(settings)
        # Broker and proxy each have these keys.
        own = {key: value for key, value in files.broker.items() if key in AccessConfig.attributes()}
        brokers = [own, {**own, **files.second_broker}] if files.second_broker else [own]
        # Its proxy serves all its brokers, like a proxy in cluster mode.
        proxy = {key: value for key, value in files.proxy.items() if key != "proxyMode"}
        others = {key: value for key, value in files.broker.items() if key not in own}
        config = {**COMMON_SETTINGS, **others, **proxy}
        # The emulator has one address for all servers; a real broker listens on the address that it publishes.
        host = config.pop("brokerIP1", LOOPBACK)
        config.pop("bindAddress", None)
        with Emulator(profile="faithful", host=host, config=config, brokers=brokers) as emulator:
            for defect in self.defects:
                emulator.faults.add(UpstreamDefectFault(defect))
            yield EmulatorDeployment(emulator, default_credentials(settings))
