"""Consumers of light message queues (LMQ): groups, offsets and pops.

An LMQ group is one whose name begins with the prefix of LMQs.
"""

from rocketmq_testkit.emulator.message.names import LMQ_PREFIX
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_members import assignment_request
from ...context.remoting import RemotingContext
from ...deployment.target import Capability
from ..store.lmq_queues import LMQ_ENABLED, lmq_name, messages_with_lmq_offsets, send_to_lmqs, wait_for_offset

RESTART = frozenset({Capability.RESTART})


def lmq_group(t: RemotingContext) -> str:
    """Return a new name of an LMQ group."""
    return LMQ_PREFIX + t.new("light group")


def _filled(t: RemotingContext, count: int = 3) -> str:
    topic, name = t.topic(queues=1), lmq_name(t)
    for number in range(count):
        send_to_lmqs(t, topic, name, f"m{number}")
    wait_for_offset(t, name, count)
    return name


@remoting_case("ConsumerManageProcessor.updateConsumerOffset", settings=LMQ_ENABLED)
def a_group_commits_and_resets_offsets_in_an_lmq(t: RemotingContext) -> None:
    """A group that consumes an LMQ starts at offset 0, commits, resets and has a progress, as with any queue."""
    name, group = _filled(t), t.group()
    t.note("at first", t.committed(name, group), 0)
    t.note("commit", t.commit(name, group, 2), 0)
    t.note("committed", t.committed(name, group), 0)
    t.note("another queue", t.committed(name, group, 1), 22)
    stats = t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group}).json["offsetTable"]
    t.note("progress", [{each: value[each] for each in ("brokerOffset", "consumerOffset")} for value in stats.values()])
    t.note("topics", t.request(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}).json["topicList"])
    table = t.request(RequestCode.GET_ALL_CONSUMER_OFFSET).json
    t.note("table", table["offsetTable"].get(f"{name}@{group}"))
    t.note("LMQ table", table["lmqOffsetTable"].get(f"{name}@{group}"))
    ext = {"topic": name, "group": group, "timestamp": 0, "isForce": True}
    t.note("reset", t.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext), 0)
    t.note("after the reset", t.committed(name, group), 0)
    response = t.pull(name, group, offset=2)
    t.note("pulled", [response.code, response.fields.get("nextBeginOffset")])


@remoting_case("LmqConsumerOffsetManager.commitOffset", settings=LMQ_ENABLED)
def an_lmq_group_has_one_offset_for_all_queue_ids(t: RemotingContext) -> None:
    """An LMQ group exists without being created and has one offset for all queue ids."""
    name, group = _filled(t), lmq_group(t)
    t.note("at first", t.committed(name, group), 0)
    t.note("commit", t.commit(name, group, 2, queue=3), 0)
    for queue in (0, 3, 7):
        t.note(f"queue {queue}", t.committed(name, group, queue), 0)
    t.note("topics", t.request(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}).json["topicList"])
    table = t.request(RequestCode.GET_ALL_CONSUMER_OFFSET).json
    t.note("table", table["offsetTable"].get(f"{name}@{group}"))
    t.note("LMQ table", table["lmqOffsetTable"].get(f"{name}@{group}"))
    t.note("of another topic", t.commit(t.topic(queues=1), group, 1), 0)
    t.note("pull commits", t.pull(name, group, commit=1).code)
    t.note("committed", t.committed(name, group), 0)


@remoting_case("LmqConsumerOffsetManager.queryOffset", settings=LMQ_ENABLED)
def an_offset_reset_takes_effect_at_the_next_pull_of_an_lmq_group(t: RemotingContext) -> None:
    """After an offset reset an LMQ group keeps its committed offset until its next pull.

    Commits before that pull are ignored.
    """
    name, group = _filled(t), lmq_group(t)
    t.commit(name, group, 2)
    ext = {"topic": name, "group": group, "timestamp": 0, "isForce": True}
    t.note("reset", t.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext), 0)
    t.note("after the reset", t.committed(name, group), 0)
    t.note("commit", t.commit(name, group, 3), 0)
    t.note("committed", t.committed(name, group), 0)
    for label in ("first pull", "second pull"):
        response = t.pull(name, group, offset=2)
        t.note(label, [response.code, response.fields.get("nextBeginOffset")])


