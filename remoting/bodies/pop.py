"""Bodies of pop consumption. Source: BatchAckMessageRequestBody, BatchAck (5.3.3)."""

from base64 import b64decode
from binascii import Error as Base64Error

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.consume import BatchAck

from ..wire.fields import Int, Long, wire
from .bean import Bean, bean


@bean
class AckBody(Bean):
    """Acknowledgements of one check point. Members have short or long names."""

    MISSING_MEMBER_REMARK = "java.lang.NullPointerException"

    consumer_group: str = wire("c", alternate="consumerGroup", default="")
    topic: str = wire("t", alternate="topic")
    retry: str = wire("r", alternate="retry")
    start_offset: Long = wire("so", alternate="startOffset", default=0)
    queue_id: Int = wire("q", alternate="queueId", default=0)
    revive_queue_id: Int = wire("rq", alternate="reviveQueueId", default=0)
    pop_time: Long = wire("pt", alternate="popTime", default=0)
    invisible_time: Long = wire("it", alternate="invisibleTime", default=0)
    bit_set: str = wire("b", alternate="bitSet")

    def ack(self) -> BatchAck:
        """Convert the acknowledgements. Raises SYSTEM_ERROR for a bit set that is not base64."""
        return BatchAck(
            consumer_group=self.consumer_group,
            topic=self.topic,
            retry=self.retry,
            start_offset=self.start_offset,
            queue_id=self.queue_id,
            revive_qid=self.revive_queue_id,
            pop_time=self.pop_time,
            invisible_ms=self.invisible_time,
            bits=_bit_set(self.bit_set),
        )


@bean
class BatchAckBody(Bean):
    """Acknowledgements of several check points."""

    broker_name: str | None = None
    acks: list[AckBody] | None = None


def _bit_set(value: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except (Base64Error, ValueError):
        raise EngineError(
            ResponseCode.SYSTEM_ERROR, "java.lang.IllegalArgumentException: the bit set is not base64"
        ) from None
