"""The Status in a response: refusals, and the status of each outcome of the engine.

Business results are Status messages in a gRPC response with status OK. Only Telemetry and malformed requests use gRPC's
own status. Source: ResponseBuilder (5.3.3).
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
_ONLY_OK = {pb.OK}


class Refusal(Exception):
    """Ends a request with this Code and text."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def status(self) -> pb.Status:
        """Return the Status message."""
        return status(self.code, self.message)


class StreamRefusal(Exception):
    """Ends a Telemetry stream with this gRPC status and description."""

    def __init__(self, grpc_status: int, message: str) -> None:
        super().__init__(grpc_status, message)
        self.grpc_status = grpc_status
        self.message = message


def status(code: int, message: str) -> pb.Status:
    """Create a Status. The code may be unknown to the generated enum."""
    made = pb.Status(message=message)
    made.code = code  # type: ignore[assignment]  # open enums: any number is a Code on the wire
    return made


def code_name(code: int) -> str:
    """Return the name of a Code (`OK`, `ILLEGAL_TOPIC`)."""
    return pb.Code.Name(code)


def rejection(refusal: Refusal) -> Rejection:
    """Convert a refusal for the journal."""
    known = refusal.code in pb.Code.values()
    return Rejection(int(refusal.code), code_name(refusal.code) if known else "UNRECOGNIZED", refusal.message)


def status_rejection(grpc_status: int, message: str) -> Rejection:
    """Convert a gRPC status for the journal."""
    return Rejection(int(grpc_status), StatusCode(grpc_status).name, message)


def named_status(code: int) -> pb.Status:
    """Create a Status whose text is the name of its code, as in overall statuses."""
    return status(code, code_name(code))


def overall_status(codes: Iterable[int]) -> pb.Status:
    """Create the Status for several entries: their common code, or MULTIPLE_RESULTS if they differ."""
    distinct = set(codes)
    if distinct == _ONLY_OK:
        return OK
    return named_status(distinct.pop() if len(distinct) == 1 else pb.MULTIPLE_RESULTS)


def proxy_exception(code: int, message: str) -> Refusal:
    """Create a refusal with upstream's prefix, the name of its exception."""
    return Refusal(code, PROXY_EXCEPTION + message)


def from_broker_error(error: EngineError) -> Refusal:
    """Convert a broker's error as a LOCAL proxy does: one code for all errors, with the remark as text."""
    return from_broker_exception(error) or proxy_exception(pb.INTERNAL_SERVER_ERROR, error.remark or error.code.name)


def from_broker_exception(error: EngineError) -> Refusal | None:
    """Convert a broker's error whose remark names a Java exception, in the form of the proxy's own exceptions.

    None for other errors.
    """
    thrown = _THROWN.match(error.remark or "")
    if thrown is None:
        return None
    return Refusal(pb.INTERNAL_SERVER_ERROR, exception_text(*thrown.group("text", "name", "frame")))


def no_route(topic: str) -> Refusal:
    """Create the refusal for a topic that the name server does not know."""
    return Refusal(
        pb.TOPIC_NOT_FOUND,
        f"CODE: {int(ResponseCode.TOPIC_NOT_EXIST)}  DESC: No topic route info in name server for the topic: {topic}\n"
        "For more information, please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ",
    )
