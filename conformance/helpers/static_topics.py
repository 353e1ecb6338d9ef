"""Shared parts of static topic cases: topics whose logical queues are mapped to chosen physical queues."""

from collections.abc import Mapping, Sequence

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.json_text import dumps
from ..clients.remoting_response import DecodedResponse
from ..clients.remoting_topics import topic_fields
from ..context.case_context import CaseContext

Part = Mapping[str, object]


def part(queue: int, broker: str, logic: int = 0, *, gen: int = 0, start: int = 0, end: int = -1) -> Part:
    """Build the mapping of one part of a logical queue to physical queue `queue` of `broker`, as administrators do.

    Source: LogicQueueMappingItem. `logic` is the logical offset of the part's first message, `start` and `end` are its
    physical offsets; an `end` of -1 means that the part is still written. `gen`: generation of the mapping.
    """
    return {
        "gen": gen,
        "queueId": queue,
        "bname": broker,
        "logicOffset": logic,
        "startOffset": start,
        "endOffset": end,
        "timeOfStart": -1,
        "timeOfEnd": -1,
    }


def make_static(  # noqa: PLR0913 - the fields of a request
    t: CaseContext,
    topic: str,
    parts: Mapping[int, Sequence[Part]],
    *,
    queues: int = 4,
    epoch: int = 1,
    force: bool = False,
    scope: str = "__global__",
    broker: str | None = None,
    to: RemotingClient | None = None,
) -> DecodedResponse:
    """Request a topic with these logical queues from a broker, by default the first one."""
    ext = {**topic_fields(topic, queues=queues), "force": force}
    body = {
        "topic": topic,
        "scope": scope,
        "totalQueues": len(parts),
        "bname": broker or t.broker_name,
        "epoch": epoch,
        "dirty": False,
        "currIdMap": {},
        "hostedQueues": {str(number): list(each) for number, each in parts.items()},
    }
    return t.request(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, ext, dumps(body), to=to)


def static_topic(t: CaseContext, parts: Mapping[int, Sequence[Part]], *, queues: int = 4) -> str:
    """Create a topic with these logical queues on the first broker."""
    topic = t.new()
    response = make_static(t, topic, parts, queues=queues)
    t.require(response.code == 0, f"the topic was not created: {response}")
    return topic


def crossed(t: CaseContext) -> str:
    """Create a topic with two logical queues: 0 is queue 1 of the broker, 1 is queue 0."""
    return static_topic(t, {0: [part(1, t.broker_name)], 1: [part(0, t.broker_name)]}, queues=2)
