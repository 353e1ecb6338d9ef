"""The entrances of a rule: `@through(...)` runs a test once for each."""

from dataclasses import replace
from typing import Any

import pytest
from entrance import Entrance, Setup
from entrance_engine import EngineEntrance
from entrance_grpc import GrpcEntrance
from entrance_remoting import RemotingEntrance
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig

ALL = ("engine", "remoting", "grpc")
BROKER = ("engine", "remoting")
"""Entrances with the requests that clients of a proxy do not have."""
ENTRANCES: dict[str, type[EngineEntrance | RemotingEntrance | GrpcEntrance]] = {
    each.name: each for each in (EngineEntrance, RemotingEntrance, GrpcEntrance)
}


def through(*names: str, **keys: object) -> pytest.MarkDecorator:
    """Run a rule through entrances; its argument is called `e`. For `keys` see `entrance`."""
    return pytest.mark.parametrize("e", [pytest.param((name, keys), id=name) for name in names], indirect=True)


def entrance(name: str, seed: int = 1, brokers: int = 1, slaves: int = 0, **keys: Any) -> Entrance:
    """Create an entrance to masters `broker-a`, `broker-b`, ... with that many slaves each.

    A key is set in the first of broker, emulation and proxy configuration that has it.
    """
    config, emulation, proxy = BrokerConfig(), EmulationConfig(), ProxyConfig()
    for key, value in keys.items():
        setattr(next(each for each in (config, emulation, proxy) if hasattr(each, key)), key, value)
    masters = [replace(config, broker_name=f"broker-{letter}") for letter in "abc"[:brokers]]
    copies = [
        replace(master, broker_id=number, broker_role="SLAVE") for master in masters for number in range(1, slaves + 1)
    ]
    return ENTRANCES[name](Setup([*masters, *copies], emulation, proxy, seed))
