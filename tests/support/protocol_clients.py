"""The protocol clients of a test: `@through(...)` runs it once for each."""

from dataclasses import replace
from typing import Any

import pytest
from engine_protocol_client import EngineProtocolClient
from grpc_protocol_client import GrpcProtocolClient
from protocol_client import ProtocolClient
from remoting_protocol_client import RemotingProtocolClient
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig
from virtual_brokers import Setup

ALL = ("engine", "remoting", "grpc")
"""All protocol clients: direct operations of the engine, and the two protocols."""
BROKER = ("engine", "remoting")
"""Protocol clients with the requests that clients of a proxy do not have."""
PROTOCOL_CLIENTS: dict[str, type[EngineProtocolClient | RemotingProtocolClient | GrpcProtocolClient]] = {
    each.name: each for each in (EngineProtocolClient, RemotingProtocolClient, GrpcProtocolClient)
}


def through(*names: str, **keys: object) -> pytest.MarkDecorator:
    """Run a rule through protocol clients; its argument is called `e`. For `keys` see `protocol_client`."""
    return pytest.mark.parametrize("e", [pytest.param((name, keys), id=name) for name in names], indirect=True)


def protocol_client(name: str, seed: int = 1, brokers: int = 1, slaves: int = 0, **keys: Any) -> ProtocolClient:
    """Create a client of masters `broker-a`, `broker-b`, ... with that many slaves each.

    A key is set in the first of broker, emulation and proxy configuration that has it.
    """
    config, emulation, proxy = BrokerConfig(), EmulationConfig(), ProxyConfig()
    for key, value in keys.items():
        setattr(next(each for each in (config, emulation, proxy) if hasattr(each, key)), key, value)
    masters = [replace(config, broker_name=f"broker-{letter}") for letter in "abc"[:brokers]]
    copies = [
        replace(master, broker_id=number, broker_role="SLAVE") for master in masters for number in range(1, slaves + 1)
    ]
    return PROTOCOL_CLIENTS[name](Setup([*masters, *copies], emulation, proxy, seed))
