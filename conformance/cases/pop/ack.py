"""Acknowledging popped messages one at a time."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.receipt_handles import HANDLE_FIELDS, forged
from ...context.remoting import RemotingContext
from ...helpers.pops import all_popped, bodies, note_without, one_popped, popping


@remoting_case("AckMessageProcessor.appendAck")
def only_unacknowledged_messages_are_redelivered(t: RemotingContext) -> None:
    """Only the messages of a pop that were not acknowledged are redelivered."""
    group, handles = all_popped(t, 4, invisible_ms=2000)
    t.note("second", group.ack(handles[1], 1), 0)
    t.note("fourth", group.ack(handles[3], 3), 0)
    t.note("came back", bodies(group.wait_for_copies(2)))
    t.wait(2)
    t.note("copies in all", group.count_copies())


@remoting_case("AckMessageProcessor.appendAck")
def no_retry_topic_is_created_when_every_popped_message_is_acked(t: RemotingContext) -> None:
    """When every message of a pop is acknowledged, in any order, the broker creates no pop retry topic."""
    group, handles = all_popped(t, 3, invisible_ms=1000)
    for offset in (2, 0, 1):
        t.note(f"offset {offset}", group.ack(handles[offset], offset), 0)
    t.wait(6)  # The invisible duration, and up to 5 s until a redelivery would create the topic.
    t.note("copies", t.pull(group.retry_topic, group.name), 17)


@remoting_case("AckMessageProcessor.appendAck")
def an_ack_may_be_repeated(t: RemotingContext) -> None:
    """A second acknowledgement of the same message succeeds."""
    group, handle = one_popped(t)
    t.note("first", group.ack(handle, 0), 0)
    t.note("second", group.ack(handle, 0), 0)


@remoting_case("AckMessageProcessor.processRequest")
def an_ack_of_an_out_of_range_offset_is_refused(t: RemotingContext) -> None:
    """An ack of an offset below 0 or beyond the end of the queue is rejected; the end offset itself is accepted."""
    group = popping(t, 2)
    handle = group.handles()[0]
    t.note("the end", group.ack(handle, 2), 0)
    t.note("behind the end", group.ack(handle, 3), 208)
    t.note("-1", group.ack(handle, -1), 208)
    t.note("2^63 - 1", group.ack(handle, 2**63 - 1), 208)


@remoting_case("AckMessageProcessor.processRequest")
def a_queue_outside_the_topic_is_refused(t: RemotingContext) -> None:
    """An acknowledgement for a queue that the topic does not have is rejected."""
    group, handle = one_popped(t)
    t.note("queue 9", group.ack(handle, 0, queue=9), 13)
    t.note("queue -1", group.ack(handle, 0, queue=-1), 13)


@remoting_case("AckMessageProcessor.processRequest")
def an_unknown_topic_is_refused(t: RemotingContext) -> None:
    """An acknowledgement for an unknown topic is rejected; one for an unknown or illegal group succeeds."""
    group, handle = one_popped(t)
    t.note("unknown topic", group.with_topic(t.new()).ack(handle, 0), 17)
    t.note("unknown group", group.with_group(t.new("group")).ack(handle, 0), 0)
    t.note("illegal group", group.with_group("bad!").ack(handle, 0), 0)


@remoting_case("ExtraInfoUtil.split")
def a_malformed_handle_is_refused(t: RemotingContext) -> None:
    """A handle with fewer than 6 fields is rejected; missing fields after these, and extra fields, are ignored.

    A handle is also rejected if one of its first four fields is not a number in range.
    """
    group, handle = one_popped(t)
    fields = handle.split(" ")
    for text in ("garbage", "1 2 3", "", None):
        t.note(repr(text), group.ack(text, 0), 1)
    for count in (5, 6, 7):
        t.note(f"{count} fields", group.ack(" ".join(fields[:count]), 0))
    for place, field in enumerate(HANDLE_FIELDS):
        t.note(f"x as field {place}", group.ack(forged(handle, **{field: "x"}), 0))
    t.note("9 fields", group.ack(handle + " 12345", 0))
    t.note("a blank too many", group.ack(handle.replace(" ", "  ", 1), 0))
    t.note("a number too large", group.ack(forged(handle, start="9223372036854775808"), 0))
    t.note("a revive queue too large", group.ack(forged(handle, revive="2147483648"), 0))


@remoting_case("AckMessageProcessor.appendAck")
def a_forged_handle_has_no_effect(t: RemotingContext) -> None:
    """An ack with another pop time, revive queue, start, broker, group or topic succeeds without effect.

    The message is redelivered.
    """
    group, handle = one_popped(t, invisible_ms=2000)
    for name, field, text in (
        ("pop time", "popped", "1700000000000"),
        ("future pop time", "popped", str(t.now_ms() + 3_600_000)),
        ("revive queue", "revive", "77"),
        ("start offset", "start", "1"),
        ("broker", "broker", "elsewhere"),
    ):
        t.note(f"another {name}", group.ack(forged(handle, **{field: text}), 0), 0)
    t.note("another group", group.with_group(t.group()).ack(handle, 0), 0)
    t.note("another topic", group.with_topic(t.topic(queues=1)).ack(handle, 0), 0)
    t.note("copy", group.wait_for_copies())


@remoting_case("AckMessageProcessor.appendAck")
def a_handle_of_another_queue_acks_if_the_start_offsets_are_equal(t: RemotingContext) -> None:
    """A handle acknowledges a message of another queue only if the pop of that queue started at the same offset."""
    group = popping(t, queues=3)
    for queue in range(3):
        group.fill(1 if queue < 2 else 2, queue=queue, tag=f"Q{queue}")
    group.commit(1, queue=2)
    response = group.pop(invisible_ms=2000)
    handles = {message.queue_id: handle for message, handle in t.popped(response)}
    t.note("queue 1 by a handle of queue 0", group.ack(handles[0], 0, queue=1), 0)
    t.note("queue 2 by a handle of queue 0", group.ack(handles[0], 1, queue=2), 0)
    t.note("came back", sorted(str(message.tag) for message in group.wait_for_copies(2)))


@remoting_case("AckMessageProcessor.appendAck")
def acks_of_pops_from_the_same_offset_are_matched_by_pop_time(t: RemotingContext) -> None:
    """If a message is popped twice from the same offset, an ack counts for the pop whose handle it carries."""
    group = popping(t, 1)
    first = group.handle(invisible_ms=2000)
    t.until(lambda: group.committed()["offset"] == "1")
    group.commit(0)
    t.wait(0.1)
    second = group.handle(invisible_ms=60_000)
    t.note("second", group.ack(second, 0), 0)
    # The second pop is acknowledged, so the first one causes this redelivery.
    t.note("came back by the first", bodies(group.wait_for_copies()))
    t.note("first, too late", group.ack(first, 0), 0)


@remoting_case("AckMessageProcessor.appendAck")
def an_ack_ignores_topic_kind_queue_and_offset_in_its_handle(t: RemotingContext) -> None:
    """An acknowledgement uses the request's queue and offset.

    Topic kind, queue and offset in the handle are ignored.
    """
    group, handles = all_popped(t, 3, invisible_ms=2000)
    t.note("topic kind 9", group.ack(forged(handles[0], digit="9"), 0), 0)
    t.note("queue 7, offset 99", group.ack(forged(handles[1], queue="7", offset="99"), 1), 0)
    t.note("came back", bodies(group.wait_for_copies()))


@remoting_case("AckMessageProcessor.appendAck")
def another_connection_may_acknowledge(t: RemotingContext) -> None:
    """A handle is not bound to a client: any connection can acknowledge with it."""
    group, handles = all_popped(t, 2, invisible_ms=2000)
    ext = {"consumerGroup": group.name, "topic": group.topic, "queueId": 0, "extraInfo": handles[0], "offset": 0}
    t.note("acknowledged", t.request(RequestCode.ACK_MESSAGE, ext, to=t.connect()), 0)
    t.note("came back", bodies(group.wait_for_copies()))


@remoting_case("PopReviveService.mergeAndRevive")
def an_ack_shortly_after_the_invisible_duration_prevents_redelivery(t: RemotingContext) -> None:
    """An acknowledgement 0.1 s or 1.2 s after the invisible duration still prevents redelivery."""
    group, handles = all_popped(t, 3, invisible_ms=2000)
    t.wait(2.1)
    t.note("acknowledged", group.ack(handles[0], 0), 0)
    t.wait(1.1)
    t.note("acknowledged later", group.ack(handles[1], 1), 0)
    t.note("came back", bodies(group.wait_for_copies()))
    t.wait(2)
    t.note("copies in all", group.count_copies())


@remoting_case("AckMessageProcessor.appendAck")
def an_ack_after_the_revival_has_no_effect(t: RemotingContext) -> None:
    """An ack with the old handle of a message that was already revived succeeds, and the copy is still delivered."""
    group, handle = one_popped(t, invisible_ms=1000)
    group.wait_for_copies()
    t.note("acknowledged", group.ack(handle, 0), 0)
    t.note("popped", group.pop(), 0)


@remoting_case("AckMessageProcessor.processRequest")
def a_redelivered_message_is_acknowledged_in_its_retry_topic(t: RemotingContext) -> None:
    """An ack of a redelivered message must name the pop retry topic.

    If it names the original topic, it succeeds but the message is redelivered.
    """
    group = popping(t, 2)
    group.fail_and_wait_for_retry(2)
    first, second = group.handles(invisible_ms=1000)
    t.note("by the retry topic", group.retry.ack(first, 0), 0)
    t.note("by the topic", group.ack(second, 1), 0)
    t.note("copies", [[each.body.decode(), each.reconsume_times] for each in group.wait_for_copies(3)])


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def an_ack_without_a_required_field_is_refused(t: RemotingContext) -> None:
    """An acknowledgement without topic, queue, handle or offset, or with a non-numeric number, is rejected.

    One without a group succeeds, although AckMessageRequestHeader marks consumerGroup with @CFNotNull: the broker
    executes a request with missing fields, and fails where it uses their values.
    """
    group, handle = one_popped(t)
    ext = {"consumerGroup": group.name, "topic": group.topic, "queueId": 0, "extraInfo": handle, "offset": 0}
    note_without(t, RequestCode.ACK_MESSAGE, ext)
    t.note("queueId x", t.request(RequestCode.ACK_MESSAGE, {**ext, "queueId": "x"}))
    t.note("offset x", t.request(RequestCode.ACK_MESSAGE, {**ext, "offset": "x"}))
