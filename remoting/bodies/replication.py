"""The body of the replication status. Source: HARuntimeInfo (5.3.3)."""

from typing import Any

from rocketmq_testkit.emulator.config import MASTER_ID
from rocketmq_testkit.emulator.operations.cluster import FollowerState, HaStatusResult

from .route import AddressOf
from .writing import dumps


def ha_status(address_of: AddressOf, result: HaStatusResult) -> bytes:
    """Write the replication status of a master or a slave. Rates are 0, because nothing is measured."""
    client: dict[str, Any] = {
        "lastReadTimestamp": 0,
        "lastWriteTimestamp": 0,
        "masterFlushOffset": 0,
        "maxOffset": 0,
        "transferredByteInSecond": 0,
    }
    is_master = result.master_name is None
    if not is_master:
        client["maxOffset"] = result.max_offset
        client["lastReadTimestamp"] = client["lastWriteTimestamp"] = result.last_ms
        if result.master_name:
            client["masterAddr"] = address_of(result.master_name, MASTER_ID)
    return dumps(
        {
            "haClientRuntimeInfo": client,
            "haConnectionInfo": [_follower(address_of, result, each) for each in result.followers],
            "inSyncSlaveNums": len(result.followers),
            "master": is_master,
            "masterCommitLogMaxOffset": result.max_offset if is_master else 0,
        }
    )


def _follower(address_of: AddressOf, result: HaStatusResult, follower: FollowerState) -> dict[str, Any]:
    return {
        "addr": address_of(follower.broker_name, follower.broker_id),
        "diff": result.max_offset - follower.acknowledged_offset,
        "inSync": True,
        "slaveAckOffset": follower.acknowledged_offset,
        "transferFromWhere": follower.acknowledged_offset,
        "transferredByteInSecond": 0,
    }
