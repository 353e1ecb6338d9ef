"""The request table: what is served, as data.

Each module of `processors` fills a table of its own while it is imported; `processors.PROCESSORS` joins them. Dispatch,
answers to unserved codes, journal labels and the coverage page read it; there is no second list to edit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Done, Operation

from ..bodies.bean import Bean
from ..wire.ext_fields import Header, header
from .call import RemotingCall
from .request_code import RequestCode

Translate = Callable[[RemotingCall, Any, Any], Operation]
Answer = Callable[[RemotingCall, Any], bytes]
Refuse = Callable[[RemotingCall, EngineError], bytes]

F = TypeVar("F", bound=Translate)


class Role(Enum):
    """What a node is."""

    BROKER = "broker"
    NAME_SERVER = "name server"


@header
class NoHeader(Header):
    """A request without fields of its own."""


def done(call: RemotingCall, result: Done) -> bytes:
    """The answer that says nothing but success."""
    return call.answer(result.remark)


def refusal(call: RemotingCall, error: EngineError) -> bytes:
    """The answer of a refusal: code and remark."""
    return call.answer(error.remark, code=error.code)


@dataclass(frozen=True, slots=True)
class BodyOf:
    """The JSON of a body: `required` False gives None to the function if there is no body, `raw` gives it the bytes."""

    kind: type[Bean] | None
    required: bool = True
    raw: bool = False

    def reading(self, translate: Translate) -> Translate:
        """The function with the bytes of the body as its argument."""
        kind, required = self.kind, self.required
        if kind is None or self.raw:
            return translate

        def read(call: RemotingCall, header: Header, body: bytes) -> Operation:
            return translate(call, header, kind.parse(body) if body or required else None)

        return read


@dataclass(frozen=True, slots=True)
class Processor:
    """How one request code is served.

    `translate` makes the operation from the parsed header and the body's bytes (its declared result says which);
    `answer` and `refuse` make the frame of an outcome. `body` is the JSON that the body holds, None if it holds none.
    """

    code: RequestCode
    role: Role
    header: type[Header]
    body: type[Bean] | None
    translate: Translate
    operation: type[Operation]
    answer: Answer
    refuse: Refuse
    label: str
    """The request's name in journals."""


class RequestTable:
    """The processors of one kind of node that one module adds."""

    def __init__(self, role: Role) -> None:
        self._role = role
        self._processors: dict[RequestCode, Processor] = {}

    def processor(
        self,
        *codes: RequestCode,
        header: type[Header],
        body: BodyOf | type[Bean] | None = None,
        answer: Answer = done,
        refuse: Refuse = refusal,
    ) -> Callable[[F], F]:
        """Serve codes by the decorated function.

        With a `body`, the function gets that class read from the body's bytes, otherwise the bytes.
        """
        form = body if isinstance(body, BodyOf) else BodyOf(body)

        def add(translate: F) -> F:
            operation = get_type_hints(translate)["return"]
            for code in codes:
                if code in self._processors:
                    raise AssertionError(f"{code.name} has two processors")
                self._processors[code] = Processor(
                    code, self._role, header, form.kind, form.reading(translate), operation, answer, refuse, code.name
                )
            return translate

        return add

    def __iter__(self) -> Iterator[Processor]:
        return iter(self._processors.values())


def join(tables: Iterable[RequestTable]) -> Mapping[int, Processor]:
    """All processors of several tables by code."""
    joined: dict[int, Processor] = {}
    for table in tables:
        for processor in table:
            if processor.code in joined:
                raise AssertionError(f"{processor.code.name} has two processors")
            joined[int(processor.code)] = processor
    return MappingProxyType(joined)
