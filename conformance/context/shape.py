"""Conversion of observations into small JSON values, without details that clients cannot observe."""

from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rocketmq_testkit.remoting.client import ReceivedMessage

from ..clients.remoting_response import DecodedResponse

_TEXT_MAX = 400
"""Length of the longest body that is shown; a longer body is replaced by its length."""


def shape(value: Any) -> Any:
    """Return the JSON value of responses, messages, gRPC messages, bytes, and lists and dicts of them."""
    if isinstance(value, DecodedResponse):
        return _answer(value)
    if isinstance(value, ReceivedMessage):
        return _message(value)
    if isinstance(value, Message):
        return _addresses(MessageToDict(value, preserving_proto_field_name=True))
    if isinstance(value, bytes):
        return _bytes(value)
    if isinstance(value, dict):
        return {str(name): shape(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [shape(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(map(shape, value))
    return value


def _addresses(value: Any) -> Any:
    """Join host and port into one string, which placeholders can recognize."""
    if isinstance(value, dict):
        if value.keys() == {"host", "port"}:
            return f"{value['host']}:{value['port']}"
        return {name: _addresses(each) for name, each in value.items()}
    return [_addresses(each) for each in value] if isinstance(value, list) else value


def _answer(response: DecodedResponse) -> dict[str, Any]:
    shown: dict[str, Any] = {"code": response.code}
    if response.remark is not None:
        shown["remark"] = response.remark
    if response.fields:
        shown["ext"] = {name: _field(name, value) for name, value in sorted(response.fields.items())}
    if response.body:
        shown["body"] = _body(response)
    return shown


def _field(name: str, value: str) -> str:
    # All pops of a broker share this counter; 999 marks an orderly pop.
    return "{revive queue}" if name == "reviveQid" and value != "999" else value


def _body(response: DecodedResponse) -> Any:
    if response.body[:1] in (b"{", b"["):
        try:
            return response.json
        except ValueError:
            return _bytes(response.body)
    try:
        return [_message(each) for each in response.messages]
    except (ValueError, IndexError):
        return _bytes(response.body)


def _message(message: ReceivedMessage) -> dict[str, Any]:
    """Return all fields except times and commit log offset."""
    return {
        "topic": message.topic,
        "queue": message.queue_id,
        "offset": message.queue_offset,
        "body": _bytes(message.body),
        "properties": dict(sorted(message.properties.items())),
        "sys_flag": message.sys_flag,
        "flag": message.flag,
        "reconsume_times": message.reconsume_times,
    }


def _bytes(data: bytes) -> str:
    if len(data) <= _TEXT_MAX:
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.hex()
    return f"{len(data)} bytes"
