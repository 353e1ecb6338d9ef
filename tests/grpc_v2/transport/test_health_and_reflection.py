"""The services for probes and tools: health and reflection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf import duration_pb2, timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import Default, DescriptorPool
from rocketmq_testkit.grpc_v2.proto import definition_pb2, service_pb2
from rocketmq_testkit.grpc_v2.transport.grpc.descriptors import MESSAGE, STRING, FileBuilder, renamed, served_under
from rocketmq_testkit.grpc_v2.transport.grpc.health import HealthService, ServingStatus
from rocketmq_testkit.grpc_v2.transport.grpc.reflection import ReflectionService
from rocketmq_testkit.grpc_v2.transport.grpc.status import StatusCode

from tests.grpc_v2.transport.conftest import Served

_PATIENCE_S = 20


def _described() -> FileDescriptorProto:
    """Return the descriptor of a file in a private package, with a nested type, a repeated field and an import."""
    builder = FileBuilder("private/things.proto", "private.things")
    builder.file.dependency.append("google/protobuf/timestamp.proto")
    outer = builder.message("Outer").field(1, "name", STRING).field(2, "inner", MESSAGE, type_name="Outer.Inner")
    nested = builder.file.message_type[0].nested_type.add(name="Inner")
    nested.field.add(
        name="time",
        number=1,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
        type_name=".google.protobuf.Timestamp",
    )
    outer.field(3, "again", MESSAGE, type_name="Outer", repeated=True)
    builder.method("Things", "Get", "Outer", "Outer", streams=(False, True))
    return builder.file


def test_renaming_moves_a_file_with_its_references() -> None:
    """A renamed file references types in the new package, and imported types stay."""
    moved = renamed(_described(), "true.name", name="true/things.proto")
    assert (moved.package, moved.name) == ("true.name", "true/things.proto")
    outer = moved.message_type[0]
    assert [field.type_name for field in outer.field] == ["", ".true.name.Outer.Inner", ".true.name.Outer"]
    assert outer.nested_type[0].field[0].type_name == ".google.protobuf.Timestamp"
    method = moved.service[0].method[0]
    assert (method.input_type, method.output_type) == (".true.name.Outer", ".true.name.Outer")
    assert _described().package == "private.things"


def test_the_messaging_service_is_described_in_upstreams_package() -> None:
    """The compiled files of the messaging service form a complete set in upstream's package."""
    compiled = [definition_pb2.DESCRIPTOR, service_pb2.DESCRIPTOR]
    files = served_under(compiled, "apache.rocketmq.v2")
    assert [file.name for file in files] == ["apache/rocketmq/v2/definition.proto", "apache/rocketmq/v2/service.proto"]
    pool = DescriptorPool()
    for well_known in (duration_pb2, timestamp_pb2):
        pool.AddSerializedFile(well_known.DESCRIPTOR.serialized_pb)
    for file in files:
        pool.AddSerializedFile(file.SerializeToString())
    method: Any = pool.FindServiceByName("apache.rocketmq.v2.MessagingService").methods_by_name["SendMessage"]
    assert method.input_type.full_name == "apache.rocketmq.v2.SendMessageRequest"
    assert method.input_type.fields_by_name["messages"].message_type.full_name == "apache.rocketmq.v2.Message"
    ReflectionService(files)


def test_a_file_with_an_unknown_import_is_rejected_with_its_name() -> None:
    file = _described()
    file.dependency[0] = "nowhere/to/be/found.proto"
    with pytest.raises(ValueError, match=r"nowhere/to/be/found\.proto is imported but not given"):
        ReflectionService([file])


def test_the_services_register_no_name_in_the_default_pool() -> None:
    """The services register no name in protobuf's default descriptor pool, which all packages of a process share."""
    HealthService()
    ReflectionService([renamed(_described(), "true.name", name="true/things.proto")])
    for name in (
        "rocketmq_testkit/transport/health.proto",
        "rocketmq_testkit/transport/reflection.proto",
        "private/things.proto",
        "true/things.proto",
    ):
        with pytest.raises(KeyError):
            Default().FindFileByName(name)


class Probed:
    """A server with both services, and a client with their messages."""

    def __init__(self, serve: Callable[..., Served]) -> None:
        self.health = HealthService()
        true = renamed(_described(), "true.name", name="true/things.proto")
        health = renamed(self.health.file, "grpc.health.v1", name="grpc/health/v1/health.proto")
        self.reflection = ReflectionService([true, health])
        self.served = serve([*self.health.methods(), *self.reflection.methods()])
        self.channel = grpc.insecure_channel(self.served.address)
        # Message classes private to the services. Real clients have classes of their own with the same fields.
        self.health_request: Any = self.health._request
        self.health_response: Any = self.health._response
        self.request: Any = self.reflection._request
        self.response: Any = self.reflection._response

    def check(self, service: str) -> int:
        """Request a status once."""
        call = self.channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            self.health_request.SerializeToString,
            self.health_response.FromString,
        )
        status: int = call(self.health_request(service=service), timeout=_PATIENCE_S).status
        return status

    def reflect(self, package: str, **fields: Any) -> Any:
        """Send one request to the reflection service of a package, and return the only response."""
        call = self.channel.stream_stream(
            f"/{package}.ServerReflection/ServerReflectionInfo",
            self.request.SerializeToString,
            self.response.FromString,
        )
        (response,) = list(call(iter([self.request(host="h", **fields)]), timeout=_PATIENCE_S))
        assert response.valid_host == "h"
        return response


@pytest.fixture
def both(serve: Callable[..., Served]) -> Iterator[Probed]:
    """Yield both services on a real socket."""
    found = Probed(serve)
    yield found
    found.channel.close()


