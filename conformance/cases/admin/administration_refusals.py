"""Requests of administrators that fail: lists with an invalid entry, offsets out of range, silent clients."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...json_text import dumps
from ...worlds.remoting import Remoting


@remoting_case("AdminBrokerProcessor.updateAndCreateTopicList")
def a_bad_attribute_ends_a_list_of_topics(t: Remoting) -> None:
    """A topic list is processed up to its first invalid attribute. Topics before it are created, the others are not."""
    names = [t.new() for _ in range(3)]
    config = {"readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicFilterType": "SINGLE_TAG", "order": False}
    made: list[dict[str, object]] = [{**config, "topicName": name, "attributes": {}} for name in names]
    made[1]["attributes"] = {"+foo": "bar"}
    t.see("made", t.ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, None, dumps({"topicConfigList": made})), 1)
    t.see("there", [t.config_of(name).code for name in names])


@remoting_case("AdminBrokerProcessor.queryCorrectionOffset")
def an_offset_below_its_queue_cannot_be_corrected(t: Remoting) -> None:
    """A correction query fails for a compared group with a negative offset if no other group has an offset there."""
    topic, compared = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    t.see("committed", t.commit(topic, compared, -5), 0)
    ext = {"topic": topic, "compareGroup": compared, "filterGroups": ""}
    t.see("found", t.ask(RequestCode.QUERY_CORRECTION_OFFSET, ext), 1)
    t.commit(topic, t.group(), 1)
    t.see("found with another group", t.ask(RequestCode.QUERY_CORRECTION_OFFSET, ext), 0)


@remoting_case("AdminBrokerProcessor.callConsumer")
def a_client_that_consumes_nothing_is_waited_for(t: Remoting) -> None:
    """A client that does not return the result of a message for direct consumption times out after 9 to 13 s."""
    topic, group, client = t.topic(queues=1), t.group(), t.new("client")
    [sent] = t.sent(topic, 1)
    connection = t.connect()
    t.heartbeat(client, groups={group: {topic: "*"}}, to=connection)
    direct = {"consumerGroup": group, "clientId": client, "msgId": sent["msgId"], "topic": topic}
    watch = t.stopwatch()
    pending = t.start(RequestCode.CONSUME_MESSAGE_DIRECTLY, direct)
    t.see_arrival(pending, watch, 9, 13, 207)
