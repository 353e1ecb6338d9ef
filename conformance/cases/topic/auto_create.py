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
from ...clients.remoting_response import Answer
from ...clients.remoting_topics import topic_request
from ...context.remoting import Remoting
from ...helpers.settings import STRICT, with_keys

OFF = with_keys(STRICT, "autoCreateTopicEnable")


def first_send(t: Remoting, topic: str, template: str = AUTO_CREATE_TOPIC, queues: object = 4, **more: Any) -> Answer:
    """Send to a topic that does not exist yet."""
    fields: dict[str, Any] = {"defaultTopic": template, "defaultTopicQueueNums": queues, **more}
    return t.send(topic, **fields).without("msgId", "transactionId")


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_send_creates_its_topic(t: Remoting) -> None:
    """A send to an unknown topic creates it without the template's inherit permission and without a message type."""
    topic = t.new()
    t.see("before", t.config_of(topic), 17)
    t.see("sent", first_send(t, topic), 0)
    t.see("created", t.config_of(topic), 0)
    t.see("stored", t.stored(topic).bodies)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def the_client_asks_for_a_number_of_queues(t: Remoting) -> None:
    """A created topic has the number of queues in the request, up to the template's number."""
    for queues in (1, 4, 8, 16):
        topic = t.new()
        t.see(f"asked for {queues}", first_send(t, topic, queues=queues), 0)
        t.see(f"asked for {queues}, created", t.config_of(topic), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_client_may_ask_for_no_queues(t: Remoting) -> None:
    """A send that requests 0 or fewer queues creates a topic without queues and is rejected."""
    for queues in (0, -3):
        topic = t.new()
        t.see(f"asked for {queues}", first_send(t, topic, queues=queues), 29)
        t.see(f"asked for {queues}, created", t.config_of(topic), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def clusters_and_brokers_are_templates_too(t: Remoting) -> None:
    """The topics named like the cluster and the broker are templates with 16 queues and one queue."""
    for template in (t.cluster, t.broker_name):
        topic = t.new()
        t.see("sent", first_send(t, topic, template, 20), 0)
        t.see("created", t.config_of(topic), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def other_topics_are_no_templates(t: Remoting) -> None:
    """A send with an unknown template, or one without the inherit permission, creates no topic."""
    topic = t.new()
    t.see("unknown template", first_send(t, topic, t.new()), 17)
    t.see("plain template", first_send(t, topic, t.topic()), 17)
    t.see("system template", first_send(t, topic, SELF_TEST_TOPIC), 17)
    t.see("no template", first_send(t, topic, ""), 17)
    t.see("config", t.config_of(topic), 17)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def any_topic_that_lets_inherit_is_a_template(t: Remoting) -> None:
    """Any topic with the inherit permission is a template: queues, permission and order are copied from it."""
    template = t.new()
    marks = {"topicFilterType": "MULTI_TAG", "topicSysFlag": 3, "order": True}
    t.see("template", t.ask(*topic_request(template, read=5, write=3, perm=5, kind="FIFO", **marks)), 0)
    topic = t.new()
    t.see("sent", first_send(t, topic, template, 10), 0)
    t.see("created", t.config_of(topic), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def the_unit_flag_is_taken_over(t: Remoting) -> None:
    """A send in unit mode marks the topic that it creates as a unit topic."""
    topic = t.new()
    t.see("sent", first_send(t, topic, unitMode=True), 0)
    t.see("created", t.config_of(topic), 0)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def a_queue_must_be_among_the_created_ones(t: Remoting) -> None:
    """A send to a queue id that the created topic does not have is rejected, but the topic is created."""
    topic = t.new()
    t.see("queue 4 of 4", first_send(t, topic, queue=4), 29)
    t.see("created", t.config_of(topic), 0)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def retry_and_dead_letter_topics_are_created(t: Remoting) -> None:
    """A send creates a group's retry or dead letter topic from the template.

    With an unknown template it creates a retry topic with one queue, and no dead letter topic.
    """
    group = t.group()
    for prefix, template in ((RETRY_PREFIX, AUTO_CREATE_TOPIC), (DLQ_PREFIX, AUTO_CREATE_TOPIC)):
        t.see(prefix, first_send(t, prefix + group, template), 0)
        t.see(f"{prefix} created", t.config_of(prefix + group), 0)
    other = t.group()
    t.see("retry, unknown template", first_send(t, retry_topic(other), "nothing"), 0)
    t.see("retry created", t.config_of(retry_topic(other)), 0)
    t.see("dead letter, unknown template", first_send(t, dlq_topic(other), "nothing"), 17)


@remoting_case("SendMessageProcessor.handleRetryAndDLQ")
def a_send_to_a_retry_topic_creates_its_group(t: Remoting) -> None:
    """A send to a retry topic creates the group if automatic creation of groups is enabled."""
    group = t.new("group")
    t.see("sent", first_send(t, retry_topic(group)), 0)
    t.see("group", t.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group}), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod", settings=OFF)
def creation_can_be_turned_off(t: Remoting) -> None:
    """With autoCreateTopicEnable=false there is no template topic, and a send to an unknown topic is rejected."""
    topic = t.new()
    t.see("sent", first_send(t, topic), 17)
    t.see("config", t.config_of(topic), 17)
    t.see("template", t.config_of(AUTO_CREATE_TOPIC), 17)
    t.see("route of the template", t.route(AUTO_CREATE_TOPIC), 17)
    t.see("retry topic", first_send(t, retry_topic(t.group())), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod", settings=OFF)
def the_clusters_topic_stays_a_template(t: Remoting) -> None:
    """With autoCreateTopicEnable=false the cluster's topic is still a template for sends that name it."""
    topic = t.new()
    t.see("sent", first_send(t, topic, t.cluster), 0)
    t.see("created", t.config_of(topic), 0)
