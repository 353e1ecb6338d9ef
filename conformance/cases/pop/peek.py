"""PEEK_MESSAGE: viewing the messages that a pop would return."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, note_refused_places, popping
from ...helpers.settings import CHANGED_KEYS, FURTHER_CHANGED_KEYS, shared_settings


def peek(group: PopGroup, queue: int = -1, *, count: int = 32) -> DecodedResponse:
    """Send a PEEK_MESSAGE request."""
    ext = {"consumerGroup": group.name, "topic": group.topic, "queueId": queue, "maxMsgNums": count}
    return group.t.request(RequestCode.PEEK_MESSAGE, ext)


@remoting_case("PeekMessageProcessor.processRequest")
def a_peek_leaves_messages_visible(t: RemotingContext) -> None:
    """A peek returns the same messages each time, without a pop time, and a later pop still finds them."""
    group = popping(t, 3)
    t.note("first", peek(group, count=2), 0)
    t.note("second", peek(group, count=2).bodies)
    t.note("committed", group.committed(setZeroIfNotFound=False))
    t.note("popped", group.pop().bodies)


@remoting_case("PeekMessageProcessor.processRequest")
def a_peek_starts_at_the_offset_of_the_next_pop(t: RemotingContext) -> None:
    """A peek starts at the offset where the group's next pop would start."""
    group = popping(t, 3)
    group.pop(max_messages=2)
    group.wait_until_committed(2)
    t.note("left", peek(group).bodies)
    group.pop()
    group.wait_until_committed(3)
    t.note("nothing left", peek(group), 19)


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_peek_of_all_queues_continues_with_the_next_queue(t: RemotingContext) -> None:
    """A peek reads queue after queue and counts the messages it does not return.

    A peek of one queue returns only its messages.
    """
    group = popping(t, 5, queues=2)
    response = peek(group, count=7)
    t.note("seven", [response.code, response.remark, len(response.messages), response["restNum"]])
    response = peek(group, queue=1)
    t.note("queue 1", [[message.queue_id for message in response.messages], response["restNum"]])


def _copy_and_new(t: RemotingContext) -> PopGroup:
    """Create a group with one message in its retry topic and a new message, `new`, in the topic."""
    group = popping(t, 1)
    group.fail_and_wait_for_retry(1)
    t.readable(group.topic, group.send("new"))
    return group


def _note_share_of_copies(t: RemotingContext) -> None:
    """Record how often a peek for one message returns the one in the retry topic."""
    group = _copy_and_new(t)
    shown = [peek(group, count=1).bodies[0] for _ in range(300)]
    share = 100 * (len(shown) - shown.count("new")) / len(shown)
    t.note("share of the copy", "12 to 28 %" if 12 <= share <= 28 else f"{share:.0f} %")


@remoting_case("PeekMessageProcessor.processRequest", settings=shared_settings(CHANGED_KEYS, "popFromRetryProbability"))
def a_fifth_of_peeks_read_the_retry_topic_first_if_pops_always_do(t: RemotingContext) -> None:
    """A peek reads the retry topic first in one of five cases, even if pops always read it first."""
    _note_share_of_copies(t)


@remoting_case(
    "PeekMessageProcessor.processRequest", settings=shared_settings(FURTHER_CHANGED_KEYS, "popFromRetryProbability")
)
def a_fifth_of_peeks_read_the_retry_topic_first_if_pops_never_do(t: RemotingContext) -> None:
    """A peek reads the retry topic first in one of five cases, even if pops always read it last."""
    _note_share_of_copies(t)


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_peek_is_not_filtered_by_tag(t: RemotingContext) -> None:
    """A peek returns messages of every tag."""
    group = popping(t)
    group.fill(tag="A")
    group.fill(tag="B")
    t.note("both", [message.tag for message in peek(group).messages])


@remoting_case("PeekMessageProcessor.processRequest")
def a_peek_of_more_than_32_messages_is_accepted(t: RemotingContext) -> None:
    """A peek of more than 32 messages is accepted; a peek of 0 or fewer returns none."""
    group = popping(t, 40)
    response = peek(group, count=100)
    t.note("100", [response.code, len(response.messages), response["restNum"]])
    t.note("0", peek(group, count=0))
    t.note("-1", peek(group, count=-1))


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_peek_returns_messages_of_the_retry_topic(t: RemotingContext) -> None:
    """A peek returns messages of the retry topic under the retry topic's name."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    group.wait_until_committed(1)
    t.note("while it is out", peek(group), 19)
    group.wait_for_copies()
    t.note("when it is back", peek(group))


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_peek_returns_messages_of_an_ordered_batch_in_flight(t: RemotingContext) -> None:
    """A peek returns messages of a queue even while an ordered batch of it is in flight."""
    group = popping(t, 2)
    group.pop(max_messages=1, order=True)
    t.note("seen", peek(group).bodies)


@remoting_case("PeekMessageProcessor.processRequest")
def an_invalid_topic_queue_or_group_is_refused(t: RemotingContext) -> None:
    """A peek is rejected for an unknown topic or queue, an illegal or disabled group, or a write-only topic."""
    group = popping(t)
    note_refused_places(group, peek, {9: 29, -5: 19}, unknown_group=19)
    t.note("no topic", t.request(RequestCode.PEEK_MESSAGE, {"consumerGroup": group.name}), 1)
    t.note("no group", t.request(RequestCode.PEEK_MESSAGE, {"topic": group.topic}), 1)
