"""Requests of administrators that the broker forwards to live consumers, and resets of offsets."""

from contextlib import suppress
from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.remoting_response import DecodedResponse
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, Style

AGAIN_SECONDS = 30.0
"""Timeout for a redelivery after a reset, for which the Java SDK pauses ten seconds."""


def _consuming(s: ScenarioContext, *texts: str, style: Style = "concurrent") -> tuple[str, str, Consumer]:
    """Create a topic, a group, and a live consumer that has received messages with these bodies and committed them."""
    topic, group = s.pair(style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, style)
    for text in texts:
        producer.send(topic, text)
    s.wait_for(len(texts), consumer)
    s.wait_until_idle(consumer)
    s.until_committed(topic, group)
    return topic, group, consumer


def _client_of(s: ScenarioContext, group: str) -> str:
    """Return the id of the only client of a group."""
    [connection] = s.admin.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}).json[
        "connectionSet"
    ]
    s.admin.placeholders.put(connection["clientId"], "client")
    return str(connection["clientId"])


def _asked(s: ScenarioContext, code: RequestCode, ext: dict[str, object]) -> DecodedResponse:
    """Return a client's response to a request that the broker forwards, or the broker's own if it cannot forward it."""
    pending = s.admin.start(code, ext)
    s.wait_until(pending.arrived, f"an answer to {code.name}", jump_s=1)
    return pending()


@scenario("AdminBrokerProcessor.getConsumerRunningInfo", modes={"concurrent"}, time_passes=True)
def a_live_consumer_reports_its_running_info_with_some_sdks(s: ScenarioContext) -> None:
    """A live consumer reports its subscriptions and queues on request, with or without stacks, if the SDK can."""
    _, group, _ = _consuming(s, "hello")
    client = _client_of(s, group)
    for stack in (False, True):
        ext: dict[str, object] = {"consumerGroup": group, "clientId": client, "jstackEnable": stack}
        response = _asked(s, RequestCode.GET_CONSUMER_RUNNING_INFO, ext)
        told: dict[str, Any] = {}
        with suppress(ValueError):  # Go's SDK returns a body that is not JSON
            told = response.json if response.code == 0 else {}
        topics = sorted(each["topic"] for each in told.get("subscriptionSet", ()))
        s.note(
            f"with stacks: {stack}",
            {"code": response.code, "tells": sorted(told), "topics": topics, "stacks": bool(told.get("jstack"))},
        )


@scenario("Broker2Client.getConsumeStatus", modes={"concurrent"}, time_passes=True)
def a_live_consumer_reports_its_queue_offsets_with_some_sdks(s: ScenarioContext) -> None:
    """A live consumer reports the offset of each of its queues on request, if the SDK can."""
    topic, group, _ = _consuming(s, "a0", "a1")
    response = _asked(s, RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"topic": topic, "group": group})
    s.note("code", response.code)
    s.note("reported offsets", _reported_offsets(response) if response.code == 0 else None)


def _reported_offsets(response: DecodedResponse) -> list[int]:
    """Return the offsets that clients report for their queues."""
    return [offset for table in response.json["consumerTable"].values() for offset in table.values()]


@scenario("AdminBrokerProcessor.consumeMessageDirectly", modes={"concurrent"}, time_passes=True)
def direct_consumption_of_a_stored_message_keeps_the_group_offset(s: ScenarioContext) -> None:
    """A direct consumption request calls a live consumer's listener with a stored message.

    The group's offset does not change.
    """
    topic, group, consumer = _consuming(s, "first", "second")
    place = {"consumerGroup": group, "topic": topic, "queueId": 0}
    before = s.admin.request(RequestCode.QUERY_CONSUMER_OFFSET, place).fields
    [message] = [each for each in s.stored(topic) if each.body == b"first"]
    ext: dict[str, object] = {
        "consumerGroup": group,
        "clientId": _client_of(s, group),
        "topic": topic,
        "msgId": message.offset_message_id,
    }
    response = _asked(s, RequestCode.CONSUME_MESSAGE_DIRECTLY, ext)
    s.note("code", response.code)
    s.note("result", response.json.get("consumeResult") if response.code == 0 else None)
    s.wait_until_idle(consumer)
    s.note("listener", {prefix: len(consumer.with_prefix(prefix)) for prefix in ("first", "second")})
    s.note("moved", s.admin.request(RequestCode.QUERY_CONSUMER_OFFSET, place).fields != before)


@scenario("ConsumerOffsetManager.assignResetOffset", verbs={"send"})
def a_server_side_offset_reset_redelivers_all_messages(s: ScenarioContext) -> None:
    """A reset of a group at the broker redelivers everything to its consumer, without a notification to clients."""
    topic, group, consumer = _consuming(s, "a0", "a1", style=s.fastest_style)
    ext = {"topic": topic, "group": group, "timestamp": 0, "isForce": True}
    s.note("reset", s.admin.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext).code)
    # A waiting poll does not notice the reset: the next message ends it.
    s.producer(topic).send(topic, "b0")
    s.wait_for(1, consumer, prefix="b0")
    s.becomes_true(lambda: len(consumer.with_prefix("a")) > 2, consumers=[consumer], seconds=AGAIN_SECONDS)
    s.wait_until_idle(consumer)
    s.note("given", {prefix: len(consumer.with_prefix(prefix)) for prefix in ("a0", "a1")})


@scenario(
    "Broker2Client.resetOffset",
    modes={"concurrent"},
    protocol="remoting",
    settings={"useServerSideResetOffset": "false"},
    time_passes=True,
)
def an_offset_reset_notification_redelivers_all_messages_except_with_cpp(s: ScenarioContext) -> None:
    """A consumer that the broker notifies of a reset receives everything again, and then new messages."""
    topic, group, consumer = _consuming(s, "a0", "a1")
    ext = {"topic": topic, "group": group, "timestamp": 0, "isForce": True}
    s.note("reset", s.admin.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext).code)

    def again() -> bool:
        return all(len(consumer.with_prefix(prefix)) > 1 for prefix in ("a0", "a1"))

    s.note("again", s.becomes_true(again, consumers=[consumer], seconds=AGAIN_SECONDS))
    s.producer(topic).send(topic, "b0")
    s.wait_for(1, consumer, prefix="b0")
    s.wait_until_idle(consumer)
    s.note("listener", {prefix: len(consumer.with_prefix(prefix)) for prefix in ("a0", "a1", "b0")})
