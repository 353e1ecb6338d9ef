"""Static topics: logical queues whose ids and offsets differ from those of their physical queues."""

from rocketmq_testkit.remoting.client import decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.sends import send_batch
from ...helpers.static_topics import crossed, make_static, part, static_topic
from ..topic.topics import delete


def pull_shown(response: DecodedResponse) -> dict[str, object]:
    """Return the fields of a pull response, with queue id and offset of each message."""
    fields = ("nextBeginOffset", "minOffset", "maxOffset", "offsetDelta")
    found = [(each.body.decode(), each.queue_id, each.queue_offset) for each in decode_messages(response.body)]
    ends = {name: response.fields.get(name) for name in fields}
    return {"code": response.code, "remark": response.remark, **ends, "messages": found}


def sent(t: RemotingContext, topic: str, body: str, queue: int = 0) -> DecodedResponse:
    """Send a message, and return the response without ids once the message can be read."""
    end = t.max_offset(topic, queue)
    response = t.send(topic, body, queue=queue)
    t.require(response.code == 0, f"a message was not stored: {response}")
    t.until(lambda: t.max_offset(topic, queue) > end)
    return response.without("msgId", "transactionId")


@remoting_case("TopicQueueMappingManager.rewriteRequestForStaticTopic")
def sends_and_pulls_use_logical_queue_ids_and_records_physical_ones(t: RemotingContext) -> None:
    """Sends and pulls use the logical queue id in requests and responses; records have the physical queue."""
    topic = crossed(t)
    t.note("sent to 0", sent(t, topic, "zero"), 0)
    t.note("sent to 1", sent(t, topic, "one", 1), 0)
    t.note("sent to 0 again", sent(t, topic, "two"), 0)
    t.note("pulled from 0", pull_shown(t.pull(topic, t.group())))
    t.note("pulled from 1", pull_shown(t.pull(topic, t.group(), 1)))
    t.note("at the end", pull_shown(t.pull(topic, t.group(), 0, 2)))
    t.note("beyond the end", pull_shown(t.pull(topic, t.group(), 0, 7)))
    stats = t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}).json["offsetTable"]
    t.note("extent", sorted((queue, each["maxOffset"]) for queue, each in stats.items()))


@remoting_case("TopicQueueMappingManager.buildTopicQueueMappingContext")
def a_send_to_any_queue_goes_to_the_first_logical_queue_of_the_broker(t: RemotingContext) -> None:
    """A send to any queue goes to the first logical queue of the broker, and the response has its id."""
    topic = static_topic(t, {3: [part(1, t.broker_name)], 2: [part(2, t.broker_name)]})
    t.note("sent", t.send(topic, queue=-1).without("msgId", "transactionId"), 0)
    t.note("batch", send_batch(t, topic, [(b"a", {}), (b"b", {})], queue=2).without("msgId", "transactionId"), 0)


@remoting_case("TopicQueueMappingContext.isLeader")
def requests_for_a_logical_queue_not_led_by_the_broker_are_refused(t: RemotingContext) -> None:
    """Requests for a logical queue that the broker does not know or lead return NOT_LEADER_FOR_QUEUE."""
    elsewhere = [part(0, t.broker_name, end=3), part(0, "elsewhere", 100, gen=1)]
    topic, group = static_topic(t, {0: [part(0, t.broker_name)], 1: elsewhere}), t.group()
    for queue in (1, 7):
        asked = {"topic": topic, "queueId": queue}
        t.note(f"send {queue}", t.send(topic, queue=queue), 501)
        t.note(f"pull {queue}", t.pull(topic, group, queue), 501)
        t.note(f"maximum {queue}", t.request(RequestCode.GET_MAX_OFFSET, asked), 501)
        t.note(f"minimum {queue}", t.request(RequestCode.GET_MIN_OFFSET, asked))
        t.note(f"search {queue}", t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**asked, "timestamp": 0}), 501)
        t.note(f"earliest {queue}", t.request(RequestCode.GET_EARLIEST_MSG_STORETIME, asked), 501)
        t.note(f"committed {queue}", t.committed(topic, group, queue), 501)
        t.note(f"commit {queue}", t.commit(topic, group, 0, queue), 501)


