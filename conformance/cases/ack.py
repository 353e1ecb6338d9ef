"""Acknowledging popped messages, one at a time."""

from ..case import remoting_case
from ..worlds.pops import bodies, copies, filled, max_offset, retry_topic
from ..worlds.remoting import Remoting

ACK = 200051


@remoting_case("AckMessageProcessor.appendAck")
def what_is_acknowledged_does_not_come_back(t: Remoting) -> None:
    """Of a batch only the messages that were not acknowledged come back."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    handles = [handle for _, handle in t.popped(t.pop(topic, group, invisible_ms=2000))]
    t.see("second", t.ack(topic, group, handles[1], 1), 0)
    t.see("fourth", t.ack(topic, group, handles[3], 3), 0)
    t.see("came back", bodies(copies(t, topic, group, 2)))
    t.wait(2)
    t.see("copies in all", max_offset(t, retry_topic(topic, group)))


@remoting_case("AckMessageProcessor.appendAck")
def a_wholly_acknowledged_batch_leaves_no_trace(t: Remoting) -> None:
    """When every message of a batch is acknowledged, in any order, no retry topic comes into being."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    handles = [handle for _, handle in t.popped(t.pop(topic, group, invisible_ms=1000))]
    for offset in (2, 0, 1):
        t.see(f"offset {offset}", t.ack(topic, group, handles[offset], offset), 0)
    t.wait(6)
    t.see("copies", t.pull(retry_topic(topic, group), group), 17)


@remoting_case("AckMessageProcessor.appendAck")
def an_ack_may_be_repeated(t: Remoting) -> None:
    """A second acknowledgement of the same message succeeds."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [(_, handle)] = t.popped(t.pop(topic, group))
    t.see("first", t.ack(topic, group, handle, 0), 0)
    t.see("second", t.ack(topic, group, handle, 0), 0)


@remoting_case("AckMessageProcessor.processRequest")
def an_offset_outside_the_queue_is_refused(t: Remoting) -> None:
    """An acknowledgement of an offset behind the end or before the beginning is refused; the end itself passes."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    handle = t.popped(t.pop(topic, group))[0][1]
    t.see("the end", t.ack(topic, group, handle, 2), 0)
    t.see("behind the end", t.ack(topic, group, handle, 3), 208)
    t.see("-1", t.ack(topic, group, handle, -1), 208)
    t.see("2^63 - 1", t.ack(topic, group, handle, 2**63 - 1), 208)


@remoting_case("AckMessageProcessor.processRequest")
def a_queue_outside_the_topic_is_refused(t: Remoting) -> None:
    """An acknowledgement for a queue that the topic does not have is refused."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [(_, handle)] = t.popped(t.pop(topic, group))
    t.see("queue 9", t.ack(topic, group, handle, 0, queue=9), 13)
    t.see("queue -1", t.ack(topic, group, handle, 0, queue=-1), 13)


@remoting_case("AckMessageProcessor.processRequest")
def an_unknown_topic_is_refused(t: Remoting) -> None:
    """An acknowledgement for a topic that does not exist is refused, one for a group that does not exist succeeds."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [(_, handle)] = t.popped(t.pop(topic, group))
    t.see("unknown topic", t.ack(t.new(), group, handle, 0), 17)
    t.see("unknown group", t.ack(topic, t.new("group"), handle, 0), 0)
    t.see("illegal group", t.ack(topic, "bad!", handle, 0), 0)


@remoting_case("ExtraInfoUtil.split")
def a_malformed_handle_is_refused(t: Remoting) -> None:
    """A handle with too few fields, or with a word where a number stands, is an error; more fields are no harm."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [(_, handle)] = t.popped(t.pop(topic, group))
    fields = handle.split(" ")
    for text in ("garbage", "1 2 3", "", None):
        t.see(repr(text), t.ack(topic, group, text, 0), 1)
    for count in (5, 6, 7):
        t.see(f"{count} fields", t.ack(topic, group, " ".join(fields[:count]), 0))
    for place in range(8):
        forged = " ".join([*fields[:place], "x", *fields[place + 1 :]])
        t.see(f"x as field {place}", t.ack(topic, group, forged, 0))
    t.see("9 fields", t.ack(topic, group, handle + " 12345", 0))
    t.see("a blank too many", t.ack(topic, group, handle.replace(" ", "  ", 1), 0))
    t.see("a number too large", t.ack(topic, group, " ".join(["9223372036854775808", *fields[1:]]), 0))
    t.see("a revive queue too large", t.ack(topic, group, " ".join([*fields[:3], "2147483648", *fields[4:]]), 0))


@remoting_case("AckMessageProcessor.appendAck")
def a_forged_handle_has_no_effect(t: Remoting) -> None:
    """A handle with another pop time, revive queue, start offset, broker or group is taken, and the message comes."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [(_, handle)] = t.popped(t.pop(topic, group, invisible_ms=2000))
    fields = handle.split(" ")
    for name, place, text in (
        ("pop time", 1, "1700000000000"),
        ("future pop time", 1, str(t.now_ms() + 3_600_000)),
        ("revive queue", 3, "77"),
        ("start offset", 0, "1"),
        ("broker", 5, "elsewhere"),
    ):
        t.see(f"another {name}", t.ack(topic, group, " ".join([*fields[:place], text, *fields[place + 1 :]]), 0), 0)
    t.see("another group", t.ack(topic, t.group(), handle, 0), 0)
    t.see("another topic", t.ack(t.topic(queues=1), group, handle, 0), 0)
    t.see("copy", copies(t, topic, group))


