"""Batches, and messages that consumers send back."""

from collections.abc import Iterable, Mapping
from typing import Unpack

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient, batch_body
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.remoting_answer import Answer
from ..clients.send_fields import SendFields
from ..context.remoting import Remoting, short_names

Parts = Iterable[tuple[bytes, Mapping[str, str]]]


def send_batch(t: Remoting, topic: str, parts: Parts | bytes, **more: Unpack[SendFields]) -> Answer:
    """Send a batch as SDKs do: without an id of its own, and with `batch=true`."""
    fields: SendFields = {"unique": False, "batch": True, **more}
    body = parts if isinstance(parts, bytes) else batch_body(parts)
    return t.ask(RequestCode.SEND_BATCH_MESSAGE, short_names(t.send_fields(topic, **fields)), body)


def back(
    t: Remoting, group: str, place: object, level: object = 0, *, to: RemotingClient | None = None, **fields: object
) -> Answer:
    """Send back the message at a log offset, with a delay level."""
    ext = {
        "offset": place,
        "group": group,
        "delayLevel": level,
        "originMsgId": "none",
        "originTopic": "none",
        "unitMode": False,
        "maxReconsumeTimes": 16,
        **fields,
    }
    return t.ask(RequestCode.CONSUMER_SEND_MSG_BACK, ext, to=to)


def waiting_by_level(t: Remoting, level: int, begin: int, real_topic: str) -> list[ReceivedMessage]:
    """Return the messages delayed by a level for a topic, from an offset of the level's queue, once there are any."""

    def look() -> list[ReceivedMessage]:
        answer = t.pull(SCHEDULE_TOPIC, t.group(name="cases-schedule"), level - 1, begin)
        found = answer.messages if answer.code == 0 else []
        return [each for each in found if each.properties.get("REAL_TOPIC") == real_topic]

    return t.until(look, 5)
