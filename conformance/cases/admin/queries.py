"""Message queries by log offset, key and id."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ..store.compaction import send_batch

FAR = 1 << 40
"""A log offset beyond the end of any log."""
INTO_A_RECORD = 4
"""Position of a record's magic code, which is not a valid size."""
_FLAG = 16
"""Position of a record's flag, which the sender sets."""


def _query(t: RemotingContext, topic: str, key: object, **fields: object) -> DecodedResponse:
    """Query by key, without the response fields that depend on other messages."""
    return t.query(topic, key, **fields).without("indexLastUpdatePhyoffset", "indexLastUpdateTimestamp")


def _indexed(t: RemotingContext, topic: str, key: str) -> None:
    t.require(t.until(lambda: _query(t, topic, key).code == 0), f"the key {key} was not indexed")


@remoting_case("QueryMessageProcessor.viewMessageById")
def a_message_is_viewed_by_its_log_offset(t: RemotingContext) -> None:
    """A message is viewed by its log offset, the last part of its id. The topic in the request is ignored."""
    topic = t.topic(queues=1)
    [sent] = t.readable(topic, t.send(topic, "hello", tag="A", keys="k"))
    t.note("viewed", t.view(sent.place), 0)
    t.note("viewed as another topic's", len(t.view(sent.place, topic=t.new()).messages))


@remoting_case("QueryMessageProcessor.viewMessageById")
def a_view_at_an_offset_that_starts_no_message_fails(t: RemotingContext) -> None:
    """A view before or beyond the log, inside a record or without an offset fails."""
    topic = t.topic(queues=1)
    [sent] = t.sent(topic)
    t.note("beyond", t.view(FAR), 1)
    t.note("before", t.view(-1), 1)
    t.note("inside", t.view(sent.place + INTO_A_RECORD), 1)
    t.note("nowhere", t.view(None), 1)


@remoting_case("DefaultMessageStore.selectOneMessageByOffset")
def a_view_takes_a_number_inside_a_record_for_a_size(t: RemotingContext) -> None:
    """A view inside a record uses the number there as the record's size and returns that many bytes, or fails."""
    topic = t.topic(queues=1)
    for flag in (20, 1, 0, -5, 1 << 30):
        [sent] = t.readable(topic, t.send(topic, flag=flag))
        place = sent.place + _FLAG
        response = t.view(place)
        remark = response.remark and response.remark.replace(f"{place}", "{place}")
        t.note(f"at a flag of {flag}", [response.code, remark, len(response.body)])


@remoting_case("QueryMessageProcessor.queryMessage")
def messages_are_found_by_each_of_their_keys(t: RemotingContext) -> None:
    """A message is found by each of its blank-separated keys. Keys are case-sensitive."""
    topic = t.topic(queues=1)
    t.readable(topic, t.send(topic, "two", keys="first second"), t.send(topic, "spaced", keys=" third   fourth "))
    _indexed(t, topic, "fourth")
    for key in ("first", "second", "third", "first second", "First", "none", ""):
        t.note(f"key {key!r}", _query(t, topic, key))


@remoting_case("QueryMessageProcessor.queryMessage")
def keys_belong_to_their_topic(t: RemotingContext) -> None:
    """A key is searched in one topic; an unknown topic has no keys."""
    topic, other = t.topic(queues=1), t.topic(queues=1)
    t.readable(topic, t.send(topic, "here", keys="k"))
    _indexed(t, topic, "k")
    t.note("here", _query(t, topic, "k"), 0)
    t.note("other topic", _query(t, other, "k"), 22)
    t.note("unknown topic", _query(t, t.new(), "k"), 22)


@remoting_case("IndexService.queryOffset")
def a_query_finds_the_newest_messages(t: RemotingContext) -> None:
    """A query for fewer messages than exist returns the newest ones in store order."""
    topic = t.topic(queues=2)
    t.readable(topic, *(t.send(topic, f"m{number}", queue=number % 2, keys="k") for number in range(5)))
    t.until(lambda: len(_query(t, topic, "k").messages) == 5)
    t.note("32", _query(t, topic, "k").bodies)
    t.note("2", _query(t, topic, "k", maxNum=2).bodies)
    t.note("0", _query(t, topic, "k", maxNum=0), 22)
    t.note("-1", _query(t, topic, "k", maxNum=-1), 1)


@remoting_case("IndexService.queryOffset")
def a_query_finds_64_messages_at_most(t: RemotingContext) -> None:
    """A query returns at most maxMsgsNumBatch messages, even if it requests more."""
    topic = t.topic(queues=1)
    t.sent(topic, 70, keys="k")
    t.until(lambda: len(_query(t, topic, "k", maxNum=100).messages) >= 64)
    found = _query(t, topic, "k", maxNum=100).bodies
    t.note("found", [len(found), found[0], found[-1]])


