"""Errors of the store and of queue access that several services raise with the same text."""

from ..config import BrokerConfig
from ..gate.call import Call
from ..kernel.errors import EngineError, RejectedBeforeProcessing
from ..kernel.response_code import ResponseCode
from ..operations.topics import TopicConfig
from .commit_log import CommitLog
from .message_store import MessageStore

_LIMIT_FRAME = "java.base/java.nio.Buffer.createLimitException(Buffer.java:395)"
"""The stack frame in which Java 17 throws the exception about a negative size."""


def illegal_queue_id(call: Call, queue_id: int, topic: TopicConfig, code: ResponseCode) -> EngineError:
    """Build the error for a consumer that names a missing queue (PullMessageProcessor and similar, 5.3.3)."""
    address, port = call.channel.remote_address
    return EngineError(
        code,
        f"queueId[{queue_id}] is illegal, topic:[{topic.topic_name}] "
        f"topicConfig.readQueueNums:[{topic.read_queue_nums}] consumer:[/{address}:{port}]",
    )


def illegal_capacity(number: int) -> EngineError:
    """Build the error for a negative number of messages: upstream creates a list of that capacity."""
    return EngineError(ResponseCode.SYSTEM_ERROR, f"java.lang.IllegalArgumentException: Illegal Capacity: {number}")


def checked_record_at(log: CommitLog, physical_offset: int) -> bytes | None:
    """Return the record that starts at an offset of the log, or None if none does (lookMessageByOffset, 5.3.3).

    Raises SYSTEM_ERROR if the number in the place of its size is negative.
    """
    _size_at(log, physical_offset)
    return log.record_at(physical_offset)


def raw_bytes_at(log: CommitLog, physical_offset: int) -> bytes | None:
    """Return the bytes that upstream takes for the record at an offset, whether or not a record starts there.

    Their length is the number found at the offset; None if the log contains fewer bytes.
    Raises SYSTEM_ERROR if that number is negative. Source: DefaultMessageStore.selectOneMessageByOffset (5.3.3).
    """
    size = _size_at(log, physical_offset)
    return None if size is None else log.bytes_at(physical_offset, size)


def _size_at(log: CommitLog, physical_offset: int) -> int | None:
    size = log.size_at(physical_offset)
    if size is not None and size < 0:
        thrown = f"java.lang.IllegalArgumentException: newLimit < 0: ({size} < 0)"
        raise EngineError(ResponseCode.SYSTEM_ERROR, f"{thrown}, {_LIMIT_FRAME}")
    return size


def refuse_on_slave(config: BrokerConfig) -> None:
    """Raise SYSTEM_BUSY on a slave, which accepts neither sends nor pulls (rejectRequest of both processors, 5.3.3)."""
    if config.broker_role == "SLAVE":
        raise busy()


def busy() -> EngineError:
    """Build the error of a request that its processor rejects (NettyRemotingAbstract.processRequestCommand, 5.3.3)."""
    return RejectedBeforeProcessing(
        ResponseCode.SYSTEM_BUSY, "[REJECTREQUEST]system busy, start flow control for a while"
    )


def refuse_to_store(config: BrokerConfig, store: MessageStore) -> None:
    """Raise SERVICE_NOT_AVAILABLE in the store of a slave, or if the disk is full.

    Source: HookUtils.checkBeforePutMessage (5.3.3).
    """
    if store.disk.full or config.broker_role == "SLAVE":
        used = store.disk.used(store.log.stored_bytes)
        raise EngineError(
            ResponseCode.SERVICE_NOT_AVAILABLE,
            "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
            f"[CL: {used:5.2f} CQ: {used:5.2f} INDEX: {used:5.2f}], messages are put to the slave, message store has "
            "been shut down, etc.",
        )
