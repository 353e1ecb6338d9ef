"""A remoting request as a value, which any connection can send: a socket, or frames in memory."""

from collections.abc import Mapping
from typing import NamedTuple

from rocketmq_testkit.remoting.client import ext_texts
from rocketmq_testkit.remoting.request.request_code import RequestCode

from .json_text import dumps


class RemotingRequest(NamedTuple):
    """Code, ext fields and body of a request: the arguments of `RemotingClient.request`, in its order."""

    code: RequestCode
    ext: dict[str, str] | None = None
    body: bytes = b""


def request(code: RequestCode, fields: Mapping[str, object] | None = None, body: bytes | str = b"") -> RemotingRequest:
    """Build a request. Ext fields become texts; those that are None are omitted."""
    return RemotingRequest(code, ext_texts(fields), body.encode() if isinstance(body, str) else body)


def json_request(code: RequestCode, value: object) -> RemotingRequest:
    """Build a request with a JSON body and without ext fields."""
    return RemotingRequest(code, None, dumps(value))
