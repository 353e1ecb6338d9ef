"""Batches, and messages that consumers send back."""

from typing import Unpack

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient

from ..clients.remoting_response import DecodedResponse
from ..clients.remoting_sends import Parts, batch_request, send_back_request
from ..clients.send_fields import SendFields
from ..context.remoting import RemotingContext


def send_batch(t: RemotingContext, topic: str, parts: Parts | bytes, **more: Unpack[SendFields]) -> DecodedResponse:
    """Send a batch as SDKs do: without an id of its own, and with `batch=true`."""
    return t.request(*batch_request(topic, parts, born_ms=t.now_ms(), new_id=t.message_id, **more))


def send_back(
    t: RemotingContext,
    group: str,
    place: object,
    level: object = 0,
    *,
    to: RemotingClient | None = None,
    **fields: object,
) -> DecodedResponse:
    """Send back the message at `place`, its position in the commit log, with a delay level.

    `to` is the connection, by default that of the context; `fields` are further ext fields.
    """
    return t.request(*send_back_request(group, place, level, **fields), to=to)


def delayed_messages(t: RemotingContext, level: int, begin: int, real_topic: str) -> list[ReceivedMessage]:
    """Return the messages delayed by a level for a topic, from an offset of the level's queue, once there are any."""

    def look() -> list[ReceivedMessage]:
        response = t.pull(SCHEDULE_TOPIC, t.group(name="cases-schedule"), level - 1, begin)
        found = response.messages if response.code == 0 else []
        return [each for each in found if each.properties.get("REAL_TOPIC") == real_topic]

    return t.until(look, 5)
