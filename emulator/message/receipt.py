"""The receipt handle (POP_CK): position, pop time and invisible duration of a popped message.

Its text has these fields, separated by single blanks. Empty fields at the end count as missing:
`startOffset popTime invisibleTime reviveQid topicDigit brokerName queueId msgQueueOffset [commitLogOffset]`.
Source: ExtraInfoUtil, ReceiptHandle (5.3.3).
"""

from collections.abc import Callable

from ..kernel.errors import EngineError
from ..kernel.java_numbers import long_sum, parse_integer, parse_long
from ..kernel.java_split import java_split
from ..kernel.response_code import ResponseCode
from ..kernel.value_class import value
from .names import is_pop_retry_v2, is_retry, pop_retry_topic

ORDER_REVIVE_QUEUE = 999
"""The revive queue id in receipt handles of ordered pops, which have no check point."""
NORMAL, RETRY_V1, RETRY_V2 = 0, 1, 2
_LONG_MAX, _INT_MAX = 0x7FFFFFFFFFFFFFFF, 0x7FFFFFFF
_NOT_NUMBERS = 0, 0, 0, _INT_MAX + 1
"""In place of fields that are not numbers: a revive queue id that is no int."""


def topic_digit(topic: str) -> int:
    """Return the topic digit: 0 for a normal topic, 1 for a retry topic, 2 for a v2 pop retry topic."""
    if not is_retry(topic):
        return NORMAL
    return RETRY_V2 if is_pop_retry_v2(topic) else RETRY_V1


def real_topic(topic: str, group: str, digit: str | int) -> str:
    """Return the topic that a topic digit denotes. Raises SYSTEM_ERROR if the digit does not exist."""
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
    """A parsed receipt handle. Fields that were not parsed are -1 or empty. `pop_time` is in ms since the epoch.

    `start_offset` is that of the check point, `queue_offset` that of the message.
    """

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
        """The time at which the message becomes visible again."""
        return long_sum(self.pop_time, self.invisible_ms)

    def text(self) -> str:
        """Format the receipt handle as the broker writes it, without the commit log offset."""
        return (
            f"{self.start_offset} {self.pop_time} {self.invisible_ms} {self.revive_qid} {self.topic_digit} "
            f"{self.broker_name} {self.queue_id} {self.queue_offset}"
        )


def revive_queue_of(extra_info: str | None) -> int:
    """Return the revive queue id of a handle. Raises SYSTEM_ERROR if it is missing or if the broker name is missing."""
    parts = _parts(extra_info, 4, "getReviveQid")
    _parts(extra_info, 6, "getBrokerName")
    return _number(parse_integer, parts[3])


def broker_of(extra_info: str | None) -> str:
    """Return the broker name of a receipt handle. Raises SYSTEM_ERROR if there is none."""
    return _parts(extra_info, 6, "getBrokerName")[5]


def parse_for_record(extra_info: str | None) -> Receipt:
    """Parse the fields that a broker with KV records reads from the receipt handle of an acknowledgement.

    These are pop time, invisible duration and revive queue id, the second to the fourth field. Raises SYSTEM_ERROR for
    the first field that is missing or not a number.
    """
    numbers = []
    for index, (reader, parse) in enumerate(
        (("getPopTime", parse_long), ("getInvisibleTime", parse_long), ("getReviveQid", parse_integer)), 1
    ):
        numbers.append(_number(parse, _parts(extra_info, index + 1, reader)[index]))
    return Receipt(-1, numbers[0], numbers[1], numbers[2], "", "", -1, -1)


def parse_extra_info(extra_info: str | None) -> Receipt:
    """Parse the fields that the broker reads from the handle of an ack or change request: all up to the broker name.

    Queue id and offset are fields of the request itself. Raises SYSTEM_ERROR with upstream's text if there are too few
    fields or one is not a number.
    """
    parts = _parts(extra_info, 6, "getBrokerName")
    start, popped, invisible, revive_qid, digit, broker = parts[:6]
    if f"{start}{popped}{invisible}{revive_qid}".isdecimal():
        try:
            numbers = int(start), int(popped), int(invisible), int(revive_qid)
        except ValueError:  # one of them is empty or too long
            numbers = _NOT_NUMBERS
        if numbers[0] | numbers[1] | numbers[2] <= _LONG_MAX and numbers[3] <= _INT_MAX:
            return Receipt(*numbers, digit, broker, -1, -1)
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
    parts = [] if extra_info is None else java_split(extra_info, " ")
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
