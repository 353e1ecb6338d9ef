"""Offsets of broadcasting consumers that the broker tracks (BroadcastOffsetManager)."""

from typing import Any

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext

SCAN_SECONDS = 6.5
"""Seconds, longer than the interval between two scans of the tracked offsets."""


def tracked_offsets(t: RemotingContext, topic: str, group: str) -> Any:
    """Return the offsets by queue that the broker tracks for a broadcasting group."""
    table = t.request(RequestCode.GET_ALL_CONSUMER_OFFSET).json["offsetTable"]
    return table.get(f"{topic}@{group}@broadcast")


def _broadcasting(t: RemotingContext, topic: str, group: str, kind: str = "CONSUME_PASSIVELY") -> RemotingClient:
    connection = t.connect()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, model="BROADCASTING", type=kind, to=connection)
    return connection


@remoting_case("BroadcastOffsetManager.scanOffsetData")
def the_slowest_broadcast_consumers_offset_is_stored_and_never_moves_back(t: RemotingContext) -> None:
    """For broadcasting consumers the broker stores the slowest one's offset under `group@broadcast`.

    It never moves backwards.
    """
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 5)
    fast, slow = _broadcasting(t, topic, group), _broadcasting(t, topic, group)
    for connection, offset in ((fast, 4), (slow, 1)):
        t.note(f"pulled at {offset}", t.pull(topic, group, offset=offset, to=connection).code)
    t.until(lambda: tracked_offsets(t, topic, group), 20)
    t.note("noted", tracked_offsets(t, topic, group))
    t.note("asked for", t.committed(topic, f"{group}@broadcast"), 0)
    t.note("of the group itself", t.request(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}).json["topicList"])
    t.note("who consumes", t.request(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic}).json["groupList"])
    for offset in (3, 2):
        t.pull(topic, group, offset=offset, to=slow)
        t.wait(SCAN_SECONDS)
        t.note(f"noted after a pull at {offset}", tracked_offsets(t, topic, group))


@remoting_case("PullMessageProcessor.isBroadcast")
def offsets_are_tracked_only_for_known_broadcasting_push_consumers(t: RemotingContext) -> None:
    """The broker tracks no offsets of active (pull) consumers, of clustering consumers or of unregistered clients."""
    topic, active = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    t.pull(topic, active, offset=1, to=_broadcasting(t, topic, active, "CONSUME_ACTIVELY"))
    clustering = t.group()
    t.heartbeat(t.new("client"), groups={clustering: {topic: "*"}})
    t.pull(topic, clustering, offset=1)
    unregistered = t.group()
    _broadcasting(t, topic, unregistered)
    t.pull(topic, unregistered, offset=1)  # over a connection whose heartbeats do not name the group
    t.wait(SCAN_SECONDS)
    t.note("noted", [tracked_offsets(t, topic, each) for each in (active, clustering, unregistered)])
