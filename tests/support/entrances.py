"""Which doors a rule goes through: `@through(...)` runs a test once for each."""

from typing import Any

import pytest
from entrance import Entrance
from entrance_engine import EngineEntrance
from entrance_grpc import GrpcEntrance
from entrance_remoting import RemotingEntrance
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig

ALL = ("engine", "remoting", "grpc")
BROKER = ("engine", "remoting")
"""What a proxy's clients cannot express."""
ENTRANCES: dict[str, type[EngineEntrance | RemotingEntrance | GrpcEntrance]] = {
    each.name: each for each in (EngineEntrance, RemotingEntrance, GrpcEntrance)
}


def through(*names: str, **keys: object) -> pytest.MarkDecorator:
    """Run a rule through entrances; its argument is called `e`. `keys` are configuration keys by attribute name."""
    return pytest.mark.parametrize("e", [pytest.param((name, keys), id=name) for name in names], indirect=True)


def entrance(name: str, seed: int = 1, **keys: Any) -> Entrance:
    """An entrance of its own."""
    config, emulation = BrokerConfig(), EmulationConfig()
    for key, value in keys.items():
        setattr(config if hasattr(config, key) else emulation, key, value)
    return ENTRANCES[name](config, emulation, seed)
