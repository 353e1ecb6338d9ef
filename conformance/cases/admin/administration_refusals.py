"""Requests of administrators that fail: lists with an invalid entry, negative offsets, clients without a response."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...context.remoting import RemotingContext


@remoting_case("AdminBrokerProcessor.updateAndCreateTopicList")
def a_topic_list_is_created_up_to_its_first_invalid_attribute(t: RemotingContext) -> None:
    """A topic list is processed up to its first invalid attribute. Topics before it are created, the others are not."""
    names = [t.new() for _ in range(3)]
    config = {"readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicFilterType": "SINGLE_TAG", "order": False}
    made: list[dict[str, object]] = [{**config, "topicName": name, "attributes": {}} for name in names]
    made[1]["attributes"] = {"+foo": "bar"}
    t.note("made", t.request(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, None, dumps({"topicConfigList": made})), 1)
    t.note("there", [t.config_of(name).code for name in names])


@remoting_case("AdminBrokerProcessor.queryCorrectionOffset")
def a_correction_query_fails_for_a_negative_offset_without_other_groups(t: RemotingContext) -> None:
    """A correction query fails for a compared group with a negative offset if no other group has an offset there."""
    topic, compared = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    t.note("committed", t.commit(topic, compared, -5), 0)
    ext = {"topic": topic, "compareGroup": compared, "filterGroups": ""}
    t.note("found", t.request(RequestCode.QUERY_CORRECTION_OFFSET, ext), 1)
    t.commit(topic, t.group(), 1)
    t.note("found with another group", t.request(RequestCode.QUERY_CORRECTION_OFFSET, ext), 0)


@remoting_case("AdminBrokerProcessor.callConsumer")
def direct_consumption_times_out_if_the_client_does_not_respond(t: RemotingContext) -> None:
    """A client that does not return the result of a message for direct consumption times out after 9 to 13 s."""
    topic, group, client = t.topic(queues=1), t.group(), t.new("client")
    [sent] = t.sent(topic, 1)
    connection = t.connect()
    t.heartbeat(client, groups={group: {topic: "*"}}, to=connection)
    direct = {"consumerGroup": group, "clientId": client, "msgId": sent["msgId"], "topic": topic}
    watch = t.stopwatch()
    pending = t.start(RequestCode.CONSUME_MESSAGE_DIRECTLY, direct)
    t.note_arrival(pending, watch, 9, 13, code=207)
