"""Topics: creation, changes and deletion by administrators."""

from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_response import DecodedResponse
from ...clients.remoting_topics import topic_fields
from ...context.remoting import RemotingContext
from ...helpers.pops import popping

CREATE = RequestCode.UPDATE_AND_CREATE_TOPIC


def create(t: RemotingContext, topic: str, /, **changes: object) -> DecodedResponse:
    """Create or change a topic."""
    return t.request(CREATE, {**topic_fields(topic, queues=2), **changes})


def delete(t: RemotingContext, topic: str) -> tuple[DecodedResponse, DecodedResponse]:
    """Delete a topic on the broker and then on the name server, as administrators do."""
    ext = {"topic": topic}
    return (
        t.request(RequestCode.DELETE_TOPIC_IN_BROKER, ext),
        t.request(RequestCode.DELETE_TOPIC_IN_NAMESRV, ext, to=t.namesrv),
    )


@remoting_case("AdminBrokerProcessor.updateAndCreateTopic")
def a_created_topic_has_the_requested_configuration_and_a_route(t: RemotingContext) -> None:
    """A created topic has the requested queues, permission, flags and order, and its route exists at once."""
    topic = t.new()
    t.note("created", create(t, topic, readQueueNums=3, writeQueueNums=1, topicSysFlag=1, order=True), 0)
    t.note("config", t.config_of(topic), 0)
    t.note("route", t.route(topic), 0)


@remoting_case("RouteInfoManager.registerBroker")
def a_topic_deleted_only_on_the_broker_keeps_its_route(t: RemotingContext) -> None:
    """A topic deleted only on its broker keeps its route and is listed. A send to it creates it again."""
    topic, other = t.topic(queues=3), t.topic(queues=2)
    ext = {"topic": topic}
    t.note("deleted", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, ext), 0)
    t.note("config", t.config_of(topic), 17)
    t.note("route", t.route(topic), 0)
    create(t, other, readQueueNums=1)
    t.note("route after another registration", t.route(topic), 0)
    listed = t.request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}, to=t.namesrv)
    t.note("listed", topic in listed.json["topicList"])
    t.note("sent", t.send(topic), 0)
    t.note("config of the topic that the send has created", t.config_of(topic), 0)
    t.note("route of it", t.route(topic), 0)
    for place, response in zip(("broker", "name server"), delete(t, topic), strict=True):
        t.note(f"deleted at the {place}", response, 0)
    t.note("no route", t.route(topic), 17)


@remoting_case("AdminBrokerProcessor.getTopicConfig")
def an_unknown_topic_has_no_config(t: RemotingContext) -> None:
    """A request for the configuration of an unknown topic returns TOPIC_NOT_EXIST."""
    t.note("unknown", t.config_of(t.new()), 17)
    t.note("blank", t.config_of(""), 17)
    t.note("without a name", t.request(RequestCode.GET_TOPIC_CONFIG, {}))


@remoting_case("TopicConfigManager.updateTopicConfig")
def a_topic_can_be_changed(t: RemotingContext) -> None:
    """An update replaces queue numbers, permission, filter type and order. The number of queues may decrease."""
    topic = t.topic(queues=4)
    t.note("changed", create(t, topic, writeQueueNums=1, perm=4, order=True, topicFilterType="MULTI_TAG"), 0)
    t.note("config", t.config_of(topic), 0)
    t.note("same again", create(t, topic, writeQueueNums=1, perm=4, order=True, topicFilterType="MULTI_TAG"), 0)
    t.note("route", t.route(topic), 0)


@remoting_case("ConsumeQueueStore.findOrCreateConsumeQueue")
def messages_of_removed_queues_stay(t: RemotingContext) -> None:
    """Messages of a removed queue are kept and can be read again when the queue is added again."""
    topic = t.topic(queues=2)
    t.sent(topic, 2, queue=1)
    create(t, topic, readQueueNums=1, writeQueueNums=1)
    t.note("while it is not there", t.pull(topic, t.group(), 1), 29)
    t.note("its end", t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 1}), 0)
    create(t, topic)
    t.note("back again", t.pull(topic, t.group(), 1), 0)


