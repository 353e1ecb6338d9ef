"""A request of a client while the gate carries it out.

A call knows the client's channel and how to encode the outcome. It must not know what the operation means.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.gate.gate import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError, TurnedAway
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations import NO_ANSWER

from ..wire.answer_frame import answer
from ..wire.ext_fields import Header

if TYPE_CHECKING:
    from ..server.dispatcher import RemotingService
    from ..server.server_channel import RemotingChannel
    from .request_table import Processor


class RemotingCall:
    """A request of a client; implements Call of the gate.

    `version` and `language` are the client's. `header` is the parsed custom header, None before it is parsed.
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
        """False once the connection is closed."""
        return self.channel.active

    def reply(self, outcome: Outcome) -> None:
        """Send the outcome, unless the request is oneway or gets no response."""
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
        """Send the response that upstream sends when its handler throws: code and remark, no ext fields."""
        if not self.oneway:
            self.channel.send(answer(self.opaque, refusal.code, refusal.remark))

    def answer(
        self, remark: str | None = None, ext: Mapping[str, str] | None = None, body: bytes = b"", code: int = 0
    ) -> bytes:
        """Encode a response to this request."""
        return answer(self.opaque, code, remark, ext, body)

    def broker_address(self, broker_name: str, broker_id: int) -> str:
        """Return the `host:port` at which this client reaches a broker."""
        return self.service.broker_address(broker_name, broker_id, self.channel)


class NoticeCall:
    """The Call of events about a connection that the engine must know. Its outcome is not sent."""

    __slots__ = ("channel", "label")

    active = False

    def __init__(self, channel: "RemotingChannel", label: str) -> None:
        self.channel = channel
        self.label = label

    def reply(self, outcome: Outcome) -> None:
        """Do nothing: no client waits for the outcome."""
