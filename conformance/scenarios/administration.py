"""What administrators ask live consumers through the broker, and have them do."""

from contextlib import suppress
from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..actors import Consumer, Style
from ..scenario import scenario
from ..stage import Stage
from ..worlds.answer import Answer

AGAIN_SECONDS = 30.0
"""How long what a consumer shall be given again may take: the Java SDK stops ten seconds for a reset."""


def _consuming(s: Stage, *texts: str, style: Style = "concurrent") -> tuple[str, str, Consumer]:
    """A topic, a group, and a live consumer that has taken messages with these bodies, of which the broker knows."""
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
    """The id of the only client of a group."""
    [connection] = s.world.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}).json["connectionSet"]
    s.world.placeholders.put(connection["clientId"], "client")
    return str(connection["clientId"])


def _asked(s: Stage, code: RequestCode, ext: dict[str, object]) -> Answer:
    """The answer to a question that the broker passes on, or gives up."""
    pending = s.world.start(code, ext)
    s.wait_until(pending.arrived, f"an answer to {code.name}", passing=1)
    return pending()


@scenario("AdminBrokerProcessor.getConsumerRunningInfo", modes={"concurrent"}, passes=True)
def a_consumer_is_asked_how_it_is_doing(s: Stage) -> None:
    """A live consumer tells what it subscribes to and which queues it has, with stacks or without; where it can."""
    _, group, _ = _consuming(s, "hello")
    client = _client_of(s, group)
    for stack in (False, True):
        ext: dict[str, object] = {"consumerGroup": group, "clientId": client, "jstackEnable": stack}
        answer = _asked(s, RequestCode.GET_CONSUMER_RUNNING_INFO, ext)
        told: dict[str, Any] = {}
        with suppress(ValueError):  # Go's has no body that is JSON
            told = answer.json if answer.code == 0 else {}
        topics = sorted(each["topic"] for each in told.get("subscriptionSet", ()))
        s.see(
            f"with stacks: {stack}",
            {"code": answer.code, "tells": sorted(told), "topics": topics, "stacks": bool(told.get("jstack"))},
        )


@scenario("Broker2Client.getConsumeStatus", modes={"concurrent"}, passes=True)
def a_consumer_is_asked_how_far_it_is(s: Stage) -> None:
    """A live consumer tells the offset of each queue that it has; where it can."""
    topic, group, _ = _consuming(s, "a0", "a1")
    answer = _asked(s, RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"topic": topic, "group": group})
    s.see("code", answer.code)
    s.see("told", _offsets_told(answer) if answer.code == 0 else None)


def _offsets_told(answer: Answer) -> list[int]:
    """The offsets that clients told of their queues."""
    return [offset for table in answer.json["consumerTable"].values() for offset in table.values()]


@scenario("AdminBrokerProcessor.consumeMessageDirectly", modes={"concurrent"}, passes=True)
def a_consumer_is_given_a_stored_message(s: Stage) -> None:
    """An administrator has a live consumer's listener called with a stored message; the group stays where it is."""
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
    """A group that the broker takes back to the beginning is given everything again, without a word to its clients."""
    topic, group, consumer = _consuming(s, "a0", "a1", style=s.usual)
    ext = {"topic": topic, "group": group, "timestamp": 0, "isForce": True}
    s.see("reset", s.world.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext).code)
    # A poll that waits does not hear of it: the next message ends that.
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
    """A consumer that is told to go back to the beginning is given everything again, and then what is sent."""
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
