"""Reads a range of a queue with several pulls in flight, whose responses are put in the order of offsets.

The start of each pull assumes that the previous one returns all its messages. A broker may return fewer (its own
limits, large bodies, filters). Then the missing messages are requested before later ones are yielded, and the next
pulls are shorter. With a filter a response may extend past the requested end; messages read twice are left out. Source:
PullMessageProcessor, PullMessageResponseHeader (5.3.3).
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from ..cluster.cluster import BUSY, describe_error
from ..cluster.connections import LOST, TemporaryError, reason
from ..errors import ClusterError, DataLossError
from ..options.offsets import Range
from ..options.options import PULL_SIZE, SourceOptions

FLAG_SUBSCRIPTION = 0x4
"""The pull contains its subscription, so no heartbeat is needed before."""

STRIDE_MAX = 16384
"""Maximum number of offsets that one pull covers if a filter excludes most messages."""
GROW_AFTER_RESPONSES = 16
"""Number of complete responses in a row after which the number of offsets of a pull grows.

After each failed increase the number doubles.
"""
GROW_AFTER_MAX = 4096

WINDOW_MIN = 8
WINDOW_MESSAGES = 2048
WINDOW_BYTES = 16 << 20
"""Minimum of pulls in flight, and limits of their messages and response bytes, unless an option sets the window.

