"""Synchronous replication: responses of a master that wait until enough slaves have the stored message.

Source: GroupTransferService, CommitLog.handleDiskFlushAndHA (5.3.3).
"""

from dataclasses import replace

from ..assembly.broker_context import Complete
from ..config import BrokerConfig
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..message.properties import WAIT
from ..operations.base import PARKED, Operation, Parked, Result
from ..operations.send import SendMessage, SendResult
from .message_store import MessageStore

SYNC_MASTER = "SYNC_MASTER"


class SyncReplication:
    """Responses of one run of a master that wait until enough brokers have the stored message."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, store: MessageStore, complete: Complete) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._complete = complete
        self._waiting: dict[Call, tuple[Operation, Result, Timer]] = {}

    def wait_for_send(self, call: Call, operation: SendMessage, result: SendResult) -> SendResult | Parked:
        """Return the response to a send, at once or when `inSyncReplicas` brokers, master included, have it.

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
        timeout_result = replace(result, code=ResponseCode.FLUSH_SLAVE_TIMEOUT)
        return self._wait(call, operation, result, timeout_result, owner=operation.topic)

    def wait_for_append(self, call: Call, operation: Operation, result: Result) -> Result | Parked:
        """Return the response to an operation other than a send that has stored a message: a recall, a commit.

        It waits as a send does, but its response does not show a timeout. Source: DefaultMessageStore.waitForPutResult
        (5.3.3).
        """
        return self._wait(call, operation, result, result) if self.waits else result

    @property
    def waits(self) -> bool:
        """True if the response about a message stored now has to wait for slaves."""
        return self._config.broker_role == SYNC_MASTER and not self._enough

    def _wait(
        self, call: Call, operation: Operation, result: Result, timeout_result: Result, *, owner: str = ""
    ) -> Parked:
        def on_timeout() -> None:
            del self._waiting[call]
            self._complete(call, operation, timeout_result)

        timer = self._scheduler.call_later(
            self._config.slave_timeout, on_timeout, TimerKind.SLAVE_ACKNOWLEDGEMENT, owner
        )
        self._waiting[call] = (operation, result, timer)
        return PARKED

    def slave_caught_up(self) -> None:
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
        in_sync = self._store.replication.in_sync
        return 1 + in_sync >= self._config.in_sync_replicas
