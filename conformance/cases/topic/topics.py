"""Topics: creation, changes and deletion by administrators."""

from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_response import Answer
from ...clients.remoting_topics import topic_fields
from ...context.remoting import Remoting
from ...helpers.pops import popping

CREATE = RequestCode.UPDATE_AND_CREATE_TOPIC


def create(t: Remoting, topic: str, /, **changes: object) -> Answer:
    """Create or change a topic."""
    return t.ask(CREATE, {**topic_fields(topic, queues=2), **changes})


def delete(t: Remoting, topic: str) -> tuple[Answer, Answer]:
    """Delete a topic on the broker and then on the name server, as administrators do."""
    ext = {"topic": topic}
    return (
        t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, ext),
        t.ask(RequestCode.DELETE_TOPIC_IN_NAMESRV, ext, to=t.namesrv),
    )


@remoting_case("AdminBrokerProcessor.updateAndCreateTopic")
def a_created_topic_is_as_asked_for(t: Remoting) -> None:
    """A created topic has the requested queues, permission, flags and order, and its route exists at once."""
    topic = t.new()
    t.see("created", create(t, topic, readQueueNums=3, writeQueueNums=1, topicSysFlag=1, order=True), 0)
    t.see("config", t.config_of(topic), 0)
    t.see("route", t.route(topic), 0)


@remoting_case("RouteInfoManager.registerBroker")
def a_topic_deleted_at_its_broker_keeps_its_route(t: Remoting) -> None:
    """A topic deleted only on its broker keeps its route and is listed. A send to it creates it again."""
    topic, other = t.topic(queues=3), t.topic(queues=2)
    ext = {"topic": topic}
    t.see("deleted", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, ext), 0)
    t.see("config", t.config_of(topic), 17)
    t.see("route", t.route(topic), 0)
    create(t, other, readQueueNums=1)
    t.see("route after another registration", t.route(topic), 0)
    listed = t.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}, to=t.namesrv)
    t.see("listed", topic in listed.json["topicList"])
    t.see("sent", t.send(topic), 0)
    t.see("config of the topic that the send has created", t.config_of(topic), 0)
    t.see("route of it", t.route(topic), 0)
    for place, answer in zip(("broker", "name server"), delete(t, topic), strict=True):
        t.see(f"deleted at the {place}", answer, 0)
    t.see("no route", t.route(topic), 17)


@remoting_case("AdminBrokerProcessor.getTopicConfig")
def an_unknown_topic_has_no_config(t: Remoting) -> None:
    """A request for the configuration of an unknown topic returns TOPIC_NOT_EXIST."""
    t.see("unknown", t.config_of(t.new()), 17)
    t.see("blank", t.config_of(""), 17)
    t.see("without a name", t.ask(RequestCode.GET_TOPIC_CONFIG, {}))


@remoting_case("TopicConfigManager.updateTopicConfig")
def a_topic_can_be_changed(t: Remoting) -> None:
    """An update replaces queue numbers, permission, filter type and order. The number of queues may decrease."""
    topic = t.topic(queues=4)
    t.see("changed", create(t, topic, writeQueueNums=1, perm=4, order=True, topicFilterType="MULTI_TAG"), 0)
    t.see("config", t.config_of(topic), 0)
    t.see("same again", create(t, topic, writeQueueNums=1, perm=4, order=True, topicFilterType="MULTI_TAG"), 0)
    t.see("route", t.route(topic), 0)


@remoting_case("ConsumeQueueStore.findOrCreateConsumeQueue")
def messages_of_removed_queues_stay(t: Remoting) -> None:
    """Messages of a removed queue are kept and can be read again when the queue is added again."""
    topic = t.topic(queues=2)
    t.sent(topic, 2, queue=1)
    create(t, topic, readQueueNums=1, writeQueueNums=1)
    t.see("while it is not there", t.pull(topic, t.group(), 1), 29)
    t.see("its end", t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 1}), 0)
    create(t, topic)
    t.see("back again", t.pull(topic, t.group(), 1), 0)


@remoting_case("CreateTopicRequestHeader.checkFields")
def fields_of_a_topic_must_be_there(t: Remoting) -> None:
    """Filter type and numbers are required to create a topic, and the filter type is checked first."""
    t.see("nothing", t.ask(CREATE, {}), 1)
    for field in (
        "topicFilterType",
        "readQueueNums",
        "writeQueueNums",
        "perm",
        "topicSysFlag",
        "order",
        "defaultTopic",
    ):
        t.see(f"without {field}", create(t, t.new(), **{field: None}))
    t.see("without topic", create(t, "x", topic=None))
    t.see("unknown filter type", create(t, t.new(), topicFilterType="ANY_TAG"), 1)
    t.see("number that is none", create(t, t.new(), readQueueNums="two"))


