"""Results of gRPC calls as tests see them."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import grpc
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that ended with a gRPC status instead of a response: status name and text."""

    grpc: str
    text: str

    def shown(self) -> dict[str, str]:
        """Return the value for notes."""
        return {"grpc": self.grpc, "text": self.text}


@dataclass(slots=True)
class Received:
    """Result of a receive: the status, the messages, and the failure if it ended with one."""

    status: pb.Status | None = None
    messages: list[pb.Message] = field(default_factory=list)
    failure: Failure | None = None
    parts: list[str] = field(default_factory=list)
    """The kind of each response in order of arrival: `status`, `message` or `delivery_timestamp`."""
    _: KW_ONLY
    delivered_ms: int | None = None
    """The time at which the server says the response ended, in ms since the epoch."""

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the messages."""
        return [message.body for message in self.messages]

    @property
    def handles(self) -> list[str]:
        """The receipt handles of the messages."""
        return [message.system_properties.receipt_handle for message in self.messages]

    @property
    def code(self) -> int | None:
        """The code of the status; None if there is no status."""
        return None if self.status is None else self.status.code

    def shown(self) -> dict[str, Any]:
        """Return the value for notes."""
        if self.failure is not None:
            return self.failure.shown()
        shown: dict[str, Any] = {} if self.status is None else {"status": self.status}
        return {**shown, "messages": [message_shown(message) for message in self.messages]}


def message_shown(message: pb.Message) -> dict[str, Any]:
    """Return a message without times, hosts and digests, with its body as text."""
    system = pb.SystemProperties()
    system.CopyFrom(message.system_properties)
    for name in ("born_timestamp", "store_timestamp", "born_host", "store_host", "body_digest", "trace_context"):
        system.ClearField(name)
    return {
        "topic": message.topic.name,
        "body": message.body,
        "user_properties": dict(sorted(message.user_properties.items())),
        "system_properties": system,
    }


def failure_of(error: grpc.RpcError) -> Failure:
    """Return the Failure of a call that grpcio ended."""
    return Failure(error.code().name, error.details() or "")