@remoting_case("LmqSubscriptionGroupManager.updateSubscriptionGroupConfig", settings=LMQ_ENABLED)
def an_lmq_group_ignores_configuration_changes(t: RemotingContext) -> None:
    """An LMQ group has default settings, ignores changes, and is not listed. Deleting it deletes its offsets."""
    name, group = _filled(t), lmq_group(t)
    t.group(name=group, retryMaxTimes=3)
    asked = {"group": group}
    t.note("group", t.request(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, asked).json["retryMaxTimes"])
    t.note("listed", group in t.request(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json["subscriptionGroupTable"])
    t.commit(name, group, 2)
    ext = {"groupName": group, "cleanOffset": True}
    t.note("deleted", t.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext), 0)
    t.note("committed", t.committed(name, group), 0)
    t.note("LMQ table", f"{name}@{group}" in t.request(RequestCode.GET_ALL_CONSUMER_OFFSET).json["lmqOffsetTable"])


@remoting_case("PopMessageProcessor.popMsgFromQueue", settings=LMQ_ENABLED)
def an_lmq_is_popped_and_unacknowledged_messages_are_redelivered(t: RemotingContext) -> None:
    """A pop of an LMQ uses LMQ offsets, and unacknowledged messages are redelivered."""
    topic, name, group = t.topic(queues=1), lmq_name(t), t.group()
    t.sent(topic, 2)
    for number in range(2):
        send_to_lmqs(t, topic, name, f"m{number}")
    wait_for_offset(t, name, 2)
    response = t.pop(name, group, invisible_ms=3000)
    t.note("popped", messages_with_lmq_offsets(response))
    t.note("offsets", [response["startOffsetInfo"], response["msgOffsetInfo"]])
    handle = f"0 {response['popTime']} {response['invisibleTime']} {response['reviveQid']} 0 {t.broker_name} 0 0"
    t.note("acknowledged", t.ack(name, group, handle, 0), 0)
    t.note("popped at once", t.pop(name, group), 210)
    again = t.until(lambda: t.pop(name, group).bodies, 20)
    t.note("popped again", again)


@remoting_case("QueryAssignmentProcessor.doLoadBalance", settings=LMQ_ENABLED)
def an_lmq_is_assigned_to_one_client_of_a_group(t: RemotingContext) -> None:
    """The single queue of an LMQ is assigned to one client of a group; broadcasting clients get none."""
    name, group = lmq_name(t), t.group()
    clients = sorted(t.new("client") for _ in range(2))
    for client in clients:
        t.heartbeat(client, groups={group: {name: "*"}}, to=t.connect())
    for model in ("CLUSTERING", "BROADCASTING"):
        for number, client in enumerate(clients):
            response = t.request(*assignment_request(name, group, client, model=model))
            assigned = response.json.get("messageQueueAssignments")
            t.note(f"{model}, client {number}", assigned and [each["messageQueue"] for each in assigned])


@remoting_case("AbstractConsumeQueueStore.setTopicQueueTable", settings=LMQ_ENABLED, needs=RESTART, alone=True)
def lmqs_and_their_offsets_survive_a_restart(t: RemotingContext) -> None:
    """LMQs and their offsets survive a restart. A message that names its LMQ twice counts only once afterwards."""
    topic, name, group = t.topic(queues=1), lmq_name(t), lmq_group(t)
    send_to_lmqs(t, topic, f"{name},{name}", "one")
    wait_for_offset(t, name, 1)
    t.commit(name, group, 1)
    t.restart()
    t.note("committed", t.committed(name, group), 0)
    send_to_lmqs(t, topic, name, "two")
    wait_for_offset(t, name, 2)
    t.note("messages", [(each[0], each[-1]) for each in messages_with_lmq_offsets(t.pull(name, t.group()))])
