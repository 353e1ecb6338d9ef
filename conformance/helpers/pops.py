"""Shared parts of pop cases: a topic with the group that pops it, and the records of the pops in the revive topic."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from rocketmq_testkit.emulator.message.names import pop_retry_topic
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.pending import Pending
from ..clients.remoting_response import DecodedResponse
from ..clients.send_fields import SendFields
from ..context.remoting import RemotingContext

PULL_MAX = 32
READER_GROUP = "onlooker"
"""Group that reads retry topics and the revive topic, so that the groups of a case pull nothing."""
_HELD_AFTER_SECONDS = 0.3
"""Time after which the broker has received a request and holds it, if it can."""


@dataclass(frozen=True, slots=True)
class PopGroup:
    """A group that pops a topic: requests of RemotingContext with these two names filled in."""

    t: RemotingContext
    topic: str
    name: str

    def with_group(self, name: str) -> "PopGroup":
        """Return another group that pops the same topic."""
        return replace(self, name=name)

    def with_topic(self, topic: str) -> "PopGroup":
        """Return the same group with another topic."""
        return replace(self, topic=topic)

    @property
    def retry_topic(self) -> str:
        """The group's pop retry topic."""
        return pop_retry_topic(self.topic, self.name, v2=False)

    @property
    def retry(self) -> "PopGroup":
        """The same group with its retry topic."""
        return self.with_topic(self.retry_topic)

    # --- the topic

    def send(self, body: bytes | str = b"hello", **more: Unpack[SendFields]) -> DecodedResponse:
        """Send one message."""
        return self.t.send(self.topic, body, **more)

    def fill(self, count: int = 1, **more: Unpack[SendFields]) -> None:
        """Send messages `m0`, `m1`, ... and wait until they can be read."""
        self.t.sent(self.topic, count, **more)

    # --- popping

    def pop(self, **more: Any) -> DecodedResponse:
        """Pop; `more`: see `RemotingContext.pop`."""
        return self.t.pop(self.topic, self.name, **more)

    def pop_one(self) -> DecodedResponse:
        """Pop a message; retry while the previous pop, which writes its offset last, still locks the queue."""
        response = self.t.until(lambda: found if (found := self.pop(max_messages=1)).code == 0 else None, 3)
        return response or self.pop(max_messages=1)

    def take(self, count: int) -> None:
        """Pop the first `count` messages of queue 0, and wait until the group's offset is past them."""
        self.pop(max_messages=count)
        self.wait_until_committed(count)

    def pop_in_order(self, count: int = 32, **more: Any) -> DecodedResponse:
        """Pop in order; the invisible duration is 3 s by default."""
        return self.pop(max_messages=count, order=True, **{"invisible_ms": 3000, **more})

    def start_pop(self, **more: Any) -> Pending:
        """Start a pop that may be held; `more`: see `RemotingContext.pop`."""
        return self.t.start_pop(self.topic, self.name, **more)

    def waiting(self, *, poll_ms: int = 10_000, **more: Any) -> Pending:
        """Start a pop on a connection of its own, and wait until the broker holds it."""
        pending = self.start_pop(poll_ms=poll_ms, to=self.t.connect(), **more)
        self.t.wait(_HELD_AFTER_SECONDS)
        return pending

    def handles(self, **more: Any) -> list[str]:
        """Pop, and return the receipt handles."""
        return self.handles_of(self.pop(**more))

    def handle(self, **more: Any) -> str:
        """Pop the only available message, and return its receipt handle."""
        [handle] = self.handles(**more)
        return handle

    def handles_in_order(self, count: int = 32, **more: Any) -> list[str]:
        """Pop in order, and return the receipt handles."""
        return self.handles_of(self.pop_in_order(count, **more))

    def handles_of(self, response: DecodedResponse) -> list[str]:
        """Return the receipt handles of the messages of a pop."""
        return [handle for _, handle in self.t.popped(response)]

    # --- receipt handles

    def ack(self, handle: str | None, offset: int, queue: int = 0) -> DecodedResponse:
        """Acknowledge by receipt handle."""
        return self.t.ack(self.topic, self.name, handle, offset, queue=queue)

    def ack_all(self, response: DecodedResponse) -> None:
        """Acknowledge every message of a pop."""
        for message, handle in self.t.popped(response):
            self.ack(handle, message.queue_offset)

    def change(self, handle: str | None, offset: int, invisible_ms: int, queue: int = 0) -> DecodedResponse:
        """Change the invisible duration of a message by its receipt handle."""
        return self.t.change(self.topic, self.name, handle, offset, invisible_ms=invisible_ms, queue=queue)

    def wait_for_copies(self, count: int = 1, *, v2: bool = False) -> list[ReceivedMessage]:
        """Wait until the retry topic has `count` messages, at most 30 s; return its messages.

        `v2`: the retry topic is named as with enableRetryTopicV2.
        """
        name = pop_retry_topic(self.topic, self.name, v2=v2)
        self.t.until(lambda: self.t.max_offset(name) >= count)
        return self.t.pull(name, READER_GROUP).messages if self.t.max_offset(name) else []

    def fail_and_wait_for_retry(self, count: int = 1) -> None:
        """Pop the `count` available messages with invisible duration 0, and wait until the retry topic has them."""
        self.pop(invisible_ms=0)
        self.wait_for_copies(count)

    def count_copies(self) -> int:
        """Return the present number of messages in the retry topic, without waiting."""
        return self.t.max_offset(self.retry_topic)

    # --- its offset

    def commit(self, offset: int, queue: int = 0) -> DecodedResponse:
        """Commit an offset."""
        return self.t.commit(self.topic, self.name, offset, queue)

    def committed(self, queue: int = 0, **fields: object) -> DecodedResponse:
        """Query the committed offset; `fields`: see `RemotingContext.committed`."""
        return self.t.committed(self.topic, self.name, queue, **fields)

    def reset(self, offset: int) -> DecodedResponse:
        """Reset the group's offset in queue 0, as administrators do."""
        ext = {"topic": self.topic, "group": self.name, "queueId": 0, "offset": offset, "timestamp": -1}
        return self.t.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, {**ext, "isForce": True})

    def wait_until_committed(self, offset: int, queue: int = 0) -> DecodedResponse:
        """Wait until the committed offset is `offset`, at most 3 s; return the last response.

        A broker commits the offset of a pop just after its response.
        """

        def look() -> DecodedResponse | None:
            response = self.committed(queue)
            return response if response.fields.get("offset") == str(offset) else None

        return self.t.until(look, 3) or self.committed(queue)