def test_a_health_check_returns_the_status_of_its_service(both: Probed) -> None:
    """The server is healthy from the start, services after `set`, and unknown ones are NOT_FOUND."""
    assert both.check("") == ServingStatus.SERVING
    with pytest.raises(grpc.RpcError) as caught:
        both.check("orders")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    both.served.thread.call(lambda: both.health.set("orders", ServingStatus.NOT_SERVING))
    assert both.check("orders") == ServingStatus.NOT_SERVING


def test_a_health_watch_gets_the_status_at_once_and_each_change_once(both: Probed) -> None:
    """A watcher gets the status at once and each change once. After its cancel it is removed."""
    call = both.channel.unary_stream(
        "/grpc.health.v1.Health/Watch",
        both.health_request.SerializeToString,
        both.health_response.FromString,
    )(both.health_request(service="orders"), timeout=_PATIENCE_S)
    assert next(call).status == ServingStatus.SERVICE_UNKNOWN
    for status in (ServingStatus.SERVING, ServingStatus.SERVING, ServingStatus.NOT_SERVING):
        both.served.thread.call(lambda status=status: both.health.set("orders", status))  # type: ignore[misc]  # bound per round
    both.served.thread.call(lambda: both.health.set("other", ServingStatus.SERVING))
    assert next(call).status == ServingStatus.SERVING
    assert next(call).status == ServingStatus.NOT_SERVING
    call.cancel()
    # The second call arrives after the cancel on the same connection.
    assert both.check("") == ServingStatus.SERVING
    assert both.served.thread.call(lambda: dict(both.health._watchers)) == {}


def test_health_and_reflection_responses_equal_the_public_services_bytes(both: Probed) -> None:
    """Field numbers and types are those of the public services, compared as bytes."""
    check = both.channel.unary_unary("/grpc.health.v1.Health/Check")
    both.served.thread.call(lambda: both.health.set("orders", ServingStatus.NOT_SERVING))
    assert check(b"\x0a\x06orders", timeout=_PATIENCE_S) == b"\x08\x02"
    info = both.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
    (listed,) = list(info(iter([b"\x3a\x00"]), timeout=_PATIENCE_S))
    names = [b"grpc.health.v1.Health", b"grpc.reflection.v1.ServerReflection"]
    names += [b"grpc.reflection.v1alpha.ServerReflection", b"true.name.Things"]
    services = b"".join(b"\x0a" + bytes((len(name) + 2,)) + b"\x0a" + bytes((len(name),)) + name for name in names)
    assert listed == b"\x12\x02\x3a\x00" + b"\x32" + bytes((len(services) & 0x7F | 0x80, len(services) >> 7)) + services


@pytest.mark.parametrize("package", ["grpc.reflection.v1", "grpc.reflection.v1alpha"])
def test_reflection_lists_the_services_under_their_real_names(both: Probed, package: str) -> None:
    """Both versions list the services under their real names."""
    response = both.reflect(package, list_services="")
    assert [service.name for service in response.list_services_response.service] == [
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        "true.name.Things",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"file_by_filename": "true/things.proto"},
        {"file_containing_symbol": "true.name.Things"},
        {"file_containing_symbol": "true.name.Things.Get"},
        {"file_containing_symbol": "true.name.Outer.Inner"},
        {"file_containing_symbol": ".true.name.Outer.Inner.time"},
    ],
)
def test_reflection_returns_a_file_with_its_imports(both: Probed, fields: dict[str, str]) -> None:
    """A file is returned with all its imports, by name or by symbol."""
    response = both.reflect("grpc.reflection.v1", **fields)
    files = [FileDescriptorProto.FromString(data) for data in response.file_descriptor_response.file_descriptor_proto]
    assert [file.name for file in files] == ["true/things.proto", timestamp_pb2.DESCRIPTOR.name]
    assert files[0].service[0].name == "Things"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"file_by_filename": "no/such.proto"}, StatusCode.NOT_FOUND),
        ({"file_containing_symbol": "no.Such"}, StatusCode.NOT_FOUND),
        ({"all_extension_numbers_of_type": "no.Such"}, StatusCode.NOT_FOUND),
        (
            {"file_containing_extension": {"containing_type": "true.name.Outer", "extension_number": 9}},
            StatusCode.NOT_FOUND,
        ),
        ({}, StatusCode.INVALID_ARGUMENT),
    ],
)
def test_a_reflection_request_without_a_result_gets_an_error_response(
    both: Probed, fields: dict[str, Any], code: StatusCode
) -> None:
    """A request without a result gets an error message, and the stream ends without an error of gRPC."""
    assert both.reflect("grpc.reflection.v1", **fields).error_response.error_code == code


def test_reflection_returns_an_empty_list_for_a_type_without_extensions(both: Probed) -> None:
    """The response for a type without extensions has the type's name and no numbers."""
    response = both.reflect("grpc.reflection.v1", all_extension_numbers_of_type="true.name.Outer")
    numbers = response.all_extension_numbers_response
    assert (numbers.base_type_name, list(numbers.extension_number)) == ("true.name.Outer", [])


def test_each_method_is_in_the_service_that_it_is_added_to() -> None:
    """Methods of several services can be added in any order; each is listed in its own service."""
    builder = FileBuilder("private/two.proto", "private.two")
    builder.message("Empty")
    for service, name in (("One", "A"), ("Two", "B"), ("One", "C"), ("Two", "D")):
        builder.method(service, name, "Empty", "Empty", streams=(False, False))
    found = {service.name: [method.name for method in service.method] for service in builder.file.service}
    assert found == {"One": ["A", "C"], "Two": ["B", "D"]}
