"""Filters on all paths of messages: retry topics, ordered pops, delays, transactions, batches and broadcasting."""

from collections.abc import Callable, Mapping, Sequence

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_consumption import pull_fields
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, popping
from ...helpers.sends import send_back, send_batch
from ...helpers.settings import CHANGED_KEYS, shared_settings
from ...helpers.transactions import COMMIT, transacting

EXPRESSIONS: Mapping[str, str] = {"red||green": "TAG", "size > 1": "SQL92", "TAGS = 'red' AND size < 2": "SQL92"}
"""Expressions by type."""
_MESSAGES: Sequence[tuple[str, str | None, str]] = (
    ("small red", "red", "1"),
    ("large blue", "blue", "3"),
    ("large red", "red", "2"),
    ("small green", "green", "1"),
    ("large", None, "4"),
)
"""Body, tag and property `size` of each message."""
AS_PULLED = shared_settings(CHANGED_KEYS, "filterSupportRetry")
COPIES_FIRST = shared_settings(CHANGED_KEYS, "popFromRetryProbability")
_RETRY_SECONDS = 15.0


def _send_all(t: RemotingContext, topic: str) -> list[DecodedResponse]:
    sends = [t.send(topic, body, tag=tag, properties={"size": size}) for body, tag, size in _MESSAGES]
    return t.readable(topic, *sends)


def _note_pulls(t: RemotingContext, topic: str) -> None:
    """Record the results of pulls with each expression."""
    for expression, kind in EXPRESSIONS.items():
        t.note(expression, t.pull(topic, t.group(), expression=expression, type=kind).found)


def _note_pops(t: RemotingContext, pop: Callable[[str, str], list[str]]) -> None:
    for expression, kind in EXPRESSIONS.items():
        t.note(expression, pop(expression, kind))


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def pops_filter_as_pulls_do(t: RemotingContext) -> None:
    """A pop with an expression returns the same messages as a pull."""
    topic = t.topic(queues=1)
    _send_all(t, topic)
    _note_pulls(t, topic)
    _note_pops(t, lambda expression, kind: t.pop(topic, t.group(), expression=expression, type=kind).bodies)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def ordered_pops_track_only_matching_messages(t: RemotingContext) -> None:
    """An ordered pop tracks only matching messages. The offset passes the skipped ones with the next pop."""
    topic = t.topic(queues=1)
    _send_all(t, topic)
    for expression, kind in EXPRESSIONS.items():
        group = PopGroup(t, topic, t.group())
        by = {"expression": expression, "type": kind, "invisible_ms": 60_000}
        response = t.note(expression, group.pop_in_order(2, **by), 0)
        t.note("blocked", group.pop_in_order(2, **by).code)
        group.ack_all(response)
        t.note("offset", group.wait_until_committed(int(response.messages[-1].queue_offset) + 1)["offset"])
        t.note("next", group.pop_in_order(2, **by).found)


@remoting_case("ConsumerOrderInfoManager.update")
def an_expired_ordered_batch_is_filtered_anew_by_the_next_pop(t: RemotingContext) -> None:
    """When an ordered batch expires, the next pop applies its own filter from the first unacknowledged message."""
    topic = t.topic(queues=1)
    _send_all(t, topic)
    group = PopGroup(t, topic, t.group())
    t.note("red", group.pop_in_order(2, expression="red", invisible_ms=1000).bodies)
    t.wait(1.3)
    response = t.note("large", group.pop_in_order(3, expression="size > 1", type="SQL92", invisible_ms=60_000), 0)
    t.note("handles", group.handles_of(response))


