"""The context of a remoting case: the requests that SDKs send, with their important fields as arguments.

Other requests use `request(code, ext, body)`.
"""

import time
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient, RemotingTimeout
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.pending import Pending
from ..clients.receipt_handles import built_handle
from ..clients.remoting_consumption import (
    ack_request,
    change_request,
    commit_request,
    committed_request,
    pop_fields,
    pull_request,
)
from ..clients.remoting_members import heartbeat_request
from ..clients.remoting_request import RemotingRequest
from ..clients.remoting_response import DecodedResponse
from ..clients.remoting_sends import send_request, send_v1_request
from ..clients.remoting_topics import route_request
from ..clients.send_fields import SendFields
from .case_context import CaseContext

T = TypeVar("T")
P = ParamSpec("P")
_REPLY_SECONDS_MIN = 0.01
"""Shortest wait for one response, so that a response that has already arrived is read after the common timeout."""
_NO_REPLY_SECONDS = 0.5
"""Wait for a response that is expected not to come. Brokers answer requests that do not wait within some ms."""
_CLOSED_SECONDS_MAX = 10.0
"""Longest wait for the response, or for the end of the connection, by which its state is known."""
_AHEAD_MS = 60_000
"""Distance of a query's end from now, so that it finds new messages even if clocks differ."""


def _method_of(build: Callable[P, RemotingRequest]) -> Callable[Concatenate[CaseContext, P], DecodedResponse]:
    """Return a method that sends the request built by a function, and returns the response."""

    @wraps(build)
    def request(context: CaseContext, /, *args: P.args, **fields: P.kwargs) -> DecodedResponse:
        return context.request(*build(*args, **fields))

    return request