def popping(t: RemotingContext, messages: int = 0, *, queues: int = 1) -> PopGroup:
    """Create a topic with `messages` in each of its queues, and a group that pops it."""
    group = PopGroup(t, t.topic(queues=queues), t.group())
    for queue in range(queues if messages else 0):
        group.fill(messages, queue=queue)
    return group


def one_popped(t: RemotingContext, **more: Any) -> tuple[PopGroup, str]:
    """Create a topic with one message and a group that has popped it; returns group and receipt handle.

    `more`: see `RemotingContext.pop`.
    """
    group, [handle] = all_popped(t, 1, **more)
    return group, handle


def all_popped(t: RemotingContext, messages: int, **more: Any) -> tuple[PopGroup, list[str]]:
    """Create a topic with messages and a group that has popped all of them; returns group and receipt handles.

    `more`: see `RemotingContext.pop`.
    """
    group = popping(t, messages)
    return group, group.handles(**more)


def bodies(messages: list[ReceivedMessage]) -> list[str]:
    """Return the bodies of messages."""
    return [message.body.decode() for message in messages]


def note_refused_places(
    group: PopGroup, request: Callable[[PopGroup, int], DecodedResponse], queues: Mapping[int, int], unknown_group: int
) -> None:
    """Note the responses to a request about a group and queue for invalid arguments; `queues`: codes by queue number.

    `unknown_group`: expected code for a group that the broker has never seen.
    """
    t = group.t
    t.note("unknown topic", request(group.with_topic(t.new()), -1), 17)
    for queue, code in queues.items():
        t.note(f"queue {queue}", request(group, queue), code)
    t.note("illegal group", request(group.with_group("bad!"), -1), 26)
    t.note("unknown group", request(group.with_group(t.new("group")), -1), unknown_group)
    t.note("write only", request(group.with_topic(t.topic(queues=1, perm=2)), -1), 16)
    t.note("disabled group", request(group.with_group(t.group(consumeEnable=False)), -1), 16)


def note_without(t: RemotingContext, code: int, ext: Mapping[str, object]) -> None:
    """Note the response to a request that lacks one of its fields, for each field."""
    for name in ext:
        t.note(f"no {name}", t.request(code, {key: value for key, value in ext.items() if key != name}))


def records_since(t: RemotingContext, topic: str, queue: int, offset: int, *, mark: str) -> list[ReceivedMessage]:
    """Return the messages of a queue, from `offset` on, whose body contains `mark`.

    The mark is a name of the case, so that messages of other cases are left out.
    """
    found = []
    while offset < (end := t.max_offset(topic, queue)):
        messages = t.pull(topic, READER_GROUP, queue, offset, max_messages=PULL_MAX).messages
        found += [each for each in messages if mark.encode() in each.body]
        offset = messages[-1].queue_offset + 1 if messages else end
    return found


def record_shown(record: ReceivedMessage) -> dict[str, Any]:
    """Return a check point or acknowledgement as a note: its JSON body and its properties."""
    return {"body": json.loads(record.body), "properties": dict(sorted(record.properties.items()))}
