"""The request table: declares the served request codes as data.

Each module of `processors` fills its own table on import; `processors.PROCESSORS` joins them. Dispatch, required
rights, thread pools, journal labels and the coverage page all read it. There is no second list to edit. A declaration
without `rights=` fails at import, so that no code is left unprotected by mistake.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.value_class import frozen_value
from rocketmq_testkit.emulator.operations.base import Done, Operation
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

from ..bodies.bean import Bean
from ..wire.ext_fields import Header, header
from ..wire.response_frame import encode_success
from .call import RemotingCall
from .request_code import RequestCode
from .required_rights import Rights

Translate = Callable[[RemotingCall, Any, Any], Operation]
"""Makes the operation of a request from its call, its parsed header and its body."""
EncodeResponse = Callable[[RemotingCall, Any], bytes]
"""Encodes the response frame of a request from its call and its result."""
EncodeError = Callable[[RemotingCall, EngineError], bytes]
"""Encodes the error response of a request as a frame."""

F = TypeVar("F", bound=Translate)


class Role(Enum):
    """The role of a node."""

    BROKER = "broker"
    NAME_SERVER = "name server"


@header
class NoHeader(Header):
    """The header of a request without ext fields of its own."""


def empty_response(call: RemotingCall, result: Done) -> bytes:
    """Encode a success response without fields or body."""
    return encode_success(call.number) if result.remark is None else call.response(result.remark)


def error_response(call: RemotingCall, error: EngineError) -> bytes:
    """Encode an error response: code and remark."""
    return call.response(error.remark, code=error.code)


@frozen_value
class BodyOf:
    """The JSON form of a request body.

    `required=False`: the processor gets None if there is no body. `raw=True`: it gets the bytes.
    """

    kind: type[Bean] | None
    required: bool = True
    raw: bool = False

    def reading(self, translate: Translate) -> Translate:
        """Wrap a processor so that it takes the bytes of the body."""
        kind, required = self.kind, self.required
        if kind is None or self.raw:
            return translate

        def read(call: RemotingCall, header: Header, body: bytes) -> Operation:
            return translate(call, header, kind.parse(body) if body or required else None)

        return read


@frozen_value
class Processor:
    """The processor of one request code.

    `translate` makes the operation from the parsed header and the bytes of the body; its return annotation is the type
    of the operation. `encode_response` and `encode_error` encode the frame of an outcome. `body` is the class of a JSON
    body, None if the request has none. `rights` yields the required rights, `pool` is the thread pool of a broker.
    """

    code: RequestCode
    role: Role
    header: type[Header]
    rights: Rights
    _: KW_ONLY
    pool: BrokerPool
    body: type[Bean] | None
    translate: Translate
    operation: type[Operation]
    encode_response: EncodeResponse
    encode_error: EncodeError
    label: str
    """The request's name in the journal."""


class RequestTable:
    """The processors that one module declares for one role."""

    def __init__(self, role: Role) -> None:
        self._role = role
        self._processors: dict[RequestCode, Processor] = {}

    def processor(
        self,
        *codes: RequestCode,
        header: type[Header],
        rights: Rights,
        pool: BrokerPool = BrokerPool.ADMIN,
        body: BodyOf | type[Bean] | None = None,
        response: EncodeResponse = empty_response,
        error: EncodeError = error_response,
    ) -> Callable[[F], F]:
        """Register the decorated function as the processor of request codes.

        With a `body`, the function gets an instance of that class read from the body, otherwise the bytes. `rights` is
        a rule of `required_rights`, `no_rights` if upstream requires none. `response` and `error` encode the frame of
        an outcome. Codes without a pool of their own use the admin pool, as in upstream.
        Source: BrokerController.registerProcessor (5.3.3).
        """
        form = body if isinstance(body, BodyOf) else BodyOf(body)

        def add(translate: F) -> F:
            operation = get_type_hints(translate)["return"]
            for code in codes:
                if code in self._processors:
                    raise AssertionError(f"{code.name} has two processors")
                self._processors[code] = Processor(
                    code=code,
                    role=self._role,
                    header=header,
                    rights=rights,
                    pool=pool,
                    body=form.kind,
                    translate=form.reading(translate),
                    operation=operation,
                    encode_response=response,
                    encode_error=error,
                    label=code.name,
                )
            return translate

        return add

    def __iter__(self) -> Iterator[Processor]:
        return iter(self._processors.values())


def join(tables: Iterable[RequestTable]) -> Mapping[int, Processor]:
    """Join several tables into one mapping by code. Raises AssertionError for a code with two processors."""
    joined: dict[int, Processor] = {}
    for table in tables:
        for processor in table:
            if processor.code in joined:
                raise AssertionError(f"{processor.code.name} has two processors")
            joined[int(processor.code)] = processor
    return MappingProxyType(joined)