@remoting_case("AdminBrokerProcessor.updateAndCreateTopic")
def numbers_of_a_topic_are_not_checked(t: Remoting) -> None:
    """A topic with no or negative queue numbers or meaningless permissions is accepted."""
    for label, changes in (
        ("no queues", {"readQueueNums": 0, "writeQueueNums": 0}),
        ("negative", {"readQueueNums": -1, "writeQueueNums": -1}),
        ("perm 99", {"perm": 99}),
        ("perm 0", {"perm": 0}),
        ("perm 7", {"perm": 7}),
        ("system flag 77", {"topicSysFlag": 77}),
    ):
        topic = t.new()
        t.see(label, create(t, topic, **changes), 0)
        t.see(f"{label}, config", t.config_of(topic), 0)


@remoting_case("TopicValidator.isSystemTopic")
def system_topics_cannot_be_changed(t: Remoting) -> None:
    """Creating or changing a system topic is rejected.

    The topics of cluster and broker and all with the prefix rmq_sys_ are system topics.
    """
    for topic in (
        names.AUTO_CREATE_TOPIC,
        names.SELF_TEST_TOPIC,
        names.SCHEDULE_TOPIC,
        names.BENCHMARK_TOPIC,
        names.HALF_TOPIC,
        names.OP_HALF_TOPIC,
        names.TRACE_TOPIC,
        names.TRANS_CHECK_MAX_TIME_TOPIC,
        names.OFFSET_MOVED_TOPIC,
        names.CHECKPOINT_TOPIC,
        names.TIMER_TOPIC,
        "rmq_sys_of_my_own",
        names.revive_topic(t.cluster),
        names.reply_topic(t.cluster),
        t.cluster,
        t.broker_name,
    ):
        t.see("refused", create(t, topic), 29)


@remoting_case("TopicValidator.isSystemTopic")
def system_topics_cannot_be_deleted(t: Remoting) -> None:
    """A request to delete a system topic is rejected."""
    for topic in (names.AUTO_CREATE_TOPIC, names.SCHEDULE_TOPIC, names.HALF_TOPIC, "rmq_sys_of_my_own", t.cluster):
        t.see("refused", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), 29)


@remoting_case("AdminBrokerProcessor.updateAndCreateTopic")
def retry_topics_can_be_made(t: Remoting) -> None:
    """Retry and dead letter topics may be created by administrators."""
    group = t.group()
    for topic in (names.retry_topic(group), names.dlq_topic(group)):
        t.see(topic.partition("%g")[0], create(t, topic, readQueueNums=1, writeQueueNums=1), 0)
        t.see("config", t.config_of(topic), 0)


@remoting_case("AdminBrokerProcessor.deleteTopic")
def a_deleted_topic_is_gone(t: Remoting) -> None:
    """A deleted topic has no configuration, route, messages or offsets. Created again, it starts at 0."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.see("committed", t.commit(topic, group, 2), 0)
    t.see("deleted", delete(t, topic))
    t.see("config", t.config_of(topic), 17)
    t.see("route", t.route(topic), 17)
    t.see("pull", t.pull(topic, group), 17)
    t.see("pop", t.pop(topic, group), 17)
    t.see("end", t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}), 0)
    t.topic(name=topic, queues=1)
    t.see("committed offset", t.committed(topic, group), 22)
    t.see("sent again", t.readable(topic, t.send(topic)))
    t.see("pulled again", t.pull(topic, group), 0)


@remoting_case("AdminBrokerProcessor.deleteTopic")
def what_is_not_there_can_be_deleted(t: Remoting) -> None:
    """Deleting an unknown topic succeeds, but a topic name is required."""
    t.see("unknown", delete(t, t.new()))
    t.see("illegal name", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "bad name!"}), 0)
    t.see("blank", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": ""}), 29)
    t.see("without a name", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {}), 29)


@remoting_case("TopicConfigManager.deleteTopicConfig")
def retry_topics_of_pops_go_with_their_topic(t: Remoting) -> None:
    """Deleting a topic deletes the pop retry topics of its groups."""
    topic, group = t.topic(queues=1), t.group()
    retry = t.topic(name=names.pop_retry_topic(topic, group, v2=False), queues=1)
    t.sent(topic)
    t.see("popped", t.pop(topic, group), 0)
    t.commit(topic, group, 1)
    t.see("deleted", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), 0)
    t.see("retry topic", t.config_of(retry), 17)


@remoting_case("AdminBrokerProcessor.deleteTopic, ConsumerOffsetManager.cleanOffsetByTopic")
def what_came_back_goes_with_its_topic(t: Remoting) -> None:
    """Deleting a topic also deletes its redelivered messages and its groups' offsets, also in the retry topics."""
    group = popping(t, 2)
    group.bring_back(2)
    group.ack_all(group.pop())
    for label, each in (("topic", group), ("retries", group.retry)):
        t.see(f"{label}, before", each.reaches(2), 0)
    t.see("deleted", delete(t, group.topic))
    for label, each in (("topic", group), ("retries", group.retry)):
        t.see(f"{label}: offset", each.committed(), 22)
        t.see(f"{label}: config", t.config_of(each.topic), 17)
        t.see(f"{label}: popped", each.pop(), 17)
    t.see("route of the topic", t.route(group.topic), 17)
    t.topic(name=group.topic, queues=1)
    group.fill(1)
    t.see("made again", group.pop().found)


