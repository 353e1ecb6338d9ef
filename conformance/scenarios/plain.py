"""Every message that is sent is received, in each way that an SDK can consume."""

from ..scenario import scenario
from ..sdk.bulk_messages import COLOUR, COUNT, QUEUES, order_of_bulk, send_bulk
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, Producer, Style, comparison

SHORT_MS = 30_000
"""Invisible duration if a consumer may choose it, longer than any consumer needs to acknowledge."""
PROXY_SECONDS = 60.0
"""Invisible duration that the proxy sets for push consumers of the gRPC protocol."""
_REVIVED_SECONDS = 10.0
"""An unacknowledged message is redelivered within this time after its invisible duration."""


def _each_once(s: ScenarioContext, style: Style) -> None:
    popped = style == "pop" or (s.grpc and style != "orderly")
    topic, group = s.pair(style, queues=QUEUES)
    producer = s.producer(topic)
    consumer = _consumer(s, group, topic, style)
    sent = send_bulk(producer, topic, style)
    s.wait_for(COUNT, consumer)
    # Wait for possible duplicates.
    s.wait_until_idle(consumer)
    s.note("received", comparison(sent, [consumer.messages]))
    if style == "orderly":
        s.note("order", order_of_bulk(consumer.messages))
    if popped:
        _note_who_comes_after(s, producer, consumer, topic, group=group)
    elif style != "broadcast" and (style != "lite" or "commit" in s.verbs):
        s.until_committed(topic, group, ordered=style == "orderly")


def _consumer(s: ScenarioContext, group: str, topic: str, style: Style) -> Consumer:
    consumer = s.consumer(group, topic, style, **({"consume_ms": SHORT_MS} if style == "pop" else {}))
    consumer.invisible_ms = SHORT_MS
    return consumer


def _note_who_comes_after(s: ScenarioContext, producer: Producer, before: Consumer, topic: str, *, group: str) -> None:
    """Close a consumer, let the invisible duration pass, and note the messages that the next consumer receives.

    The offset of a popping group follows each delivery, acknowledged or not. Only redelivered messages show that an
    acknowledgement is missing.
    """
    watch = s.stopwatch()
    s.leave(before)
    hidden = SHORT_MS / 1000 if before.style in ("simple", "pop") else PROXY_SECONDS
    s.admin.wait(max(hidden + _REVIVED_SECONDS - watch.seconds, 0.0))
    after = _consumer(s, group, topic, before.style)
    producer.send(topic, "after")
    s.wait_for(1, after, prefix="after")
    s.wait_until_idle(after)
    s.note("who comes after it", after.bodies)


@scenario("ReceiveMessageActivity.receiveMessage", verbs={"simple"}, time_passes=True)
def a_simple_consumer_gets_each_message_once(s: ScenarioContext) -> None:
    """A simple consumer receives every message whole and once; the next one receives none of those acknowledged."""
    _each_once(s, "simple")


@scenario("PullMessageProcessor.processRequest", modes={"concurrent"}, time_passes=True)
def a_concurrent_consumer_gets_each_message_once(s: ScenarioContext) -> None:
    """A concurrent push consumer receives every message whole and once, and leaves none to the next consumer."""
    _each_once(s, "concurrent")


@scenario("PullMessageProcessor.processRequest", modes={"orderly"})
def an_orderly_consumer_gets_each_message_once(s: ScenarioContext) -> None:
    """An orderly push consumer receives every message whole and once."""
    _each_once(s, "orderly")


@scenario("PullMessageProcessor.processRequest", modes={"broadcast"})
def a_broadcast_consumer_gets_each_message_once(s: ScenarioContext) -> None:
    """A broadcasting push consumer receives every message whole and once."""
    _each_once(s, "broadcast")


@scenario("PopMessageProcessor.processRequest", modes={"pop"}, time_passes=True)
def a_popping_consumer_gets_each_message_once(s: ScenarioContext) -> None:
    """A popping push consumer receives every message whole and once, and leaves none to the next consumer."""
    _each_once(s, "pop")


@scenario("PullMessageProcessor.processRequest", verbs={"lite", "poll"})
def a_lite_pull_consumer_gets_each_message_once(s: ScenarioContext) -> None:
    """A lite pull consumer receives every message whole and once."""
    _each_once(s, "lite")


@scenario("SendMessageProcessor.sendMessage", verbs={"send"})
def tag_keys_and_properties_arrive(s: ScenarioContext) -> None:
    """Tag, keys and properties arrive unchanged, in addition to the properties that broker and client add."""
    topic, group = s.pair(s.fastest_style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    own = {"colour": COLOUR, "size": "7", "with blanks": "a b"}
    producer.send(topic, "hello", tag="tag-a", keys=["key-1", "key-2"], props=own)
    [message] = s.wait_for(1, consumer)
    s.note("tag", message["tag"])
    s.note("keys", sorted(message["keys"]))
    s.note("own properties", {name: message["props"].get(name) for name in own})
    s.note("further properties", sorted(set(message["props"]) - set(own)))
    s.note("attempt", message["attempt"])


@scenario("SendMessageProcessor.sendMessage", verbs={"send"})
def a_message_with_only_a_body_arrives_without_tag_and_keys(s: ScenarioContext) -> None:
    """A message with only a body arrives without tag and keys."""
    topic, group = s.pair(s.fastest_style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    producer.send(topic, "hello")
    [message] = s.wait_for(1, consumer)
    s.note("message", {name: message[name] for name in ("tag", "keys", "group", "attempt", "deliver_at")})
    s.note("properties", sorted(message["props"]))


@scenario("MQClientAPIImpl.processSendResponse", verbs={"send"})
def send_results_contain_the_ids_of_the_received_messages(s: ScenarioContext) -> None:
    """Results of sends to one queue contain that queue, rising offsets, and the ids of the received messages."""
    topic, group = s.pair(s.fastest_style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    replies = [producer.send(topic, f"m{number}") for number in range(3)]
    received = {message["id"] for message in s.wait_for(3, consumer)}
    s.note("results", [{name: reply.get(name) for name in ("status", "queue", "offset")} for reply in replies])
    s.note("ids are those received", {reply["id"] for reply in replies} == received)
    s.note("has", sorted(name for name in ("transaction", "offset_id", "recall") if replies[0].get(name)))
