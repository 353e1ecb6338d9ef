"""An emulator whose frozen clock begins at noon (UTC), with clients of the remoting protocol, for texts with times.

Ids of messages are M1, M2 and so on, in the order of sending.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import count
from typing import Any, Protocol, Self

from rocketmq_testkit.conformance.clients.receipt_handles import built_handle
from rocketmq_testkit.conformance.clients.remoting_consumption import (
    ack_request,
    change_request,
    commit_request,
    pop_request,
    pull_request,
)
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request, unregister_request
from rocketmq_testkit.conformance.clients.remoting_sends import end_fields, send_back_request, send_request
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient, decode_messages
from rocketmq_testkit.remoting.client.closeable import Closeable
from rocketmq_testkit.remoting.request.request_code import RequestCode

COMMIT, ROLLBACK = 8, 12
_PORT = re.compile(r"(127\.0\.0\.1:)\d+")


class Shop(Protocol):
    """What a client needs to know: the emulator, and the numbers of its messages."""

    rocketmq: Emulator
    numbers: "count[int]"


class ShopClient(Closeable):
    """A connection of a client that is a member of groups."""

    def __init__(self, shop: Shop, name: str, broker: str | None = None) -> None:
        self._shop = shop
        self.name = name
        self.connection = RemotingClient(broker or shop.rocketmq.broker, timeout=10)

    def close(self) -> None:
        """Close the connection, as a client that is killed."""
        self.connection.close()

    def ask(self, code: int, ext: Mapping[str, object] | None = None, body: bytes = b"") -> Any:
        """Send a request and return the response."""
        return self.connection.request(code, ext, body)

    def join(self, group: str, topics: Mapping[str, str], **options: Any) -> Self:
        """Send a heartbeat: join a group that subscribes to topics with the given expressions."""
        assert self.ask(*heartbeat_request(self.name, groups={group: topics}, **options)).code == 0
        return self

    def leave(self, group: str) -> None:
        """Unregister from a group."""
        assert self.ask(*unregister_request(self.name, group=group)).code == 0

    def produce(self, group: str) -> Self:
        """Join a producer group."""
        assert self.ask(*heartbeat_request(self.name, producers=[group])).code == 0
        return self

    def send(self, topic: str, body: bytes | str = b"tea", **fields: Any) -> str:
        """Send a message and return its id.

        `delay_level` and `deliver_at` (ms) delay it, `half` begins a transaction.
        """
        message_id = f"M{next(self._shop.numbers)}"
        properties = {"UNIQ_KEY": message_id, **fields.pop("properties", {})}
        for name, key in (
            ("delay_level", "DELAY"),
            ("deliver_at", "TIMER_DELIVER_MS"),
            ("message_group", "__SHARDINGKEY"),
        ):
            if (value := fields.pop(name, None)) is not None:
                properties[key] = str(value)
        if fields.pop("half", False):
            properties |= {"TRAN_MSG": "true", "PGROUP": "shop"}
            fields["sysFlag"] = 4
        request = send_request(topic, body, born_ms=self._shop.rocketmq.clock.now_ms, properties=properties, **fields)
        response = self.ask(*request)
        assert response.code == 0, response
        self.sent = response.ext_fields
        return message_id

    def end(self, message_id: str, how: int) -> None:
        """Commit or roll back the half message that was sent last."""
        place = int(self.sent["msgId"][-16:], 16)
        fields = end_fields("shop", how, offset=self.sent["queueOffset"], place=place, message_id=message_id)
        assert self.ask(RequestCode.END_TRANSACTION, fields).code == 0

    def pop(self, topic: str, group: str, **options: Any) -> list[ReceivedMessage]:
        """Pop messages with an invisible duration of 60 s. Each has its receipt handle, as SDKs set it."""
        response = self.ask(*pop_request(topic, group, **options))
        messages = decode_messages(response.body)
        for each in messages:
            if "POP_CK" not in each.properties:
                each.properties["POP_CK"] = built_handle(each, response.ext_fields, "broker-a")
        return messages

    def ack(self, group: str, messages: Iterable[ReceivedMessage]) -> None:
        """Acknowledge popped messages."""
        for each in messages:
            handle = each.properties["POP_CK"]
            offset, queue = (int(handle.split(" ")[at]) for at in (7, 6))
            assert self.ask(*ack_request(each.topic, group, handle, offset, queue=queue)).code == 0

    def change(self, group: str, message: ReceivedMessage, invisible_ms: int) -> None:
        """Change the invisible duration of a popped message, as SDKs do after a failure."""
        handle = message.properties["POP_CK"]
        request = change_request(
            message.topic, group, handle, message.queue_offset, invisible_ms=invisible_ms, queue=message.queue_id
        )
        assert self.ask(*request).code == 0

    def pull(self, topic: str, group: str, queue: int = 0, offset: int = 0, **options: Any) -> list[ReceivedMessage]:
        """Pull messages from an offset."""
        return decode_messages(self.ask(*pull_request(topic, group, queue, offset, **options)).body)

    def commit(self, topic: str, group: str, offset: int, queue: int = 0) -> None:
        """Commit an offset."""
        assert self.ask(*commit_request(topic, group, offset, queue)).code == 0

    def send_back(self, group: str, message: ReceivedMessage, level: int = 0, **fields: Any) -> None:
        """Send a pulled message back, to be redelivered with a delay level."""
        fields = {"originMsgId": message.message_id, "originTopic": message.topic, **fields}
        assert self.ask(*send_back_request(group, message.physical_offset, level, **fields)).code == 0


class NoonShop(Closeable):
    """The emulator and its clients. `options` are those of `Emulator`."""

    def __init__(self, **options: Any) -> None:
        self.numbers = count(1)
        self.rocketmq = Emulator(**{"time": "frozen", **options}).start()
        now = self.rocketmq.clock.now
        noon = now.replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=1)
        self.rocketmq.clock.advance(noon - now)
        self.rocketmq.restart()  # the periodic work of the broker, such as transaction checks, begins at noon
        self._clients: list[ShopClient] = []
        self.popped: list[ReceivedMessage] = []
        """Messages that a test has popped, for later steps of the test."""

    def close(self) -> None:
        """Close all connections and stop the emulator."""
        for each in self._clients:
            each.close()
        self.rocketmq.stop()

    def client(self, name: str) -> ShopClient:
        """Connect a client."""
        self._clients.append(ShopClient(self, name))
        return self._clients[-1]


def without_ports(text: str) -> str:
    """Replace the ports of this machine, which differ in each run."""
    return _PORT.sub(r"\1PORT", text)
