"""Acknowledging many popped messages in one request."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_consumption import batch_ack_entry, batch_ack_request
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, bodies, popping


def entry(group: PopGroup, handle: str, offsets: list[int]) -> dict[str, object]:
    """Build a batch entry for offsets of one check point, from any handle of that check point."""
    return batch_ack_entry(group.topic, group.name, handle, offsets)


def batch_ack(t: RemotingContext, *entries: dict[str, object]) -> DecodedResponse:
    """Send a BATCH_ACK_MESSAGE request with these entries."""
    return t.request(*batch_ack_request(t.broker_name, entries))


@remoting_case("AckMessageProcessor.appendAck")
def a_batch_ack_acknowledges_the_offsets_set_in_its_bit_set(t: RemotingContext) -> None:
    """Only the messages of a pop whose bits are not set in a batch acknowledgement are redelivered."""
    group = popping(t, 4)
    handle = group.handles(invisible_ms=2000)[0]
    t.note("acknowledged", batch_ack(t, entry(group, handle, [0, 2])), 0)
    t.note("came back", bodies(group.wait_for_copies(2)))


@remoting_case("AckMessageProcessor.appendAck")
def a_batch_may_hold_one_message(t: RemotingContext) -> None:
    """A batch acknowledgement of a single message works like any other."""
    group = popping(t, 2)
    handle = group.handles(invisible_ms=2000)[0]
    t.note("acknowledged", batch_ack(t, entry(group, handle, [1])), 0)
    t.note("came back", bodies(group.wait_for_copies()))


@remoting_case("AckMessageProcessor.processRequest")
def a_batch_spans_topics_and_groups(t: RemotingContext) -> None:
    """One batch acknowledgement accepts entries of several topics, queues and groups."""
    one, other, group, guest = t.topic(queues=1), t.topic(queues=1), t.group(), t.group()
    groups = [PopGroup(t, one, group), PopGroup(t, one, guest), PopGroup(t, other, group)]
    t.sent(one, 2)
    t.sent(other, 2)
    t.note("acknowledged", batch_ack(t, *(entry(each, each.handles(invisible_ms=2000)[0], [0]) for each in groups)), 0)
    for each in groups:
        t.note("came back", bodies(each.wait_for_copies()))


@remoting_case("BatchAckMessageRequestBody.decode")
def a_batch_ack_accepts_long_json_keys(t: RemotingContext) -> None:
    """A batch acknowledgement accepts the long names of an entry's JSON keys, too."""
    group = popping(t, 2)
    short = entry(group, group.handles(invisible_ms=2000)[0], [0])
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
    t.note("acknowledged", batch_ack(t, {names[name]: value for name, value in short.items()}))
    t.note("came back", bodies(group.wait_for_copies()))


@remoting_case("AckMessageProcessor.processRequest")
def a_batch_ack_of_redelivered_messages_names_the_original_topic(t: RemotingContext) -> None:
    """A batch entry for redelivered messages names the original topic; the digit `r` means their retry topic."""
    group = popping(t, 2)
    group.fail_and_wait_for_retry(2)
    handle = group.handles(invisible_ms=1000)[0]
    t.note("handle", handle)
    t.note("acknowledged", batch_ack(t, entry(group, handle, [0])), 0)
    # Two copies from the first pop, and one of the message that was not acknowledged after the second.
    t.note("came back", [each.reconsume_times for each in group.wait_for_copies(3)])
    t.wait(2)
    t.note("copies in all", group.count_copies())


@remoting_case("AckMessageProcessor.processRequest")
def an_empty_batch_is_refused(t: RemotingContext) -> None:
    """A batch acknowledgement without a body, without `acks` or with an empty list is rejected."""
    t.note("no body", t.request(RequestCode.BATCH_ACK_MESSAGE), 208)
    t.note("no list", t.request(RequestCode.BATCH_ACK_MESSAGE, None, b"{}"), 208)
    t.note("null", t.request(RequestCode.BATCH_ACK_MESSAGE, None, b'{"acks":null}'), 208)
    t.note("empty list", batch_ack(t), 208)


@remoting_case("RemotingSerializable.decode")
def a_malformed_batch_is_an_error(t: RemotingContext) -> None:
    """A batch ack that is not valid JSON or has values of a wrong type returns an error. The connection stays open."""
    group = popping(t, 1)
    good = entry(group, group.handles()[0], [0])
    t.note("no JSON", t.request(RequestCode.BATCH_ACK_MESSAGE, None, b"acks").code)
    t.note("a word", t.request(RequestCode.BATCH_ACK_MESSAGE, None, b"garbage"), 1)
    t.note("a list", t.request(RequestCode.BATCH_ACK_MESSAGE, None, b"[]").code)
    t.note("a list of a number", t.request(RequestCode.BATCH_ACK_MESSAGE, None, b"[1]").code)
    t.note("a number for the list", t.request(RequestCode.BATCH_ACK_MESSAGE, None, b'{"acks":1}').code)
    t.note("no base64", batch_ack(t, {**good, "b": "?"}).code)
    t.note("a word for a number", batch_ack(t, {**good, "q": "x"}).code)
    for name in ("b", "c", "t", "r"):
        t.note(f"no {name}", batch_ack(t, {key: value for key, value in good.items() if key != name}).code)
    t.note("a right one", batch_ack(t, good), 0)


@remoting_case("AckMessageProcessor.appendAck")
def a_batch_ack_skips_entries_with_unknown_topic_queue_or_offset(t: RemotingContext) -> None:
    """Batch entries with an unknown topic, queue or offset are skipped; the other entries take effect."""
    group = popping(t, 3)
    good = entry(group, group.handles(invisible_ms=2000)[0], [0, 2])
    t.note("unknown topic", batch_ack(t, {**good, "t": t.new()}))
    t.note("unknown queue", batch_ack(t, {**good, "q": 9}))
    t.note("no bit", batch_ack(t, {**good, "b": ""}))
    t.note("an unknown kind of topic", batch_ack(t, {**good, "r": "9"}))
    t.note("behind the end", batch_ack(t, {**good, "so": 50}))
    unknown = {**good, "t": t.new()}
    t.note("with others before it", batch_ack(t, unknown, {**good, "so": 50}, good), 0)
    t.note("came back", bodies(group.wait_for_copies()))


@remoting_case("AckMessageProcessor.appendAck")
def a_forged_batch_has_no_effect(t: RemotingContext) -> None:
    """Entries with a forged pop time, start offset, revive queue or group succeed; the messages are redelivered."""
    group = popping(t, 2)
    good = entry(group, group.handles(invisible_ms=2000)[0], [0, 1])
    t.note("pop time", batch_ack(t, {**good, "pt": 1_700_000_000_000}), 0)
    t.note("start offset", batch_ack(t, {**good, "so": 1}), 0)
    t.note("revive queue", batch_ack(t, {**good, "rq": 77}), 0)
    t.note("group", batch_ack(t, {**good, "c": t.group()}), 0)
    t.note("came back", bodies(group.wait_for_copies(2)))
