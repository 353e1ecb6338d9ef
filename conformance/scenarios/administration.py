"""Requests of administrators that the broker forwards to live consumers, and resets of offsets."""

from contextlib import suppress
from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.remoting_response import Answer
from ..scenario import scenario
from ..sdk.scenario_context import Stage
from ..sdk.sdk_clients import Consumer, Style

AGAIN_SECONDS = 30.0
"""Timeout for a redelivery after a reset, for which the Java SDK pauses ten seconds."""


def _consuming(s: Stage, *texts: str, style: Style = "concurrent") -> tuple[str, str, Consumer]:
    """Create a topic, a group, and a live consumer that has received messages with these bodies and committed them."""
    topic, group = s.pair(style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, style)
    for text in texts:
        producer.send(topic, text)
    s.wait_for(len(texts), consumer)
    s.settle(consumer)
    s.until_committed(topic, group)
    return topic, group, consumer


def _client_of(s: Stage, group: str) -> str:
    """Return the id of the only client of a group."""
    [connection] = s.world.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}).json["connectionSet"]
    s.world.placeholders.put(connection["clientId"], "client")
    return str(connection["clientId"])


def _asked(s: Stage, code: RequestCode, ext: dict[str, object]) -> Answer:
    """Return the response to a request that the broker forwards to a client or gives up."""
    pending = s.world.start(code, ext)
    s.wait_until(pending.arrived, f"an answer to {code.name}", passing=1)
    return pending()


@scenario("AdminBrokerProcessor.getConsumerRunningInfo", modes={"concurrent"}, passes=True)
def a_consumer_is_asked_how_it_is_doing(s: Stage) -> None:
    """A live consumer reports its subscriptions and queues on request, with or without stacks, if the SDK can."""
    _, group, _ = _consuming(s, "hello")
    client = _client_of(s, group)
    for stack in (False, True):
        ext: dict[str, object] = {"consumerGroup": group, "clientId": client, "jstackEnable": stack}
        answer = _asked(s, RequestCode.GET_CONSUMER_RUNNING_INFO, ext)
        told: dict[str, Any] = {}
        with suppress(ValueError):  # Go's SDK returns a body that is not JSON
            told = answer.json if answer.code == 0 else {}
        topics = sorted(each["topic"] for each in told.get("subscriptionSet", ()))
        s.see(
            f"with stacks: {stack}",
            {"code": answer.code, "tells": sorted(told), "topics": topics, "stacks": bool(told.get("jstack"))},
        )


@scenario("Broker2Client.getConsumeStatus", modes={"concurrent"}, passes=True)
def a_consumer_is_asked_how_far_it_is(s: Stage) -> None:
    """A live consumer reports the offset of each of its queues on request, if the SDK can."""
    topic, group, _ = _consuming(s, "a0", "a1")
    answer = _asked(s, RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"topic": topic, "group": group})
    s.see("code", answer.code)
    s.see("told", _offsets_told(answer) if answer.code == 0 else None)


def _offsets_told(answer: Answer) -> list[int]:
    """Return the offsets that clients report for their queues."""
    return [offset for table in answer.json["consumerTable"].values() for offset in table.values()]


@scenario("AdminBrokerProcessor.consumeMessageDirectly", modes={"concurrent"}, passes=True)
def a_consumer_is_given_a_stored_message(s: Stage) -> None:
    """A direct consumption request calls a live consumer's listener with a stored message.

    The group's offset does not change.
    """
    topic, group, consumer = _consuming(s, "first", "second")
    place = {"consumerGroup": group, "topic": topic, "queueId": 0}
    before = s.world.ask(RequestCode.QUERY_CONSUMER_OFFSET, place).fields
    [message] = [each for each in s.stored(topic) if each.body == b"first"]
    ext: dict[str, object] = {
        "consumerGroup": group,
        "clientId": _client_of(s, group),
        "topic": topic,
        "msgId": message.offset_message_id,
    }
    answer = _asked(s, RequestCode.CONSUME_MESSAGE_DIRECTLY, ext)
    s.see("code", answer.code)
    s.see("result", answer.json.get("consumeResult") if answer.code == 0 else None)
    s.settle(consumer)
    s.see("listener", {stem: len(consumer.of(stem)) for stem in ("first", "second")})
    s.see("moved", s.world.ask(RequestCode.QUERY_CONSUMER_OFFSET, place).fields != before)


@scenario("ConsumerOffsetManager.assignResetOffset", verbs={"send"})
def a_group_is_reset_at_the_broker(s: Stage) -> None:
    """A reset of a group at the broker redelivers everything to its consumer, without a notification to clients."""
    topic, group, consumer = _consuming(s, "a0", "a1", style=s.usual)
    ext = {"topic": topic, "group": group, "timestamp": 0, "isForce": True}
    s.see("reset", s.world.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext).code)
    # A waiting poll does not notice the reset: the next message ends it.
    s.producer(topic).send(topic, "b0")
    s.wait_for(1, consumer, stem="b0")
    s.comes(lambda: len(consumer.of("a")) > 2, consumers=[consumer], seconds=AGAIN_SECONDS)
    s.settle(consumer)
    s.see("given", {stem: len(consumer.of(stem)) for stem in ("a0", "a1")})


@scenario(
    "Broker2Client.resetOffset",
    modes={"concurrent"},
    protocol="remoting",
    settings={"useServerSideResetOffset": "false"},
    passes=True,
)
def a_consumer_resets_itself(s: Stage) -> None:
    """A consumer that the broker notifies of a reset receives everything again, and then new messages."""
    topic, group, consumer = _consuming(s, "a0", "a1")
    ext = {"topic": topic, "group": group, "timestamp": 0, "isForce": True}
    s.see("reset", s.world.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext).code)

    def again() -> bool:
        return all(len(consumer.of(stem)) > 1 for stem in ("a0", "a1"))

    s.see("again", s.comes(again, consumers=[consumer], seconds=AGAIN_SECONDS))
    s.producer(topic).send(topic, "b0")
    s.wait_for(1, consumer, stem="b0")
    s.settle(consumer)
    s.see("listener", {stem: len(consumer.of(stem)) for stem in ("a0", "a1", "b0")})
