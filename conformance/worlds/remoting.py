"""The world of a remoting case: the requests that SDKs send, with their important fields as arguments.

Other requests use `ask(code, ext, body)`.
"""

import time
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, Unpack

from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient, RemotingTimeout
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..json_text import dumps
from .answer import Answer
from .send_fields import SendFields
from .world import Pending, World

T = TypeVar("T")
_GLANCE_SECONDS = 0.01
_AHEAD_MS = 60_000
"""Distance of a query's end from now, so that it finds new messages even if clocks differ."""


class Remoting(World):
    """A raw client of the remoting protocol. Calls return the Answer, with any code."""

    # --- sending

    def send(
        self,
        topic: str,
        body: bytes | str = b"hello",
        *,
        to: RemotingClient | None = None,
        **more: Unpack[SendFields],
    ) -> Answer:
        """Send one message as SDKs do, with SEND_MESSAGE_V2."""
        return self.ask(RequestCode.SEND_MESSAGE_V2, short_names(self.send_fields(topic, **more)), _body(body), to=to)

    def send_v1(self, topic: str, body: bytes | str = b"hello", **more: Unpack[SendFields]) -> Answer:
        """Send one message with SEND_MESSAGE, which has long field names."""
        return self.ask(RequestCode.SEND_MESSAGE, self.send_fields(topic, **more), _body(body))

    def sent(self, topic: str, count: int = 1, **more: Unpack[SendFields]) -> list[Answer]:
        """Send messages `m0`, `m1`, ..., all of which must be stored, and wait until they can be read."""
        return self.readable(topic, *(self.send(topic, f"m{number}", **more) for number in range(count)))

    def readable(self, topic: str, *sends: Answer) -> list[Answer]:
        """Wait until the messages of these sends can be read, and return the responses.

        A broker fills the consume queue after its response.
        """
        ends: dict[str, int] = {}
        for answer in sends:
            self.require(answer.code == 0, f"a message was not stored: {answer}")
            ends[answer["queueId"]] = int(answer["queueOffset"]) + 1
        for queue, end in ends.items():
            self.require(self._reaches(topic, queue, end), f"what was sent to {topic} cannot be read")
        return list(sends)

    def _reaches(self, topic: str, queue: str, end: int) -> bool:
        return self.until(lambda: self.max_offset(topic, queue) >= end)

    # --- pulling

    def pull(self, topic: str, group: str, queue: int = 0, offset: int = 0, **more: Any) -> Answer:
        """Pull; `more`: see `pull_fields`, and `to`."""
        to = more.pop("to", None)
        return self.ask(RequestCode.PULL_MESSAGE, self.pull_fields(topic, group, queue, offset, **more), to=to)

    def start_pull(self, topic: str, group: str, queue: int = 0, offset: int = 0, **more: Any) -> Pending:
        """Start a pull that may be held; returns a callable that waits for the response."""
        to = more.pop("to", None)
        return self.start(RequestCode.PULL_MESSAGE, self.pull_fields(topic, group, queue, offset, **more), to=to)

    def stored(self, topic: str, count: int = 1, queue: int = 0, seconds: float = 20.0) -> Answer:
        """Read a queue from offset 0 once it contains `count` messages, or after `seconds`."""
        self.until(lambda: self.max_offset(topic, queue) >= count, seconds)
        return self.pull(topic, self.group(), queue)

    def message_at(self, topic: str, queue: int, offset: int) -> ReceivedMessage:
        """Return the message at an offset of a queue, once it can be read."""
        group = self.group()
        self.until(lambda: self.pull(topic, group, queue, offset, max_messages=1).body)
        [message] = self.pull(topic, group, queue, offset, max_messages=1).messages
        return message

    def view(self, place: object, **fields: object) -> Answer:
        """View the message at a commit log offset."""
        return self.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place, **fields})

    def query(self, topic: str, key: object, **fields: object) -> Answer:
        """Query messages by key: by default up to 32, stored at any time."""
        times = {"beginTimestamp": 0, "endTimestamp": self.now_ms() + _AHEAD_MS}
        return self.ask(RequestCode.QUERY_MESSAGE, {"topic": topic, "key": key, "maxNum": 32, **times, **fields})

    # --- popping

    def pop_fields(
        self,
        topic: str,
        group: str,
        *,
        queue: int = -1,
        max_messages: int = 32,
        invisible_ms: int = 60_000,
        poll_ms: int = 0,
        init_mode: int = 0,
        expression: str | None = "*",
        type: str | None = "TAG",  # noqa: A002 RocketMQ's own word
        order: bool = False,
        attempt_id: str | None = None,
        **fields: object,
    ) -> dict[str, object]:
        """Return the ext fields of a pop."""
        return {
            "consumerGroup": group,
            "topic": topic,
            "queueId": queue,
            "maxMsgNums": max_messages,
            "invisibleTime": invisible_ms,
            "pollTime": poll_ms,
            # A pop without long polling has no born time here: a busy broker would treat it as expired.
            "bornTime": self.now_ms() if poll_ms > 0 else 0,
            "initMode": init_mode,
            "expType": type,
            "exp": expression,
            "order": order,
            "attemptId": attempt_id,
            **fields,
        }

    def pop(self, topic: str, group: str, **more: Any) -> Answer:
        """Pop; `more`: see `pop_fields`, and `to`."""
        to = more.pop("to", None)
        return self.ask(RequestCode.POP_MESSAGE, self.pop_fields(topic, group, **more), to=to)

    def start_pop(self, topic: str, group: str, **more: Any) -> Pending:
        """Start a pop that may be held; returns a callable that waits for the response."""
        to = more.pop("to", None)
        return self.start(RequestCode.POP_MESSAGE, self.pop_fields(topic, group, **more), to=to)

    def popped(self, answer: Answer) -> list[tuple[ReceivedMessage, str]]:
        """Return the messages of a pop with the receipt handles that clients build from the response's ext fields."""
        starts = _by_queue(answer["startOffsetInfo"])
        return [(message, _handle(message, answer, starts, self.broker_name)) for message in answer.messages]

    def ack(self, topic: str, group: str, handle: str | None, offset: int, queue: int = 0, **fields: object) -> Answer:
        """Acknowledge by receipt handle (a message's POP_CK property)."""
        ext = {"consumerGroup": group, "topic": topic, "queueId": queue, "extraInfo": handle, "offset": offset}
        return self.ask(RequestCode.ACK_MESSAGE, {**ext, **fields})

    def change(
        self,
        topic: str,
        group: str,
        handle: str | None,
        offset: int,
        invisible_ms: int,
        queue: int = 0,
        **fields: object,
    ) -> Answer:
        """Change the invisible duration of a message by its receipt handle (the message's POP_CK property)."""
        ext = {"consumerGroup": group, "topic": topic, "queueId": queue, "extraInfo": handle, "offset": offset}
        return self.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, {**ext, "invisibleTime": invisible_ms, **fields})

    # --- topics

    def config_of(self, topic: str) -> Answer:
        """Return the broker's configuration of a topic."""
        return self.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": topic})

    def route(self, topic: str | None, **fields: object) -> Answer:
        """Return the name server's route of a topic."""
        return self.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic, **fields}, to=self.namesrv)

    # --- offsets

    def commit(self, topic: str, group: str, offset: object, queue: object = 0) -> Answer:
        """Commit an offset."""
        ext = {"consumerGroup": group, "topic": topic, "queueId": queue, "commitOffset": offset}
        return self.ask(RequestCode.UPDATE_CONSUMER_OFFSET, ext)

    def committed(self, topic: str, group: str, queue: int = 0, **fields: object) -> Answer:
        """Query the committed offset."""
        ext = {"consumerGroup": group, "topic": topic, "queueId": queue, **fields}
        return self.ask(RequestCode.QUERY_CONSUMER_OFFSET, ext)

    # --- clients

    def heartbeat(
        self,
        client: str,
        *,
        groups: Mapping[str, Mapping[str, str]] | None = None,
        producers: Sequence[str] = (),
        to: RemotingClient | None = None,
        model: str = "CLUSTERING",
        type: str = "CONSUME_PASSIVELY",  # noqa: A002 RocketMQ's own word
        expression_type: str = "TAG",
        version: int | None = None,
        **members: object,
    ) -> Answer:
        """Send a client's heartbeat: its consumer groups, each with topics and expressions, and its producer groups."""
        sub_version = self.now_ms() if version is None else version
        body = {
            "clientID": client,
            "producerDataSet": [{"groupName": each} for each in producers],
            "consumerDataSet": [
                {
                    "groupName": group,
                    "consumeType": type,
                    "messageModel": model,
                    "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
                    "unitMode": False,
                    "subscriptionDataSet": [
                        subscription(topic, expression, expression_type, sub_version)
                        for topic, expression in topics.items()
                    ],
                }
                for group, topics in (groups or {}).items()
            ],
            **members,
        }
        return self.ask(RequestCode.HEART_BEAT, None, dumps(body), to=to)


