"""Acknowledging many popped messages at once."""

from base64 import b64encode
from typing import Any

from ..case import remoting_case
from ..json_text import dumps
from ..worlds.answer import Answer
from ..worlds.pops import bodies, copies, filled, max_offset, retry_topic
from ..worlds.remoting import Remoting

BATCH_ACK = 200151


def entry(topic: str, group: str, handle: str, offsets: list[int], **fields: object) -> dict[str, object]:
    """Offsets of one check point, named by any handle of it."""
    start, pop_time, invisible, revive_queue, digit, _, queue, _ = handle.split(" ")
    bits = sum(1 << offset - int(start) for offset in offsets)
    return {
        "b": b64encode(bits.to_bytes(bits.bit_length() // 8 + 1, "little")).decode(),
        "c": group,
        "it": int(invisible),
        "pt": int(pop_time),
        "q": int(queue),
        "r": digit,
        "rq": int(revive_queue),
        "so": int(start),
        "t": topic,
        **fields,
    }


def batch_ack(t: Remoting, *entries: dict[str, object]) -> Answer:
    """Acknowledge what the entries name."""
    return t.ask(BATCH_ACK, None, dumps({"acks": list(entries), "brokerName": t.broker_name}))


def popped_handle(t: Remoting, topic: str, group: str, **more: Any) -> str:
    """Pop, and return the handle of the first message."""
    return t.popped(t.pop(topic, group, **more))[0][1]


@remoting_case("AckMessageProcessor.appendAck")
def a_batch_acknowledges_what_its_bits_say(t: Remoting) -> None:
    """Of a pop only those messages come back whose bits a batch acknowledgement leaves out."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    handle = popped_handle(t, topic, group, invisible_ms=2000)
    t.see("acknowledged", batch_ack(t, entry(topic, group, handle, [0, 2])), 0)
    t.see("came back", bodies(copies(t, topic, group, 2)))


@remoting_case("AckMessageProcessor.appendAck")
def a_batch_may_hold_one_message(t: Remoting) -> None:
    """A batch acknowledgement of a single message counts like any other."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    handle = popped_handle(t, topic, group, invisible_ms=2000)
    t.see("acknowledged", batch_ack(t, entry(topic, group, handle, [1])), 0)
    t.see("came back", bodies(copies(t, topic, group)))


@remoting_case("AckMessageProcessor.processRequest")
def a_batch_spans_topics_and_groups(t: Remoting) -> None:
    """One batch acknowledgement takes entries of several topics, queues and groups."""
    one, other, group, guest = t.topic(queues=1), t.topic(queues=1), t.group(), t.group()
    filled(t, one, 2)
    filled(t, other, 2)
    entries = []
    for topic, who in ((one, group), (one, guest), (other, group)):
        entries.append(entry(topic, who, popped_handle(t, topic, who, invisible_ms=2000), [0]))
    t.see("acknowledged", batch_ack(t, *entries), 0)
    for topic, who in ((one, group), (one, guest), (other, group)):
        t.see("came back", bodies(copies(t, topic, who)))


@remoting_case("BatchAck")
def a_batch_may_use_long_names(t: Remoting) -> None:
    """The members of an entry may have their long names."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    short = entry(topic, group, popped_handle(t, topic, group, invisible_ms=2000), [0])
    names = {
        "b": "bitSet",
        "c": "consumerGroup",
        "it": "invisibleTime",
        "pt": "popTime",
        "q": "queueId",
        "r": "retry",
        "rq": "reviveQueueId",
        "so": "startOffset",
        "t": "topic",
    }
    t.see("acknowledged", batch_ack(t, {names[name]: value for name, value in short.items()}))
    t.see("came back", bodies(copies(t, topic, group)))


@remoting_case("AckMessageProcessor.processRequest")
def copies_are_acknowledged_by_the_topic(t: Remoting) -> None:
    """An entry for redelivered messages names the topic, and says by a digit that it means the retry topic."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group, 2)
    handle = popped_handle(t, topic, group, invisible_ms=1000)
    t.see("handle", handle)
    t.see("acknowledged", batch_ack(t, entry(topic, group, handle, [0])), 0)
    t.see("came back", [each.reconsume_times for each in copies(t, topic, group, 3)])
    t.wait(2)
    t.see("copies in all", max_offset(t, retry_topic(topic, group)))


@remoting_case("AckMessageProcessor.processRequest")
def an_empty_batch_is_refused(t: Remoting) -> None:
    """A batch acknowledgement without body, without acknowledgements or with an empty list of them is refused."""
    t.see("no body", t.ask(BATCH_ACK), 208)
    t.see("no list", t.ask(BATCH_ACK, None, b"{}"), 208)
    t.see("null", t.ask(BATCH_ACK, None, b'{"acks":null}'), 208)
    t.see("empty list", batch_ack(t), 208)


@remoting_case("RemotingSerializable.decode")
def a_malformed_batch_is_an_error(t: Remoting) -> None:
    """A batch acknowledgement that is no JSON, or has members of a wrong kind, is an error; the connection lives."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    good = entry(topic, group, popped_handle(t, topic, group), [0])
    t.see("no JSON", t.ask(BATCH_ACK, None, b"acks").code)
    t.see("a list", t.ask(BATCH_ACK, None, b"[]").code)
    t.see("a list of a number", t.ask(BATCH_ACK, None, b"[1]").code)
    t.see("a number for the list", t.ask(BATCH_ACK, None, b'{"acks":1}').code)
    t.see("no base64", batch_ack(t, {**good, "b": "?"}).code)
    t.see("a word for a number", batch_ack(t, {**good, "q": "x"}).code)
    for name in ("b", "c", "t", "r"):
        t.see(f"no {name}", batch_ack(t, {key: value for key, value in good.items() if key != name}).code)
    t.see("a right one", batch_ack(t, good), 0)


@remoting_case("AckMessageProcessor.appendAck")
def what_a_batch_cannot_place_is_passed_over(t: Remoting) -> None:
    """Entries of unknown topics, queues and offsets are passed over, and the others of the batch count."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    good = entry(topic, group, popped_handle(t, topic, group, invisible_ms=2000), [0, 2])
    t.see("unknown topic", batch_ack(t, {**good, "t": t.new()}))
    t.see("unknown queue", batch_ack(t, {**good, "q": 9}))
    t.see("no bit", batch_ack(t, {**good, "b": ""}))
    t.see("an unknown kind of topic", batch_ack(t, {**good, "r": "9"}))
    t.see("behind the end", batch_ack(t, {**good, "so": 50}))
    unknown = {**good, "t": t.new()}
    t.see("with others before it", batch_ack(t, unknown, {**good, "so": 50}, good), 0)
    t.see("came back", bodies(copies(t, topic, group)))


@remoting_case("AckMessageProcessor.appendAck")
def a_forged_batch_has_no_effect(t: Remoting) -> None:
    """Entries with another pop time, start offset, revive queue or group are taken, and the messages come back."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    good = entry(topic, group, popped_handle(t, topic, group, invisible_ms=2000), [0, 1])
    t.see("pop time", batch_ack(t, {**good, "pt": 1_700_000_000_000}), 0)
    t.see("start offset", batch_ack(t, {**good, "so": 1}), 0)
    t.see("revive queue", batch_ack(t, {**good, "rq": 77}), 0)
    t.see("group", batch_ack(t, {**good, "c": t.group()}), 0)
    t.see("came back", bodies(copies(t, topic, group, 2)))
