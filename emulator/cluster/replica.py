"""Slaves: replication of a master's log, periodic copies of its tables, and synchronous replication.

A slave has a record as soon as its master has it; upstream takes milliseconds. Two running brokers are connected at
once; upstream retries every five seconds. If a master has lost records in a power loss, its slave discards them here;
upstream's slave keeps data that can never be consistent again.
Source: DefaultHAService, GroupTransferService, SlaveSynchronize, BrokerController (5.3.3).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..config import BrokerConfig
from ..gate.gate import Call
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler, Timer
from ..message.properties import WAIT
from ..operations import (
    PARKED,
    FollowerState,
    GetBrokerHaStatus,
    HaStatusResult,
    Operation,
    Parked,
    Result,
    SendMessage,
    SendResult,
)
from ..store.message_store import MessageStore
from .timer_replica import TimerCopy

if TYPE_CHECKING:
    from .broker import Broker

SLAVE = "SLAVE"
SYNC_MASTER = "SYNC_MASTER"
FIRST_LOOK_MS = 10_000
LOOK_MS = 3_000
TABLES_AGE_MS = 60_000
"""Maximum age of a slave's tables, checked every three seconds, first ten seconds after its start."""

Complete = Callable[[Call, Operation, Result | EngineError], None]


class Acknowledgements:
    """Responses of one run of a master that wait until enough brokers have the stored message."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, store: MessageStore, complete: Complete) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._complete = complete
        self._waiting: dict[Call, tuple[Operation, Result, Timer]] = {}

    def of(self, call: Call, operation: SendMessage, result: SendResult) -> SendResult | Parked:
        """Return the response to a send, at once or when `inSyncReplicas` brokers have the message.

        The master counts as one of them.
        After `slaveTimeout` the response is FLUSH_SLAVE_TIMEOUT; the message is stored nevertheless. With
        `inSyncReplicas` 1, the default, no send waits. With SYNC_FLUSH and a flush timeout of 0 the response is
        FLUSH_DISK_TIMEOUT, unless a slave is late as well (CommitLog.handleDiskFlushAndHA, 5.3.3).
        """
        config = self._config
        late = config.flush_disk_type == "SYNC_FLUSH" and config.sync_flush_timeout <= 0
        waits = config.broker_role == SYNC_MASTER and not self._enough
        if not (late or waits) or operation.properties.get(WAIT) == "false":
            return result
        if late:
            result = replace(result, code=ResponseCode.FLUSH_DISK_TIMEOUT)
        if not waits:
            return result
        in_vain = replace(result, code=ResponseCode.FLUSH_SLAVE_TIMEOUT)
        return self._wait(call, operation, result, in_vain, operation.topic)

    def after(self, call: Call, operation: Operation, result: Result) -> Result | Parked:
        """Return the response to an operation that stores its own message.

        It waits as a send does, but its response does not show a timeout. Source: DefaultMessageStore.waitForPutResult
        (5.3.3).
        """
        return self._wait(call, operation, result, result) if self.waits else result

    @property
    def waits(self) -> bool:
        """True if a message stored now has to wait for slaves."""
        return self._config.broker_role == SYNC_MASTER and not self._enough

    def _wait(self, call: Call, operation: Operation, result: Result, in_vain: Result, owner: str = "") -> Parked:
        def give_up() -> None:
            del self._waiting[call]
            self._complete(call, operation, in_vain)

        timer = self._scheduler.call_later(self._config.slave_timeout, give_up, "slave acknowledgement", owner)
        self._waiting[call] = (operation, result, timer)
        return PARKED

    def slave_has_all(self) -> None:
        """Handle a slave that has caught up with the master."""
        if self._enough:
            for call in list(self._waiting):
                operation, result, timer = self._waiting.pop(call)
                timer.cancel()
                self._complete(call, operation, result)

    def refuse(self, refusal: EngineError) -> None:
        """Reject all waiting calls: the master stops, so it can no longer confirm their messages."""
        for call, (operation, _, timer) in list(self._waiting.items()):
            timer.cancel()
            self._complete(call, operation, refusal)
        self._waiting.clear()

    @property
    def _enough(self) -> bool:
        return 1 + len(self._store.followers) >= self._config.in_sync_replicas


class ReplicationStatus:
    """Reports the replication state of a broker and its slaves."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def get(self, call: Call, operation: GetBrokerHaStatus) -> HaStatusResult:
        """Return the state; a slave without a running master has no connection.

        Source: DefaultHAService.getRuntimeInfo (5.3.3).
        """
        store = self._broker.store
        followers = [
            FollowerState(replica.slave.name, replica.slave.broker_id, replica.slave.store.log.max_offset)
            for replica in self._broker.replicas
            if replica.slave.store in store.followers
        ]
        master_name = None
        if self._broker.config.broker_role == SLAVE:
            follows = any(store in replica.master.store.followers for replica in self._broker.replicas)
            master_name = self._broker.name if follows else ""
        return HaStatusResult(store.log.max_offset, followers, master_name, store.last_store_timestamp)


