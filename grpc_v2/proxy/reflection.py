"""Server reflection: describes MessagingService under its real names, for tools such as grpcurl.

The description is built at its first use, because building takes milliseconds and most emulators never need it.
"""

from functools import cached_property
from typing import Any

from ..proto import definition_pb2, service_pb2
from ..transport import GrpcMethod, MethodKind, ServerCall

PACKAGE = "apache.rocketmq.v2"
_PATHS = tuple(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo" for version in ("v1alpha", "v1"))
"""Upstream serves v1alpha; newer tools request v1."""


class Reflection:
    """The methods of reflection."""

    def methods(self) -> list[GrpcMethod]:
        """Return one method per version. The messages of both versions are the same."""
        return [GrpcMethod(path, MethodKind.BIDI, self._decode, self._serve) for path in _PATHS]

    def _decode(self, data: bytes) -> Any:
        return self._method.decode(data)

    def _serve(self, call: ServerCall, request: Any) -> None:
        self._method.handler(call, request)

    @cached_property
    def _method(self) -> GrpcMethod:
        # Imported here, because these modules are what makes building slow.
        from ..transport.grpc.descriptors import served_under
        from ..transport.grpc.reflection import ReflectionService

        files = served_under([definition_pb2.DESCRIPTOR, service_pb2.DESCRIPTOR], PACKAGE)
        return ReflectionService(files).methods()[0]
