"""Message descriptors built at run time: for the services of the transport itself, and for reflection.

Reflection shows the package under which a service is served, not the one in which its classes were compiled.

A process has one default descriptor pool, in which official client packages register the real names. Descriptors built
here have their own pools, so that both can coexist in one process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

STRING = FieldDescriptorProto.TYPE_STRING
BYTES = FieldDescriptorProto.TYPE_BYTES
INT32 = FieldDescriptorProto.TYPE_INT32
MESSAGE = FieldDescriptorProto.TYPE_MESSAGE
ENUM = FieldDescriptorProto.TYPE_ENUM


class FileBuilder:
    """Builds the descriptor of one .proto file (proto3)."""

    def __init__(self, name: str, package: str) -> None:
        self.file = FileDescriptorProto(name=name, package=package, syntax="proto3")

    def message(self, name: str) -> MessageBuilder:
        """Add a message type."""
        return MessageBuilder(self.file.package, self.file.message_type.add(name=name))

    def enum(self, name: str, values: Iterable[str]) -> None:
        """Add an enum type whose values count from 0."""
        enum = self.file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)

    def method(self, service: str, name: str, request: str, response: str, *, streams: tuple[bool, bool]) -> None:
        """Add a method, and its service if it is new. `streams` is (client streams, server streams)."""
        found = next((entry for entry in self.file.service if entry.name == service), None)
        method = (found or self.file.service.add(name=service)).method.add(name=name)
        method.input_type = f".{self.file.package}.{request}"
        method.output_type = f".{self.file.package}.{response}"
        method.client_streaming, method.server_streaming = streams

    def classes(self) -> dict[str, Any]:
        """Return the message classes by short name, from a new pool."""
        pool = DescriptorPool()
        pool.AddSerializedFile(self.file.SerializeToString())
        names = [message.name for message in self.file.message_type]
        return {name: GetMessageClass(pool.FindMessageTypeByName(f"{self.file.package}.{name}")) for name in names}


class MessageBuilder:
    """Builds one message type of a file."""

    def __init__(self, package: str, message: DescriptorProto) -> None:
        self._package = package
        self._message = message

    def field(
        self,
        number: int,
        name: str,
        kind: FieldDescriptorProto.Type.ValueType,
        *,
        type_name: str = "",
        repeated: bool = False,
        oneof: str = "",
    ) -> MessageBuilder:
        """Add a field. `type_name` is a type of the same file, `oneof` a group of which one field is set."""
        label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
        field = self._message.field.add(number=number, name=name, type=kind, label=label)
        if type_name:
            field.type_name = f".{self._package}.{type_name}"
        if oneof:
            names = [entry.name for entry in self._message.oneof_decl]
            if oneof not in names:
                self._message.oneof_decl.add(name=oneof)
                names.append(oneof)
            field.oneof_index = names.index(oneof)
        return self


def renamed(
    file: FileDescriptorProto, package: str, *, name: str | None = None, files: Mapping[str, str] | None = None
) -> FileDescriptorProto:
    """Return a copy of a file in another package.

    References to types of the old package are changed as well. `name` is the new file name. `files` maps the names of
    imported files that are renamed too.
    """
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    old, new = f".{file.package}.", f".{package}."
    copy.package = package
    if name is not None:
        copy.name = name
    copy.dependency[:] = [(files or {}).get(entry, entry) for entry in file.dependency]
    _move_fields(copy.extension, old, new)
    for message in copy.message_type:
        _move_types(message, old, new)
    for service in copy.service:
        for method in service.method:
            method.input_type = _moved(method.input_type, old, new)
            method.output_type = _moved(method.output_type, old, new)
    return copy


def served_under(files: Iterable[FileDescriptor], package: str) -> list[FileDescriptorProto]:
    """Return compiled files of a private package as reflection shows them: in the package under which they are served.

    The file names become `package/as/folders/<last part of the old name>`, in imports too.
    """
    folder = package.replace(".", "/")
    sources = []
    for file in files:
        source = FileDescriptorProto()
        file.CopyToProto(source)
        sources.append(source)
    names = {source.name: f"{folder}/{source.name.rpartition('/')[2]}" for source in sources}
    return [renamed(source, package, name=names[source.name], files=names) for source in sources]


def _move_types(message: DescriptorProto, old: str, new: str) -> None:
    _move_fields((*message.field, *message.extension), old, new)
    for nested in message.nested_type:
        _move_types(nested, old, new)


def _move_fields(fields: Iterable[FieldDescriptorProto], old: str, new: str) -> None:
    for field in fields:
        # An empty name must stay unset; assigning "" would mark it as set.
        if field.type_name:
            field.type_name = _moved(field.type_name, old, new)
        if field.extendee:
            field.extendee = _moved(field.extendee, old, new)


def _moved(name: str, old: str, new: str) -> str:
    return new + name[len(old) :] if name.startswith(old) else name
