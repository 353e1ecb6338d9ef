"""The emulator as a target: a fresh one for every case, which costs milliseconds, so that its time can jump freely."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from rocketmq_testkit.emulator.config import AccessConfig
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.network.addresses import LOOPBACK
from rocketmq_testkit.remoting.client import Credentials

from .target import COMMON_SETTINGS, REFERENCE_VERSION, Access, Capability, Place, Target, of_each, own_user


class EmulatorPlace(Place):
    """One emulator in this process, with upstream's numbers (profile `faithful`)."""

    def __init__(self, emulator: Emulator, credentials: Credentials | None = None) -> None:
        self.emulator = emulator
        self.access = Access(emulator.namesrv, emulator.endpoint, credentials=credentials)
        self.beside = next(iter([*list(emulator.brokers.values())[1:], *emulator.slaves.values()]), "")

    def now_ms(self) -> int:
        """The emulator's time."""
        return self.emulator.clock.now_ms

    def pass_ms(self, ms: int) -> None:
        """Jump, whatever clients are doing: time does not wait for them on a real broker either."""
        self.emulator.clock.advance(timedelta(milliseconds=ms), wait=None)

    def restart(self) -> None:
        """Stop and start the broker; it is back at once."""
        self.emulator.restart()

    def stop(self) -> None:
        """Take broker and proxy down; their ports are closed."""
        self.emulator.stop_broker(self._broker)

    def start(self) -> None:
        """Bring both back."""
        self.emulator.start_broker(self._broker)

    @property
    def _broker(self) -> str:
        return next(iter(self.emulator.brokers))

    def crash(self) -> None:
        """Let the broker's process die, not its machine; it is back at once."""
        self.emulator.crash(power_loss=False)

    @property
    def jumps(self) -> bool:
        """Always."""
        return True


class EmulatorTarget(Target):
    """This project's emulator."""

    name = "emulator"
    emulated = True
    unrecordable = "only what real brokers do is recorded; give --target apache:VERSION"
    truth = REFERENCE_VERSION
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

    @contextmanager
    def lend(self, settings: Mapping[str, str], *, alone: bool = False, encrypted: bool = False) -> Iterator[Place]:
        """A new emulator."""
        files = of_each(settings)
        # Of these keys broker and proxy have each its own.
        own = {key: value for key, value in files.broker.items() if key in AccessConfig.attributes()}
        brokers = [own, {**own, **files.beside}] if files.beside else [own]
        # Its proxy stands before all its brokers, as that of a cluster does.
        proxy = {key: value for key, value in files.proxy.items() if key != "proxyMode"}
        others = {key: value for key, value in files.broker.items() if key not in own}
        config = {**COMMON_SETTINGS, **others, **proxy}
        # It has one address for all that it is; a real broker listens where it says that it is.
        host = config.pop("brokerIP1", LOOPBACK)
        config.pop("bindAddress", None)
        with Emulator(profile="faithful", host=host, config=config, brokers=brokers) as emulator:
            yield EmulatorPlace(emulator, own_user(settings))
