"""What a gRPC server serves: a path, the kind of call, how its request is read, who answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .call import ServerCall


class MethodKind(Enum):
    """How many messages go which way."""

    UNARY = "unary"
    SERVER_STREAM = "server stream"
    # Client streaming is BIDI with a single answer: on the wire they are the same.
    BIDI = "bidirectional"


@dataclass(frozen=True, slots=True)
class GrpcMethod:
    """One method.

    `path` is `/package.Service/Method`.  `decode` makes a request of the bytes of one message; when it raises, the
    call ends with UNKNOWN and no text, as the proxy 5.3.3 answers.  `handler` is called from the event loop and may
    answer later: with the request once it is complete (UNARY, SERVER_STREAM), or with None when the stream begins
    (BIDI), where it sets `on_message` and `on_half_close` of the call.
    """

    path: str
    kind: MethodKind
    decode: Callable[[bytes], Any]
    handler: Callable[[ServerCall, Any], None]

    def __post_init__(self) -> None:
        service, _, name = self.path[1:].rpartition("/")
        if not self.path.startswith("/") or not service or not name:
            raise ValueError(f"method path {self.path!r} is not /package.Service/Method")