def short_names(fields: Mapping[str, object]) -> dict[str, object]:
    """Rename the fields of SendMessageRequestHeader as in SendMessageRequestHeaderV2."""
    return {_SHORT_NAMES[name]: value for name, value in fields.items()}


def fate(connection: RemotingClient) -> str:
    """Return `open` if the connection still answers a request, else `closed`."""
    try:
        connection.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "nobody"}, timeout=10)
    except ConnectionError:
        return "closed"
    return "open"


def reply_to(connection: RemotingClient, opaque: int, seconds: float = 0.5) -> Answer | str:
    """Return the response to a request that may have none, else `no answer` or `closed`."""
    try:
        return Answer.of(connection.collect(opaque, seconds))
    except ConnectionError:
        return "closed"
    except RemotingTimeout:
        return "no answer"


def replies_to(connections: Mapping[T, RemotingClient], opaque: int, seconds: float) -> dict[T, Answer | str]:
    """Return `reply_to` for several connections, with one common timeout of `seconds`."""
    end = time.monotonic() + seconds
    return {
        label: reply_to(connection, opaque, max(end - time.monotonic(), _GLANCE_SECONDS))
        for label, connection in connections.items()
    }


def subscription(topic: str, expression: str, kind: str = "TAG", version: int = 0) -> dict[str, object]:
    """Build a SubscriptionData as clients do."""
    tags = [] if kind != "TAG" or expression in ("", "*") else [each.strip() for each in expression.split("||")]
    tags = [each for each in tags if each]
    return {
        "classFilterMode": False,
        "topic": topic,
        "subString": expression,
        "expressionType": kind,
        "tagsSet": tags,
        "codeSet": [java_hash(each) for each in tags],
        "subVersion": version,
    }


