"""Facts about a pulling group, a popping group, a dead letter and a half message, as administrators see them.

`tests/fixtures/explanation/test_recorded_facts.py` compares what the emulator explains and lists in this situation with
the records of a real broker.
"""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup
from ...helpers.transactions import transacting

HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"


def progress(t: RemotingContext, topic: str, group: str) -> dict[str, int]:
    """Return the offsets of queue 0 of a topic that consumerProgress of mqadmin prints."""
    found = t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic}).json["offsetTable"]
    [offsets] = found.values()
    return {name: offsets[name] for name in ("brokerOffset", "consumerOffset", "pullOffset")}


def members(t: RemotingContext, group: str) -> list[dict[str, Any]]:
    """Return the members and the subscriptions of a group that consumerConnection of mqadmin prints."""
    found = t.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}).json
    subscriptions = {name: data["subString"] for name, data in found["subscriptionTable"].items()}
    return [
        {
            "client": each["clientId"],
            "consumes": [found["consumeType"], found["messageModel"], found["consumeFromWhere"]],
            "subscriptions": subscriptions,
        }
        for each in found["connectionSet"]
    ]


@remoting_case("AdminBrokerProcessor.getConsumeStats", alone=True)
def administrators_see_progress_members_and_dead_letters(t: RemotingContext) -> None:
    """A group has pulled five messages, committed two, and sent the last one back as dead; another has popped two."""
    topic, group = t.topic(queues=1), t.group()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}})
    t.sent(topic, 5)
    pulled = t.pull(topic, group)
    commit = {"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": 2}
    t.request(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
    back = {"group": group, "offset": pulled.messages[-1].physical_offset, "originTopic": topic, "delayLevel": -1}
    t.note("sent back", t.request(RequestCode.CONSUMER_SEND_MSG_BACK, {**back, "unitMode": False}), 0)
    popping = PopGroup(t, topic, t.group())
    popping.take(2)
    producers = transacting(t)
    producers.half()
    dead = f"%DLQ%{group}"
    t.until(lambda: t.max_offset(dead) and t.max_offset(HALF_TOPIC))

    t.note("progress of pulls", progress(t, topic, group))
    t.note("committed", t.request(RequestCode.QUERY_CONSUMER_OFFSET, {**commit, "commitOffset": None})["offset"])
    t.note("members", members(t, group))
    t.note("dead letters", t.max_offset(dead))
    t.note("progress of pops", progress(t, topic, popping.name))
    t.note("half messages", t.max_offset(HALF_TOPIC))
