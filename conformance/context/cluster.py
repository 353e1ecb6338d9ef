"""The broker that cases and scenarios use: the first one with a master that a name server knows."""

from dataclasses import dataclass

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.remoting_response import json_of
from ..deployment.target import TargetError


@dataclass(frozen=True, slots=True)
class FirstBroker:
    """Name of its cluster, its own name, and the `host:port` of its master."""

    cluster: str
    name: str
    address: str


def first_broker(namesrv: RemotingClient, address: str, second_broker: str = "") -> FirstBroker:
    """Return the first broker with a master, in the order of the name server's clusters and of broker names.

    `address`: the name server's address, for the error. `second_broker`: address of a master to skip, because the order
    of clusters is undefined. Raises TargetError if there is no other master.
    """
    known = json_of(namesrv.request(RequestCode.GET_BROKER_CLUSTER_INFO).body)
    for cluster, names in known["clusterAddrTable"].items():
        for name in sorted(names):
            master = known["brokerAddrTable"][name]["brokerAddrs"].get("0")
            if master is not None and master != second_broker:
                return FirstBroker(cluster, name, str(master))
    raise TargetError(f"the name server {address} knows no broker (any more)")
