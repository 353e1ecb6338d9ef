"""The receipt handle: nine fields, separated by single blanks.

    startOffset popTime invisibleTime reviveQueueId topicType brokerName queueId offset commitLogOffset

In the response of upstream's LOCAL proxy to ChangeInvisibleDuration it has ten fields, with a stray 0 before the last.
The emulator writes such a handle only while the defect `changed_handle_loses_log_offset` is on, but parses it always.
Source: ReceiptHandle, ExtraInfoUtil (5.3.3).
"""

import re
from typing import NamedTuple

from rocketmq_testkit.emulator.faults.defects import Defects
from rocketmq_testkit.emulator.kernel.java_numbers import long_sum
from rocketmq_testkit.emulator.kernel.java_split import java_split
from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.emulator.operations.consume import ChangeInvisibleResult

from ..proto import definition_pb2 as pb
from ..rules.java_texts import not_a_number, short_handle
from ..rules.status import Refusal, proxy_exception

_PLAIN = re.compile(
    r"(-?\d{1,18}) (\d{1,18}) (-?\d{1,18}) (\d{1,9}) (\S+) (\S+) (-?\d{1,9}) (-?\d{1,18}) (-?\d{1,18})\Z", re.ASCII
)
"""A handle as the emulator writes it. Other forms take a slower parser."""
_NUMBER = re.compile(r"[+-]?[0-9]+\Z")
_LONG, _INT = 1 << 63, 1 << 31
_LIMITS = {0: _LONG, 1: _LONG, 2: _LONG, 3: _INT, 6: _INT, 7: _LONG, 8: _LONG}
"""Index of each numeric field -> the bound of its Java type."""


class ReceiptHandle(NamedTuple):
    """A parsed handle. `topic_type` is `0` for the topic itself, `1` or `2` for its pop retry topic (V1, V2).

    `pop_time` is in ms since the epoch. `start_offset` is the offset of the first message of the pop in this queue.
    """

    start_offset: int
    pop_time: int
    invisible_ms: int
    revive_queue_id: int
    topic_type: str
    broker_name: str
    queue_id: int
    offset: int
    commit_log_offset: int

    @classmethod
    def parse(cls, text: str) -> "ReceiptHandle":
        """Parse a handle. Raises INTERNAL_SERVER_ERROR with upstream's texts if it is invalid.

        An absent commit log offset becomes -1.
        """
        plain = _PLAIN.match(text)
        if plain is None:
            return cls._parse_slowly(text)
        start, popped, invisible, revive, kind, broker, queue, offset, log_offset = plain.groups()
        return cls(
            int(start),
            int(popped),
            int(invisible),
            int(revive),
            kind,
            broker,
            int(queue),
            int(offset),
            int(log_offset),
        )

    @classmethod
    def _parse_slowly(cls, text: str) -> "ReceiptHandle":
        parts = java_split(text, " ")
        if len(parts) < 8:
            raise Refusal(pb.INTERNAL_SERVER_ERROR, short_handle(len(parts)))
        numbers = {index: _java_number(parts[index], bound) for index, bound in _LIMITS.items() if index < len(parts)}
        return cls(
            numbers[0],
            numbers[1],
            numbers[2],
            numbers[3],
            parts[4],
            parts[5],
            numbers[6],
            numbers[7],
            numbers.get(8, -1),
        )

    def encode(self) -> str:
        """Return the handle as text, as clients carry it."""
        return (
            f"{self.start_offset} {self.pop_time} {self.invisible_ms} {self.revive_queue_id} {self.topic_type}"
            f" {self.broker_name} {self.queue_id} {self.offset} {self.commit_log_offset}"
        )

    @property
    def next_visible_ms(self) -> int:
        """The end of the invisible duration, in ms since the epoch."""
        return long_sum(self.pop_time, self.invisible_ms)

    def changed(self, result: ChangeInvisibleResult, defects: Defects) -> "ReceiptHandle":
        """Return the handle of the same message after its invisible duration was changed.

        The new check point has only this message. Upstream has two defects here (LocalMessageService): it keeps the
        start offset of the pop, by which the broker finds no check point, and loses the log offset.
        """
        return self._replace(
            start_offset=self.start_offset if defects.ack_with_changed_handle_is_lost else self.offset,
            pop_time=result.pop_time,
            invisible_ms=result.invisible_ms,
            revive_queue_id=result.revive_qid,
            commit_log_offset=0 if defects.changed_handle_loses_log_offset else self.commit_log_offset,
        )

    def encode_changed(self, result: ChangeInvisibleResult, defects: Defects) -> str:
        """Return the text of the changed handle, for the response to ChangeInvisibleDuration."""
        text = self.changed(result, defects).encode()
        # Upstream appends the log offset to a handle that has one already: 0.
        return f"{text} {self.commit_log_offset}" if defects.changed_handle_loses_log_offset else text

    def is_expired(self, now_ms: int) -> bool:
        """True if the invisible duration has ended: another client may have received the message."""
        return self.next_visible_ms <= now_ms

    def check_not_expired(self, now_ms: int) -> None:
        """Raise INVALID_RECEIPT_HANDLE if the invisible duration has ended."""
        if self.is_expired(now_ms):
            raise proxy_exception(pb.INVALID_RECEIPT_HANDLE, "receipt handle is expired")

    def real_topic(self, topic: str, group: str) -> str:
        """Return the topic that stores the message: the topic itself or its pop retry topic."""
        if self.topic_type == "1":
            return names.pop_retry_topic(topic, group, v2=False)
        if self.topic_type == "2":
            return names.pop_retry_topic(topic, group, v2=True)
        return topic


def _java_number(text: str, bound: int) -> int:
    """Parse a number as Java does: ASCII digits, an optional sign, within the bounds of its type."""
    if _NUMBER.match(text):
        value = int(text) if len(text) <= 20 else bound
        if -bound <= value < bound:
            return value
    raise Refusal(pb.INTERNAL_SERVER_ERROR, not_a_number(text))