One write for many small pulls costs both ends less. Responses to many large ones would fill the memory while the first
of them is completed.
"""

REMOVED = "MESSAGE_WAS_REMOVING"
"""Remark of a response that is empty because the file was deleted, not because no message matched."""

FOUND = ResponseCode.SUCCESS
NOTHING_MATCHED = ResponseCode.PULL_RETRY_IMMEDIATELY
NOTHING_THERE = ResponseCode.PULL_NOT_FOUND
MOVED = ResponseCode.PULL_OFFSET_MOVED


class Piece(NamedTuple):
    """Records of a response; only those with `low <= offset < high` count."""

    records: bytes
    low: int
    high: int
    dense: bool
    """True if every offset in between has a message, because no filter is used."""


class _Pull(NamedTuple):
    opaque: int
    start: int
    end: int


Connect = Callable[[], RemotingClient]


class RangeReader:
    """Reads one range. `connect` returns the connection to its broker, a new one after `disconnect`."""

    def __init__(self, wanted: Range, options: SourceOptions, connect: Connect, disconnect: Callable[[], None]) -> None:
        self._range = wanted
        self._options = options
        self._connect = connect
        self._disconnect = disconnect
        self._filters = options.sub_expression != "*"
        self._at = wanted.start
        """The offset after the messages yielded so far."""
        self._requested = wanted.start
        """The offset after the ranges of all pulls sent so far."""
        self._pulls: deque[_Pull] = deque()
        self._stride = min(options.pull_batch_size, PULL_SIZE)
        """Number of offsets that one pull covers."""
        self._full = 0
        """Number of complete responses in a row."""
        self._patience = GROW_AFTER_RESPONSES
        """Number of complete responses in a row after which the stride grows."""
        self._failures = 0
        self._largest = 0
        """Bytes of the largest response so far."""
        self._window = options.pull_window or WINDOW_MIN  # until the first responses determine it
        self._fields = {
            "consumerGroup": options.consumer_group,
            "topic": wanted.queue.topic,
            "queueId": str(wanted.queue.queue_id),
            "sysFlag": str(FLAG_SUBSCRIPTION),
            "commitOffset": "0",
            "suspendTimeoutMillis": "0",
            "subscription": options.sub_expression,
            "subVersion": "0",
            "expressionType": options.expression_type,
        }

    def pieces(self) -> Iterator[Piece]:
        """Yield the records of the range in order. Raises DataLossError, ClusterError."""
        end = self._range.end
        while self._at < end:
            try:
                piece = self._next()
            except (TemporaryError, *LOST) as error:
                self._retry(error)
                continue
            if piece is not None:
                self._failures = 0
                yield piece

    def _next(self) -> Piece | None:
        client = self._connect()
        self._fill(client)
        pull = self._pulls.popleft()
        response = client.collect(pull.opaque, self._options.pull_timeout_ms / 1000)
        if pull.end <= self._at:
            return None  # an earlier, filtered response already covered this one
        code = response.code
        if code == FOUND or (code == NOTHING_MATCHED and self._filters and response.remark != REMOVED):
            return self._arrived(client, pull, response)
        if code == NOTHING_THERE:
            # Either the broker is still loading its queues, or the messages were deleted.
            if self._failures < self._options.retries:
                raise TemporaryError(self._where(describe_error(response)))
            self._handle_data_loss(response)
            return None
        if code in (MOVED, NOTHING_MATCHED):
            self._handle_data_loss(response)
            return None
        if code in BUSY:
            raise TemporaryError(describe_error(response))
        about_filters = code == ResponseCode.SUBSCRIPTION_PARSE_FAILED or "SQL92" in (response.remark or "")
        hint = " (check the options subExpression and expressionType)" if about_filters else ""
        raise ClusterError(self._where(describe_error(response) + hint))

    def _arrived(self, client: RemotingClient, pull: _Pull, response: RemotingCommand) -> Piece | None:
        reached = int((response.ext_fields or {})["nextBeginOffset"])
        if reached <= pull.start:
            raise TemporaryError(self._where(f"{describe_error(response)} without getting further than {reached}"))
        self._tune(pull, reached)
        if len(response.body) > self._largest:
            self._largest = len(response.body)
            self._fit_window()
        if reached < pull.end:
            self._send_pulls(client, [*_pull_ranges(reached, pull.end, self._stride)], front=True)
        low, high = self._at, min(reached, self._range.end)
        self._at = max(self._at, reached)
        return Piece(response.body, low, high, not self._filters) if response.code == FOUND else None

    def _tune(self, pull: _Pull, reached: int) -> None:
        """Adapt the stride to the broker: smaller after a short response, larger after many complete ones."""
        if reached < pull.end:
            if self._full or reached - pull.start < self._stride:
                self._patience = min(2 * self._patience, GROW_AFTER_MAX)
            self._stride = max(1, reached - pull.start)
            self._full = 0
            self._fit_window()
        elif pull.end - pull.start >= self._stride:
            self._full += 1
            if self._full >= self._patience:
                self._full = 0
                most = STRIDE_MAX if self._filters else self._options.pull_batch_size
                self._stride = min(2 * self._stride, most)
                self._fit_window()

    def _fill(self, client: RemotingClient) -> None:
        """Keep the window full. Pulls are sent in halves of the window, because one write for several costs less."""
        window = self._window
        room = window - len(self._pulls)
        if self._pulls and room < max(1, window // 2):
            return
        stretches = []
        start = max(self._requested, self._at)
        while room > 0 and start < self._range.end:
            stop = min(start + self._stride, self._range.end)
            stretches.append((start, stop))
            start = stop
            room -= 1
        if stretches:
            self._send_pulls(client, stretches)
            self._requested = start
        if not self._pulls:
            raise AssertionError(f"no pull is in flight at {self._at} of {self._range}")

    def _fit_window(self) -> None:
        """Adapt the window to the stride and to the size of responses."""
        if self._options.pull_window is None and self._largest:
            most = min(WINDOW_MESSAGES // max(self._stride, PULL_SIZE), WINDOW_BYTES // self._largest)
            self._window = max(WINDOW_MIN, most)

    def _send_pulls(self, client: RemotingClient, stretches: list[tuple[int, int]], *, front: bool = False) -> None:
        """Send a pull for each (start, end) of offsets; with `front` their messages precede those in flight."""
        size = self._options.pull_batch_size
        requests = [
            (
                {
                    **self._fields,
                    "queueOffset": start,
                    "maxMsgNums": size if self._filters else min(size, stop - start),
                },
                b"",
            )
            for start, stop in stretches
        ]
        opaques = client.submit_many(RequestCode.PULL_MESSAGE, requests)
        made = [_Pull(opaque, *stretch) for opaque, stretch in zip(opaques, stretches, strict=True)]
        if front:
            self._pulls.extendleft(reversed(made))
        else:
            self._pulls.extend(made)

    def _handle_data_loss(self, response: RemotingCommand) -> None:
        """Handle deleted messages at the current offset: raise, or continue at the first offset that the broker has."""
        fields = response.ext_fields or {}
        low, high = int(fields.get("minOffset", 0)), int(fields.get("maxOffset", 0))
        text = self._where(f"offset {self._at} is gone, the broker has offsets {low} to {high}")
        if self._options.fail_on_data_loss:
            raise DataLossError(f"{text}; with failOnDataLoss=false the read continues with the remaining messages")
        beyond = max(low, int(fields.get("nextBeginOffset", 0)))
        self._restart(beyond if self._at < beyond else self._range.end)

    def _retry(self, error: BaseException) -> None:
        self._failures += 1
        if self._failures > self._options.retries:
            if isinstance(error, LOST):
                raise ClusterError(
                    self._where(f"the broker does not answer ({reason(error)}), {self._failures} times")
                ) from error
            raise ClusterError(self._where(reason(error))) from error
        self._disconnect()
        self._restart(self._at)
        time.sleep(self._options.retry_interval_ms / 1000)

    def _restart(self, at: int) -> None:
        """Continue at an offset with no pull in flight; late responses are ignored."""
        if self._pulls:
            self._disconnect()
        self._pulls.clear()
        self._at = self._requested = at

    def _where(self, text: str) -> str:
        return f"{self._range.queue}, offsets {self._range.start} to {self._range.end}, at {self._at}: {text}"


def _pull_ranges(start: int, end: int, stride: int) -> Iterator[tuple[int, int]]:
    while start < end:
        stop = min(start + stride, end)
        yield start, stop
        start = stop