@remoting_case("AckMessageProcessor.appendAck")
def a_handle_of_another_queue_may_fit(t: Remoting) -> None:
    """A handle acknowledges in another queue if that pop began at the same offset there, and else has no effect."""
    topic, group = t.topic(queues=3), t.group()
    for queue in range(3):
        filled(t, topic, 1 if queue < 2 else 2, queue=queue, tag=f"Q{queue}")
    t.commit(topic, group, 1, queue=2)
    answer = t.pop(topic, group, invisible_ms=2000)
    handles = {message.queue_id: handle for message, handle in t.popped(answer)}
    t.see("queue 1 by a handle of queue 0", t.ack(topic, group, handles[0], 0, queue=1), 0)
    t.see("queue 2 by a handle of queue 0", t.ack(topic, group, handles[0], 1, queue=2), 0)
    t.see("came back", sorted(str(message.tag) for message in copies(t, topic, group, 2)))


@remoting_case("AckMessageProcessor.appendAck")
def acks_of_the_same_start_are_told_apart_by_time(t: Remoting) -> None:
    """Popped twice from the same offset, a message is acknowledged for the pop whose handle is used."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [(_, first)] = t.popped(t.pop(topic, group, invisible_ms=2000))
    t.until(lambda: t.committed(topic, group)["offset"] == "1")
    t.commit(topic, group, 0)
    t.wait(0.1)
    [(_, second)] = t.popped(t.pop(topic, group, invisible_ms=60_000))
    t.see("second", t.ack(topic, group, second, 0), 0)
    t.see("came back by the first", bodies(copies(t, topic, group)))
    t.see("first, too late", t.ack(topic, group, first, 0), 0)


@remoting_case("AckMessageProcessor.appendAck")
def some_fields_of_a_handle_do_not_matter(t: Remoting) -> None:
    """An acknowledgement counts whatever its handle says of topic kind, queue and offset: the request's own count."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    handles = [handle.split(" ") for _, handle in t.popped(t.pop(topic, group, invisible_ms=2000))]
    t.see("topic kind 9", t.ack(topic, group, " ".join([*handles[0][:4], "9", *handles[0][5:]]), 0), 0)
    t.see("queue 7, offset 99", t.ack(topic, group, " ".join([*handles[1][:6], "7", "99"]), 1), 0)
    t.see("came back", bodies(copies(t, topic, group)))


@remoting_case("AckMessageProcessor.appendAck")
def another_connection_may_acknowledge(t: Remoting) -> None:
    """A handle belongs to no client: whoever has it acknowledges with it."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    handles = [handle for _, handle in t.popped(t.pop(topic, group, invisible_ms=2000))]
    ext = {"consumerGroup": group, "topic": topic, "queueId": 0, "extraInfo": handles[0], "offset": 0}
    t.see("acknowledged", t.ask(ACK, ext, to=t.connect()), 0)
    t.see("came back", bodies(copies(t, topic, group)))


@remoting_case("PopReviveService.mergeAndRevive")
def a_late_ack_still_counts(t: Remoting) -> None:
    """An acknowledgement that comes within a second after the invisible time keeps the message from coming back."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    handles = [handle for _, handle in t.popped(t.pop(topic, group, invisible_ms=2000))]
    t.wait(2.5)
    t.see("acknowledged", t.ack(topic, group, handles[0], 0), 0)
    t.see("came back", bodies(copies(t, topic, group)))


@remoting_case("AckMessageProcessor.appendAck")
def an_ack_after_the_revival_has_no_effect(t: Remoting) -> None:
    """An acknowledgement with the handle of a message that has come back succeeds, and the copy is handed out."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [(_, handle)] = t.popped(t.pop(topic, group, invisible_ms=1000))
    copies(t, topic, group)
    t.see("acknowledged", t.ack(topic, group, handle, 0), 0)
    t.see("popped", t.pop(topic, group), 0)


@remoting_case("AckMessageProcessor.processRequest")
def a_redelivered_message_is_acknowledged_in_its_retry_topic(t: Remoting) -> None:
    """The acknowledgement of a copy names the retry topic; one that names the topic is taken, and it comes again."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group, 2)
    (_, first), (_, second) = t.popped(t.pop(topic, group, invisible_ms=1000))
    t.see("by the retry topic", t.ack(retry_topic(topic, group), group, first, 0), 0)
    t.see("by the topic", t.ack(topic, group, second, 1), 0)
    t.see("copies", [[each.body.decode(), each.reconsume_times] for each in copies(t, topic, group, 3)])


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def an_ack_needs_its_fields(t: Remoting) -> None:
    """An acknowledgement without one of its fields, or with a word for a number, is refused unless it is the group."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [(_, handle)] = t.popped(t.pop(topic, group))
    ext = {"consumerGroup": group, "topic": topic, "queueId": 0, "extraInfo": handle, "offset": 0}
    for name in ext:
        t.see(f"no {name}", t.ask(ACK, {key: value for key, value in ext.items() if key != name}))
    t.see("queueId x", t.ask(ACK, {**ext, "queueId": "x"}))
    t.see("offset x", t.ask(ACK, {**ext, "offset": "x"}))