class RemotingContext(CaseContext):
    """A raw client of the remoting protocol. Calls return the response, with any code."""

    # --- sending

    def send(
        self,
        topic: str,
        body: bytes | str = b"hello",
        *,
        to: RemotingClient | None = None,
        **more: Unpack[SendFields],
    ) -> DecodedResponse:
        """Send one message as SDKs do, with SEND_MESSAGE_V2."""
        return self.request(*send_request(topic, body, born_ms=self.now_ms(), new_id=self.message_id, **more), to=to)

    def send_v1(self, topic: str, body: bytes | str = b"hello", **more: Unpack[SendFields]) -> DecodedResponse:
        """Send one message with SEND_MESSAGE, which has long field names."""
        return self.request(*send_v1_request(topic, body, born_ms=self.now_ms(), new_id=self.message_id, **more))

    def sent(self, topic: str, count: int = 1, **more: Unpack[SendFields]) -> list[DecodedResponse]:
        """Send messages `m0`, `m1`, ..., all of which must be stored, and wait until they can be read."""
        return self.readable(topic, *(self.send(topic, f"m{number}", **more) for number in range(count)))

    def readable(self, topic: str, *sends: DecodedResponse) -> list[DecodedResponse]:
        """Wait until the messages of these sends can be read, and return the responses.

        A broker fills the consume queue after its response.
        """
        ends: dict[str, int] = {}
        for response in sends:
            self.require(response.code == 0, f"a message was not stored: {response}")
            ends[response["queueId"]] = int(response["queueOffset"]) + 1
        for queue, end in ends.items():
            self.require(self._reaches(topic, queue, end), f"the messages sent to {topic} cannot be read")
        return list(sends)

    def _reaches(self, topic: str, queue: str, end: int) -> bool:
        return self.until(lambda: self.max_offset(topic, queue) >= end)

    # --- pulling

    def pull(self, topic: str, group: str, queue: int = 0, offset: int = 0, **more: Any) -> DecodedResponse:
        """Pull; `more`: see `pull_fields` of the clients, and `to`."""
        to = more.pop("to", None)
        return self.request(*pull_request(topic, group, queue, offset, **more), to=to)

    def start_pull(self, topic: str, group: str, queue: int = 0, offset: int = 0, **more: Any) -> Pending:
        """Start a pull that may wait; returns a callable that waits for the response."""
        to = more.pop("to", None)
        return self.start(*pull_request(topic, group, queue, offset, **more), to=to)

    def stored(self, topic: str, count: int = 1, queue: int = 0, seconds: float = 20.0) -> DecodedResponse:
        """Read a queue from offset 0 once it contains `count` messages, or after `seconds`."""
        self.until(lambda: self.max_offset(topic, queue) >= count, seconds)
        return self.pull(topic, self.group(), queue)

    def message_at(self, topic: str, queue: int, offset: int) -> ReceivedMessage:
        """Return the message at an offset of a queue, once it can be read."""
        group = self.group()
        self.until(lambda: self.pull(topic, group, queue, offset, max_messages=1).body)
        [message] = self.pull(topic, group, queue, offset, max_messages=1).messages
        return message

    def view(self, offset: object, **fields: object) -> DecodedResponse:
        """View the message at a commit log offset. A case may send a malformed `offset`."""
        return self.request(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": offset, **fields})

    def query(self, topic: str, key: object, **fields: object) -> DecodedResponse:
        """Query messages by key: by default up to 32, stored at any time. A case may send a malformed `key`."""
        times = {"beginTimestamp": 0, "endTimestamp": self.now_ms() + _AHEAD_MS}
        return self.request(RequestCode.QUERY_MESSAGE, {"topic": topic, "key": key, "maxNum": 32, **times, **fields})

    # --- popping

    def pop_fields(self, topic: str, group: str, **more: Any) -> dict[str, object]:
        """Return the ext fields of a pop that is sent now; `more`: see `pop_fields` of the clients."""
        if more.get("poll_ms"):
            more.setdefault("born_ms", self.now_ms())
        return pop_fields(topic, group, **more)

    def pop(self, topic: str, group: str, **more: Any) -> DecodedResponse:
        """Pop; `more`: see `pop_fields`, and `to`."""
        to = more.pop("to", None)
        return self.request(RequestCode.POP_MESSAGE, self.pop_fields(topic, group, **more), to=to)

    def start_pop(self, topic: str, group: str, **more: Any) -> Pending:
        """Start a pop that may wait; returns a callable that waits for the response."""
        to = more.pop("to", None)
        return self.start(RequestCode.POP_MESSAGE, self.pop_fields(topic, group, **more), to=to)

    def popped(self, response: DecodedResponse) -> list[tuple[ReceivedMessage, str]]:
        """Return the messages of a pop with the receipt handles that clients build from the response's ext fields."""
        self.require("startOffsetInfo" in response.fields, f"nothing was popped: {response}")
        return [
            (message, message.properties.get("POP_CK") or built_handle(message, response.fields, self.broker_name))
            for message in response.messages
        ]

    ack = _method_of(ack_request)
    change = _method_of(change_request)
    """Changes the invisible duration of a popped message."""

    # --- topics

    def config_of(self, topic: str) -> DecodedResponse:
        """Return the broker's configuration of a topic."""
        return self.request(RequestCode.GET_TOPIC_CONFIG, {"topic": topic})

    def route(self, topic: str | None, **fields: object) -> DecodedResponse:
        """Return the name server's route of a topic."""
        return self.request(*route_request(topic, **fields), to=self.namesrv)

    # --- offsets

    commit = _method_of(commit_request)
    committed = _method_of(committed_request)

    # --- clients

    def heartbeat(
        self, client: str, *, to: RemotingClient | None = None, version: int | None = None, **more: Any
    ) -> DecodedResponse:
        """Send a client's heartbeat; `more`: see `heartbeat_request`.

        `version` is that of the subscriptions. By default it is the current time (ms), as SDKs send it: a broker
        replaces subscriptions only by those of a higher version.
        """
        version = self.now_ms() if version is None else version
        return self.request(*heartbeat_request(client, version=version, **more), to=to)


def connection_state(connection: RemotingClient) -> str:
    """Return `open` if a request on the connection is answered, `closed` if the broker has closed it.

    Raises RemotingTimeout if there is neither within 10 s.
    """
    nobody = {"consumerGroup": "nobody"}
    try:
        connection.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, nobody, timeout=_CLOSED_SECONDS_MAX)
    except ConnectionError:
        return "closed"
    return "open"


def reply_to(connection: RemotingClient, opaque: int, seconds: float = _NO_REPLY_SECONDS) -> DecodedResponse | str:
    """Return the response to a request that may have none, else `no response` or `closed`."""
    try:
        return DecodedResponse.of(connection.collect(opaque, seconds))
    except ConnectionError:
        return "closed"
    except RemotingTimeout:
        return "no response"


def replies_to(connections: Mapping[T, RemotingClient], opaque: int, seconds: float) -> dict[T, DecodedResponse | str]:
    """Return `reply_to` for several connections, with one common timeout of `seconds`."""
    end = time.monotonic() + seconds
    return {
        label: reply_to(connection, opaque, max(end - time.monotonic(), _REPLY_SECONDS_MIN))
        for label, connection in connections.items()
    }
