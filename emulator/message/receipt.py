"""The receipt handle (POP_CK): where a popped message is and until when it is hidden.

Text, separated by single blanks:
`startOffset popTime invisibleTime reviveQid topicDigit brokerName queueId msgQueueOffset [commitLogOffset]`.
Source: ExtraInfoUtil, ReceiptHandle (5.3.3).
"""

from collections.abc import Callable

from ..kernel.errors import EngineError
from ..kernel.java_numbers import long_sum, parse_integer, parse_long
from ..kernel.response_code import ResponseCode
from ..kernel.value_class import value
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
        "java.lang.IllegalArgumentException: getRetry fail, format is wrong",
    )


@value
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
        return long_sum(self.pop_time, self.invisible_ms)

    def text(self) -> str:
        """The handle without the commit log offset, as the broker writes it."""
        return (
            f"{self.start_offset} {self.pop_time} {self.invisible_ms} {self.revive_qid} {self.topic_digit} "
            f"{self.broker_name} {self.queue_id} {self.queue_offset}"
        )


def revive_queue_of(extra_info: str | None) -> int:
    """The revive queue of a handle that names a broker too; nothing else of it is read. Errors: SYSTEM_ERROR."""
    parts = _parts(extra_info, 4, "getReviveQid")
    _parts(extra_info, 6, "getBrokerName")
    return _number(parse_integer, parts[3])


def broker_of(extra_info: str | None) -> str:
    """The broker that a handle names. Errors: SYSTEM_ERROR."""
    return _parts(extra_info, 6, "getBrokerName")[5]


def parse_for_record(extra_info: str | None) -> Receipt:
    """The fields that the KV variant reads from the handle of an acknowledgement, of which there must be four.

    Errors: SYSTEM_ERROR, with the first that is missing or no number.
    """
    numbers = []
    for index, (reader, parse) in enumerate(
        (("getPopTime", parse_long), ("getInvisibleTime", parse_long), ("getReviveQid", parse_integer)), 1
    ):
        numbers.append(_number(parse, _parts(extra_info, index + 1, reader)[index]))
    return Receipt(-1, numbers[0], numbers[1], numbers[2], "", "", -1, -1)


def parse_extra_info(extra_info: str | None) -> Receipt:
    """The fields of a handle that the broker reads from an ack or change request: all up to the broker's name.

    Queue and offset stand in the request itself. Errors: SYSTEM_ERROR with upstream's text for too few fields or for
    text that is not a number.
    """
    parts = _parts(extra_info, 6, "getBrokerName")
    return Receipt(
        _number(parse_long, parts[0]),
        _number(parse_long, parts[1]),
        _number(parse_long, parts[2]),
        _number(parse_integer, parts[3]),
        parts[4],
        parts[5],
        -1,
        -1,
    )


def _parts(extra_info: str | None, count: int, reader: str) -> list[str]:
    parts = [] if extra_info is None else extra_info.split(" ")
    if len(parts) < count:
        raise EngineError(
            ResponseCode.SYSTEM_ERROR,
            f"java.lang.IllegalArgumentException: {reader} fail, extraInfoStrs length {len(parts)}",
        )
    return parts


def _number(parse: Callable[[str], int], text: str) -> int:
    try:
        return parse(text)
    except ValueError as error:
        raise EngineError(ResponseCode.SYSTEM_ERROR, f"java.lang.NumberFormatException: {error}") from None
