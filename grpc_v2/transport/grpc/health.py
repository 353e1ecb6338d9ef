"""The health service for load balancers and probes (grpc.health.v1.Health).

Upstream's proxy 5.3.3 does not serve it. It is for users of the emulator.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

from .call import ServerCall
from .descriptors import ENUM, STRING, FileBuilder
from .method import GrpcMethod, MethodKind
from .status import StatusCode

SERVICE: Final = "grpc.health.v1.Health"


class ServingStatus(IntEnum):
    """The status in a response to a probe."""

    UNKNOWN = 0
    SERVING = 1
    NOT_SERVING = 2
    # Only in responses of Watch.
    SERVICE_UNKNOWN = 3


def _describe() -> FileBuilder:
    builder = FileBuilder("rocketmq_testkit/transport/health.proto", "rocketmq_testkit.transport.health")
    builder.enum("ServingStatus", [status.name for status in ServingStatus])
    builder.message("HealthCheckRequest").field(1, "service", STRING)
    builder.message("HealthCheckResponse").field(1, "status", ENUM, type_name="ServingStatus")
    builder.method("Health", "Check", "HealthCheckRequest", "HealthCheckResponse", streams=(False, False))
    builder.method("Health", "Watch", "HealthCheckRequest", "HealthCheckResponse", streams=(False, True))
    return builder


class HealthService:
    """Stores the status of each service and responds to probes. The name "" is the whole server."""

    def __init__(self) -> None:
        builder = _describe()
        self.file = builder.file
        classes = builder.classes()
        self._request = classes["HealthCheckRequest"]
        self._response = classes["HealthCheckResponse"]
        self._status: dict[str, ServingStatus] = {"": ServingStatus.SERVING}
        self._watchers: dict[ServerCall, str] = {}

    def methods(self) -> list[GrpcMethod]:
        """Return the methods under their real paths."""
        decode = self._request.FromString
        return [
            GrpcMethod(f"/{SERVICE}/Check", MethodKind.UNARY, decode, self._check),
            GrpcMethod(f"/{SERVICE}/Watch", MethodKind.SERVER_STREAM, decode, self._watch),
        ]

    def set(self, service: str, status: ServingStatus) -> None:
        """Set the status of a service and notify its watchers if it changed."""
        if self._status.get(service) is status:
            return
        self._status[service] = status
        for call, watched in list(self._watchers.items()):
            if watched == service:
                call.send(self._encode(status))

    def _check(self, call: ServerCall, request: Any) -> None:
        status = self._status.get(request.service)
        if status is None:
            call.finish(StatusCode.NOT_FOUND, f"unknown service {request.service}")
        else:
            call.reply(self._encode(status))

    def _watch(self, call: ServerCall, request: Any) -> None:
        self._watchers[call] = request.service
        call.on_cancel(lambda: self._remove_watcher(call))
        call.send(self._encode(self._status.get(request.service, ServingStatus.SERVICE_UNKNOWN)))

    def _remove_watcher(self, call: ServerCall) -> None:
        del self._watchers[call]

    def _encode(self, status: ServingStatus) -> bytes:
        data: bytes = self._response(status=status).SerializeToString()
        return data
