"""Bodies of requests by admin tools.

Source: BrokerStatsData, ConsumeStatsList, MessageRequestModeManager, ColdDataCgCtrService (5.3.3).
"""

from typing import Any

import orjson
from rocketmq_testkit.emulator.operations.groups import BrokerConsumeStatsResult
from rocketmq_testkit.emulator.operations.tools import (
    BrokerStatsItem,
    BrokerStatsResult,
    ColdDataFlowCtrResult,
    MessageRequestModesResult,
)

from .group import consume_stats
from .writing import dumps


def broker_stats(result: BrokerStatsResult) -> bytes:
    """Write the statistics of the last minute, hour and day."""
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
    """Write the progress of all groups and their total lag."""
    all_stats = [each for stats in result.groups.values() for each in stats]
    offsets = [offset for each in all_stats for offset in each.offsets.values()]
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
    """Write the message request modes by topic and group."""
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
    """Write the cold-read thresholds, and the cold reads of groups."""
    return dumps(
        {
            "runtimeTable": {
                group: {
                    "coldAcc": reads.acc,
                    "createTimeMills": reads.created_ms,
                    "lastColdReadTimeMills": reads.last_ms,
                }
                for group, reads in result.reads.items()
            },
            "configTable": result.thresholds,
            "cgColdReadThreshold": result.group_threshold,
            "globalColdReadThreshold": result.global_threshold,
            "globalAcc": result.all_reads,
        }
    )
