"""Static topics: logical queues whose ids and offsets differ from those of their physical queues."""

from rocketmq_testkit.remoting.client import decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.sends import send_batch
from ...helpers.static_topics import crossed, make_static, part, static_topic
from ..topic.topics import delete


def told(answer: Answer) -> dict[str, object]:
    """Return the fields of a pull response, with queue id and offset of each message."""
    fields = ("nextBeginOffset", "minOffset", "maxOffset", "offsetDelta")
    found = [(each.body.decode(), each.queue_id, each.queue_offset) for each in decode_messages(answer.body)]
    ends = {name: answer.fields.get(name) for name in fields}
    return {"code": answer.code, "remark": answer.remark, **ends, "messages": found}


def sent(t: Remoting, topic: str, body: str, queue: int = 0) -> Answer:
    """Send a message, and return the response without ids once the message can be read."""
    end = t.max_offset(topic, queue)
    answer = t.send(topic, body, queue=queue)
    t.require(answer.code == 0, f"a message was not stored: {answer}")
    t.until(lambda: t.max_offset(topic, queue) > end)
    return answer.without("msgId", "transactionId")


@remoting_case("TopicQueueMappingManager.rewriteRequestForStaticTopic")
def a_logical_queue_has_another_number_here(t: Remoting) -> None:
    """Sends and pulls use the logical queue id in requests and responses; records have the physical queue."""
    topic = crossed(t)
    t.see("sent to 0", sent(t, topic, "zero"), 0)
    t.see("sent to 1", sent(t, topic, "one", 1), 0)
    t.see("sent to 0 again", sent(t, topic, "two"), 0)
    t.see("pulled from 0", told(t.pull(topic, t.group())))
    t.see("pulled from 1", told(t.pull(topic, t.group(), 1)))
    t.see("at the end", told(t.pull(topic, t.group(), 0, 2)))
    t.see("beyond the end", told(t.pull(topic, t.group(), 0, 7)))
    stats = t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}).json["offsetTable"]
    t.see("extent", sorted((queue, each["maxOffset"]) for queue, each in stats.items()))


@remoting_case("TopicQueueMappingManager.buildTopicQueueMappingContext")
def a_send_to_any_queue_goes_to_the_first_known(t: Remoting) -> None:
    """A send to any queue goes to the first logical queue of the broker, and the response has its id."""
    topic = static_topic(t, {3: [part(1, t.broker_name)], 2: [part(2, t.broker_name)]})
    t.see("sent", t.send(topic, queue=-1).without("msgId", "transactionId"), 0)
    t.see("batch", send_batch(t, topic, [(b"a", {}), (b"b", {})], queue=2).without("msgId", "transactionId"), 0)


@remoting_case("TopicQueueMappingContext.isLeader")
def queues_that_are_not_led_here_are_refused(t: Remoting) -> None:
    """Requests for a logical queue that the broker does not know or lead return NOT_LEADER_FOR_QUEUE."""
    elsewhere = [part(0, t.broker_name, end=3), part(0, "elsewhere", 100, gen=1)]
    topic, group = static_topic(t, {0: [part(0, t.broker_name)], 1: elsewhere}), t.group()
    for queue in (1, 7):
        asked = {"topic": topic, "queueId": queue}
        t.see(f"send {queue}", t.send(topic, queue=queue), 501)
        t.see(f"pull {queue}", t.pull(topic, group, queue), 501)
        t.see(f"maximum {queue}", t.ask(RequestCode.GET_MAX_OFFSET, asked), 501)
        t.see(f"minimum {queue}", t.ask(RequestCode.GET_MIN_OFFSET, asked))
        t.see(f"search {queue}", t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**asked, "timestamp": 0}), 501)
        t.see(f"earliest {queue}", t.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, asked), 501)
        t.see(f"committed {queue}", t.committed(topic, group, queue), 501)
        t.see(f"commit {queue}", t.commit(topic, group, 0, queue), 501)


