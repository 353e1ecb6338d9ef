"""The journal's form of gRPC requests that become no operation."""

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from rocketmq_testkit.emulator.gate.raw_request import RawRequest
from rocketmq_testkit.emulator.kernel.masking import masked_authorization

_AUTHORIZATION = "authorization"


def raw_request(metadata: Mapping[str, str], message: Message | None) -> RawRequest:
    """Return the fields of a call's message and the metadata of the call, masked and shortened as in `RawRequest`.

    `message` is None if the call has none.
    """
    return RawRequest.of(_all_fields(metadata, message), 0 if message is None else message.ByteSize())


def _all_fields(metadata: Mapping[str, str], message: Message | None) -> Iterator[tuple[str, str]]:
    if message is not None:
        yield from _fields("", message)
    for name, text in metadata.items():
        yield name, masked_authorization(text) if name == _AUTHORIZATION else text


def _fields(prefix: str, message: Message) -> Iterator[tuple[str, str]]:
    """Yield the fields that are set: `topic.name`, `entries[0].receipt_handle`, `user_properties.color`."""
    for field, content in message.ListFields():
        name = prefix + field.name
        if hasattr(content, "items"):
            yield from ((f"{name}.{key}", _text(field, item)) for key, item in content.items())
        elif isinstance(content, Message | str | bytes) or (
            not hasattr(content, "append") and not hasattr(content, "add")
        ):
            yield from _one(name, field, content)
        else:
            for index, item in enumerate(content):
                yield from _one(f"{name}[{index}]", field, item)


def _one(name: str, field: FieldDescriptor, content: Any) -> Iterator[tuple[str, str]]:
    if isinstance(content, Message):
        yield from _fields(f"{name}.", content)
    else:
        yield name, _text(field, content)


def _text(field: FieldDescriptor, content: Any) -> str:
    if isinstance(content, bytes):
        return f"{len(content)} bytes"
    if field.enum_type is not None and content in field.enum_type.values_by_number:
        return str(field.enum_type.values_by_number[content].name)
    return str(content)