@remoting_case("AdminBrokerProcessor.getMaxOffset")
def a_logical_queue_has_the_offsets_of_its_physical_queue(t: RemotingContext) -> None:
    """A logical queue has the offsets and times of its physical queue."""
    topic = crossed(t)
    sent(t, topic, "zero")
    t.wait(1.5)
    between = t.now_ms()
    t.wait(1.5)
    sent(t, topic, "one")
    for queue in (0, 1):
        asked = {"topic": topic, "queueId": queue}
        t.note(f"maximum {queue}", t.request(RequestCode.GET_MAX_OFFSET, asked), 0)
        t.note(f"minimum {queue}", t.request(RequestCode.GET_MIN_OFFSET, asked), 0)
        for label, time in (("before all", 0), ("between", between), ("after all", between + 60_000)):
            found = t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**asked, "timestamp": time})
            t.note(f"{label} {queue}", found, 0)


@remoting_case("ConsumerManageProcessor.rewriteRequestForStaticTopic")
def groups_commit_by_logical_queue(t: RemotingContext) -> None:
    """Groups commit offsets by logical queue. A group without an offset gets the usual response."""
    topic, group = crossed(t), t.group()
    sent(t, topic, "zero")
    t.note("at first", t.committed(topic, group), 0)
    t.note("at first, not zero", t.committed(topic, group, setZeroIfNotFound="false"), 22)
    t.note("commit", t.commit(topic, group, 1), 0)
    t.note("committed", t.committed(topic, group), 0)
    t.note("the other", t.committed(topic, group, 1), 22)
    stats = t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic}).json["offsetTable"]
    t.note("progress", sorted((queue, each["consumerOffset"]) for queue, each in stats.items()))
    t.note("table", t.request(RequestCode.GET_ALL_CONSUMER_OFFSET).json["offsetTable"].get(f"{topic}@{group}"))
    t.note("without offset", t.commit(topic, group, None), 1)


@remoting_case("LogicQueueMappingItem.computeStaticQueueOffsetStrictly")
def a_logical_queue_starts_at_the_offset_in_its_mapping(t: RemotingContext) -> None:
    """A logical queue starts at the offset in its mapping."""
    topic, group = static_topic(t, {0: [part(0, t.broker_name, 100)]}, queues=1), t.group()
    asked = {"topic": topic, "queueId": 0}
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET):
        t.note(f"empty, {code.name}", t.request(code, asked), 0)
    t.note("empty, pulled", pull_shown(t.pull(topic, group, 0, 100)))
    t.note("sent", sent(t, topic, "zero"), 0)
    t.note("sent again", sent(t, topic, "one"), 0)
    for offset in (0, 99, 100, 101, 102, 110):
        t.note(f"pulled from {offset}", pull_shown(t.pull(topic, group, 0, offset)))
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET):
        t.note(code.name, t.request(code, asked), 0)
    for time in (0, t.now_ms() + 60_000):
        t.note("search", t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**asked, "timestamp": time}), 0)
    t.note("not committed", t.committed(topic, group), 22)
    t.note("commit", t.commit(topic, group, 101), 0)
    t.note("committed", t.committed(topic, group), 0)
    t.note("table", t.request(RequestCode.GET_ALL_CONSUMER_OFFSET).json["offsetTable"].get(f"{topic}@{group}"))
    t.note("pull commits", t.pull(topic, group, 0, 100, commit=102).code)
    t.note("committed then", t.committed(topic, group), 0)


@remoting_case("LogicQueueMappingItem.computeStaticQueueOffsetLoosely")
def a_leader_without_a_start_offset_accepts_sends_but_refuses_pulls(t: RemotingContext) -> None:
    """A new leader without a known start offset accepts messages, with offset -1 in the response.

    Other requests fail.
    """
    topic, group = static_topic(t, {0: [part(0, t.broker_name, -1)]}, queues=1), t.group()
    t.note("sent", t.send(topic, "zero").without("msgId", "transactionId"), 0)
    asked = {"topic": topic, "queueId": 0}
    t.note("maximum", t.request(RequestCode.GET_MAX_OFFSET, asked), 1)
    t.note("minimum", t.request(RequestCode.GET_MIN_OFFSET, asked), 1)
    t.note("pull", t.pull(topic, group), 1)
    t.note("search", t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**asked, "timestamp": 0}), 0)
    t.note("commit", t.commit(topic, group, 0), 1)


