"""A method of a gRPC server: its path, the kind of call, the decoder of its request, its handler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .call import ServerCall


class MethodKind(Enum):
    """The number of messages in each direction."""

    UNARY = "unary"
    SERVER_STREAM = "server stream"
    # Client streaming is BIDI with a single response message: they are the same on the wire.
    BIDI = "bidirectional"


@dataclass(frozen=True, slots=True)
class GrpcMethod:
    """One method.

    `path` is `/package.Service/Method`. `decode` converts the bytes of one message to a request. If it raises, the call
    ends with UNKNOWN and no text, as in the proxy 5.3.3.

    `handler` is called from the event loop and may respond later. For UNARY and SERVER_STREAM it gets the complete
    request. For BIDI it gets None when the stream begins, and passes its callbacks to `listen` of the call.
    """

    path: str
    kind: MethodKind
    decode: Callable[[bytes], Any]
    handler: Callable[[ServerCall, Any], None]

    def __post_init__(self) -> None:
        service, _, name = self.path[1:].rpartition("/")
        if not self.path.startswith("/") or not service or not name:
            raise ValueError(f"method path {self.path!r} is not /package.Service/Method")
