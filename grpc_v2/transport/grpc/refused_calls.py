"""Calls that the transport rejects, and streams and connections that it ends, for a log of all calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..http2.limits import Limits
from ..http2.request_head import RequestHead
from .call import ConnectionAttributes


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A rejected call, a reset stream (even if its handler has responded), or a failed connection.

    `head` is None for a connection, and for a reset stream that is no gRPC call or whose head was not read. `code` and
    `name` are a gRPC status, an HTTP status, or the HTTP/2 error code of a stream or connection that ended.
    """

    head: RequestHead | None
    code: int
    name: str
    text: str


OnRefused = Callable[[ConnectionAttributes, RefusedCall], None]


def ignore_refused(_facts: ConnectionAttributes, _refused: RefusedCall) -> None:
    """Ignore rejected calls."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """The values that all calls of one connection share. `log` takes one line, or a line followed by a traceback."""

    facts: ConnectionAttributes
    limits: Limits
    log: Callable[[str], None]
    on_refused: OnRefused = ignore_refused

    def report_refused(self, head: RequestHead | None, code: int, name: str, text: str) -> None:
        """Report a rejected call, a reset stream or a failed connection; see `RefusedCall`."""
        self.on_refused(self.facts, RefusedCall(head, code, name, text))