@remoting_case("DefaultPullMessageResultHandler.handle")
def a_pull_at_or_beyond_the_end_of_a_logical_queue_is_held(t: RemotingContext) -> None:
    """A pull at the end of a logical queue waits until a message is stored.

    One beyond the end waits for its full time.
    """
    topic = crossed(t)
    sent(t, topic, "zero")
    ahead = t.start_pull(topic, t.group(), 0, 1, suspend_ms=15_000)
    beyond = t.start_pull(topic, t.group(), 0, 9, suspend_ms=3000, to=t.connect())
    t.wait(0.5)
    watch = t.stopwatch()
    t.send(topic, "one")
    t.note("at the end", pull_shown(t.arrival(ahead)))
    t.note("after", watch.between(0, 2))
    t.note("beyond it", pull_shown(t.arrival(beyond)))
    t.note("beyond it, after", watch.between(2, 9))


@remoting_case("TopicQueueMappingUtils.checkLogicQueueMappingItemOffset")
def a_static_topic_with_an_invalid_mapping_is_refused(t: RemotingContext) -> None:
    """A static topic with an invalid mapping is rejected, but the topic is created as an ordinary one."""
    here = t.broker_name
    for parts in (
        [part(-1, here)],
        [part(0, here, start=-1)],
        [part(0, here, -1), part(1, here, 5, gen=1)],
        [part(0, here, gen=1), part(1, here, 5, gen=1)],
        [part(0, here, start=5, end=3)],
        [part(0, here, 9), part(1, here, 5, gen=1)],
        [part(0, here, end=9), part(1, here, 5, gen=1)],
    ):
        t.note("made", make_static(t, t.new(), {0: parts}), 1)
    topic = t.new()
    make_static(t, topic, {0: [part(-1, here)]})
    t.note("config", t.request(RequestCode.GET_TOPIC_CONFIG, {"topic": topic, "lo": "true"}), 0)
    t.note("a bad name", make_static(t, "a b", {}), 29)
    t.note("a topic of the system", make_static(t, "TBW102", {}), 29)


@remoting_case("TopicQueueMappingManager.updateTopicQueueMapping")
def a_mapping_with_an_older_epoch_or_another_scope_is_refused(t: RemotingContext) -> None:
    """A mapping with an older epoch or another scope is rejected, and so is an equal epoch with other queues.

    With force it is accepted.
    """
    here = t.broker_name
    topic = crossed(t)
    t.note("older", make_static(t, topic, {0: [part(1, here)]}, epoch=0), 1)
    t.note("as old, less", make_static(t, topic, {0: [part(1, here)]}), 1)
    t.note("as old, another leader", make_static(t, topic, {0: [part(3, here)], 1: [part(0, here)]}), 1)
    t.note("no parts", make_static(t, topic, {0: [], 1: [part(0, here)]}, epoch=2), 1)
    t.note("another scope", make_static(t, topic, {0: [part(1, here)]}, epoch=2, scope="other"), 1)
    t.note("newer, less", make_static(t, topic, {2: [part(2, here)]}, epoch=2), 0)
    _note_mapping(t, "then", topic)
    t.note("force", make_static(t, topic, {0: [part(3, here)]}, epoch=0, force=True), 0)
    _note_mapping(t, "then", topic)


def _note_mapping(t: RemotingContext, label: str, topic: str) -> None:
    config = t.request(RequestCode.GET_TOPIC_CONFIG, {"topic": topic, "lo": "true"})
    t.note(f"{label}, config", config, 0)
    t.note(f"{label}, mapping", config.json.get("mappingDetail"))


@remoting_case("AdminBrokerProcessor.getTopicConfig")
def topic_configs_have_the_full_mapping_and_routes_the_queue_leaders(t: RemotingContext) -> None:
    """Administrators get the complete mapping, routes have the leader of each queue. It is deleted with its topic."""
    topic = crossed(t)
    _note_mapping(t, "made", topic)
    t.note("not asked for", "mappingDetail" in t.config_of(topic).json)
    every = t.request(RequestCode.GET_ALL_TOPIC_CONFIG).json
    t.note("in the list", every["topicQueueMappingDetailMap"].get(topic))
    t.until(lambda: t.route(topic).code == 0)
    t.note("route", t.route(topic).json.get("topicQueueMappingByBroker"))
    strict = t.route(topic, acceptStandardJsonOnly="true")
    t.note("strict route", strict.json.get("topicQueueMappingByBroker"))
    t.note("an ordinary route", "topicQueueMappingByBroker" in t.route(t.topic(queues=1)).json)
    t.note("deleted", delete(t, topic))
    every = t.request(RequestCode.GET_ALL_TOPIC_CONFIG).json
    t.note("in the list, deleted", every["topicQueueMappingDetailMap"].get(topic))
    t.topic(name=topic, queues=2)
    _note_mapping(t, "made anew as another", topic)
