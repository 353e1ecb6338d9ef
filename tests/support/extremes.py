"""Extreme values of each kind of field, and requests of every code made of them.

All values are derived from the request table: new request codes, header fields and body members are included at once.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin

from remoting_harness import Peer
from rocketmq_testkit.remoting.bodies.bean import Bean
from rocketmq_testkit.remoting.request.request_table import Processor
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RemotingCommand

NUMBERS = [
    "0", "-1", "1", "2147483647", "-2147483648", "2147483648", "-2147483649", "5000000000", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "100000000000000000000000", "1" * 5000,
]  # fmt: skip
TEXTS = [
    "", " ", "\ud800", "a\udfffb", "\ud83d\ude00", "\x00", "\n", "x" * 300, "x" * 40_000, "%RETRY%G", "TBW102", "||",
    "*", "{", "\u0001\u0002", "null", "-", "99999999999999999999", "G:T", "\u2028", "a;b;c", "..", "%LMQ%x",
]  # fmt: skip
IN_FIELDS = {
    "Int": [*NUMBERS, "", "x", "1.5", "\u0664", "+5", " 5"],
    "Long": [*NUMBERS, "", "x", "1.5", "\u0664", "+5", " 5"],
    "bool": ["true", "false", "TRUE", "", "x", "1", "\ud800"],
    "str": TEXTS,
}
"""Extreme texts of ext fields by kind."""
OF_ANY_KIND = [
    "null",
    "true",
    "1.5",
    "-1e3",
    "1e30",
    "1E400",
    "[]",
    "{}",
    '""',
    "[null]",
    "[[]]",
    '{"a":{"b":[1]}}',
    "NaN",
]
NUMBERS_IN_BODIES = [*NUMBERS, *OF_ANY_KIND, '"12"', '"1,000"', '"x"', f'"{"9" * 5000}"', '"\\ud800"']
TEXTS_IN_BODIES = [*map(json.dumps, TEXTS), *OF_ANY_KIND, "5", "1" * 5000]

USUAL: dict[str, Any] = {
    "topic": "T", "b": "T", "topicName": "T", "consumerGroup": "G", "group": "G", "groupName": "G", "clientID": "c",
    "clientId": "c", "producerGroup": "PG", "a": "PG", "srcGroup": "G", "destGroup": "H", "compareGroup": "G",
    "cluster": "DefaultCluster", "brokerName": "broker-a", "maxMsgNums": 32, "maxNum": 32, "count": 32, "perm": 6,
    "readQueueNums": 2, "writeQueueNums": 2, "topicFilterType": "SINGLE_TAG", "namespace": "N", "key": "K",
    "value": "V", "username": "ann", "subject": "User:ann", "expType": "TAG", "exp": "*", "subscription": "*",
    "sysFlag": 4,
    "invisibleTime": 60_000, "commitOrRollback": 8, "extraInfo": "0 1700000000000 60000 0 0 broker-a 0 0",
    "sub": "*", "subString": "*", "retryQueueNums": 1, "timestamp": -1, "endTimestamp": 2**63 - 1,
}  # fmt: skip
"""Values of the other fields while one is extreme. A field without entry has the zero value of its kind."""
_ZEROS = {"Int": "0", "Long": "0", "bool": "false", "str": "x"}


def usual_ext(processor: Processor) -> dict[str, str]:
    """Return the ext fields of a request that upstream accepts."""
    return {each.name: str(USUAL.get(each.name, _ZEROS[each.kind])) for each in processor.header.FIELDS}


def odd_exts(processor: Processor) -> Iterator[dict[str, str]]:
    """Yield ext fields of which one holds an extreme value of its kind."""
    usual = usual_ext(processor)
    for each in processor.header.FIELDS:
        for text in IN_FIELDS[each.kind]:
            yield {**usual, each.name: text}


def usual_body(processor: Processor) -> bytes:
    """Return a body that upstream accepts."""
    return b"body" if processor.body is None else _joined(_usual_members(processor.body)).encode()


def odd_bodies(processor: Processor) -> Iterator[bytes]:
    """Yield bodies of which one member, at any depth, holds an extreme value of its kind."""
    yield from (b"", b"{}", b"[]", b"null", b"5", b'"x"', b"\xff\xfe", b'{"a":' * 300, b"a=\xed\xa0\x80\nb=1")
    if processor.body is not None:
        yield from (text.encode() for text in _odd_objects(processor.body))


def _usual_members(kind: type[Bean]) -> dict[str, str]:
    return {each.declared.name: _usual_text(each.declared.name, each.declared.hint) for each in kind.FIELDS}


def _usual_text(name: str, hint: Any) -> str:
    origin = get_origin(hint)
    if origin is Annotated:
        inner = get_args(hint)[0]
        return str(USUAL.get(name, 0)) if inner is int else json.dumps(get_args(inner)[0])
    if origin is dict:
        return "{}"
    if origin is not None:
        return f"[{_usual_text(name, get_args(hint)[0])}]"
    if hint is bool:
        return "false"
    return json.dumps(USUAL.get(name, "x")) if hint is str else _joined(_usual_members(hint))


def _odd_objects(kind: type[Bean]) -> Iterator[str]:
    usual = _usual_members(kind)
    for each in kind.FIELDS:
        for text in _odd_texts(each.declared.hint):
            yield _joined({**usual, each.declared.name: text})


def _odd_texts(hint: Any) -> Iterator[str]:
    origin = get_origin(hint)
    if origin is Annotated and get_args(hint)[0] is int:
        yield from NUMBERS_IN_BODIES
    elif origin is dict:
        key, held = get_args(hint)
        texts = TEXTS if key is str else NUMBERS
        yield from (f"{{{json.dumps(name)}:{_usual_text('', held)}}}" for name in texts)
        yield from (f'{{"7":{text}}}' for text in _odd_texts(held))
        yield from OF_ANY_KIND
    elif origin is not None and origin is not Annotated:
        yield from (f"[{text}]" for text in _odd_texts(get_args(hint)[0]))
        yield from OF_ANY_KIND
    elif isinstance(hint, type) and issubclass(hint, Bean):
        yield from _odd_objects(hint)
        yield from OF_ANY_KIND
    else:
        yield from TEXTS_IN_BODIES


def _joined(members: Mapping[str, str]) -> str:
    return f"{{{','.join(f'{json.dumps(name)}:{text}' for name, text in members.items())}}}"


def exchange(peer: Peer, code: int, ext: Mapping[str, str], body: bytes) -> list[RemotingCommand]:
    """Send a request, whose fields may be lone surrogates; return everything that is received."""
    header = {"code": int(code), "flag": 0, "language": "JAVA", "opaque": 7, "version": 479, "extFields": ext}
    assert peer.connection.received(frame.join(json.dumps(header).encode(), body))
    return peer.received()
