"""An emulator that is already running, used with its control port, which can move its clock and crash its broker."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..deployment.target import Access, Capability, Deployment, Target, TargetError
from .address import AddressDeployment, AddressTarget
from .emulator import EmulatorTarget

_HEADERS = {"content-type": "application/json"}
_ANSWER_SECONDS = 60.0
"""Response timeout: a jump over hours with many due timers takes some time."""


class ControlClient:
    """The control port at `url`, such as `http://127.0.0.1:8090`, with its token if it requires one."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._headers = _HEADERS if token is None else {**_HEADERS, "authorization": f"Bearer {token}"}

    def call(self, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Send a GET, or a POST if there is a `body`, and return the response. Raises TargetError."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self._headers)
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:
                content = json.load(answer)
        except urllib.error.HTTPError as error:
            raise TargetError(f"control={self.url} answers {path} with {error.code}: {error.read(500)!r}") from error
        except (OSError, ValueError) as error:
            why = getattr(error, "reason", error)
            raise TargetError(f"control={self.url} is no control port of an emulator: {why}") from error
        if not isinstance(content, dict):
            raise TargetError(f"control={self.url} is no control port of an emulator: {path} is answered {content!r}")
        return content


class ControlledDeployment(AddressDeployment):
    """A user's running emulator, whose clock can jump."""

    def __init__(self, access: Access, control: ControlClient) -> None:
        super().__init__(access)
        self._control = control

    def now_ms(self) -> int:
        """Read the emulator's clock (ms since the epoch)."""
        return int(self._control.call("/v1/clock")["now_ms"])

    def advance_ms(self, ms: int) -> None:
        """Advance the clock by `ms` without waiting for clients, as on a real broker."""
        self._control.call("/v1/clock/advance", {"by": f"{ms}ms", "wait": None})

    def restart(self) -> None:
        """Restart the broker, which takes no time."""
        self._control.call("/v1/restart", {})

    def stop(self) -> None:
        """Stop broker and proxy; their ports are closed."""
        self._control.call("/v1/brokers/stop", {"broker": self._broker})

    def start(self) -> None:
        """Start broker and proxy again."""
        self._control.call("/v1/brokers/start", {"broker": self._broker})

    @property
    def _broker(self) -> str:
        return str(self._control.call("/v1/brokers")["brokers"][0]["name"])

    def crash(self) -> None:
        """Crash and restart the broker's process without power loss, which takes no time."""
        self._control.call("/v1/crash", {"power_loss": False})

    @property
    def has_virtual_time(self) -> bool:
        """Always True."""
        return True


class ControlledTarget(Target):
    """An emulator at given addresses with its control port; lent to one user at a time: clock jumps affect all."""

    emulated = True
    unrecordable_reason = EmulatorTarget.unrecordable_reason

    def __init__(self, addresses: AddressTarget, url: str, token: str | None = None) -> None:
        self.name = addresses.name
        self.recorded_version = addresses.recorded_version
        self.capabilities = addresses.capabilities | {Capability.VIRTUAL_TIME, Capability.RESTART, Capability.CRASH}
        self._addresses = addresses
        self._control = ControlClient(url, token)
        self._place = ControlledDeployment(addresses.access, self._control)
        self._lent = threading.RLock()

    def start(self) -> None:
        """Check that all addresses accept connections and that the port is an emulator's. Raises TargetError."""
        self._addresses.start()
        if "now_ms" not in self._control.call("/v1/clock"):
            raise TargetError(f"control={self._control.url} is no control port of an emulator: it has no clock")

    def likely_causes(self) -> list[str]:
        """Return the likely causes of its addresses."""
        return self._addresses.likely_causes()

    def check(self) -> None:
        """Raise TargetError if the emulator has died."""
        with self._lent:  # a case may have crashed it on purpose
            self._addresses.check()

    @contextmanager
    def lend(
        self, settings: Mapping[str, str], *, alone: bool = False, encrypted: bool = False
    ) -> Iterator[Deployment]:
        """Lend the only deployment as soon as no other user has it."""
        if settings:
            raise TargetError(f"{self.name}: the suite cannot configure this emulator")
        with self._lent:
            yield self._place