def java_hash(text: str) -> int:
    """Java's String.hashCode."""
    value = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        value = value * 31 + unit & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def compressed(data: bytes) -> bytes:
    """Compress a body as producers do with large ones (sysFlag 1)."""
    return zlib.compress(data)


def _by_queue(text: str) -> dict[tuple[str, str], str]:
    """Parse a startOffsetInfo such as `0 3 17;1 0 2`: (retry digit, queue) -> first offset."""
    parts = [each.split(" ") for each in text.split(";") if each]
    return {(digit, queue): offset for digit, queue, offset in parts}


def _handle(message: ReceivedMessage, answer: Answer, starts: Mapping[tuple[str, str], str], broker_name: str) -> str:
    """Return the message's POP_CK property, or the handle that clients build if absent. Source: ExtraInfoUtil."""
    own = message.properties.get("POP_CK")
    if own is not None:
        return own
    queue = str(message.queue_id)
    times = (answer["popTime"], answer["invisibleTime"], answer["reviveQid"])
    return " ".join((starts["0", queue], *times, "0", broker_name, queue, str(message.queue_offset)))


def _body(body: bytes | str) -> bytes:
    return body.encode() if isinstance(body, str) else body


_SHORT_NAMES = {
    "producerGroup": "a",
    "topic": "b",
    "defaultTopic": "c",
    "defaultTopicQueueNums": "d",
    "queueId": "e",
    "sysFlag": "f",
    "bornTimestamp": "g",
    "flag": "h",
    "properties": "i",
    "reconsumeTimes": "j",
    "unitMode": "k",
    "maxReconsumeTimes": "l",
    "batch": "m",
    "brokerName": "n",
}
