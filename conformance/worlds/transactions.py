"""What cases of transactions share: half messages, their ends, and the checks that come for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from rocketmq_testkit.emulator.message.names import TRANS_CHECK_MAX_TIME_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient, decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from .answer import Answer
from .remoting import Remoting, short_names
from .send_fields import SendFields
from .world import Pending

UNKNOWN, COMMIT, ROLLBACK = 0, 8, 12
"""Values of commitOrRollback."""
PREPARED = 4
"""The sysFlag of a half message."""
QUICK: Mapping[str, str] = {
    "transactionCheckInterval": "3000",
    "transactionTimeOut": "1000",
    "transactionOpBatchInterval": "100",
}
"""Half messages are looked at every 3 s, when they are older than 1 s.

Their ends are written down quickly: one that is looked at before is asked for although it was ended.
"""
TWO_CHECKS: Mapping[str, str] = {**QUICK, "transactionCheckMax": "2"}
"""The same, and nobody is asked a third time."""
OFTEN: Mapping[str, str] = {"transactionCheckInterval": "1000", "transactionOpBatchInterval": "100"}
"""Half messages are looked at every second, when they are as old as upstream has it: 6 s."""


@dataclass(frozen=True, slots=True)
class Producers:
    """A group of producers that sends half messages to a topic: the world's calls for these two."""

    t: Remoting
    topic: str
    name: str

    def connect(self, client: str | None = None) -> RemotingClient:
        """The connection of a producer that has sent its heartbeat; a new client unless one is named."""
        connection = self.t.connect()
        self.t.heartbeat(client or self.t.new("client"), producers=(self.name,), to=connection)
        return connection

    def half(self, body: str = "half", *, to: RemotingClient | None = None, **more: Unpack[SendFields]) -> Answer:
        """Send a half message; `more`: see `Remoting.send`."""
        return self.t.send(self.topic, body, to=to, **self._half_fields(more))

    def start_half(self, body: str = "half", **more: Unpack[SendFields]) -> Pending:
        """Begin to send a half message that may have to wait."""
        fields = self.t.send_fields(self.topic, **self._half_fields(more))
        return self.t.start(RequestCode.SEND_MESSAGE_V2, short_names(fields), body.encode(), to=self.t.connect())

    def _half_fields(self, more: SendFields) -> SendFields:
        own = {"TRAN_MSG": "true", "PGROUP": self.name, **(more.pop("properties", None) or {})}
        return {"producerGroup": self.name, "sysFlag": PREPARED, **more, "properties": own}

    def end_fields(self, sent: Answer, value: int, **fields: object) -> dict[str, object]:
        """The ext fields of the end of a half message, by the answer to its send."""
        return {
            "topic": "none",
            "producerGroup": self.name,
            "tranStateTableOffset": sent["queueOffset"],
            "commitLogOffset": sent.place,
            "commitOrRollback": value,
            "fromTransactionCheck": False,
            "msgId": sent["transactionId"],
            "transactionId": sent["transactionId"],
            **fields,
        }

    def end(self, sent: Answer, value: int, **fields: object) -> Answer:
        """End a half message; `fields` take the place of those that `end_fields` makes."""
        return self.t.ask(RequestCode.END_TRANSACTION, self.end_fields(sent, value, **fields))

    def end_of_check(self, check: RemotingCommand, value: int) -> Answer:
        """End a half message by the check that came for it."""
        asked = check.ext_fields or {}
        own = ("topic", "tranStateTableOffset", "commitLogOffset", "msgId", "transactionId")
        end = {"producerGroup": self.name, "commitOrRollback": value, "fromTransactionCheck": True}
        return self.t.ask(RequestCode.END_TRANSACTION, {**{name: asked[name] for name in own}, **end})

    def given_up(self, seconds: float = 40) -> list[ReceivedMessage]:
        """The half messages of the topic that nobody is asked about any more, once there is one or the time is over."""

        def look() -> list[ReceivedMessage]:
            found = self.t.messages_of(TRANS_CHECK_MAX_TIME_TOPIC, self.t.group(name="cases-given-up"))
            return [each for each in found if each.properties["REAL_TOPIC"] == self.topic]

        return self.t.until(look, seconds)


def transacting(t: Remoting, *, queues: int = 1) -> Producers:
    """A new topic, and a new group of producers that sends half messages to it."""
    return Producers(t, t.topic(queues=queues), t.new("producer group"))


def checks(t: Remoting, connection: RemotingClient, count: int = 1, seconds: float = 20) -> list[RemotingCommand]:
    """The checks that came down a connection since the last look, once there are `count` or the time is over."""
    found: list[RemotingCommand] = []

    def look() -> bool:
        found.extend(push for push in t.pushed(connection) if push.code == RequestCode.CHECK_TRANSACTION_STATE)
        return len(found) >= count

    t.until(look, seconds)
    return found


def times_asked(check: RemotingCommand) -> str:
    """Which of its checks this one of a message is, as the message says it."""
    [message] = decode_messages(check.body)
    return message.properties["TRANSACTION_CHECK_TIMES"]


def check_shown(check: RemotingCommand) -> dict[str, Any]:
    """A check without its places, which depend on what others did."""
    asked = check.ext_fields or {}
    hidden = ("tranStateTableOffset", "commitLogOffset")
    return {
        "ext": {name: "{place}" if name in hidden else value for name, value in sorted(asked.items())},
        "messages": [shown(message) for message in decode_messages(check.body)],
    }


def shown(message: ReceivedMessage) -> dict[str, Any]:
    """A message without its place in a queue that all transactions share."""
    return {
        "topic": message.topic,
        "queue": message.queue_id,
        "body": message.body,
        "sys_flag": message.sys_flag,
        "reconsume_times": message.reconsume_times,
        "properties": dict(sorted(message.properties.items())),
    }
