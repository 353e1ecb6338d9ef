"""Cleanup of ordered batches in flight: every 10 s the broker checks them, and then writes them to a file."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, popping

LONG_MS = 3_600_000
WRITTEN_SECONDS = 21
"""Seconds within which the broker writes the file at least once, even if it is busy."""


def with_batch_in_flight(t: RemotingContext, queue: int) -> PopGroup:
    """Create a group with both messages of one queue in flight in order for an hour. The topic has two queues."""
    group = popping(t, 2, queues=2)
    t.require(len(group.pop_in_order(queue=queue, invisible_ms=LONG_MS).messages) == 2, "no batch was popped")
    return group


def note_pop(t: RemotingContext, label: str, group: PopGroup, queue: int) -> None:
    response: DecodedResponse = group.pop_in_order(queue=queue, invisible_ms=LONG_MS)
    t.note(label, [response.bodies, response.fields.get("orderCountInfo")])


@remoting_case("ConsumerOrderInfoManager.autoClean")
def a_batch_of_an_unchanged_topic_and_group_stays_in_flight(t: RemotingContext) -> None:
    """A batch of an unchanged group and topic is still in flight after the file was written."""
    group = with_batch_in_flight(t, 1)
    t.wait(WRITTEN_SECONDS)
    note_pop(t, "popped", group, 1)


@remoting_case("ConsumerOrderInfoManager.autoClean, ClientManageProcessor.unregisterClient")
def a_batch_stays_in_flight_when_its_consumer_unregisters(t: RemotingContext) -> None:
    """A batch stays in flight, also for other consumers, when its consumer unregisters and disconnects."""
    group, client, connection = popping(t, 2, queues=2), t.new("client"), t.connect()
    t.heartbeat(client, groups={group.name: {group.topic: "*"}}, to=connection)
    t.require(
        len(group.pop_in_order(queue=1, invisible_ms=LONG_MS, to=connection).messages) == 2, "no batch was popped"
    )
    who = {"clientID": client, "consumerGroup": group.name}
    t.note("left", t.request(RequestCode.UNREGISTER_CLIENT, who, to=connection), 0)
    t.disconnect(connection)
    note_pop(t, "popped at once", group, 1)
    t.wait(WRITTEN_SECONDS)
    note_pop(t, "popped", group, 1)


@remoting_case("ConsumerOrderInfoManager.autoClean")
def a_recreated_group_has_no_batch_in_flight(t: RemotingContext) -> None:
    """A group that is deleted and created again has no batch in flight.

    Its messages are delivered as if for the first time.
    """
    group = with_batch_in_flight(t, 1)
    t.note(
        "deleted", t.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group.name, "cleanOffset": False}), 0
    )
    t.wait(WRITTEN_SECONDS)
    t.group(name=group.name)
    note_pop(t, "popped", group, 1)


@remoting_case("ConsumerOrderInfoManager.autoClean")
def a_queue_removed_and_added_again_has_no_batch_in_flight(t: RemotingContext) -> None:
    """A queue that was removed and added again has no batch in flight; another queue keeps its batch."""
    group = with_batch_in_flight(t, 1)
    t.require(len(group.pop_in_order(queue=0, invisible_ms=LONG_MS).messages) == 2, "no batch was popped")
    t.topic(name=group.topic, queues=1)
    t.wait(WRITTEN_SECONDS)
    t.topic(name=group.topic, queues=2)
    note_pop(t, "the queue that was away", group, 1)
    note_pop(t, "the other", group, 0)


@remoting_case("ConsumerOrderInfoManager.autoClean")
def a_recreated_topic_has_no_batch_in_flight(t: RemotingContext) -> None:
    """A topic that is deleted and created again under the same name has no batch in flight."""
    group = with_batch_in_flight(t, 1)
    t.note("deleted", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": group.topic}), 0)
    t.wait(WRITTEN_SECONDS)
    t.topic(name=group.topic, queues=2)
    group.fill(1, queue=1)
    note_pop(t, "popped", group, 1)
