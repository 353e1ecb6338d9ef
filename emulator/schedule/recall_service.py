"""Recall of a timed message before its delivery: the recall handle of a send response, and the delete mark.

A delete mark is a timed message that keeps its target, a message of the same slot, from being delivered. A recall
succeeds when its delete mark is stored, even if the target no longer waits.
Source: RecallMessageProcessor, RecallMessageHandle (5.3.3).
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.java_numbers import parse_long
from ..kernel.java_split import java_split
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import frozen_value
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import MessageToStore
from ..message.names import is_retry
from ..operations.base import Parked, Result
from ..operations.send import RecallMessage, RecallResult
from ..store.message_store import MessageStore
from ..store.sync_replication import SyncReplication
from ..topic.topic_table import PERM_WRITE, TopicTable
from .timer_state import delete_key

VERSION = "v1"
MARK_TAG = "_RECALL_TAG_"
MARK_BODY = b"0"
_BASE64 = re.compile(r"(?:[\w-]{4})*(?:[\w-]{2}(?:==)?|[\w-]{3}=?)?", re.ASCII)
"""URL-safe Base64 that Java's decoder accepts: padding may be missing, and no other character is skipped."""


@frozen_value
class RecallHandle:
    """The decoded recall handle; `timestamp_ms` is in the slot of the message, 1 ms after its start."""

    topic: str
    broker_name: str
    timestamp_ms: int
    unique_key: str

    def text(self) -> str:
        """Encode the handle for clients: URL-safe Base64 of the fields."""
        fields = f"{VERSION} {self.topic} {self.broker_name} {self.timestamp_ms} {self.unique_key}"
        return urlsafe_b64encode(fields.encode()).decode()

    @staticmethod
    def parse(text: str) -> "RecallHandle":
        """Decode a handle; a time that is not a number becomes -1.

        Raises ValueError with upstream's text for an invalid handle.
        """
        is_base64 = _BASE64.fullmatch(text) is not None
        decoded = urlsafe_b64decode(text + "=" * (-len(text) % 4)) if is_base64 else b""
        fields = java_split(decoded.decode(errors="replace"), " ")
        if len(fields) < 5 or fields[0] != VERSION:
            raise ValueError("recall handle is invalid")
        try:
            timestamp_ms = parse_long(fields[3])
        except ValueError:
            timestamp_ms = -1
        return RecallHandle(fields[1], fields[2], timestamp_ms, fields[4])


class RecallService:
    """Creates recall handles and handles recalls of one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        store: MessageStore,
        topics: TopicTable,
        sync_replication: SyncReplication,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._topics = topics
        self._sync_replication = sync_replication

    def handle_of(self, message: MessageToStore, unique_key: str) -> str | None:
        """Return the handle of a message just stored, even while recall is off.

        None if the timer does not hold the message, or if it is for a retry topic.
        """
        out_ms = message.properties.get(props.TIMER_OUT_MS)
        topic = message.properties.get(props.REAL_TOPIC)
        if out_ms is None or topic is None or is_retry(topic):
            return None
        try:
            timestamp_ms = parse_long(out_ms) + 1
        except ValueError:
            return None
        return RecallHandle(topic, self._config.broker_name, timestamp_ms, unique_key).text()

    @handles(RecallMessage)
    def recall(self, call: Call, operation: RecallMessage) -> Result | Parked:
        """Store a delete mark in the slot of the message.

        Errors: NO_PERMISSION (recall is off), SLAVE_NOT_AVAILABLE, SERVICE_NOT_AVAILABLE (broker not serving yet, or
        not writable), TOPIC_NOT_EXIST, ILLEGAL_OPERATION (bad handle, another topic or broker, too late or too far
        away), SYSTEM_ERROR (the mark cannot be stored).
        """
        if not self._config.recall_message_enable:
            raise EngineError(ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")
        if self._config.broker_role == "SLAVE":
            raise EngineError(ResponseCode.SLAVE_NOT_AVAILABLE, "recall failed, broker service not available")
        if self._scheduler.now_ms < self._config.start_accept_send_request_time_stamp:
            raise EngineError(ResponseCode.SERVICE_NOT_AVAILABLE, "recall failed, broker service not available")
        writable = self._config.broker_permission & PERM_WRITE
        if not writable and not self._config.allow_recall_when_broker_not_writeable:
            raise EngineError(ResponseCode.SERVICE_NOT_AVAILABLE, "recall failed, broker service not available")
        if self._topics.find(operation.topic) is None:
            raise EngineError(ResponseCode.TOPIC_NOT_EXIST, f"recall failed, the topic[{operation.topic}] not exist")
        handle = self._checked_handle(operation)
        try:
            mark = self._mark(call, operation, handle)
            self._store.put(mark)
        except EngineError:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "recall failed, execute error") from None
        self._store.stats.by_name.sent.note_queue(mark.topic, 0)
        return self._sync_replication.wait_for_append(call, operation, RecallResult(handle.unique_key))

    def _checked_handle(self, operation: RecallMessage) -> RecallHandle:
        try:
            handle = RecallHandle.parse(operation.recall_handle)
        except ValueError as error:
            raise _illegal(str(error)) from None
        if handle.topic != operation.topic:
            raise _illegal("recall failed, topic not match")
        if handle.broker_name != self._config.broker_name:
            raise _illegal("recall failed, broker service not available")
        left_ms = handle.timestamp_ms - self._scheduler.now_ms
        if not 0 < left_ms < self._config.timer_max_delay_sec * 1000:
            raise _illegal("recall failed, timestamp invalid")
        return handle

    def _mark(self, call: Call, operation: RecallMessage, handle: RecallHandle) -> MessageToStore:
        now = self._scheduler.now_ms
        properties = {
            props.TAGS: MARK_TAG,
            props.TIMER_DEL_UNIQKEY: delete_key(handle.topic, handle.unique_key),
            props.UNIQ_KEY: handle.unique_key,
            props.TIMER_DELIVER_MS: str(handle.timestamp_ms),
            props.BORN_TIMESTAMP: str(now),
            props.PRODUCER_GROUP: operation.producer_group or "",
        }
        born_host = records.pack_host(call.channel.remote_address)
        return MessageToStore(handle.topic, 0, MARK_BODY, properties, now, born_host)


def _illegal(remark: str) -> EngineError:
    return EngineError(ResponseCode.ILLEGAL_OPERATION, remark)
