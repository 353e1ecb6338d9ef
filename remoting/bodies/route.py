"""Bodies of brokers and routes. Source: TopicRouteData, ClusterInfo, TopicList (5.3.3).

A client connects to exactly the addresses in these bodies. The Go client cuts them out of the raw JSON, so there must
be no white space.
"""

from collections.abc import Callable
from typing import Any

from rocketmq_testkit.emulator.config import MASTER_ID
from rocketmq_testkit.emulator.operations.cluster import BrokerMember, ClusterInfoResult, RouteResult, TopicListResult

from . import mapping
from .writing import dumps, number_map

AddressOf = Callable[[str, int], str]
"""(broker name, broker id) -> the `host:port` under which the requesting client reaches that broker."""


def broker_members(address_of: AddressOf, broker: BrokerMember, *, strict: bool) -> dict[str, Any]:
    """Return a broker name with the addresses that the requesting client uses.

    With `strict` it is valid JSON: broker ids are quoted.
    """
    addresses = {each: broker.address or address_of(broker.broker_name, each) for each in broker.broker_ids}
    return {
        "brokerAddrs": {str(each): address for each, address in addresses.items()} if strict else number_map(addresses),
        "brokerName": broker.broker_name,
        "cluster": broker.cluster,
        "enableActingMaster": False,
    }


def route(address_of: AddressOf, result: RouteResult, *, strict: bool) -> bytes:
    """Write the brokers and queues of a topic."""
    members: dict[str, Any] = {
        "brokerDatas": [broker_members(address_of, each, strict=strict) for each in result.brokers],
        "filterServerTable": {},
    }
    if result.order_topic_conf is not None:
        members["orderTopicConf"] = result.order_topic_conf
    members["queueDatas"] = [
        {
            "brokerName": each.broker_name,
            "perm": each.perm,
            "readQueueNums": each.read_queue_nums,
            "topicSysFlag": each.topic_sys_flag,
            "writeQueueNums": each.write_queue_nums,
        }
        for each in result.queues
    ]
    if result.mappings is not None:
        members["topicQueueMappingByBroker"] = {
            name: mapping.members(each, all_parts=False, strict=strict) for name, each in result.mappings.items()
        }
    return dumps(members)


def cluster_info(address_of: AddressOf, result: ClusterInfoResult) -> bytes:
    """Write all brokers of all clusters. Broker ids are unquoted numbers for every client version."""
    return dumps(
        {
            "brokerAddrTable": {
                name: broker_members(address_of, broker, strict=False) for name, broker in result.brokers.items()
            },
            "clusterAddrTable": result.clusters,
        }
    )


def topic_list(address_of: AddressOf, result: TopicListResult) -> bytes:
    """Write topic names, with the address of a broker if the result names one."""
    members: dict[str, Any] = {}
    if result.broker is not None:
        members["brokerAddr"] = address_of(result.broker.broker_name, min(result.broker.broker_ids, default=MASTER_ID))
    members["topicList"] = result.topics
    return dumps(members)