class Replica:
    """A slave and its master in one engine."""

    def __init__(self, master: "Broker", slave: "Broker") -> None:
        self.master = master
        self.slave = slave
        master.replicas.append(self)
        slave.replicas.append(self)
        self._tables_ms = self._first_look_ms = 0
        self._timer: TimerCopy | None = None
        self._alike = 0
        """End offset of both logs at the last record that the slave received."""
        self._cuts_before = (0, 0)
        """Number of truncations of either log when the replication began."""
        self.slave_started()
        self.connect()

    def slave_started(self) -> None:
        """Handle the start of a run of the slave: its checks of the tables' age are counted from now."""
        self._tables_ms = self.slave.lifetime.now_ms
        self._first_look_ms = self._tables_ms + FIRST_LOOK_MS
        before = self.slave.timers.followed_before
        self._timer = TimerCopy(self.master, self.slave, self._first_look_ms, LOOK_MS, before)
        self._look_later()

    def connect(self) -> None:
        """Start replication if both run; first send the slave the records that it lacks.

        As upstream, a slave receives none if the master has already deleted some of those records.
        """
        master, slave = self.master.store, self.slave.store
        self.disconnect()
        if self.master.running and self._timer is not None:
            self._timer.master_began()
        if not (self.master.running and self.slave.running):
            return
        if slave.log.max_offset < master.log.min_offset:
            return
        # When the last connection ended, both logs were equal up to there. Only later truncations can make them differ,
        # so a long log need not be compared as a whole.
        cuts = master.log.cuts[self._cuts_before[0] :] + slave.log.cuts[self._cuts_before[1] :]
        slave.give_up(slave.log.parts_from(master.log, min(self._alike, *cuts, slave.log.max_offset)))
        for _, record in master.log.records_from(slave.log.max_offset):
            slave.follow(record, master.tags_code_at(record))
        master.followers.append(slave)
        self._cuts_before = len(master.log.cuts), len(slave.log.cuts)
        self.master.acknowledgements.slave_has_all()

    def disconnect(self) -> None:
        """Stop replication: one of the two has stopped or lost its connections."""
        master, slave = self.master.store, self.slave.store
        if slave in master.followers:
            master.followers.remove(slave)
            self._alike = slave.log.max_offset
        if self._timer is None:
            return
        if not self.master.running:
            self._timer.master_ended()
        if not self.slave.running:
            self._timer.slave_ended()

    # tables

    def _look_later(self) -> None:
        """Schedule the table synchronization for the first check at which the tables are too old."""
        looks = -(-(self._tables_ms + TABLES_AGE_MS + 1 - self._first_look_ms) // LOOK_MS)
        due_ms = self._first_look_ms + looks * LOOK_MS
        self.slave.lifetime.call_at(due_ms, self._synchronize, "slave synchronization", self.slave.name)

    def _synchronize(self) -> None:
        self._tables_ms = self.slave.lifetime.now_ms
        if self.master.running:
            self.slave.take_tables(self.master)
        self._look_later()