@remoting_case("AdminBrokerProcessor.getMaxOffset")
def offsets_of_a_logical_queue(t: Remoting) -> None:
    """A logical queue has the offsets and times of its physical queue."""
    topic = crossed(t)
    sent(t, topic, "zero")
    t.wait(1.5)
    between = t.now_ms()
    t.wait(1.5)
    sent(t, topic, "one")
    for queue in (0, 1):
        asked = {"topic": topic, "queueId": queue}
        t.see(f"maximum {queue}", t.ask(RequestCode.GET_MAX_OFFSET, asked), 0)
        t.see(f"minimum {queue}", t.ask(RequestCode.GET_MIN_OFFSET, asked), 0)
        for label, time in (("before all", 0), ("between", between), ("after all", between + 60_000)):
            found = t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**asked, "timestamp": time})
            t.see(f"{label} {queue}", found, 0)


@remoting_case("ConsumerManageProcessor.rewriteRequestForStaticTopic")
def groups_commit_by_logical_queue(t: Remoting) -> None:
    """Groups commit offsets by logical queue. A group without an offset gets the usual response."""
    topic, group = crossed(t), t.group()
    sent(t, topic, "zero")
    t.see("at first", t.committed(topic, group), 0)
    t.see("at first, not zero", t.committed(topic, group, setZeroIfNotFound="false"), 22)
    t.see("commit", t.commit(topic, group, 1), 0)
    t.see("committed", t.committed(topic, group), 0)
    t.see("the other", t.committed(topic, group, 1), 22)
    stats = t.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic}).json["offsetTable"]
    t.see("progress", sorted((queue, each["consumerOffset"]) for queue, each in stats.items()))
    t.see("table", t.ask(RequestCode.GET_ALL_CONSUMER_OFFSET).json["offsetTable"].get(f"{topic}@{group}"))
    t.see("without offset", t.commit(topic, group, None), 1)


@remoting_case("LogicQueueMappingItem.computeStaticQueueOffsetStrictly")
def a_logical_queue_may_begin_later(t: Remoting) -> None:
    """A logical queue starts at the offset in its mapping."""
    topic, group = static_topic(t, {0: [part(0, t.broker_name, 100)]}, queues=1), t.group()
    asked = {"topic": topic, "queueId": 0}
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET):
        t.see(f"empty, {code.name}", t.ask(code, asked), 0)
    t.see("empty, pulled", told(t.pull(topic, group, 0, 100)))
    t.see("sent", sent(t, topic, "zero"), 0)
    t.see("sent again", sent(t, topic, "one"), 0)
    for offset in (0, 99, 100, 101, 102, 110):
        t.see(f"pulled from {offset}", told(t.pull(topic, group, 0, offset)))
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET):
        t.see(code.name, t.ask(code, asked), 0)
    for time in (0, t.now_ms() + 60_000):
        t.see("search", t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**asked, "timestamp": time}), 0)
    t.see("not committed", t.committed(topic, group), 22)
    t.see("commit", t.commit(topic, group, 101), 0)
    t.see("committed", t.committed(topic, group), 0)
    t.see("table", t.ask(RequestCode.GET_ALL_CONSUMER_OFFSET).json["offsetTable"].get(f"{topic}@{group}"))
    t.see("pull commits", t.pull(topic, group, 0, 100, commit=102).code)
    t.see("committed then", t.committed(topic, group), 0)


@remoting_case("LogicQueueMappingItem.computeStaticQueueOffsetLoosely")
def a_new_leader_may_not_know_where_it_begins(t: Remoting) -> None:
    """A new leader without a known start offset accepts messages, with offset -1 in the response.

    Other requests fail.
    """
    topic, group = static_topic(t, {0: [part(0, t.broker_name, -1)]}, queues=1), t.group()
    t.see("sent", t.send(topic, "zero").without("msgId", "transactionId"), 0)
    asked = {"topic": topic, "queueId": 0}
    t.see("maximum", t.ask(RequestCode.GET_MAX_OFFSET, asked), 1)
    t.see("minimum", t.ask(RequestCode.GET_MIN_OFFSET, asked), 1)
    t.see("pull", t.pull(topic, group), 1)
    t.see("search", t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**asked, "timestamp": 0}), 0)
    t.see("commit", t.commit(topic, group, 0), 1)


