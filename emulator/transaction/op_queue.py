"""Op messages: record for the transaction check which half messages are committed or rolled back.

Commits and rollbacks (the ends of transactions) are collected and stored as one op message: every
`transactionOpBatchInterval`, or immediately when `transactionOpMsgMaxSize` is exceeded.
Source: TransactionalMessageServiceImpl.deletePrepareMessage, batchSendOpMessage, TransactionalOpBatchService (5.3.3).

Not emulated: the very first batch of a broker, which upstream keeps for a second interval.
"""

from contextlib import suppress

from ..config import BrokerConfig
from ..kernel.errors import EngineError
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..message import properties as props
from ..message.message import MessageToStore
from ..message.names import OP_HALF_TOPIC
from ..store.message_store import MessageStore

REMOVE_TAG = "d"
SEPARATOR = ","
_DIGITS_OF_OFFSET = 19
"""The most digits of a Java long. A longer text is no offset, and Python refuses to convert thousands of digits."""


class OpQueue:
    """Collects the ends of transactions of one broker."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, store: MessageStore) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._anchor_ms = scheduler.now_ms
        self._pending: list[str] = []
        self._size = 0
        self._timer: Timer | None = None

    def add(self, half_offset: int) -> None:
        """Record that a half message, by its queue offset, is committed or rolled back."""
        entry = f"{half_offset}{SEPARATOR}"
        self._pending.append(entry)
        self._size += len(entry)
        if self._size > self._config.transaction_op_msg_max_size:
            self._flush()
        elif self._timer is None:
            interval = self._config.transaction_op_batch_interval
            intervals = (self._scheduler.now_ms - self._anchor_ms) // interval + 1
            self._timer = self._scheduler.call_at(
                self._anchor_ms + intervals * interval, self._flush, TimerKind.TRANSACTION_OP
            )

    def fork_state(self) -> tuple[int, list[str]]:
        """Return for a fork the time since an interval began (ms), and the collected ends."""
        return self._scheduler.now_ms - self._anchor_ms, self._pending.copy()

    def continue_from(self, state: tuple[int, list[str]]) -> None:
        """Start with the ends of another broker, and store them when that broker would."""
        age_ms, ends = state
        self._anchor_ms = self._scheduler.now_ms - age_ms
        for end in ends:
            self.add(int(end.removesuffix(SEPARATOR)))

    def pending_offsets(self) -> set[int]:
        """Return the half offsets that are collected but not stored yet."""
        return {int(entry.removesuffix(SEPARATOR)) for entry in self._pending}

    def flush_if_due(self) -> None:
        """Store the batch if it is due now, so that a check at the same time sees it."""
        if self._timer is not None and self._scheduler.due_ms(self._timer) <= self._scheduler.now_ms:
            self._flush()

    def _flush(self) -> None:
        """Store the collected ends; the next interval starts now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._anchor_ms = now = self._scheduler.now_ms
        body = "".join(self._pending).encode()
        self._pending.clear()
        self._size = 0
        properties = {props.TAGS: REMOVE_TAG, props.WAIT: "true"}
        # Upstream does not retry either: the check asks the producer again for the end that is lost here.
        with suppress(EngineError):
            self._store.append(MessageToStore(OP_HALF_TOPIC, 0, body, properties, now, self._store.store_host))


def half_offsets(body: bytes) -> list[int]:
    """Return the queue offsets in the body of an op message; skip anything that is not an offset."""
    texts = body.decode(errors="replace").split(SEPARATOR)
    return [int(text) for text in texts if text.isdecimal() and len(text) <= _DIGITS_OF_OFFSET]
