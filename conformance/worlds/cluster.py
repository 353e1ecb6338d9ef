"""The broker that cases and scenarios talk to: the first that a name server knows."""

from dataclasses import dataclass

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request_code import RequestCode

from ..targets.target import TargetError
from .answer import json_of


@dataclass(frozen=True, slots=True)
class FirstBroker:
    """Name of its cluster, its own name, and the `host:port` of its master."""

    cluster: str
    name: str
    address: str


def first_broker(namesrv: RemotingClient, address: str) -> FirstBroker:
    """The first broker of the first cluster of the name server at `address`. Errors: TargetError when it has none."""
    known = json_of(namesrv.request(RequestCode.GET_BROKER_CLUSTER_INFO).body)
    if not known["clusterAddrTable"]:
        raise TargetError(f"the name server {address} knows no broker (any more)")
    cluster, names = next(iter(known["clusterAddrTable"].items()))
    name = str(sorted(names)[0])
    return FirstBroker(cluster, name, str(known["brokerAddrTable"][name]["brokerAddrs"]["0"]))
