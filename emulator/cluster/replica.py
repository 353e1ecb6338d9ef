"""Slaves: replication of a master's log, and periodic copies of its tables.

A slave has a record as soon as its master has it; upstream takes milliseconds. A master and a slave that both run are
connected at once; upstream retries every five seconds. If a master has lost records in a power loss, its slave discards
them here; upstream's slave keeps data that can never be consistent again. An empty slave receives all records that its
master has left; upstream sends it only those of the last file (DefaultHAConnection).
Source: DefaultHAService, SlaveSynchronize, BrokerController (5.3.3).
"""

from ..kernel.timer_kind import TimerKind
from ..store.record_receiver import RecordReceiver
from .broker import Broker
from .late_replication import LateReplication
from .timer_replica import TimerReplica

FIRST_CHECK_MS = 10_000
CHECK_INTERVAL_MS = 3_000
TABLES_AGE_MS = 60_000
"""Maximum age of a slave's tables (topics, groups, offsets and others, see `Broker.copy_tables`).

The slave checks the age every three seconds, first ten seconds after its start.
"""


class Replica:
    """A slave and its master in one engine."""

    def __init__(self, master: Broker, slave: Broker, common_end: int = 0) -> None:
        """`common_end`: the end of the records that both logs are known to share."""
        self.master = master
        self.slave = slave
        self._receiver: RecordReceiver | None = None
        """The slave's end of the replication, None if it is not connected."""
        self._lags_ms: list[int] = []
        """The lags of all faults in force."""
        master.replication.add_slave(slave.name, slave.broker_id, slave.store, self._is_connected)
        slave.replication.add_master(self._is_connected)
        self._tables_ms = self._first_check_ms = 0
        self._timer: TimerReplica | None = None
        self._common_end = common_end
        """End offset of both logs at the last record that the slave received."""
        self._truncations_before = (0, 0)
        """Numbers of truncations of the master's and the slave's log when the replication began."""
        self.slave_started()
        self.connect()

    def slave_started(self) -> None:
        """Schedule the checks of the slave's tables and timer. Their times count from now, the start of its run."""
        self._tables_ms = self.slave.lifetime.now_ms
        self._first_check_ms = self._tables_ms + FIRST_CHECK_MS
        before = self.slave.timers.followed_before
        self._timer = TimerReplica(
            master=self.master,
            slave=self.slave,
            first_check_ms=self._first_check_ms,
            check_interval_ms=CHECK_INTERVAL_MS,
            before=before,
        )
        self._schedule_synchronization()

    def connect(self) -> None:
        """Start replication if both run; first send the slave the records that it lacks.

        If the master has already deleted some of those records, replication does not start, as in upstream. An empty
        slave begins with the first record that its master has left.
        """
        master, slave = self.master.store, self.slave.store
        self.disconnect()
        if self.master.running and self._timer is not None:
            self._timer.master_began()
        if not (self.master.running and self.slave.running):
            return
        if slave.log.max_offset == 0 < master.log.min_offset:
            slave.log.begin_at(master.log.min_offset)
        if slave.log.max_offset < master.log.min_offset:
            return
        # `common_end()` saves the comparison of the whole logs.
        slave.truncate(slave.log.common_end(master.log, self.common_end()))
        for _, record in master.log.records_from(slave.log.max_offset):
            slave.replicate(record, master.tags_code_at(record))
        self._receiver = slave
        if self._lags_ms:
            self._receiver = LateReplication(
                self.slave.lifetime,
                slave,
                max(self._lags_ms),
                caught_up=lambda: self.master.sync_replication.slave_caught_up(),
            )
        master.replication.begin(self._receiver)
        self._truncations_before = len(master.log.truncations), len(slave.log.truncations)
        self.master.sync_replication.slave_caught_up()

    def common_end(self) -> int:
        """Return the end of the records that both logs are known to share."""
        master, slave = self.master.store.log, self.slave.store.log
        if self._receiver is not None:
            return slave.max_offset
        # When the last connection ended, both logs were equal up to `_common_end`. Only later truncations can make them
        # differ before it.
        before_master, before_slave = self._truncations_before
        truncations = master.truncations[before_master:] + slave.truncations[before_slave:]
        return min(self._common_end, *truncations, slave.max_offset)

    def disconnect(self) -> None:
        """Stop replication: one of the two has stopped or lost its connections."""
        master, slave = self.master.store, self.slave.store
        if self._receiver is not None:
            master.replication.end(self._receiver)
            if isinstance(self._receiver, LateReplication):
                self._receiver.stop()
            self._receiver = None
            self._common_end = slave.log.max_offset
        if self._timer is None:
            return
        if not self.master.running:
            self._timer.master_ended()
        if not self.slave.running:
            self._timer.slave_ended()

    def _is_connected(self) -> bool:
        return self._receiver is not None

    # lag

    def add_lag(self, ms: int) -> None:
        """Delay each record to the slave by `ms`. Of several lags, the longest counts."""
        self._lags_ms.append(ms)
        self._reconnect()

    def remove_lag(self, ms: int) -> None:
        """Undo `add_lag`. The slave receives the records on their way at once."""
        self._lags_ms.remove(ms)
        self._reconnect()

    def _reconnect(self) -> None:
        if self._receiver is not None:
            self.connect()

    # tables

    def _schedule_synchronization(self) -> None:
        """Schedule the table synchronization for the first check at which the tables are too old."""
        checks = -(-(self._tables_ms + TABLES_AGE_MS + 1 - self._first_check_ms) // CHECK_INTERVAL_MS)
        due_ms = self._first_check_ms + checks * CHECK_INTERVAL_MS
        self.slave.lifetime.call_at(due_ms, self._synchronize, TimerKind.SLAVE_SYNCHRONIZATION, self.slave.name)

    def _synchronize(self) -> None:
        self._tables_ms = self.slave.lifetime.now_ms
        if self.master.running:
            self.slave.copy_tables(self.master)
        self._schedule_synchronization()
