"""gRPC status codes."""

from __future__ import annotations

from enum import IntEnum


class StatusCode(IntEnum):
    """The canonical codes in `grpc-status`."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class StatusError(Exception):
    """A request to which the gRPC layer itself responds, with a status and its text."""

    def __init__(self, status: StatusCode, text: str) -> None:
        super().__init__(f"{status.name}: {text}")
        self.status = status
        self.text = text
