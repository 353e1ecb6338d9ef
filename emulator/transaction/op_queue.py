"""Notes about ended transactions: the op messages that tell the check which half messages are decided.

Ends are gathered and stored as one op message; the gathering looks every `transactionOpBatchInterval`, and at once when
`transactionOpMsgMaxSize` is exceeded. Source: TransactionalMessageServiceImpl.deletePrepareMessage,
batchSendOpMessage, TransactionalOpBatchService (5.3.3).

Not emulated: the very first batch of a broker, which upstream keeps for a second interval.
"""

from contextlib import suppress

from ..config import BrokerConfig
from ..kernel.errors import EngineError
from ..kernel.scheduler import Scheduler, Timer
from ..message import properties as props
from ..message.message import Message
from ..message.names import OP_HALF_TOPIC
from ..store.message_store import MessageStore

REMOVE_TAG = "d"
SEPARATOR = ","


class OpLog:
    """Gathers the ends of transactions of one broker."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, store: MessageStore) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._anchor_ms = scheduler.now_ms
        self._pending: list[str] = []
        self._size = 0
        self._timer: Timer | None = None

    def add(self, half_offset: int) -> None:
        """Note that a half message, by its queue offset, is committed or rolled back."""
        entry = f"{half_offset}{SEPARATOR}"
        self._pending.append(entry)
        self._size += len(entry)
        if self._size > self._config.transaction_op_msg_max_size:
            self._flush()
        elif self._timer is None:
            interval = self._config.transaction_op_batch_interval
            looks = (self._scheduler.now_ms - self._anchor_ms) // interval + 1
            self._timer = self._scheduler.call_at(self._anchor_ms + looks * interval, self._flush, "transaction op")

    def gathered(self) -> set[int]:
        """The half offsets that are gathered and not stored yet."""
        return {int(entry.removesuffix(SEPARATOR)) for entry in self._pending}

    def catch_up(self) -> None:
        """Do what is due at this instant: the check, which starts after the gathering, finds it done."""
        if self._timer is not None and self._timer.due_ms <= self._scheduler.now_ms:
            self._flush()

    def _flush(self) -> None:
        """Store what was gathered; looks go on from here."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._anchor_ms = now = self._scheduler.now_ms
        body = "".join(self._pending).encode()
        self._pending.clear()
        self._size = 0
        properties = {props.TAGS: REMOVE_TAG, props.WAIT: "true"}
        # Upstream does not try again either: what could not be noted is asked about.
        with suppress(EngineError):
            self._store.append(Message(OP_HALF_TOPIC, 0, body, properties, now, self._store.store_host))


def half_offsets(body: bytes) -> list[int]:
    """The queue offsets in the body of an op message; what is no number is passed over."""
    return [int(text) for text in body.decode(errors="replace").split(SEPARATOR) if text.isdecimal()]