@remoting_case("DefaultRequestProcessor.deleteTopicInNamesrv")
def a_name_server_can_forget_a_topic(t: Remoting) -> None:
    """A topic deleted only on the name server is still served, and its route returns after an update."""
    topic = t.topic(queues=1)
    ext = {"topic": topic}
    t.see("forgotten", t.ask(RequestCode.DELETE_TOPIC_IN_NAMESRV, ext, to=t.namesrv), 0)
    t.see("route", t.route(topic), 17)
    t.see("sent", t.send(topic), 0)
    t.topic(name=topic, queues=2)
    t.see("route after an update", t.route(topic), 0)


@remoting_case("AdminBrokerProcessor.updateAndCreateTopicList")
def topics_can_be_made_together(t: Remoting) -> None:
    """UPDATE_AND_CREATE_TOPIC_LIST creates several topics, with attributes as maps."""
    topics = [t.new(), t.new()]
    config = {"readQueueNums": 1, "writeQueueNums": 2, "perm": 6, "topicFilterType": "SINGLE_TAG", "order": False}
    both = [{**config, "topicName": topics[0], "attributes": {"+message.type": "FIFO"}}]
    both += [{**config, "topicName": topics[1], "topicSysFlag": 0}]
    t.see("made", t.ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, None, dumps({"topicConfigList": both})))
    for topic in topics:
        t.see("config", t.config_of(topic))
    bad = [{**config, "topicName": t.new(), "attributes": {}}, {**config, "topicName": "bad name!", "attributes": {}}]
    t.see("one bad", t.ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, None, dumps({"topicConfigList": bad})))
    t.see("the other one", t.config_of(str(bad[0]["topicName"])))


@remoting_case("AdminBrokerProcessor.getTopicStatsInfo")
def a_topic_shows_the_extent_of_its_queues(t: Remoting) -> None:
    """Topic statistics have the offsets of each write queue, and no time for an empty queue."""
    topic = t.topic(read=1, write=2)
    t.sent(topic, 3, queue=1)
    answer = t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
    t.see("queues", answer.json["offsetTable"])
    t.see("unknown", t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": t.new()}), 17)


@remoting_case("AdminBrokerProcessor.getAllTopicConfig")
def all_topics_can_be_asked_for(t: Remoting) -> None:
    """GET_ALL_TOPIC_CONFIG has new topics at once, and its data version increases."""
    before = t.ask(RequestCode.GET_ALL_TOPIC_CONFIG).json
    topic = t.topic(queues=3, kind="FIFO")
    after = t.ask(RequestCode.GET_ALL_TOPIC_CONFIG).json
    t.see("not yet", topic in before["topicConfigTable"])
    t.see("config", after["topicConfigTable"][topic])
    t.see("newer", after["dataVersion"]["counter"] > before["dataVersion"]["counter"])


@remoting_case("AdminBrokerProcessor.getSystemTopicListFromBroker")
def a_broker_knows_its_system_topics(t: Remoting) -> None:
    """GET_SYSTEM_TOPIC_LIST_FROM_BROKER returns the system topics, without those that clients created."""
    found = t.ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER).json["topicList"]
    t.see("system topics", sorted(each for each in found if not each.startswith("rmq_sys_of")))
