"""Timed messages, their recall, and the due times of delayed messages."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.remoting_response import DecodedResponse
from ..context.remoting import RemotingContext

DAY_MS = 86_400_000


def handle_of(response: DecodedResponse) -> list[str]:
    """Return the parts of the recall handle in a response, or an empty list if there is none."""
    text = response.fields.get("recallHandle")
    return [] if text is None else urlsafe_b64decode(text).decode().split(" ")


def timed(t: RemotingContext, topic: str, ms: int, body: str = "timed") -> DecodedResponse:
    """Send a message that is delivered after `ms` milliseconds."""
    return t.send(topic, body, properties={"TIMER_DELAY_MS": str(ms)})


def recall(t: RemotingContext, topic: str | None, handle: str | None) -> DecodedResponse:
    """Recall a message by its handle."""
    return t.request(RequestCode.RECALL_MESSAGE, {"producerGroup": "PG", "topic": topic, "recallHandle": handle})


def handle(*parts: object) -> str:
    """Build a recall handle from its parts."""
    return urlsafe_b64encode(" ".join(map(str, parts)).encode()).decode()


def delay_in_queue(t: RemotingContext, level: int, place: int, waiting: ReceivedMessage) -> int:
    """Return the ms from the store time of a delayed message, `waiting`, to its due time.

    The due time is in the unit of the level's consume queue at offset `place`.
    """
    unit = {"topic": SCHEDULE_TOPIC, "queueId": level - 1, "index": place, "count": 1}
    [entry] = t.request(RequestCode.QUERY_CONSUME_QUEUE, unit).json["queueData"]
    return int(entry["tagsCode"]) - waiting.store_timestamp
