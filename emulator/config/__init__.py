"""Configuration keys with upstream's names, defaults, units and ranges.

The room declares keys and validates their values. It must not know the components that read them.
"""

from .access import AccessConfig
from .broker import FAULT_KEYS, MASTER_ID, BrokerConfig
from .emulation import EmulationConfig
from .keys import Config, ConfigError, key, parse_properties
from .namesrv import NamesrvConfig

__all__ = [
    "FAULT_KEYS",
    "MASTER_ID",
    "AccessConfig",
    "BrokerConfig",
    "Config",
    "ConfigError",
    "EmulationConfig",
    "NamesrvConfig",
    "key",
    "parse_properties",
]
