"""What cases of transactions share: half messages, their ends, and the checks that come for them."""

from typing import Any, Unpack

from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient, decode_messages
from rocketmq_testkit.remoting.command import RemotingCommand
from rocketmq_testkit.remoting.request_code import RequestCode

from .answer import Answer
from .remoting import Remoting, SendFields

UNKNOWN, COMMIT, ROLLBACK = 0, 8, 12
"""Values of commitOrRollback."""
PREPARED = 4
"""The sysFlag of a half message."""


def half(t: Remoting, topic: str, producer: str, body: str = "half", **more: Unpack[SendFields]) -> Answer:
    """Send a half message."""
    own = {"TRAN_MSG": "true", "PGROUP": producer, **(more.pop("properties", None) or {})}
    fields: SendFields = {"producerGroup": producer, "sysFlag": PREPARED, **more, "properties": own}
    return t.send(topic, body, **fields)


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
