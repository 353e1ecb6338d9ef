"""Effective configuration."""

from typing import TYPE_CHECKING

from ..cluster.broker import Broker
from ..config import Config
from ..kernel.masking import masked
from ..kernel.value_class import frozen_view

if TYPE_CHECKING:
    from .engine_parts import EngineParts, Surroundings

EMULATION = "emulation"
"""The name under which the keys of the emulator itself are listed."""


@frozen_view
class KeyView:
    """A configuration key of a node, with the origin of its value."""

    node: str
    key: str
    value: str
    origin: str
    """`default`, `profile`, `option`, `snapshot`, or `changed` (while the emulator ran)."""


def read_configuration(parts: "EngineParts", around: "Surroundings", node: str | None) -> list[KeyView]:
    """Return the keys of all nodes, or of one, by node and key. Secrets are masked."""
    configs: dict[str, Config] = {_name(broker): broker.config for broker in parts.brokers}
    configs |= {parts.name_server.name: parts.name_server.config, EMULATION: parts.emulation}
    configs |= around.configurations()
    return [
        KeyView(name, key, str(masked(key, value)), around.origin(name, key))
        for name in sorted(configs)
        if node is None or name == node
        for key, value in values_of(configs[name]).items()
    ]


def values_of(config: Config) -> dict[str, str]:
    """Return the values of all keys as text, by key."""
    pairs = (line.partition("=") for line in config.as_text().splitlines())
    return {key: value for key, _, value in pairs}


def _name(broker: Broker) -> str:
    return broker.name if broker.is_master else f"{broker.name}:{broker.broker_id}"