@remoting_case("CreateTopicRequestHeader.checkFields")
def creating_a_topic_without_a_required_field_is_refused(t: RemotingContext) -> None:
    """Filter type and numbers are required to create a topic, and the filter type is checked first."""
    t.note("nothing", t.request(CREATE, {}), 1)
    for field in (
        "topicFilterType",
        "readQueueNums",
        "writeQueueNums",
        "perm",
        "topicSysFlag",
        "order",
        "defaultTopic",
    ):
        t.note(f"without {field}", create(t, t.new(), **{field: None}))
    t.note("without topic", create(t, "x", topic=None))
    t.note("unknown filter type", create(t, t.new(), topicFilterType="ANY_TAG"), 1)
    t.note("number that is none", create(t, t.new(), readQueueNums="two"))


@remoting_case("AdminBrokerProcessor.updateAndCreateTopic")
def queue_numbers_and_permissions_of_a_topic_are_not_validated(t: RemotingContext) -> None:
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
        t.note(label, create(t, topic, **changes), 0)
        t.note(f"{label}, config", t.config_of(topic), 0)


@remoting_case("TopicValidator.isSystemTopic")
def system_topics_cannot_be_changed(t: RemotingContext) -> None:
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
        t.note("refused", create(t, topic), 29)


@remoting_case("TopicValidator.isSystemTopic")
def system_topics_cannot_be_deleted(t: RemotingContext) -> None:
    """A request to delete a system topic is rejected."""
    for topic in (names.AUTO_CREATE_TOPIC, names.SCHEDULE_TOPIC, names.HALF_TOPIC, "rmq_sys_of_my_own", t.cluster):
        t.note("refused", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), 29)


@remoting_case("AdminBrokerProcessor.updateAndCreateTopic")
def retry_and_dlq_topics_can_be_created(t: RemotingContext) -> None:
    """Retry topics and dead letter queues may be created by administrators."""
    group = t.group()
    for topic in (names.retry_topic(group), names.dlq_topic(group)):
        t.note(topic.partition("%g")[0], create(t, topic, readQueueNums=1, writeQueueNums=1), 0)
        t.note("config", t.config_of(topic), 0)


@remoting_case("AdminBrokerProcessor.deleteTopic")
def a_deleted_topic_has_no_configuration_route_messages_or_offsets(t: RemotingContext) -> None:
    """A deleted topic has no configuration, route, messages or offsets. Created again, it starts at 0."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.note("committed", t.commit(topic, group, 2), 0)
    t.note("deleted", delete(t, topic))
    t.note("config", t.config_of(topic), 17)
    t.note("route", t.route(topic), 17)
    t.note("pull", t.pull(topic, group), 17)
    t.note("pop", t.pop(topic, group), 17)
    t.note("end", t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}), 0)
    t.topic(name=topic, queues=1)
    t.note("committed offset", t.committed(topic, group), 22)
    t.note("sent again", t.readable(topic, t.send(topic)))
    t.note("pulled again", t.pull(topic, group), 0)


@remoting_case("AdminBrokerProcessor.deleteTopic")
def deleting_an_unknown_topic_succeeds(t: RemotingContext) -> None:
    """Deleting an unknown topic succeeds, but a topic name is required."""
    t.note("unknown", delete(t, t.new()))
    t.note("illegal name", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "bad name!"}), 0)
    t.note("blank", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": ""}), 29)
    t.note("without a name", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {}), 29)


@remoting_case("TopicConfigManager.deleteTopicConfig")
def deleting_a_topic_deletes_its_pop_retry_topics(t: RemotingContext) -> None:
    """Deleting a topic deletes the pop retry topics of its groups."""
    topic, group = t.topic(queues=1), t.group()
    retry = t.topic(name=names.pop_retry_topic(topic, group, v2=False), queues=1)
    t.sent(topic)
    t.note("popped", t.pop(topic, group), 0)
    t.commit(topic, group, 1)
    t.note("deleted", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), 0)
    t.note("retry topic", t.config_of(retry), 17)


@remoting_case("AdminBrokerProcessor.deleteTopic, ConsumerOffsetManager.cleanOffsetByTopic")
def deleting_a_topic_deletes_redelivered_messages_and_offsets(t: RemotingContext) -> None:
    """Deleting a topic also deletes its redelivered messages and its groups' offsets, also in the retry topics."""
    group = popping(t, 2)
    group.fail_and_wait_for_retry(2)
    group.ack_all(group.pop())
    for label, each in (("topic", group), ("retries", group.retry)):
        t.note(f"{label}, before", each.wait_until_committed(2), 0)
    t.note("deleted", delete(t, group.topic))
    for label, each in (("topic", group), ("retries", group.retry)):
        t.note(f"{label}: offset", each.committed(), 22)
        t.note(f"{label}: config", t.config_of(each.topic), 17)
        t.note(f"{label}: popped", each.pop(), 17)
    t.note("route of the topic", t.route(group.topic), 17)
    t.topic(name=group.topic, queues=1)
    group.fill(1)
    t.note("made again", group.pop().found)