@remoting_case("PopMessageProcessor.popMsgFromTopic", settings=COPIES_FIRST)
def redelivered_messages_are_filtered_by_the_reading_pop(t: RemotingContext) -> None:
    """A redelivered message is filtered by the expression of the pop that reads it.

    If it does not match, the group loses it.
    """
    for first, kind, second, other in (
        ("*", "TAG", "red", "TAG"),
        ("*", "TAG", "size > 1", "SQL92"),
        ("red||blue", "TAG", "blue||green", "TAG"),
    ):
        group = popping(t)
        _send_all(t, group.topic)
        popped = t.note(f"popped by {first}", group.pop(expression=first, type=kind, invisible_ms=0).bodies)
        group.wait_for_copies(len(popped))
        t.note(f"again by {second}", group.pop(expression=second, type=other).bodies)
        t.note("and by all", group.pop().bodies)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def sent_back_messages_are_filtered_by_their_tag_and_properties(t: RemotingContext) -> None:
    """A sent-back message keeps its tag and properties in the retry topic, and filters match them."""
    topic, group = t.topic(queues=1), t.group()
    for number, sent in enumerate(_send_all(t, topic), 1):
        t.require(send_back(t, group, sent.place, 1).code == 0, f"message {number} was not sent back")
    retry = retry_topic(group)
    t.stored(retry, len(_MESSAGES), seconds=_RETRY_SECONDS)
    _note_pulls(t, retry)


def _retries_of_red(t: RemotingContext) -> tuple[str, str]:
    """Create a group subscribed to red messages by heartbeat, with copies of all messages in its retry topic."""
    topic, group = t.topic(queues=1), t.group()
    t.heartbeat(t.new("client"), groups={group: {topic: "TAGS = 'red'"}}, expression_type="SQL92", version=1)
    for sent in _send_all(t, topic):
        send_back(t, group, sent.place, 1)
    retry = retry_topic(group)
    t.stored(retry, len(_MESSAGES), seconds=_RETRY_SECONDS)
    return group, retry


def _note_pulls_of_retries(t: RemotingContext, group: str, retry: str) -> None:
    t.note("by TRUE", t.pull(retry, group, expression="TRUE", type="SQL92").found)
    t.note("by FALSE", t.pull(retry, group, expression="FALSE", type="SQL92").found)
    t.note("by what cannot be read", t.pull(retry, group, expression="size >", type="SQL92").found)
    t.note("by size", t.pull(retry, group, expression="size > 1", type="SQL92").found)
    t.note("by tag", t.pull(retry, group, expression="blue").found)
    t.note("by another group", t.pull(retry, t.group(), expression="size > 1", type="SQL92").found)


@remoting_case("ExpressionMessageFilter.isMatchedByCommitLog")
def a_retry_topic_is_filtered_only_by_the_expression_of_the_pull(t: RemotingContext) -> None:
    """A pull of a retry topic is filtered by its own expression, not by the group's subscription to the topic."""
    _note_pulls_of_retries(t, *_retries_of_red(t))


@remoting_case("ExpressionForRetryMessageFilter.isMatchedByCommitLog", settings=AS_PULLED)
def filter_support_retry_applies_the_subscription_to_retry_topics(t: RemotingContext) -> None:
    """With filterSupportRetry an SQL92 pull of a retry topic uses the group's subscription to the original topic.

    The pull's own expression is ignored, and without a subscription all messages match.
    """
    group, retry = _retries_of_red(t)
    _note_pulls_of_retries(t, group, retry)
    topic = t.topic(queues=1)
    _send_all(t, topic)
    t.note("of a plain topic", t.pull(topic, group, expression="size > 1", type="SQL92").found)
    t.note("of a plain topic, unreadable", t.pull(topic, group, expression="size >", type="SQL92").found)


@remoting_case("ScheduleMessageService.messageTimeUp")
def delayed_messages_are_filtered_by_their_tag_and_properties(t: RemotingContext) -> None:
    """A delayed message keeps its tag and properties on delivery, and filters match them."""
    topic = t.topic(queues=1)
    for body, tag, size in _MESSAGES:
        t.send(topic, body, tag=tag, properties={"size": size, "DELAY": "1"})
    t.stored(topic, len(_MESSAGES), seconds=_RETRY_SECONDS)
    _note_pulls(t, topic)


