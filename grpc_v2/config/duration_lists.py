"""Parse and validate configuration keys that hold a list of durations."""

import re

from rocketmq_testkit.emulator.config import ConfigError

from .proxy_config import ProxyConfig

_DELAY = re.compile(r"([0-9]+)([smhd])\Z")
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def delays_ms(text: str) -> list[int]:
    """Parse `1s 5s 1m` to milliseconds. Raises ValueError for any other form."""
    found = []
    for word in text.split():
        matched = _DELAY.match(word)
        if matched is None:
            raise ValueError(f"{word!r} is not a delay such as 5s or 10m")
        found.append(int(matched[1]) * _UNIT_MS[matched[2]])
    return found


def times_ms(text: str) -> list[int]:
    """Parse `100 1000` (milliseconds). Raises ValueError for any other form."""
    found = []
    for word in text.split():
        if not (word.isascii() and word.isdigit()):
            raise ValueError(f"{word!r} is not a time in milliseconds")
        found.append(int(word))
    return found


def check(config: ProxyConfig) -> None:
    """Raise ConfigError if a key that holds a list is invalid."""
    for name, read in (("pushedConsumerBackoff", delays_ms), ("settingsPushAgainMillis", times_ms)):
        try:
            read(config.get(name))
        except ValueError as wrong:
            raise ConfigError(f"{name}={config.get(name)}: {wrong}") from None
