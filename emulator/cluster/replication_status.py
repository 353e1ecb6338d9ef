"""The replication state of a broker: its slaves, or its master.

Source: DefaultHAService.getRuntimeInfo (5.3.3).
"""

from collections.abc import Callable
from typing import NamedTuple

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..gate.call import Call
from ..operations.cluster import FollowerState, GetBrokerHaStatus, HaStatusResult
from ..store.message_store import MessageStore

SLAVE = "SLAVE"


class _Slave(NamedTuple):
    name: str
    broker_id: int
    store: MessageStore
    is_connected: Callable[[], bool]


class ReplicationStatus:
    """Reports the replication state of one broker. It outlives the runs of the broker."""

    def __init__(self, config: BrokerConfig, store: MessageStore) -> None:
        self._config = config
        self._store = store
        self._slaves: list[_Slave] = []
        self._masters: list[Callable[[], bool]] = []

    def add_slave(self, name: str, broker_id: int, store: MessageStore, is_connected: Callable[[], bool]) -> None:
        """Add a slave of this broker."""
        self._slaves.append(_Slave(name, broker_id, store, is_connected))

    def add_master(self, is_connected: Callable[[], bool]) -> None:
        """Add the master of this broker."""
        self._masters.append(is_connected)

    @handles(GetBrokerHaStatus)
    def get(self, call: Call, operation: GetBrokerHaStatus) -> HaStatusResult:
        """Return the state; a slave without a running master has no connection."""
        store = self._store
        followers = [
            FollowerState(slave.name, slave.broker_id, slave.store.log.max_offset)
            for slave in self._slaves
            if slave.is_connected()
        ]
        master_name = None
        if self._config.broker_role == SLAVE:
            follows = any(is_connected() for is_connected in self._masters)
            master_name = self._config.broker_name if follows else ""
        return HaStatusResult(store.log.max_offset, followers, master_name, store.last_store_timestamp)
