"""Bodies of what administrators' tools ask. Source: BrokerStatsData, ConsumeStatsList, MessageRequestModeManager,
ColdDataCgCtrService, UserInfo, AclInfo (5.3.3).
"""

from typing import Any

import orjson
from rocketmq_testkit.emulator.codes import ResponseCode
from rocketmq_testkit.emulator.errors import EngineError
from rocketmq_testkit.emulator.operations import (
    BrokerConsumeStatsResult,
    BrokerStatsItem,
    BrokerStatsResult,
    ColdDataFlowCtrResult,
    MessageRequestModesResult,
    PolicyEntry,
    UserInfo,
)

from .group import consume_stats
from .reading import loads, objects, optional_text, text
from .writing import dumps

_NO_POLICIES = "org.apache.rocketmq.auth.authorization.exception.AuthorizationException: The body of acl is null"


def broker_stats(result: BrokerStatsResult) -> bytes:
    """What was counted, by spans."""
    return dumps(
        {
            "statsDay": _stats_item(result.day),
            "statsHour": _stats_item(result.hour),
            "statsMinute": _stats_item(result.minute),
        }
    )


def _stats_item(item: BrokerStatsItem) -> dict[str, Any]:
    return {"avgpt": item.avgpt, "sum": item.sum, "tps": item.tps}


def broker_consume_stats(broker_address: str, result: BrokerConsumeStatsResult) -> bytes:
    """Progress of all groups, and what is left to all of them."""
    told = [each for stats in result.groups.values() for each in stats]
    offsets = [offset for each in told for offset in each.offsets.values()]
    return dumps(
        {
            "brokerAddr": broker_address,
            "consumeStatsList": [
                {group: [orjson.Fragment(consume_stats(each)) for each in stats]}
                for group, stats in result.groups.items()
            ],
            "totalDiff": sum(each.broker_offset - each.consumer_offset for each in offsets),
            "totalInflightDiff": sum(each.pull_offset - each.consumer_offset for each in offsets),
        }
    )


def request_modes(result: MessageRequestModesResult) -> bytes:
    """By topic and group."""
    modes: dict[str, dict[str, Any]] = {}
    for mode in result.modes:
        modes.setdefault(mode.topic, {})[mode.consumer_group] = {
            "consumerGroup": mode.consumer_group,
            "mode": mode.mode,
            "popShareQueueNum": mode.pop_share_queue_num,
            "topic": mode.topic,
        }
    return dumps({"messageRequestModeMap": modes})


def cold_data(result: ColdDataFlowCtrResult) -> bytes:
    """Limits; nobody has read what is cold."""
    return dumps(
        {
            "runtimeTable": {},
            "configTable": result.thresholds,
            "cgColdReadThreshold": result.group_threshold,
            "globalColdReadThreshold": result.global_threshold,
            "globalAcc": 0,
        }
    )


def user_info(body: bytes) -> UserInfo:
    """A user of a request. Errors: SYSTEM_ERROR without one."""
    members = loads(body) if body else None
    if not isinstance(members, dict):
        raise EngineError(
            ResponseCode.SYSTEM_ERROR,
            "java.lang.NullPointerException: Cannot invoke"
            ' "org.apache.rocketmq.remoting.protocol.body.UserInfo.setUsername(String)" because "userInfo" is null',
        )
    return UserInfo(optional_text(members.get("password")), optional_text(members.get("userType")))


def acl(body: bytes) -> tuple[str | None, list[list[PolicyEntry]]]:
    """The subject that rights name themselves, and their policies. Errors: SYSTEM_ERROR without any policy."""
    members = loads(body) if body else None
    policies = objects(members.get("policies")) if isinstance(members, dict) else []
    if not isinstance(members, dict) or not policies:
        raise EngineError(ResponseCode.SYSTEM_ERROR, _NO_POLICIES)
    entries = [[_entry(each) for each in objects(policy.get("entries"))] for policy in policies]
    return optional_text(members.get("subject")), [each for each in entries if each]


def _entry(members: dict[str, Any]) -> PolicyEntry:
    actions = members.get("actions")
    if actions is None:
        raise EngineError(
            ResponseCode.SYSTEM_ERROR,
            'java.lang.NullPointerException: Cannot invoke "java.util.List.iterator()" because the return value of'
            ' "org.apache.rocketmq.remoting.protocol.body.AclInfo$PolicyEntryInfo.getActions()" is null',
        )
    return PolicyEntry(
        optional_text(members.get("resource")),
        _texts(actions),
        _texts(members.get("sourceIps")),
        optional_text(members.get("decision")),
    )


def _texts(value: Any) -> list[str]:
    return [text(each) for each in value] if isinstance(value, list) else []
