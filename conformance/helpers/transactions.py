"""Shared parts of transaction cases: half messages, their ends, and their transaction checks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from rocketmq_testkit.emulator.message.names import TRANS_CHECK_MAX_TIME_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient, decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from ..clients.pending import Pending
from ..clients.remoting_response import DecodedResponse
from ..clients.remoting_sends import end_fields, send_request
from ..clients.send_fields import SendFields
from ..context.remoting import RemotingContext

UNKNOWN, COMMIT, ROLLBACK = 0, 8, 12
"""Values of commitOrRollback."""
PREPARED = 4
"""The sysFlag of a half message."""
FAST_CHECKS: Mapping[str, str] = {
    "transactionCheckInterval": "3000",
    "transactionTimeOut": "1000",
    "transactionOpBatchInterval": "100",
}
"""The broker scans half messages every 3 s, and checks those older than 1 s.

A scan still checks an ended half message whose op message is not written yet, so these are written every 100 ms.
"""
TWO_CHECKS: Mapping[str, str] = {**FAST_CHECKS, "transactionCheckMax": "2"}
"""FAST_CHECKS, with at most two transaction checks per half message."""
FREQUENT_SCANS: Mapping[str, str] = {"transactionCheckInterval": "1000", "transactionOpBatchInterval": "100"}
"""The broker scans half messages every second, and checks those older than upstream's default of 6 s."""


@dataclass(frozen=True, slots=True)
class Producers:
    """A producer group, `name`, that sends half messages to one topic, with the calls of a context."""

    t: RemotingContext
    topic: str
    name: str

    def connect(self, client: str | None = None) -> RemotingClient:
        """Open the connection of a producer that has sent its heartbeat; a new client unless one is named."""
        connection = self.t.connect()
        self.t.heartbeat(client or self.t.new("client"), producers=(self.name,), to=connection)
        return connection

    def half(
        self, body: str = "half", *, to: RemotingClient | None = None, **more: Unpack[SendFields]
    ) -> DecodedResponse:
        """Send a half message; `more`: see `RemotingContext.send`."""
        return self.t.send(self.topic, body, to=to, **self._half_fields(more))

    def start_half(self, body: str = "half", **more: Unpack[SendFields]) -> Pending:
        """Start to send a half message whose response may be delayed."""
        born_ms, new_id = self.t.now_ms(), self.t.message_id
        half = send_request(self.topic, body, born_ms=born_ms, new_id=new_id, **self._half_fields(more))
        return self.t.start(*half, to=self.t.connect())

    def _half_fields(self, more: SendFields) -> SendFields:
        own = {"TRAN_MSG": "true", "PGROUP": self.name, **(more.pop("properties", None) or {})}
        return {"producerGroup": self.name, "sysFlag": PREPARED, **more, "properties": own}

    def end_fields(self, sent: DecodedResponse, value: int, **fields: object) -> dict[str, object]:
        """Return the ext fields that end a half message, taken from its send response."""
        offset, message_id = sent["queueOffset"], sent["transactionId"]
        return end_fields(self.name, value, offset=offset, place=sent.place, message_id=message_id, **fields)

    def end(self, sent: DecodedResponse, value: int, **fields: object) -> DecodedResponse:
        """End a half message; `fields` replace those of `end_fields`."""
        return self.t.request(RequestCode.END_TRANSACTION, self.end_fields(sent, value, **fields))

    def end_of_check(self, check: RemotingCommand, value: int) -> DecodedResponse:
        """End a half message with the fields of its transaction check."""
        asked = check.ext_fields or {}
        own = ("topic", "tranStateTableOffset", "commitLogOffset", "msgId", "transactionId")
        end = {"producerGroup": self.name, "commitOrRollback": value, "fromTransactionCheck": True}
        return self.t.request(RequestCode.END_TRANSACTION, {**{name: asked[name] for name in own}, **end})

    def discarded(self, seconds: float = 40) -> list[ReceivedMessage]:
        """Return the half messages of the topic that are no longer checked.

        It waits until there is one, at most for `seconds`.
        """

        def look() -> list[ReceivedMessage]:
            found = self.t.messages_of(TRANS_CHECK_MAX_TIME_TOPIC, self.t.group(name="cases-given-up"))
            return [each for each in found if each.properties["REAL_TOPIC"] == self.topic]

        return self.t.until(look, seconds)


def transacting(t: RemotingContext, *, queues: int = 1) -> Producers:
    """Create a topic, and a producer group that sends half messages to it."""
    return Producers(t, t.topic(queues=queues), t.new("producer group"))


def checks(
    t: RemotingContext, connection: RemotingClient, count: int = 1, seconds: float = 20
) -> list[RemotingCommand]:
    """Return the transaction checks received on a connection since the last call of this function.

    It waits until there are `count` of them, at most for `seconds`.
    """
    found: list[RemotingCommand] = []

    def look() -> bool:
        found.extend(push for push in t.pushed(connection) if push.code == RequestCode.CHECK_TRANSACTION_STATE)
        return len(found) >= count

    t.until(look, seconds)
    return found


def check_number(check: RemotingCommand) -> str:
    """Return the number of a message's transaction check, as stated in the message."""
    [message] = decode_messages(check.body)
    return message.properties["TRANSACTION_CHECK_TIMES"]


def check_shown(check: RemotingCommand) -> dict[str, Any]:
    """Return a check without its offsets, which depend on other users of the queues."""
    asked = check.ext_fields or {}
    hidden = ("tranStateTableOffset", "commitLogOffset")
    return {
        "ext": {name: "{place}" if name in hidden else value for name, value in sorted(asked.items())},
        "messages": [shown(message) for message in decode_messages(check.body)],
    }


def shown(message: ReceivedMessage) -> dict[str, Any]:
    """Return a message without its offset in a queue that all transactions share."""
    return {
        "topic": message.topic,
        "queue": message.queue_id,
        "body": message.body,
        "sys_flag": message.sys_flag,
        "reconsume_times": message.reconsume_times,
        "properties": dict(sorted(message.properties.items())),
    }
