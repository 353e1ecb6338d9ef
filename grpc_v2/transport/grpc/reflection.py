"""The reflection service for tools such as grpcurl (grpc.reflection.v1 and v1alpha, with the same messages).

Upstream's proxy 5.3.3 serves v1alpha.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from .call import ServerCall
from .descriptors import BYTES, INT32, MESSAGE, STRING, FileBuilder, renamed
from .method import GrpcMethod, MethodKind
from .status import StatusCode

PACKAGES: Final = ("grpc.reflection.v1", "grpc.reflection.v1alpha")
_SERVICE: Final = "ServerReflection"
_METHOD: Final = "ServerReflectionInfo"


def _describe() -> FileBuilder:
    builder = FileBuilder("rocketmq_testkit/transport/reflection.proto", "rocketmq_testkit.transport.reflection")
    request_oneof = "message_request"
    request = builder.message("ServerReflectionRequest").field(1, "host", STRING)
    request.field(3, "file_by_filename", STRING, oneof=request_oneof)
    request.field(4, "file_containing_symbol", STRING, oneof=request_oneof)
    request.field(5, "file_containing_extension", MESSAGE, type_name="ExtensionRequest", oneof=request_oneof)
    request.field(6, "all_extension_numbers_of_type", STRING, oneof=request_oneof)
    request.field(7, "list_services", STRING, oneof=request_oneof)
    builder.message("ExtensionRequest").field(1, "containing_type", STRING).field(2, "extension_number", INT32)
    response_oneof = "message_response"
    response = builder.message("ServerReflectionResponse").field(1, "valid_host", STRING)
    response.field(2, "original_request", MESSAGE, type_name="ServerReflectionRequest")
    response.field(4, "file_descriptor_response", MESSAGE, type_name="FileDescriptorResponse", oneof=response_oneof)
    response.field(
        5, "all_extension_numbers_response", MESSAGE, type_name="ExtensionNumberResponse", oneof=response_oneof
    )
    response.field(6, "list_services_response", MESSAGE, type_name="ListServiceResponse", oneof=response_oneof)
    response.field(7, "error_response", MESSAGE, type_name="ErrorResponse", oneof=response_oneof)
    builder.message("FileDescriptorResponse").field(1, "file_descriptor_proto", BYTES, repeated=True)
    numbers = builder.message("ExtensionNumberResponse").field(1, "base_type_name", STRING)
    numbers.field(2, "extension_number", INT32, repeated=True)
    services = builder.message("ListServiceResponse")
    services.field(1, "service", MESSAGE, type_name="ServiceResponse", repeated=True)
    builder.message("ServiceResponse").field(1, "name", STRING)
    builder.message("ErrorResponse").field(1, "error_code", INT32).field(2, "error_message", STRING)
    builder.method(_SERVICE, _METHOD, "ServerReflectionRequest", "ServerReflectionResponse", streams=(True, True))
    return builder


def _symbols(file: FileDescriptorProto) -> Iterator[str]:
    """Yield the full names of the services, methods, messages, fields, enums and extensions of a file."""
    prefix = f"{file.package}." if file.package else ""
    for service in file.service:
        yield prefix + service.name
        for method in service.method:
            yield f"{prefix}{service.name}.{method.name}"
    yield from (prefix + enum.name for enum in file.enum_type)
    yield from (prefix + field.name for field in file.extension)
    for message in file.message_type:
        yield from _symbols_of(message, prefix)


def _symbols_of(message: DescriptorProto, prefix: str) -> Iterator[str]:
    yield prefix + message.name
    inside = f"{prefix}{message.name}."
    yield from (inside + field.name for field in (*message.field, *message.extension))
    yield from (inside + enum.name for enum in message.enum_type)
    for nested in message.nested_type:
        yield from _symbols_of(nested, inside)


class ReflectionService:
    """Describes the given files, which have the real names, and itself.

    Imported files that are not given are taken from the process's default pool (the well-known types). Raises
    ValueError if one is missing there as well.
    """

    def __init__(self, files: Iterable[FileDescriptorProto]) -> None:
        builder = _describe()
        classes = builder.classes()
        self._request = classes["ServerReflectionRequest"]
        self._response = classes["ServerReflectionResponse"]
        own = [renamed(builder.file, package, name=f"{package.replace('.', '/')}.proto") for package in PACKAGES]
        self._files: dict[str, FileDescriptorProto] = {file.name: file for file in (*files, *own)}
        self._pool = DescriptorPool()
        self._pooled: set[str] = set()
        for name in list(self._files):
            self._add(name)
        # Not every implementation of the pool finds methods, so symbols are indexed here.
        self._symbols = {symbol: file.name for file in self._files.values() for symbol in _symbols(file)}
        self._services = sorted(
            f"{file.package}.{service.name}" for file in self._files.values() for service in file.service
        )

    def methods(self) -> list[GrpcMethod]:
        """Return the methods of both versions under their real paths."""
        decode = self._request.FromString
        return [
            GrpcMethod(f"/{package}.{_SERVICE}/{_METHOD}", MethodKind.BIDI, decode, self._serve) for package in PACKAGES
        ]

    def _serve(self, call: ServerCall, _: None) -> None:
        call.listen(lambda request: call.send(self._respond(request).SerializeToString()), call.finish)

    def _respond(self, request: Any) -> Any:
        response = self._response(valid_host=request.host, original_request=request)
        try:
            self._fill(response, request, request.WhichOneof("message_request"))
        except KeyError:
            response.error_response.error_code = StatusCode.NOT_FOUND
            response.error_response.error_message = "no file, symbol or extension has this name"
        return response

    def _fill(self, response: Any, request: Any, kind: str | None) -> None:
        if kind == "list_services":
            for name in self._services:
                response.list_services_response.service.add(name=name)
        elif kind == "file_by_filename":
            self._fill_files(response, request.file_by_filename)
        elif kind == "file_containing_symbol":
            self._fill_files(response, self._symbols[request.file_containing_symbol.removeprefix(".")])
        elif kind == "file_containing_extension":
            extended = self._pool.FindMessageTypeByName(request.file_containing_extension.containing_type)
            number = request.file_containing_extension.extension_number
            # The type stubs of protobuf lack the file of a field.
            extension: Any = self._pool.FindExtensionByNumber(extended, number)
            self._fill_files(response, extension.file.name)
        elif kind == "all_extension_numbers_of_type":
            extended = self._pool.FindMessageTypeByName(request.all_extension_numbers_of_type)
            numbers = response.all_extension_numbers_response
            numbers.base_type_name = extended.full_name
            numbers.extension_number.extend(field.number for field in self._pool.FindAllExtensions(extended))
        else:
            response.error_response.error_code = StatusCode.INVALID_ARGUMENT
            response.error_response.error_message = "the request names no file, symbol or extension"

    def _fill_files(self, response: Any, name: str) -> None:
        """Add a file and all its transitive imports to a response."""
        wanted = [name]
        for found in wanted:
            file = self._files[found]
            response.file_descriptor_response.file_descriptor_proto.append(file.SerializeToString())
            wanted += [entry for entry in file.dependency if entry not in wanted]

    def _add(self, name: str) -> None:
        """Add a file to the pool, after its imports."""
        if name in self._pooled:
            return
        self._pooled.add(name)
        file = self._files.get(name)
        if file is None:
            file = FileDescriptorProto()
            try:
                descriptor_pool.Default().FindFileByName(name).CopyToProto(file)
            except KeyError:
                raise ValueError(f"{name} is imported but not given") from None
            self._files[name] = file
        for dependency in file.dependency:
            self._add(dependency)
        self._pool.AddSerializedFile(file.SerializeToString())
