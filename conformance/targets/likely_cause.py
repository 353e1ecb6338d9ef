"""Configuration keys that differ from those of the recorded broker: the likely cause of unexpected outcomes."""

from collections.abc import Iterator

from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.config.keys import parse_properties
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..context.cluster import first_broker
from ..context.connections import open_connection
from ..deployment.target import COMMON_SETTINGS, Access, TargetError

PER_DEPLOYMENT_KEYS = frozenset(
    {"brokerName", "brokerClusterName", "brokerId", "brokerIP1", "brokerIP2", "listenPort", "haListenPort"}
)
"""Keys whose value differs between any two brokers."""


def differing_keys(access: Access) -> list[str]:
    """Return lines such as `maxMessageSize=1024 (recorded with 4194304)` for the first broker.

    Empty if its configuration cannot be read.
    """
    try:
        with open_connection(access, access.namesrv) as namesrv:
            broker = first_broker(namesrv, access.namesrv)
        with open_connection(access, broker.address) as client:
            text = client.request(RequestCode.GET_BROKER_CONFIG).body.decode(errors="replace")
    except (OSError, TargetError, ValueError, LookupError):
        return []
    return list(_differing(parse_properties(text)))


def _differing(keys: dict[str, str]) -> Iterator[str]:
    recorded = {**parse_properties(BrokerConfig().as_text()), **COMMON_SETTINGS}
    for name, value in sorted(keys.items()):
        known = recorded.get(name)
        of_place = name in PER_DEPLOYMENT_KEYS or name.endswith(
            "ThreadPoolNums"
        )  # pool sizes depend on the processor count
        if known is not None and not of_place and known != value:
            yield f"{name}={value} (recorded with {known})"
