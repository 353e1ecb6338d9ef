"""Looking at what a pop would find."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...settings import ODD, VARIED, with_keys
from ...worlds.answer import Answer
from ...worlds.pops import PopGroup, popping, see_refused_places
from ...worlds.remoting import Remoting


def peek(group: PopGroup, queue: int = -1, *, count: int = 32) -> Answer:
    """Look at messages."""
    ext = {"consumerGroup": group.name, "topic": group.topic, "queueId": queue, "maxMsgNums": count}
    return group.t.ask(RequestCode.PEEK_MESSAGE, ext)


@remoting_case("PeekMessageProcessor.processRequest")
def a_look_takes_nothing(t: Remoting) -> None:
    """A peek shows messages as often as it is asked, without a pop time, and pops find them afterwards."""
    group = popping(t, 3)
    t.see("first", peek(group, count=2), 0)
    t.see("second", peek(group, count=2).bodies)
    t.see("committed", group.committed(setZeroIfNotFound=False))
    t.see("popped", group.pop().bodies)


@remoting_case("PeekMessageProcessor.processRequest")
def a_look_shows_what_is_left(t: Remoting) -> None:
    """A peek begins where the next pop of the group would."""
    group = popping(t, 3)
    group.pop(max_messages=2)
    group.reaches(2)
    t.see("left", peek(group).bodies)
    group.pop()
    group.reaches(3)
    t.see("nothing left", peek(group), 19)


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_goes_over_all_queues(t: Remoting) -> None:
    """A peek fills up from queue after queue and counts what it does not show; a peek of one queue shows only that."""
    group = popping(t, 5, queues=2)
    answer = peek(group, count=7)
    t.see("seven", [answer.code, answer.remark, len(answer.messages), answer["restNum"]])
    answer = peek(group, queue=1)
    t.see("queue 1", [[message.queue_id for message in answer.messages], answer["restNum"]])


def _copy_and_new(t: Remoting) -> PopGroup:
    """A group with one message in its retry topic and a new one, `new`, in the topic."""
    group = popping(t, 1)
    group.bring_back(1)
    t.readable(group.topic, group.send("new"))
    return group


def _see_share_of_copies(t: Remoting) -> None:
    """Note how often a peek with room for one message shows the one of the retry topic."""
    group = _copy_and_new(t)
    shown = [peek(group, count=1).bodies[0] for _ in range(300)]
    share = 100 * (len(shown) - shown.count("new")) / len(shown)
    t.see("share of the copy", "12 to 28 %" if 12 <= share <= 28 else f"{share:.0f} %")


@remoting_case("PeekMessageProcessor.processRequest", settings=with_keys(VARIED, "popFromRetryProbability"))
def a_look_begins_with_copies_one_time_in_five(t: Remoting) -> None:
    """A peek looks at the retry topic first in one of five cases, though pops look there first each time."""
    _see_share_of_copies(t)


@remoting_case("PeekMessageProcessor.processRequest", settings=with_keys(ODD, "popFromRetryProbability"))
def a_look_begins_with_copies_though_pops_never_do(t: Remoting) -> None:
    """A peek looks at the retry topic first in one of five cases, though pops look there last."""
    _see_share_of_copies(t)


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_is_not_filtered(t: Remoting) -> None:
    """A peek shows messages of every tag."""
    group = popping(t)
    group.fill(tag="A")
    group.fill(tag="B")
    t.see("both", [message.tag for message in peek(group).messages])


@remoting_case("PeekMessageProcessor.processRequest")
def a_look_has_no_bound_of_32(t: Remoting) -> None:
    """A peek of more than 32 messages is not refused, and one of none shows nothing."""
    group = popping(t, 40)
    answer = peek(group, count=100)
    t.see("100", [answer.code, len(answer.messages), answer["restNum"]])
    t.see("0", peek(group, count=0))
    t.see("-1", peek(group, count=-1))


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_sees_copies(t: Remoting) -> None:
    """A peek shows what lies in the retry topic, under that topic's name."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    group.reaches(1)
    t.see("while it is out", peek(group), 19)
    group.copies()
    t.see("when it is back", peek(group))


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_sees_what_is_out_in_order(t: Remoting) -> None:
    """A peek does not mind that the queue's batch is out in order."""
    group = popping(t, 2)
    group.pop(max_messages=1, order=True)
    t.see("seen", peek(group).bodies)


@remoting_case("PeekMessageProcessor.processRequest")
def what_is_not_there_is_refused(t: Remoting) -> None:
    """A peek is refused for an unknown topic, queue or group, and where reading is not allowed."""
    group = popping(t)
    see_refused_places(group, peek, {9: 29, -5: 19}, unknown_group=19)
    t.see("no topic", t.ask(RequestCode.PEEK_MESSAGE, {"consumerGroup": group.name}), 1)
    t.see("no group", t.ask(RequestCode.PEEK_MESSAGE, {"topic": group.topic}), 1)
