"""What cases of transactions share: half messages, their ends, and the checks that come for them."""

from collections.abc import Mapping
from typing import Any, Unpack

from rocketmq_testkit.emulator.names import TRANS_CHECK_MAX_TIME_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient, decode_messages
from rocketmq_testkit.remoting.command import RemotingCommand
from rocketmq_testkit.remoting.request_code import RequestCode

from .answer import Answer
from .remoting import Remoting, SendFields

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


def half(
    t: Remoting,
    topic: str,
    producer: str,
    body: str = "half",
    *,
    to: RemotingClient | None = None,
    **more: Unpack[SendFields],
) -> Answer:
    """Send a half message."""
    own = {"TRAN_MSG": "true", "PGROUP": producer, **(more.pop("properties", None) or {})}
    fields: SendFields = {"producerGroup": producer, "sysFlag": PREPARED, **more, "properties": own}
    return t.send(topic, body, to=to, **fields)


def end_fields(sent: Answer, producer: str, value: int, **fields: object) -> dict[str, object]:
    """The ext fields of the end of a half message, by the answer to its send."""
    return {
        "topic": "none",
        "producerGroup": producer,
        "tranStateTableOffset": sent["queueOffset"],
        "commitLogOffset": int(sent["msgId"][-16:], 16),
        "commitOrRollback": value,
        "fromTransactionCheck": False,
        "msgId": sent["transactionId"],
        "transactionId": sent["transactionId"],
        **fields,
    }


def end(t: Remoting, sent: Answer, producer: str, value: int, **fields: object) -> Answer:
    """End a half message."""
    return t.ask(RequestCode.END_TRANSACTION, end_fields(sent, producer, value, **fields))


def end_of_check(t: Remoting, check: RemotingCommand, producer: str, value: int) -> Answer:
    """End a half message by the check that came for it."""
    asked = check.ext_fields or {}
    fields = {
        "topic": asked["topic"],
        "producerGroup": producer,
        "tranStateTableOffset": asked["tranStateTableOffset"],
        "commitLogOffset": asked["commitLogOffset"],
        "commitOrRollback": value,
        "fromTransactionCheck": True,
        "msgId": asked["msgId"],
        "transactionId": asked["transactionId"],
    }
    return t.ask(RequestCode.END_TRANSACTION, fields)


def checks(t: Remoting, connection: RemotingClient, count: int = 1, seconds: float = 20) -> list[RemotingCommand]:
    """The checks that came down a connection since the last look, once there are `count` or the time is over."""
    found: list[RemotingCommand] = []

    def look() -> bool:
        found.extend(push for push in t.pushed(connection) if push.code == RequestCode.CHECK_TRANSACTION_STATE)
        return len(found) >= count

    t.until(look, seconds)
    return found


def producer_of(t: Remoting, group: str, client: str | None = None) -> RemotingClient:
    """The connection of a producer of a group that has sent its heartbeat; a new client unless one is named."""
    connection = t.connect()
    t.heartbeat(client or t.new("client"), producers=(group,), to=connection)
    return connection


def times_asked(check: RemotingCommand) -> str:
    """Which of its checks this one of a message is, as the message says it."""
    [message] = decode_messages(check.body)
    return message.properties["TRANSACTION_CHECK_TIMES"]


def given_up(t: Remoting, topic: str, seconds: float = 40) -> list[ReceivedMessage]:
    """The half messages of a topic that nobody is asked about any more, once there is one or the time is over."""

    def look() -> list[ReceivedMessage]:
        answer = t.pull(TRANS_CHECK_MAX_TIME_TOPIC, t.group(name="cases-given-up"))
        found = answer.messages if answer.code == 0 else []
        return [each for each in found if each.properties["REAL_TOPIC"] == topic]

    return t.until(look, seconds)


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
