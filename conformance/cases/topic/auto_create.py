"""Automatic creation of topics by sends: templates and queue numbers."""

from typing import Any

from rocketmq_testkit.emulator.message.names import (
    AUTO_CREATE_TOPIC,
    DLQ_PREFIX,
    RETRY_PREFIX,
    SELF_TEST_TOPIC,
    dlq_topic,
    retry_topic,
)
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...clients.remoting_topics import topic_request
from ...context.remoting import RemotingContext
from ...helpers.settings import NO_AUTO_CREATE, shared_settings

OFF = shared_settings(NO_AUTO_CREATE, "autoCreateTopicEnable")


def first_send(
    t: RemotingContext, topic: str, template: str = AUTO_CREATE_TOPIC, queues: object = 4, **more: Any
) -> DecodedResponse:
    """Send to a topic that does not exist yet."""
    fields: dict[str, Any] = {"defaultTopic": template, "defaultTopicQueueNums": queues, **more}
    return t.send(topic, **fields).without("msgId", "transactionId")


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_send_creates_its_topic(t: RemotingContext) -> None:
    """A send to an unknown topic creates it without the template's inherit permission and without a message type."""
    topic = t.new()
    t.note("before", t.config_of(topic), 17)
    t.note("sent", first_send(t, topic), 0)
    t.note("created", t.config_of(topic), 0)
    t.note("stored", t.stored(topic).bodies)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_send_sets_the_number_of_queues_up_to_that_of_the_template(t: RemotingContext) -> None:
    """A created topic has the number of queues in the request, up to the template's number."""
    for queues in (1, 4, 8, 16):
        topic = t.new()
        t.note(f"asked for {queues}", first_send(t, topic, queues=queues), 0)
        t.note(f"asked for {queues}, created", t.config_of(topic), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_send_requesting_no_queues_is_refused_but_creates_the_topic(t: RemotingContext) -> None:
    """A send that requests 0 or fewer queues creates a topic without queues and is rejected."""
    for queues in (0, -3):
        topic = t.new()
        t.note(f"asked for {queues}", first_send(t, topic, queues=queues), 29)
        t.note(f"asked for {queues}, created", t.config_of(topic), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def cluster_and_broker_topics_are_templates(t: RemotingContext) -> None:
    """The topics named like the cluster and the broker are templates with 16 queues and one queue."""
    for template in (t.cluster, t.broker_name):
        topic = t.new()
        t.note("sent", first_send(t, topic, template, 20), 0)
        t.note("created", t.config_of(topic), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_topic_without_inherit_permission_is_no_template(t: RemotingContext) -> None:
    """A send with an unknown template, or one without the inherit permission, creates no topic."""
    topic = t.new()
    t.note("unknown template", first_send(t, topic, t.new()), 17)
    t.note("plain template", first_send(t, topic, t.topic()), 17)
    t.note("system template", first_send(t, topic, SELF_TEST_TOPIC), 17)
    t.note("no template", first_send(t, topic, ""), 17)
    t.note("config", t.config_of(topic), 17)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def any_topic_with_inherit_permission_is_a_template(t: RemotingContext) -> None:
    """Any topic with the inherit permission is a template: queues, permission and order are copied from it."""
    template = t.new()
    marks = {"topicFilterType": "MULTI_TAG", "topicSysFlag": 3, "order": True}
    t.note("template", t.request(*topic_request(template, read=5, write=3, perm=5, kind="FIFO", **marks)), 0)
    topic = t.new()
    t.note("sent", first_send(t, topic, template, 10), 0)
    t.note("created", t.config_of(topic), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_send_in_unit_mode_creates_a_unit_topic(t: RemotingContext) -> None:
    """A send in unit mode marks the topic that it creates as a unit topic."""
    topic = t.new()
    t.note("sent", first_send(t, topic, unitMode=True), 0)
    t.note("created", t.config_of(topic), 0)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def a_send_to_an_unknown_queue_is_refused_but_creates_the_topic(t: RemotingContext) -> None:
    """A send to a queue id that the created topic does not have is rejected, but the topic is created."""
    topic = t.new()
    t.note("queue 4 of 4", first_send(t, topic, queue=4), 29)
    t.note("created", t.config_of(topic), 0)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def a_send_creates_retry_and_dlq_topics(t: RemotingContext) -> None:
    """A send creates a group's retry topic or dead letter queue from the template.

    With an unknown template it creates a retry topic with one queue, and no dead letter queue.
    """
    group = t.group()
    for prefix, template in ((RETRY_PREFIX, AUTO_CREATE_TOPIC), (DLQ_PREFIX, AUTO_CREATE_TOPIC)):
        t.note(prefix, first_send(t, prefix + group, template), 0)
        t.note(f"{prefix} created", t.config_of(prefix + group), 0)
    other = t.group()
    t.note("retry, unknown template", first_send(t, retry_topic(other), "nothing"), 0)
    t.note("retry created", t.config_of(retry_topic(other)), 0)
    t.note("dead letter, unknown template", first_send(t, dlq_topic(other), "nothing"), 17)


@remoting_case("SendMessageProcessor.handleRetryAndDLQ")
def a_send_to_a_retry_topic_creates_its_group(t: RemotingContext) -> None:
    """A send to a retry topic creates the group if automatic creation of groups is enabled."""
    group = t.new("group")
    t.note("sent", first_send(t, retry_topic(group)), 0)
    t.note("group", t.request(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group}), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod", settings=OFF)
def a_send_to_an_unknown_topic_is_refused_if_auto_creation_is_off(t: RemotingContext) -> None:
    """With autoCreateTopicEnable=false there is no template topic, and a send to an unknown topic is rejected."""
    topic = t.new()
    t.note("sent", first_send(t, topic), 17)
    t.note("config", t.config_of(topic), 17)
    t.note("template", t.config_of(AUTO_CREATE_TOPIC), 17)
    t.note("route of the template", t.route(AUTO_CREATE_TOPIC), 17)
    t.note("retry topic", first_send(t, retry_topic(t.group())), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod", settings=OFF)
def the_cluster_topic_is_a_template_even_if_auto_creation_is_off(t: RemotingContext) -> None:
    """With autoCreateTopicEnable=false the cluster's topic is still a template for sends that name it."""
    topic = t.new()
    t.note("sent", first_send(t, topic, t.cluster), 0)
    t.note("created", t.config_of(topic), 0)
