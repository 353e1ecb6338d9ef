"""What cases of pop share: filled topics, the retry topic, and what lies in the revive log on its way."""

import json
from typing import Any

from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request_code import RequestCode

from .answer import Answer
from .remoting import Remoting

TIMER_TOPIC = "rmq_sys_wheel_timer"
"""Where check points and acknowledgements lie until the invisible time ends."""
PULL_MAX = 32
ONLOOKER = "onlooker"
"""The group that looks into retry topics and logs, so that the groups of a case have pulled nothing."""


def max_offset(t: Remoting, topic: str, queue: int = 0) -> int:
    """The offset that the next message of a queue will have; 0 where there is no such queue."""
    return int(t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": queue})["offset"])


def filled(t: Remoting, topic: str, count: int = 1, *, queue: int = 0, **more: Any) -> None:
    """Send messages `m0`, `m1`, ... to a queue and return when they can be read."""
    answers = t.sent(topic, count, queue=queue, **more)
    end = int(answers[-1]["queueOffset"]) + 1
    t.require(t.until(lambda: max_offset(t, topic, queue) >= end), f"what was sent to {topic} cannot be read")


def retry_topic(topic: str, group: str, *, v2: bool = False) -> str:
    """The pop retry topic of a topic and group. Source: KeyBuilder.buildPopRetryTopic."""
    return f"%RETRY%{group}{'+' if v2 else '_'}{topic}"


def copies(
    t: Remoting, topic: str, group: str, count: int = 1, *, seconds: float = 30, v2: bool = False
) -> list[ReceivedMessage]:
    """What lies in the retry topic, as soon as there are `count` messages or `seconds` are over."""
    name = retry_topic(topic, group, v2=v2)
    t.until(lambda: max_offset(t, name) >= count, seconds)
    return t.pull(name, ONLOOKER).messages if max_offset(t, name) else []


def bodies(messages: list[ReceivedMessage]) -> list[str]:
    """The bodies alone, where nothing else matters."""
    return [message.body.decode() for message in messages]


def texts(answer: Answer) -> list[str]:
    """The bodies of the messages of an answer."""
    return bodies(answer.messages)


def committed(t: Remoting, topic: str, group: str, offset: int, queue: int = 0) -> Answer:
    """The committed offset, after waiting for it to become `offset`: it is written just after the answer of a pop."""

    def look() -> Answer | None:
        answer = t.committed(topic, group, queue)
        return answer if answer.fields.get("offset") == str(offset) else None

    return t.until(look, 3) or t.committed(topic, group, queue)


def records_since(t: Remoting, topic: str, queue: int, offset: int, mark: str) -> list[ReceivedMessage]:
    """The messages of a queue from an offset on whose body names `mark`: what this case caused, among others'."""
    found = []
    while offset < (end := max_offset(t, topic, queue)):
        messages = t.pull(topic, ONLOOKER, queue, offset, max_messages=PULL_MAX).messages
        found += [each for each in messages if mark.encode() in each.body]
        offset = messages[-1].queue_offset + 1 if messages else end
    return found


def record_shown(record: ReceivedMessage) -> dict[str, Any]:
    """A check point or acknowledgement of the revive log: its JSON body and its properties."""
    return {"body": json.loads(record.body), "properties": dict(sorted(record.properties.items()))}