@remoting_case("DefaultRequestProcessor.deleteTopicInNamesrv")
def a_topic_deleted_only_on_the_name_server_is_still_served(t: RemotingContext) -> None:
    """A topic deleted only on the name server is still served, and its route returns after an update."""
    topic = t.topic(queues=1)
    ext = {"topic": topic}
    t.note("forgotten", t.request(RequestCode.DELETE_TOPIC_IN_NAMESRV, ext, to=t.namesrv), 0)
    t.note("route", t.route(topic), 17)
    t.note("sent", t.send(topic), 0)
    t.topic(name=topic, queues=2)
    t.note("route after an update", t.route(topic), 0)


@remoting_case("AdminBrokerProcessor.updateAndCreateTopicList")
def several_topics_can_be_created_by_one_request(t: RemotingContext) -> None:
    """UPDATE_AND_CREATE_TOPIC_LIST creates several topics, with attributes as maps."""
    topics = [t.new(), t.new()]
    config = {"readQueueNums": 1, "writeQueueNums": 2, "perm": 6, "topicFilterType": "SINGLE_TAG", "order": False}
    both = [{**config, "topicName": topics[0], "attributes": {"+message.type": "FIFO"}}]
    both += [{**config, "topicName": topics[1], "topicSysFlag": 0}]
    t.note("made", t.request(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, None, dumps({"topicConfigList": both})))
    for topic in topics:
        t.note("config", t.config_of(topic))
    bad = [{**config, "topicName": t.new(), "attributes": {}}, {**config, "topicName": "bad name!", "attributes": {}}]
    t.note("one bad", t.request(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, None, dumps({"topicConfigList": bad})))
    t.note("the other one", t.config_of(str(bad[0]["topicName"])))


@remoting_case("AdminBrokerProcessor.getTopicStatsInfo")
def topic_statistics_have_the_offsets_of_each_write_queue(t: RemotingContext) -> None:
    """Topic statistics have the offsets of each write queue, and no time for an empty queue."""
    topic = t.topic(read=1, write=2)
    t.sent(topic, 3, queue=1)
    response = t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
    t.note("queues", response.json["offsetTable"])
    t.note("unknown", t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": t.new()}), 17)


@remoting_case("AdminBrokerProcessor.getAllTopicConfig")
def a_new_topic_is_listed_and_increases_the_data_version(t: RemotingContext) -> None:
    """GET_ALL_TOPIC_CONFIG has new topics at once, and its data version increases."""
    before = t.request(RequestCode.GET_ALL_TOPIC_CONFIG).json
    topic = t.topic(queues=3, kind="FIFO")
    after = t.request(RequestCode.GET_ALL_TOPIC_CONFIG).json
    t.note("not yet", topic in before["topicConfigTable"])
    t.note("config", after["topicConfigTable"][topic])
    t.note("newer", after["dataVersion"]["counter"] > before["dataVersion"]["counter"])


@remoting_case("AdminBrokerProcessor.getSystemTopicListFromBroker")
def a_broker_lists_its_system_topics(t: RemotingContext) -> None:
    """GET_SYSTEM_TOPIC_LIST_FROM_BROKER returns the system topics, without those that clients created."""
    found = t.request(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER).json["topicList"]
    t.note("system topics", sorted(each for each in found if not each.startswith("rmq_sys_of")))
