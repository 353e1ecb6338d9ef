"""Logical queues of static topics that moved to another broker, which then serves old and new messages."""

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.static_topics import make_static, part
from ..cluster.several_brokers import SECOND
from .static_topics import pull_shown, sent

THERE = "broker-b"


def _moved(t: RemotingContext) -> str:
    """Create a topic with a moved logical queue 0.

    It has three messages on the first broker and continues at offset 100 on the second.
    """
    topic = t.new()
    made = [make_static(t, topic, {0: [part(0, t.broker_name)]}, queues=1)]
    for number in range(3):
        sent(t, topic, f"m{number}")
    parts = {0: [part(0, t.broker_name, end=3), part(0, THERE, 100, gen=1)]}
    made.append(make_static(t, topic, parts, queues=1, epoch=2, broker=THERE, to=t.second_broker))
    made.append(make_static(t, topic, parts, queues=1, epoch=2))
    t.require(all(each.code == 0 for each in made), f"the topic was not created: {made}")
    asked = {"topic": topic, "queueId": 0}
    # The brokers discover each other with a delay.
    known = t.until(lambda: t.request(RequestCode.GET_MIN_OFFSET, asked, to=t.second_broker).code == 0)
    t.require(known, "the second broker does not know the first")
    return topic


def _committed(t: RemotingContext, topic: str, group: str, to: RemotingClient) -> DecodedResponse:
    return t.request(RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": group, "topic": topic, "queueId": 0}, to=to)


@remoting_case("PullMessageProcessor.rewriteRequestForStaticTopic", settings=SECOND)
def the_new_broker_of_a_moved_queue_also_serves_the_old_part(t: RemotingContext) -> None:
    """The new broker of a moved queue reads messages from before the move from the old broker.

    It serves later messages itself, and accepts sends.
    """
    topic, group = _moved(t), t.group()
    t.note("sent here", t.send(topic), 501)
    t.note("pulled here", t.pull(topic, group), 501)
    t.note("sent there", t.send(topic, "new", to=t.second_broker).without("msgId", "transactionId"), 0)
    asked = {"topic": topic, "queueId": 0}
    t.until(lambda: t.request(RequestCode.GET_MAX_OFFSET, asked, to=t.second_broker)["offset"] == "101")
    for offset in (0, 2, 3, 50, 100, 101, 110):
        t.note(f"pulled from {offset}", pull_shown(t.pull(topic, group, 0, offset, to=t.second_broker)))
    t.note("of no tag", pull_shown(t.pull(topic, group, expression="none", to=t.second_broker)))
    t.note("two at most", pull_shown(t.pull(topic, group, max_messages=2, to=t.second_broker)))


@remoting_case("AdminBrokerProcessor.rewriteRequestForStaticTopic", settings=SECOND)
def offsets_of_a_moved_queue_span_its_parts_on_both_brokers(t: RemotingContext) -> None:
    """The minimum offset of a moved queue is that of its first broker, the maximum offset that of its last.

    Each broker stores the group offsets of its part of the queue, and those of the last broker have priority.
    """
    topic, group = _moved(t), t.group()
    t.request(
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        None,
        b'{"groupName":"%b"}' % group.encode(),
        to=t.second_broker,
    )
    asked = {"topic": topic, "queueId": 0}
    for code in (RequestCode.GET_MIN_OFFSET, RequestCode.GET_MAX_OFFSET, RequestCode.GET_EARLIEST_MSG_STORETIME):
        response = t.request(code, asked, to=t.second_broker)
        t.note(code.name, response if "timestamp" not in response.fields else response.without("timestamp"), 0)
    for label, time in (("search, from 0", 0), ("search, after all", t.now_ms() + 60_000)):
        t.note(
            label,
            t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**asked, "timestamp": time}, to=t.second_broker),
            0,
        )
    t.note("not committed", _committed(t, topic, group, t.second_broker), 22)
    for offset in (2, 101, 1):
        ext = {"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": offset}
        t.note(f"commit {offset}", t.request(RequestCode.UPDATE_CONSUMER_OFFSET, ext, to=t.second_broker), 0)
        t.note(f"committed {offset}", _committed(t, topic, group, t.second_broker), 0)
    t.note("asked here", _committed(t, topic, group, t.broker), 501)
