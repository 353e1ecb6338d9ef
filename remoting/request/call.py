"""One request on its way through the gate and back.

A call knows who asked and how to word the outcome; it does not know what the operation means.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.gate.gate import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError, TurnedAway
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import NO_ANSWER

from ..wire.answer_frame import answer
from ..wire.ext_fields import Header

if TYPE_CHECKING:
    from ..server.dispatcher import RemotingService
    from ..server.server_channel import RemotingChannel
    from .request_table import Processor


class RemotingCall:
    """A request of a client, a Call of the gate.

    `version` and `language` are the sender's; `header` is the parsed custom header once there is one.
    """

    __slots__ = ("channel", "header", "label", "language", "oneway", "opaque", "processor", "service", "version")

    def __init__(
        self,
        service: "RemotingService",
        channel: "RemotingChannel",
        processor: "Processor",
        opaque: int,
        oneway: bool,
        version: int,
        language: str,
    ) -> None:
        self.service = service
        self.channel = channel
        self.processor = processor
        self.label = processor.label
        self.opaque = opaque
        self.oneway = oneway
        self.version = version
        self.language = language
        self.header: Header | None = None

    @property
    def active(self) -> bool:
        """False once the connection is gone."""
        return self.channel.active

    def reply(self, outcome: Outcome) -> None:
        """Send the outcome, unless the request was oneway or gets no answer."""
        channel = self.channel
        if self.oneway or not channel.active or outcome is NO_ANSWER:
            return
        try:
            frame = self._refusal(outcome) if isinstance(outcome, EngineError) else self.processor.answer(self, outcome)
        except Exception as bug:
            self.service.report_bug(bug)
            frame = answer(self.opaque, ResponseCode.SYSTEM_ERROR, f"{type(bug).__name__}: {bug}")
        channel.send(frame)

    def _refusal(self, refusal: EngineError) -> bytes:
        if isinstance(refusal, TurnedAway):
            return self.answer(refusal.remark, code=refusal.code)
        return self.processor.refuse(self, refusal)

    def reply_failure(self, refusal: EngineError) -> None:
        """Send what upstream sends when its handler throws: code and remark, never ext fields."""
        if not self.oneway:
            self.channel.send(answer(self.opaque, refusal.code, refusal.remark))

    def answer(
        self, remark: str | None = None, ext: Mapping[str, str] | None = None, body: bytes = b"", code: int = 0
    ) -> bytes:
        """The frame of an answer to this request."""
        return answer(self.opaque, code, remark, ext, body)

    def broker_address(self, broker_name: str, broker_id: int) -> str:
        """The `host:port` under which this client reaches a broker."""
        return self.service.broker_address(broker_name, broker_id, self.channel)


class NoticeCall:
    """The Call under which the engine learns something of a connection. Nobody waits for its outcome."""

    __slots__ = ("channel", "label")

    active = False

    def __init__(self, channel: "RemotingChannel", label: str) -> None:
        self.channel = channel
        self.label = label

    def reply(self, outcome: Outcome) -> None:
        """Nothing is left to answer to."""
