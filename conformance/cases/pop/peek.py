"""PEEK_MESSAGE: viewing the messages that a pop would return."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.pops import PopGroup, popping, see_refused_places
from ...helpers.settings import ODD, VARIED, with_keys


def peek(group: PopGroup, queue: int = -1, *, count: int = 32) -> Answer:
    """Send a PEEK_MESSAGE request."""
    ext = {"consumerGroup": group.name, "topic": group.topic, "queueId": queue, "maxMsgNums": count}
    return group.t.ask(RequestCode.PEEK_MESSAGE, ext)


@remoting_case("PeekMessageProcessor.processRequest")
def a_look_takes_nothing(t: Remoting) -> None:
    """A peek returns the same messages each time, without a pop time, and a later pop still finds them."""
    group = popping(t, 3)
    t.see("first", peek(group, count=2), 0)
    t.see("second", peek(group, count=2).bodies)
    t.see("committed", group.committed(setZeroIfNotFound=False))
    t.see("popped", group.pop().bodies)


@remoting_case("PeekMessageProcessor.processRequest")
def a_look_shows_what_is_left(t: Remoting) -> None:
    """A peek starts at the offset where the group's next pop would start."""
    group = popping(t, 3)
    group.pop(max_messages=2)
    group.reaches(2)
    t.see("left", peek(group).bodies)
    group.pop()
    group.reaches(3)
    t.see("nothing left", peek(group), 19)


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_goes_over_all_queues(t: Remoting) -> None:
    """A peek reads queue after queue and counts the messages it does not return.

    A peek of one queue returns only its messages.
    """
    group = popping(t, 5, queues=2)
    answer = peek(group, count=7)
    t.see("seven", [answer.code, answer.remark, len(answer.messages), answer["restNum"]])
    answer = peek(group, queue=1)
    t.see("queue 1", [[message.queue_id for message in answer.messages], answer["restNum"]])


def _copy_and_new(t: Remoting) -> PopGroup:
    """Create a group with one message in its retry topic and a new message, `new`, in the topic."""
    group = popping(t, 1)
    group.bring_back(1)
    t.readable(group.topic, group.send("new"))
    return group


def _see_share_of_copies(t: Remoting) -> None:
    """Record how often a peek for one message returns the one in the retry topic."""
    group = _copy_and_new(t)
    shown = [peek(group, count=1).bodies[0] for _ in range(300)]
    share = 100 * (len(shown) - shown.count("new")) / len(shown)
    t.see("share of the copy", "12 to 28 %" if 12 <= share <= 28 else f"{share:.0f} %")


@remoting_case("PeekMessageProcessor.processRequest", settings=with_keys(VARIED, "popFromRetryProbability"))
def a_look_begins_with_copies_one_time_in_five(t: Remoting) -> None:
    """A peek reads the retry topic first in one of five cases, even if pops always read it first."""
    _see_share_of_copies(t)


@remoting_case("PeekMessageProcessor.processRequest", settings=with_keys(ODD, "popFromRetryProbability"))
def a_look_begins_with_copies_though_pops_never_do(t: Remoting) -> None:
    """A peek reads the retry topic first in one of five cases, even if pops always read it last."""
    _see_share_of_copies(t)


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_is_not_filtered(t: Remoting) -> None:
    """A peek returns messages of every tag."""
    group = popping(t)
    group.fill(tag="A")
    group.fill(tag="B")
    t.see("both", [message.tag for message in peek(group).messages])


@remoting_case("PeekMessageProcessor.processRequest")
def a_look_has_no_bound_of_32(t: Remoting) -> None:
    """A peek of more than 32 messages is accepted; a peek of 0 or fewer returns none."""
    group = popping(t, 40)
    answer = peek(group, count=100)
    t.see("100", [answer.code, len(answer.messages), answer["restNum"]])
    t.see("0", peek(group, count=0))
    t.see("-1", peek(group, count=-1))


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_sees_copies(t: Remoting) -> None:
    """A peek returns messages of the retry topic under the retry topic's name."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    group.reaches(1)
    t.see("while it is out", peek(group), 19)
    group.copies()
    t.see("when it is back", peek(group))


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_sees_what_is_out_in_order(t: Remoting) -> None:
    """A peek returns messages of a queue even while an ordered batch of it is in flight."""
    group = popping(t, 2)
    group.pop(max_messages=1, order=True)
    t.see("seen", peek(group).bodies)


@remoting_case("PeekMessageProcessor.processRequest")
def what_is_not_there_is_refused(t: Remoting) -> None:
    """A peek is rejected for an unknown topic or queue, an illegal or disabled group, or a write-only topic."""
    group = popping(t)
    see_refused_places(group, peek, {9: 29, -5: 19}, unknown_group=19)
    t.see("no topic", t.ask(RequestCode.PEEK_MESSAGE, {"consumerGroup": group.name}), 1)
    t.see("no group", t.ask(RequestCode.PEEK_MESSAGE, {"topic": group.topic}), 1)