@remoting_case("DefaultPullMessageResultHandler.handle")
def who_finds_nothing_in_a_logical_queue_waits(t: Remoting) -> None:
    """A pull at the end of a logical queue is held until a message is stored.

    One beyond the end is held for its full time.
    """
    topic = crossed(t)
    sent(t, topic, "zero")
    ahead = t.start_pull(topic, t.group(), 0, 1, suspend_ms=15_000)
    beyond = t.start_pull(topic, t.group(), 0, 9, suspend_ms=3000, to=t.connect())
    t.wait(0.5)
    watch = t.stopwatch()
    t.send(topic, "one")
    t.see("at the end", told(t.arrival(ahead)))
    t.see("after", watch.between(0, 2))
    t.see("beyond it", told(t.arrival(beyond)))
    t.see("beyond it, after", watch.between(2, 9))


@remoting_case("TopicQueueMappingUtils.checkLogicQueueMappingItemOffset")
def parts_that_do_not_fit_are_refused(t: Remoting) -> None:
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
        t.see("made", make_static(t, t.new(), {0: parts}), 1)
    topic = t.new()
    make_static(t, topic, {0: [part(-1, here)]})
    t.see("config", t.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": topic, "lo": "true"}), 0)
    t.see("a bad name", make_static(t, "a b", {}), 29)
    t.see("a topic of the system", make_static(t, "TBW102", {}), 29)


@remoting_case("TopicQueueMappingManager.updateTopicQueueMapping")
def a_mapping_follows_on_the_one_before(t: Remoting) -> None:
    """A mapping with an older epoch or another scope is rejected, and so is an equal epoch with other queues.

    With force it is accepted.
    """
    here = t.broker_name
    topic = crossed(t)
    t.see("older", make_static(t, topic, {0: [part(1, here)]}, epoch=0), 1)
    t.see("as old, less", make_static(t, topic, {0: [part(1, here)]}), 1)
    t.see("as old, another leader", make_static(t, topic, {0: [part(3, here)], 1: [part(0, here)]}), 1)
    t.see("no parts", make_static(t, topic, {0: [], 1: [part(0, here)]}, epoch=2), 1)
    t.see("another scope", make_static(t, topic, {0: [part(1, here)]}, epoch=2, scope="other"), 1)
    t.see("newer, less", make_static(t, topic, {2: [part(2, here)]}, epoch=2), 0)
    _see_mapping(t, "then", topic)
    t.see("force", make_static(t, topic, {0: [part(3, here)]}, epoch=0, force=True), 0)
    _see_mapping(t, "then", topic)


def _see_mapping(t: Remoting, label: str, topic: str) -> None:
    config = t.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": topic, "lo": "true"})
    t.see(f"{label}, config", config, 0)
    t.see(f"{label}, mapping", config.json.get("mappingDetail"))


@remoting_case("AdminBrokerProcessor.getTopicConfig")
def a_mapping_is_told(t: Remoting) -> None:
    """Administrators get the complete mapping, routes have the leader of each queue. It is deleted with its topic."""
    topic = crossed(t)
    _see_mapping(t, "made", topic)
    t.see("not asked for", "mappingDetail" in t.config_of(topic).json)
    every = t.ask(RequestCode.GET_ALL_TOPIC_CONFIG).json
    t.see("in the list", every["topicQueueMappingDetailMap"].get(topic))
    t.until(lambda: t.route(topic).code == 0)
    t.see("route", t.route(topic).json.get("topicQueueMappingByBroker"))
    strict = t.route(topic, acceptStandardJsonOnly="true")
    t.see("strict route", strict.json.get("topicQueueMappingByBroker"))
    t.see("an ordinary route", "topicQueueMappingByBroker" in t.route(t.topic(queues=1)).json)
    t.see("deleted", delete(t, topic))
    every = t.ask(RequestCode.GET_ALL_TOPIC_CONFIG).json
    t.see("in the list, deleted", every["topicQueueMappingDetailMap"].get(topic))
    t.topic(name=topic, queues=2)
    _see_mapping(t, "made anew as another", topic)