@remoting_case("EndTransactionProcessor.endMessageTransaction")
def committed_half_messages_are_filtered_by_tag_and_properties(t: RemotingContext) -> None:
    """A committed half message keeps its tag and properties, and filters match them."""
    producers = transacting(t)
    for body, tag, size in _MESSAGES:
        producers.end(producers.half(body, tag=tag, properties={"size": size}), COMMIT)
    t.stored(producers.topic, len(_MESSAGES))
    _note_pulls(t, producers.topic)


@remoting_case("SendMessageProcessor.sendBatchMessage")
def messages_of_a_batch_are_filtered_one_by_one(t: RemotingContext) -> None:
    """Each message of a batch is filtered by its own tag and properties."""
    topic = t.topic(queues=1)
    parts = [(body.encode(), {"size": size} | ({} if tag is None else {"TAGS": tag})) for body, tag, size in _MESSAGES]
    t.require(send_batch(t, topic, parts).code == 0, "the batch was not stored")
    t.stored(topic, len(_MESSAGES))
    _note_pulls(t, topic)


@remoting_case("PullMessageProcessor.processRequest")
def lite_pulls_are_filtered(t: RemotingContext) -> None:
    """A lite pull is filtered like a pull."""
    topic = t.topic(queues=1)
    _send_all(t, topic)
    for expression, kind in EXPRESSIONS.items():
        fields = pull_fields(topic, t.group(), expression=expression, type=kind)
        t.note(expression, t.request(RequestCode.LITE_PULL_MESSAGE, fields).found)


@remoting_case("PullMessageProcessor.processRequest")
def pulls_of_broadcasting_groups_are_filtered(t: RemotingContext) -> None:
    """Pulls of a broadcasting group are filtered by its heartbeat's subscription or by their own expression."""
    topic = t.topic(queues=1)
    _send_all(t, topic)
    for expression, kind in EXPRESSIONS.items():
        group = t.group()
        wanted = {group: {topic: expression}}
        t.heartbeat(t.new("client"), groups=wanted, expression_type=kind, version=1, model="BROADCASTING")
        t.note(expression, t.pull(topic, group, sysFlag=0, expression=None, type=None).found)
        t.note("by another", t.pull(topic, group, expression="blue").found)


@remoting_case("DefaultMessageStore.getMessage")
def an_sql_pull_ends_after_one_read_and_returns_the_next_offset(t: RemotingContext) -> None:
    """An SQL92 pull ends after the messages of one read and returns the next offset."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 40, properties={"size": "1"})
    t.readable(topic, t.send(topic, "last", properties={"size": "2"}))
    t.note("all in one", t.pull(topic, group, expression="size > 1", type="SQL92"), 0)
    t.note("from the last but one", t.pull(topic, group, offset=39, expression="size > 1", type="SQL92").found)
    t.note("two of many", t.pull(topic, group, offset=5, expression="size = 1", type="SQL92", max_messages=2).found)


FEW = shared_settings(CHANGED_KEYS, "maxFilterMessageSize")


@remoting_case("DefaultMessageStore.getMessage", settings=FEW)
def max_filter_message_size_limits_messages_examined_per_read(t: RemotingContext) -> None:
    """One read examines maxFilterMessageSize / 20 messages, or the requested number if it is larger."""
    topic = t.topic(queues=1)
    t.sent(topic, 24, properties={"size": "1"}, tag="small")
    t.readable(topic, t.send(topic, "last", tag="large", properties={"size": "2"}))
    for expression, kind in (("size > 1", "SQL92"), ("large", "TAG")):
        for count in (1, 10, 20, 32):
            response = t.pull(topic, t.group(), expression=expression, type=kind, max_messages=count)
            t.note(f"{count} by {expression}", [response.code, response["nextBeginOffset"], response.bodies])
