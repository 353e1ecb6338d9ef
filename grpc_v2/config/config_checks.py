"""Checks of the proxy's keys whose values are lists. They run at the start, before any client connects."""

from rocketmq_testkit.emulator.config import ConfigError
from rocketmq_testkit.emulator.schedule.delay_levels import parse_delay_levels

from .duration_lists import delays_ms, times_ms
from .pools import refused_pools, request_times_ms
from .proxy_config import ProxyConfig

_LISTS = (
    ("pushedConsumerBackoff", delays_ms, "delays are whole numbers with s, m, h or d", "1s 5s 1m"),
    ("settingsPushAgainMillis", times_ms, "times are whole numbers of milliseconds", "100 1000 5000"),
)


def check(config: ProxyConfig) -> None:
    """Raise ConfigError if the value of a key is a list and invalid."""
    for name, read, allowed, example in _LISTS:
        try:
            read(config.get(name))
        except ValueError as wrong:
            text = f"{name}={config.get(name)}: {wrong}; {allowed}, separated by blanks; use {name}={example}"
            raise ConfigError(text, key=name) from None
    refused_pools(config)
    request_times_ms(config)
    parse_delay_levels(config.message_delay_level)
