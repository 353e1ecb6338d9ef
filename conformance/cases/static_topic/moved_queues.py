"""Logical queues of static topics moved from one broker to another: the new broker serves both parts."""

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.static_topics import make_static, part
from ..cluster.several_brokers import SECOND
from .static_topics import sent, told

THERE = "broker-b"


def _moved(t: Remoting) -> str:
    """Create a topic with a moved logical queue 0.

    It has three messages on the first broker and continues at offset 100 on the second.
    """
    topic = t.new()
    made = [make_static(t, topic, {0: [part(0, t.broker_name)]}, queues=1)]
    for number in range(3):
        sent(t, topic, f"m{number}")
    parts = {0: [part(0, t.broker_name, end=3), part(0, THERE, 100, gen=1)]}
    made.append(make_static(t, topic, parts, queues=1, epoch=2, broker=THERE, to=t.beside))
    made.append(make_static(t, topic, parts, queues=1, epoch=2))
    t.require(all(each.code == 0 for each in made), f"the topic was not made: {made}")
    asked = {"topic": topic, "queueId": 0}
    # # The brokers discover each other with a delay.
    known = t.until(lambda: t.ask(RequestCode.GET_MIN_OFFSET, asked, to=t.beside).code == 0)
    t.require(known, "the second broker cannot ask the first")
    return topic


def _committed(t: Remoting, topic: str, group: str, to: RemotingClient) -> Answer:
    return t.ask(RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": group, "topic": topic, "queueId": 0}, to=to)


@remoting_case("PullMessageProcessor.rewriteRequestForStaticTopic", settings=SECOND)
def a_queue_that_moved_is_read_through(t: Remoting) -> None:
    """The new broker of a moved queue reads the old part from the old broker.

    It continues with its own part and accepts sends.
    """
    topic, group = _moved(t), t.group()
    t.see("sent here", t.send(topic), 501)
    t.see("pulled here", t.pull(topic, group), 501)
    t.see("sent there", t.send(topic, "new", to=t.beside).without("msgId", "transactionId"), 0)
    asked = {"topic": topic, "queueId": 0}
    t.until(lambda: t.ask(RequestCode.GET_MAX_OFFSET, asked, to=t.beside)["offset"] == "101")
    for offset in (0, 2, 3, 50, 100, 101, 110):
        t.see(f"pulled from {offset}", told(t.pull(topic, group, 0, offset, to=t.beside)))
    t.see("of no tag", told(t.pull(topic, group, expression="none", to=t.beside)))
    t.see("two at most", told(t.pull(topic, group, max_messages=2, to=t.beside)))


@remoting_case("AdminBrokerProcessor.rewriteRequestForStaticTopic", settings=SECOND)
def offsets_of_a_queue_that_moved(t: Remoting) -> None:
    """A moved queue has the ends of both parts.

    Group offsets are stored with their part, and the last part has priority.
    """
    topic, group = _moved(t), t.group()
    t.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, b'{"groupName":"%b"}' % group.encode(), to=t.beside)
    asked = {"topic": topic, "queueId": 0}
    for code in (RequestCode.GET_MIN_OFFSET, RequestCode.GET_MAX_OFFSET, RequestCode.GET_EARLIEST_MSG_STORETIME):
        answer = t.ask(code, asked, to=t.beside)
        t.see(code.name, answer if "timestamp" not in answer.fields else answer.without("timestamp"), 0)
    for label, time in (("search, from 0", 0), ("search, after all", t.now_ms() + 60_000)):
        t.see(label, t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**asked, "timestamp": time}, to=t.beside), 0)
    t.see("not committed", _committed(t, topic, group, t.beside), 22)
    for offset in (2, 101, 1):
        ext = {"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": offset}
        t.see(f"commit {offset}", t.ask(RequestCode.UPDATE_CONSUMER_OFFSET, ext, to=t.beside), 0)
        t.see(f"committed {offset}", _committed(t, topic, group, t.beside), 0)
    t.see("asked here", _committed(t, topic, group, t.broker), 501)
