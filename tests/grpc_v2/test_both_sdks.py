"""The emulator's protobuf messages and those of the official Python SDK, loaded in one process, are compatible."""

from collections.abc import Iterable, Iterator

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import FileDescriptor
from rocketmq.grpc_protocol import definition_pb2 as their_definition
from rocketmq.grpc_protocol import service_pb2 as their_service
from rocketmq.v5 import producer as _their_sdk  # noqa: F401  # the whole SDK, as an application imports it
from rocketmq_testkit.grpc_v2.proto import admin_pb2, definition_pb2, service_pb2

Fact = tuple[str, str, object]


def facts(*files: FileDescriptor) -> set[Fact]:
    """Return (owner, name, declaration) of every field, enum value and method of files, without package names."""
    found: set[Fact] = set()
    for file in files:
        declared = descriptor_pb2.FileDescriptorProto()
        file.CopyToProto(declared)
        package = f".{declared.package}."
        found |= set(_of_messages(declared.message_type, "", package))
        found |= {fact for enum in declared.enum_type for fact in _of_enum(enum, "")}
        for service in declared.service:
            for method in service.method:
                streams = (method.client_streaming, method.server_streaming)
                types = (method.input_type.replace(package, ""), method.output_type.replace(package, ""))
                found.add((service.name, method.name, (types, streams)))
    return found


def _of_messages(messages: Iterable[descriptor_pb2.DescriptorProto], prefix: str, package: str) -> Iterator[Fact]:
    for message in messages:
        name = prefix + message.name
        for field in message.field:
            one_of = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
            kind = (field.type, field.label, field.type_name.replace(package, ""), field.proto3_optional, one_of)
            yield name, field.name, (field.number, *kind)
        yield from _of_messages(message.nested_type, f"{name}.", package)
        for enum in message.enum_type:
            yield from _of_enum(enum, f"{name}.")


def _of_enum(enum: descriptor_pb2.EnumDescriptorProto, prefix: str) -> Iterator[Fact]:
    for value in enum.value:
        yield prefix + enum.name, value.name, value.number


OURS = facts(definition_pb2.DESCRIPTOR, service_pb2.DESCRIPTOR)
THEIRS = facts(their_definition.DESCRIPTOR, their_service.DESCRIPTOR)


def test_the_sdks_messages_are_declared_with_the_same_numbers_and_types() -> None:
    assert len(THEIRS) > 300
    assert set() == THEIRS - OURS


def test_only_newer_declarations_are_not_in_the_sdk() -> None:
    """Each declaration that the SDK lacks comes from newer protocol files."""
    assert {(message, name) for message, name, _ in OURS - THEIRS} == {
        ("Code", "INVALID_CLIENT_PROPERTIES"),
        ("Settings", "client_properties"),
        ("Settings.ClientPropertiesEntry", "key"),
        ("Settings.ClientPropertiesEntry", "value"),
    }


def test_a_request_of_the_sdk_is_unchanged_after_decoding_and_encoding() -> None:
    theirs = their_service.SendMessageRequest()
    message = theirs.messages.add(body=b"\x00\xff", user_properties={"k": "v"})
    message.topic.name = "T"
    message.system_properties.message_type = their_definition.FIFO
    message.system_properties.message_group = "g"
    message.system_properties.keys.extend(["a", "b"])
    ours = service_pb2.SendMessageRequest.FromString(theirs.SerializeToString())
    assert ours.messages[0].system_properties.message_type == definition_pb2.FIFO
    assert their_service.SendMessageRequest.FromString(ours.SerializeToString()) == theirs


def test_unknown_enum_values_and_fields_are_kept() -> None:
    """A message of a newer client is accepted and keeps its unknown fields and enum values."""
    newer = bytes.fromhex("3063") + bytes.fromhex("ca3e03616263")  # message_type 99; field 1001 "abc"
    system = definition_pb2.SystemProperties.FromString(newer)
    assert system.message_type == 99
    assert system.SerializeToString() == newer


@pytest.mark.parametrize("rpcs", [16])
def test_the_admin_service_is_declared_completely(rpcs: int) -> None:
    """The Admin service of the newest protocol files is declared completely, although it is not served."""
    assert len(admin_pb2.DESCRIPTOR.services_by_name["Admin"].methods) == rpcs
