"""The parsers through which every byte passes that a client sends to the control port."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from rocketmq_testkit.fixtures.control.http.admission import Admission, split_authority
from rocketmq_testkit.fixtures.control.http.problems import HttpProblem
from rocketmq_testkit.fixtures.control.http.request import HttpRequest, RequestReader
from rocketmq_testkit.fixtures.control.schema.checks import _object, checked_body, checked_query
from rocketmq_testkit.fixtures.control.schema.table import Verb
from rocketmq_testkit.fixtures.control.verbs import TABLE

_BODY = b"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n"
_CHUNKED = b"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
PIECE_BYTES = 7
_ADMISSION = Admission(lambda: ["example.com"], "a token")


def _verb(name: str) -> Verb:
    return next(verb for verb in TABLE.verbs if verb.name == name)


def _requests(pieces: Iterable[bytes]) -> None:
    """Read all requests of a connection, and their paths, queries and bodies, as the control port does."""
    reader = RequestReader()
    for piece in pieces:
        reader.feed(piece)
        while (request := reader.next()) is not None:
            with suppress(HttpProblem):
                _ADMISSION.check(request)
            with suppress(HttpProblem):
                verb, _ = TABLE.find(request.method, request.path)
                checked_query(verb, request.query)
                checked_body(verb, request.body)
        _ = reader.expects_continue


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _in_one_piece(before: bytes, after: bytes = b"") -> Callable[[str], None]:
    return lambda text: _requests([before + _encoded(text) + after])


def _in_pieces(before: bytes = b"") -> Callable[[str], None]:
    def parse(text: str) -> None:
        data = _encoded(text)
        _requests([before, *(data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))])

    return parse


def _header(name: str) -> Callable[[str], None]:
    def parse(text: str) -> None:
        _ADMISSION.check(HttpRequest("GET", "/v1/topics", "", {"host": "localhost", name: text}))

    return parse


CONTROL_PARSERS: dict[str, Callable[[str], Any]] = {
    "control requests": _in_one_piece(b""),
    "control requests in pieces": _in_pieces(),
    "control target": _in_one_piece(b"GET /", b" HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "control absolute target": _in_one_piece(b"GET http://localhost", b" HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "control headers": _in_one_piece(b"GET / HTTP/1.1\r\n", b"\r\n\r\n"),
    "control body in pieces": _in_pieces(_BODY),
    "control chunks": _in_one_piece(_CHUNKED),
    "control chunks in pieces": _in_pieces(_CHUNKED),
    "control trailers": _in_one_piece(_CHUNKED + b"0\r\n"),
    "control authority": split_authority,
    "control host": _header("host"),
    "control origin": _header("origin"),
    "control token": _header("authorization"),
    "control path": lambda text: TABLE.find("GET", text),
    "control path of a topic": lambda text: TABLE.find("GET", "/v1/topics/" + text),
    "control method": lambda text: TABLE.find(text, "/v1/topics"),
    "control query": lambda text: checked_query(_verb("GET /v1/journal"), text),
    "control body": lambda text: _object(_encoded(text)),
    "control fields": lambda text: checked_body(_verb("POST /v1/topics"), _encoded('{"name": "a", ' + text)),
}
"""Parsers by name. Each takes a hostile text, and parses it as a part of the bytes of a client."""

CONTROL_FRAGMENTS = [
    *("GET / HTTP/1.1\r\n\r\n", "a: b\r\n", "host: a\r\n", "0\r\n", "1\r\na\r\n", "0\r\n\r\n", ";a", "\r\n\r\n"),
    *("/", "/a", "%", "%41", "%ff", "?", "&", "a=1&", "since=1&", "limit=", "+", "://", "http://", "[::", "]:", "@"),
    *('"queues":1,', '"a":[', "Bearer ", "localhost.", "..", "\r\n ", "\x7f", "#"),
]
"""Texts that have a meaning in HTTP, in queries or in bodies of verbs."""
