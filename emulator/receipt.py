"""The receipt handle (POP_CK): where a popped message is and until when it is hidden.

Text, separated by single blanks:
`startOffset popTime invisibleTime reviveQid topicDigit brokerName queueId msgQueueOffset [commitLogOffset]`.
Source: ExtraInfoUtil, ReceiptHandle (5.3.3).
"""

from dataclasses import dataclass

from .codes import ResponseCode
from .errors import EngineError
from .names import is_pop_retry_v2, is_retry, pop_retry_topic

ORDER_REVIVE_QUEUE = 999
"""The revive queue id of ordered pops, which have no check point."""
NORMAL, RETRY_V1, RETRY_V2 = 0, 1, 2


def topic_digit(topic: str) -> int:
    """0 for a topic, 1 for a retry topic, 2 for a pop retry topic in its second form."""
    if not is_retry(topic):
        return NORMAL
    return RETRY_V2 if is_pop_retry_v2(topic) else RETRY_V1


def real_topic(topic: str, group: str, digit: str | int) -> str:
    """The topic that a digit means. Errors: SYSTEM_ERROR for a digit that does not exist."""
    if str(digit) == "0":
        return topic
    if str(digit) in ("1", "2"):
        return pop_retry_topic(topic, group, v2=str(digit) == "2")
    raise EngineError(
        ResponseCode.SYSTEM_ERROR,
        f"java.lang.IllegalArgumentException: getRetry fail, format is wrong, {digit}",
    )


@dataclass(slots=True)
class Receipt:
    """A parsed handle."""

    start_offset: int
    pop_time: int
    invisible_ms: int
    revive_qid: int
    topic_digit: str
    broker_name: str
    queue_id: int
    queue_offset: int
    commit_log_offset: int = -1

    @property
    def next_visible_ms(self) -> int:
        """When the message may be delivered again."""
        return self.pop_time + self.invisible_ms

    def text(self) -> str:
        """The handle without the commit log offset, as the broker writes it."""
        return (
            f"{self.start_offset} {self.pop_time} {self.invisible_ms} {self.revive_qid} {self.topic_digit} "
            f"{self.broker_name} {self.queue_id} {self.queue_offset}"
        )


def parse_extra_info(extra_info: str | None, *, reader: str) -> Receipt:
    """The fields of a handle as the broker reads them from an ack or change request.

    `reader` names the first field that the upstream code reads, which its complaint about a short handle names.
    Errors: SYSTEM_ERROR with upstream's text for too few fields or for text that is not a number.
    """
    parts = (extra_info or "").split(" ") if extra_info is not None else []
    if len(parts) < 6:
        raise EngineError(
            ResponseCode.SYSTEM_ERROR,
            f"java.lang.IllegalArgumentException: {reader} fail, extraInfoStrs length {len(parts)}",
        )
    try:
        return Receipt(
            int(parts[0]),
            int(parts[1]),
            int(parts[2]),
            int(parts[3]),
            parts[4],
            parts[5],
            int(parts[6]) if len(parts) > 6 else -1,
            int(parts[7]) if len(parts) > 7 else -1,
            int(parts[8]) if len(parts) > 8 else -1,
        )
    except ValueError as error:
        wrong = str(error).rpartition(": ")[2].strip("'")
        raise EngineError(
            ResponseCode.SYSTEM_ERROR, f'java.lang.NumberFormatException: For input string: "{wrong}"'
        ) from None
