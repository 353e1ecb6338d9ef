"""The replication state of a broker: its slaves, or its master.

Source: DefaultHAService.getRuntimeInfo (5.3.3).
"""

from typing import NamedTuple

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..gate.gate import Call
from ..operations.cluster import FollowerState, GetBrokerHaStatus, HaStatusResult
from ..store.message_store import MessageStore

SLAVE = "SLAVE"


class _Slave(NamedTuple):
    name: str
    broker_id: int
    store: MessageStore


class ReplicationStatus:
    """Reports the replication state of one broker. It outlives the runs of the broker."""

    def __init__(self, config: BrokerConfig, store: MessageStore) -> None:
        self._config = config
        self._store = store
        self._slaves: list[_Slave] = []
        self._masters: list[MessageStore] = []

    def add_slave(self, name: str, broker_id: int, store: MessageStore) -> None:
        """Add a slave of this broker."""
        self._slaves.append(_Slave(name, broker_id, store))

    def add_master(self, store: MessageStore) -> None:
        """Add the master of this broker."""
        self._masters.append(store)

    @handles(GetBrokerHaStatus)
    def get(self, call: Call, operation: GetBrokerHaStatus) -> HaStatusResult:
        """Return the state; a slave without a running master has no connection."""
        store = self._store
        followers = [
            FollowerState(slave.name, slave.broker_id, slave.store.log.max_offset)
            for slave in self._slaves
            if slave.store in store.slave_stores
        ]
        master_name = None
        if self._config.broker_role == SLAVE:
            follows = any(store in master.slave_stores for master in self._masters)
            master_name = self._config.broker_name if follows else ""
        return HaStatusResult(store.log.max_offset, followers, master_name, store.last_store_timestamp)
