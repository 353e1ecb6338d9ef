"""The Status inside an answer: how refusals travel, and which status an outcome of the engine becomes.

Business results are Status messages inside a gRPC answer that is OK; only Telemetry and broken requests use gRPC's own
status. Source: ResponseBuilder (5.3.3).
"""

import re
from collections.abc import Iterable

from rocketmq_testkit.emulator.gate.raw_request import Rejection
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode

from ..proto import definition_pb2 as pb
from ..transport import StatusCode
from .java_texts import PROXY_EXCEPTION, exception_text

_THROWN = re.compile(r"java\.(?:\w+\.)*(?P<name>\w+): (?P<text>.*), (?P<frame>[\w.$/]+\(\w+\.java:\d+\))\Z", re.DOTALL)

OK = pb.Status(code=pb.OK, message="OK")


class Refusal(Exception):
    """A request ends with this Code and text."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def status(self) -> pb.Status:
        """The Status message."""
        return status(self.code, self.message)


class StreamRefusal(Exception):
    """A Telemetry stream ends with this gRPC status and description."""

    def __init__(self, grpc_status: int, message: str) -> None:
        super().__init__(grpc_status, message)
        self.grpc_status = grpc_status
        self.message = message


def status(code: int, message: str) -> pb.Status:
    """A Status; codes that the generated enum does not know are fine."""
    made = pb.Status(message=message)
    made.code = code  # type: ignore[assignment]  # open enums: any number is a Code on the wire
    return made


def code_name(code: int) -> str:
    """The name of a Code (`OK`, `ILLEGAL_TOPIC`)."""
    return pb.Code.Name(code)


def rejection(refusal: Refusal) -> Rejection:
    """Return a refusal as the journal holds it."""
    known = refusal.code in pb.Code.values()
    return Rejection(int(refusal.code), code_name(refusal.code) if known else "UNRECOGNIZED", refusal.message)


def status_rejection(grpc_status: int, message: str) -> Rejection:
    """Return a gRPC status as the journal holds it."""
    return Rejection(int(grpc_status), StatusCode(grpc_status).name, message)


def named(code: int) -> pb.Status:
    """A Status whose text is the name of its code, as overall statuses have it."""
    return status(code, code_name(code))


def overall(codes: Iterable[int]) -> pb.Status:
    """The Status over entries: their common code, MULTIPLE_RESULTS when they differ."""
    distinct = set(codes)
    return named(distinct.pop() if len(distinct) == 1 else pb.MULTIPLE_RESULTS)


def proxy_exception(code: int, message: str) -> Refusal:
    """A refusal whose text upstream prefixes with its exception's name."""
    return Refusal(code, PROXY_EXCEPTION + message)


def broker_refused(error: EngineError) -> Refusal:
    """What a broker's refusal becomes when the proxy is LOCAL: one code for all, the remark as text."""
    return thrown_by_broker(error) or proxy_exception(pb.INTERNAL_SERVER_ERROR, error.remark or error.code.name)


def thrown_by_broker(error: EngineError) -> Refusal | None:
    """An exception of the broker, whose remark names it, reaches the client as the proxy's own exceptions do."""
    thrown = _THROWN.match(error.remark or "")
    if thrown is None:
        return None
    return Refusal(pb.INTERNAL_SERVER_ERROR, exception_text(*thrown.group("text", "name", "frame")))


def no_route(topic: str) -> Refusal:
    """The name server does not know the topic."""
    return Refusal(
        pb.TOPIC_NOT_FOUND,
        f"CODE: {int(ResponseCode.TOPIC_NOT_EXIST)}  DESC: No topic route info in name server for the topic: {topic}\n"
        "For more information, please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ",
    )
