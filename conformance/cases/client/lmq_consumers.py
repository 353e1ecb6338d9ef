"""Consumers of light message queues (LMQ): groups, offsets and pops."""

from rocketmq_testkit.emulator.message.names import LMQ_PREFIX
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_members import assignment_request
from ...context.remoting import Remoting
from ...deployment.target import Capability
from ..store.lmq_queues import LIGHT, _reaches, light_name, send_to, within

RESTART = frozenset({Capability.RESTART})


def light_group(t: Remoting) -> str:
    """Return a new name of an LMQ group."""
    return LMQ_PREFIX + t.new("light group")


def _filled(t: Remoting, count: int = 3) -> str:
    topic, name = t.topic(queues=1), light_name(t)
    for number in range(count):
        send_to(t, topic, name, f"m{number}")
    _reaches(t, name, count)
    return name


@remoting_case("ConsumerManageProcessor.updateConsumerOffset", settings=LIGHT)
def a_group_has_offsets_in_a_light_queue(t: Remoting) -> None:
    """A group in an LMQ starts at offset 0, commits, resets and has a consume progress, as in any queue."""
    name, group = _filled(t), t.group()
    t.see("at first", t.committed(name, group), 0)
    t.see("commit", t.commit(name, group, 2), 0)
    t.see("committed", t.committed(name, group), 0)
    t.see("another queue", t.committed(name, group, 1), 22)
    stats = t.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group}).json["offsetTable"]
    t.see("progress", [{each: value[each] for each in ("brokerOffset", "consumerOffset")} for value in stats.values()])
    t.see("topics", t.ask(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}).json["topicList"])
    table = t.ask(RequestCode.GET_ALL_CONSUMER_OFFSET).json
    t.see("table", table["offsetTable"].get(f"{name}@{group}"))
    t.see("light table", table["lmqOffsetTable"].get(f"{name}@{group}"))
    ext = {"topic": name, "group": group, "timestamp": 0, "isForce": True}
    t.see("reset", t.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext), 0)
    t.see("after the reset", t.committed(name, group), 0)
    answer = t.pull(name, group, offset=2)
    t.see("pulled", [answer.code, answer.fields.get("nextBeginOffset")])


@remoting_case("LmqConsumerOffsetManager.commitOffset", settings=LIGHT)
def a_light_group_has_one_offset(t: Remoting) -> None:
    """An LMQ group exists without being created and has one offset for all queue ids."""
    name, group = _filled(t), light_group(t)
    t.see("at first", t.committed(name, group), 0)
    t.see("commit", t.commit(name, group, 2, queue=3), 0)
    for queue in (0, 3, 7):
        t.see(f"queue {queue}", t.committed(name, group, queue), 0)
    t.see("topics", t.ask(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}).json["topicList"])
    table = t.ask(RequestCode.GET_ALL_CONSUMER_OFFSET).json
    t.see("table", table["offsetTable"].get(f"{name}@{group}"))
    t.see("light table", table["lmqOffsetTable"].get(f"{name}@{group}"))
    t.see("of another topic", t.commit(t.topic(queues=1), group, 1), 0)
    t.see("pull commits", t.pull(name, group, commit=1).code)
    t.see("committed", t.committed(name, group), 0)


@remoting_case("LmqConsumerOffsetManager.queryOffset", settings=LIGHT)
def a_reset_moves_the_next_pull_of_a_light_group(t: Remoting) -> None:
    """After an offset reset an LMQ group keeps its committed offset until its next pull.

    Commits before that pull are ignored.
    """
    name, group = _filled(t), light_group(t)
    t.commit(name, group, 2)
    ext = {"topic": name, "group": group, "timestamp": 0, "isForce": True}
    t.see("reset", t.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext), 0)
    t.see("after the reset", t.committed(name, group), 0)
    t.see("commit", t.commit(name, group, 3), 0)
    t.see("committed", t.committed(name, group), 0)
    for label in ("first pull", "second pull"):
        answer = t.pull(name, group, offset=2)
        t.see(label, [answer.code, answer.fields.get("nextBeginOffset")])


@remoting_case("LmqSubscriptionGroupManager.updateSubscriptionGroupConfig", settings=LIGHT)
def a_light_group_cannot_be_changed(t: Remoting) -> None:
    """An LMQ group has default settings, ignores changes, and is not listed. Deleting it deletes its offsets."""
    name, group = _filled(t), light_group(t)
    t.group(name=group, retryMaxTimes=3)
    asked = {"group": group}
    t.see("group", t.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, asked).json["retryMaxTimes"])
    t.see("listed", group in t.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json["subscriptionGroupTable"])
    t.commit(name, group, 2)
    ext = {"groupName": group, "cleanOffset": True}
    t.see("deleted", t.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext), 0)
    t.see("committed", t.committed(name, group), 0)
    t.see("light table", f"{name}@{group}" in t.ask(RequestCode.GET_ALL_CONSUMER_OFFSET).json["lmqOffsetTable"])


@remoting_case("PopMessageProcessor.popMsgFromQueue", settings=LIGHT)
def a_light_queue_is_popped(t: Remoting) -> None:
    """A pop of an LMQ uses LMQ offsets, and unacknowledged messages are redelivered."""
    topic, name, group = t.topic(queues=1), light_name(t), t.group()
    t.sent(topic, 2)
    for number in range(2):
        send_to(t, topic, name, f"m{number}")
    _reaches(t, name, 2)
    answer = t.pop(name, group, invisible_ms=3000)
    t.see("popped", within(answer))
    t.see("offsets", [answer["startOffsetInfo"], answer["msgOffsetInfo"]])
    handle = f"0 {answer['popTime']} {answer['invisibleTime']} {answer['reviveQid']} 0 {t.broker_name} 0"
    t.see("acknowledged", t.ack(name, group, f"{handle} 0", 0), 0)
    t.see("popped at once", t.pop(name, group), 210)
    again = t.until(lambda: t.pop(name, group).bodies, 20)
    t.see("popped again", again)


@remoting_case("QueryAssignmentProcessor.doLoadBalance", settings=LIGHT)
def a_light_queue_is_assigned_without_a_route(t: Remoting) -> None:
    """The single queue of an LMQ is assigned to one client of a group; broadcasting clients get none."""
    name, group = light_name(t), t.group()
    clients = sorted(t.new("client") for _ in range(2))
    for client in clients:
        t.heartbeat(client, groups={group: {name: "*"}}, to=t.connect())
    for model in ("CLUSTERING", "BROADCASTING"):
        for number, client in enumerate(clients):
            answer = t.ask(*assignment_request(name, group, client, model=model))
            assigned = answer.json.get("messageQueueAssignments")
            t.see(f"{model}, client {number}", assigned and [each["messageQueue"] for each in assigned])


@remoting_case("AbstractConsumeQueueStore.setTopicQueueTable", settings=LIGHT, needs=RESTART, alone=True)
def light_queues_survive_a_restart(t: Remoting) -> None:
    """LMQs and their offsets survive a restart. An offset counter ahead of its queue is reset to the queue's end."""
    topic, name, group = t.topic(queues=1), light_name(t), light_group(t)
    send_to(t, topic, f"{name},{name}", "one")
    _reaches(t, name, 1)
    t.commit(name, group, 1)
    t.restart()
    t.see("committed", t.committed(name, group), 0)
    send_to(t, topic, name, "two")
    _reaches(t, name, 2)
    t.see("messages", [(each[0], each[-1]) for each in within(t.pull(name, t.group()))])