@remoting_case("QueryMessageProcessor.queryMessage")
def messages_are_found_by_their_unique_key(t: RemotingContext) -> None:
    """A message is found by its client's unique id, with or without the unique-key flag of the query."""
    topic = t.topic(queues=1)
    [sent] = t.sent(topic, 1, keys="k")
    unique = sent["transactionId"]
    _indexed(t, topic, unique)
    t.note("as a unique key", _query(t, topic, unique, _UNIQUE_KEY_QUERY=True, maxNum=1), 0)
    t.note("as a key", _query(t, topic, unique), 0)
    t.note("a key as a unique key", _query(t, topic, "k", _UNIQUE_KEY_QUERY=True), 0)
    t.note("its id of the broker", _query(t, topic, sent["msgId"]), 22)


@remoting_case("IndexService.queryOffset")
def a_key_query_returns_messages_of_its_time_range(t: RemotingContext) -> None:
    """A query returns messages stored in its time range, with an uncertainty of 1 s at both ends."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, t.send(topic, "hello", keys="k"))
    _indexed(t, topic, "k")
    stored = t.pull(topic, group).messages[0].store_timestamp
    ranges = {
        "around": (stored - 2000, stored + 2000),
        "since ever": (0, stored + 2000),
        "for ever": (stored - 2000, (1 << 63) - 1),
        "before": (0, stored - 5000),
        "after": (stored + 5000, stored + 50_000),
        "backwards": (stored + 2000, stored - 2000),
    }
    for name, (begin, end) in ranges.items():
        t.note(name, _query(t, topic, "k", beginTimestamp=begin, endTimestamp=end).code)


@remoting_case("CommitLogDispatcherBuildIndex.dispatch")
def a_delayed_message_is_found_by_key_only_after_delivery(t: RemotingContext) -> None:
    """A delayed message is found by key in its topic only after its delivery."""
    topic = t.topic(queues=1)
    t.send(topic, "later", keys="k", properties={"DELAY": "1"})
    t.wait(0.3)
    t.note("before", _query(t, topic, "k"), 22)
    t.require(t.until(lambda: _query(t, topic, "k").code == 0, 15), "the message was not delivered")
    t.note("after", _query(t, topic, "k"), 0)


@remoting_case("QueryMessageProcessor.queryMessage")
def a_query_needs_its_fields(t: RemotingContext) -> None:
    """A query without its fields fails."""
    t.note("nothing", t.request(RequestCode.QUERY_MESSAGE, {}), 1)
    t.note("no key", _query(t, t.topic(queues=1), None))
    t.note("no range", _query(t, t.topic(queues=1), "k", beginTimestamp=None), 1)


@remoting_case("AdminBrokerProcessor.queryConsumeQueue")
def query_consume_queue_returns_units_by_index(t: RemotingContext) -> None:
    """QUERY_CONSUME_QUEUE returns the units of a consume queue by index, with the tag hash of each message."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, t.send(topic, "a", tag="A"), t.send(topic, "none"), t.send(topic, "b", tag="B"))
    ext = {"topic": topic, "queueId": 0, "index": 1, "count": 10, "consumerGroup": group}
    response = t.request(RequestCode.QUERY_CONSUME_QUEUE, ext)
    t.note("response", [response.code, response.remark])
    t.note("codes", [entry["tagsCode"] for entry in response.json["queueData"]])
    t.note("bounds", {name: response.json[name] for name in ("minQueueIndex", "maxQueueIndex")})
    t.note("behind the end", t.request(RequestCode.QUERY_CONSUME_QUEUE, {**ext, "index": 7}), 0)
    t.note("unknown topic", t.request(RequestCode.QUERY_CONSUME_QUEUE, {**ext, "topic": t.new()}), 1)


@remoting_case("DefaultMessageStore.queryMessage, IndexFile.putKey", alone=True)
def only_a_successful_query_reports_the_last_indexed_offset_and_time(t: RemotingContext) -> None:
    """A successful query returns offset and time of the index's last message; an unsuccessful one returns zeros."""
    topic = t.topic(queues=1)
    [first] = t.readable(topic, t.send(topic, "first", keys="k"))
    _indexed(t, topic, "k")
    _note_index(t, topic, "k", {"first": first})
    t.wait(0.01)  # two messages in the same millisecond would be indistinguishable
    [second] = t.readable(topic, t.send(topic, "second", unique=False, keys="other"))
    _indexed(t, topic, "other")
    _note_index(t, topic, "k", {"first": first, "second": second})
    _note_index(t, topic, "none", {})
    t.readable(topic, send_batch(t, topic, {}, b"without id and key"))
    _note_index(t, topic, "k", {"first": first, "second": second})


def _note_index(t: RemotingContext, topic: str, key: str, sent: dict[str, DecodedResponse]) -> None:
    """Record which message's offset and time the index reports as its last ones."""
    response = t.query(topic, key)
    place, time = response["indexLastUpdatePhyoffset"], response["indexLastUpdateTimestamp"]
    ends = [name for name, each in sent.items() if str(each.place) == place]
    times = [name for name, each in sent.items() if str(t.view(each.place).messages[0].store_timestamp) == time]
    t.note(f"asked for {key}", [response.code, ends or place, times or time])
