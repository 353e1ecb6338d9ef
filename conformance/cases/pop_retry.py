"""How pops read the retry topic besides the topic."""

from ..case import remoting_case
from ..worlds.answer import Answer
from ..worlds.pops import copies, filled, max_offset, retry_topic, texts
from ..worlds.remoting import Remoting

FIRST = {"popFromRetryProbability": "100"}
LAST = {"popFromRetryProbability": "0"}
BOTH_FORMS = {"enableRetryTopicV2": "true"}
SECOND_FORM = {**BOTH_FORMS, "retrieveMessageFromPopRetryTopicV1": "false"}
"""Otherwise a pop reads the first form instead in half of all cases."""


def with_copies(t: Remoting, topic: str, group: str, count: int, *, v2: bool = False) -> None:
    """Let so many messages come back, and send as many new ones, `n0`, `n1`, ..."""
    filled(t, topic, count)
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group, count, v2=v2)
    before = max_offset(t, topic)
    for number in range(count):
        t.send(topic, f"n{number}")
    t.until(lambda: max_offset(t, topic) == before + count)


def shown(answer: Answer) -> list[object]:
    """Bodies in their order, infos and rest."""
    return [texts(answer), answer["startOffsetInfo"], answer["msgOffsetInfo"], answer["restNum"]]


@remoting_case("PopMessageProcessor.processRequest", settings=LAST)
def copies_come_last(t: Remoting) -> None:
    """A pop that reads the topic first goes on with the retry topic only when there is room left."""
    topic, group = t.topic(queues=1), t.group()
    with_copies(t, topic, group, 3)
    t.see("two", shown(t.pop(topic, group, max_messages=2)))
    t.see("three", shown(t.pop(topic, group, max_messages=3)))
    t.see("the rest", shown(t.pop(topic, group)))


@remoting_case("PopMessageProcessor.processRequest", settings=FIRST)
def copies_come_first(t: Remoting) -> None:
    """A pop that reads the retry topic first goes on with the topic when there is room left."""
    topic, group = t.topic(queues=1), t.group()
    with_copies(t, topic, group, 3)
    t.see("two", shown(t.pop(topic, group, max_messages=2)))
    t.see("three", shown(t.pop(topic, group, max_messages=3)))
    t.see("the rest", shown(t.pop(topic, group)))


@remoting_case("PopMessageProcessor.processRequest")
def copies_are_read_first_now_and_then(t: Remoting) -> None:
    """A pop reads the retry topic first in one of five cases, and else only when the topic leaves room."""
    topic, group = t.topic(queues=1), t.group()
    name = t.topic(queues=1, name=retry_topic(topic, group))
    filled(t, topic, 80)
    filled(t, name, 80)
    kinds = [t.pop(topic, group, max_messages=1)["startOffsetInfo"].split(" ")[0] for _ in range(80)]
    share = kinds.count("1")
    t.see("of 80 pops", "2 to 35 copies" if 2 <= share <= 35 else f"{share} copies")


@remoting_case("PopMessageProcessor.processRequest")
def one_pop_finds_copies_and_new_messages(t: Remoting) -> None:
    """A pop with room for all gets copies and new messages together, whichever it has read first."""
    topic, group = t.topic(queues=1), t.group()
    with_copies(t, topic, group, 2)
    answer = t.pop(topic, group)
    t.see("messages", sorted(texts(answer)))
    t.see("starts", sorted(answer["startOffsetInfo"].split(";")))
    t.see("offsets", sorted(answer["msgOffsetInfo"].split(";")))
    t.see("handles", sorted(handle for _, handle in t.popped(answer)))


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def only_copies_bring_their_handle(t: Remoting) -> None:
    """A redelivered message has its handle as a property, a new one does not; both have the topic's name."""
    topic, group = t.topic(queues=1), t.group()
    with_copies(t, topic, group, 1)
    found = {message.body.decode(): message for message in t.pop(topic, group).messages}
    t.see("copy", found["m0"])
    t.see("new", found["n0"])


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_of_one_queue_reads_copies_too(t: Remoting) -> None:
    """A pop of one queue gets what has come back, from whatever queue it was."""
    topic, group = t.topic(queues=2), t.group()
    filled(t, topic, queue=1)
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group)
    t.see("queue 0", t.pop(topic, group, queue=0), 0)


@remoting_case("PopMessageProcessor.processRequest")
def an_ordered_pop_reads_no_copies(t: Remoting) -> None:
    """A pop in order does not look into the retry topic."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group)
    t.see("in order", t.pop(topic, group, order=True), 210)
    t.see("without", texts(t.pop(topic, group)))


@remoting_case("PopMessageProcessor.getInitOffset")
def copies_are_read_from_the_first(t: Remoting) -> None:
    """What lies in a retry topic that the group never read is popped from its beginning, with init mode MAX too."""
    topic, group = t.topic(queues=1), t.group()
    name = t.topic(queues=1, name=retry_topic(topic, group))
    for number in range(2):
        t.send(name, f"own {number}")
    t.until(lambda: max_offset(t, name) == 2)
    answer = t.see("popped", t.pop(topic, group, init_mode=1), 0)
    t.see("handles", [handle for _, handle in t.popped(answer)])


@remoting_case("KeyBuilder.buildPopRetryTopic")
def anything_in_the_retry_topic_is_popped(t: Remoting) -> None:
    """A message that a client sends to the retry topic is popped from the topic, under the topic's name."""
    topic, group = t.topic(queues=1), t.group()
    name = t.topic(queues=2, name=retry_topic(topic, group))
    filled(t, name, queue=0)
    filled(t, name, queue=1)
    answer = t.pop(topic, group)
    t.see("topics", [message.topic for message in answer.messages])
    t.see("offsets", sorted(answer["msgOffsetInfo"].split(";")))


@remoting_case("PopMessageProcessor.popMsgFromQueue", settings={"popResponseReturnActualRetryTopic": "true"})
def copies_may_show_their_own_topic(t: Remoting) -> None:
    """With popResponseReturnActualRetryTopic a redelivered message has the retry topic's name, and no handle."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group)
    t.see("popped", t.pop(topic, group), 0)


@remoting_case("KeyBuilder.buildPopRetryTopicV2", settings=SECOND_FORM)
def the_second_form_has_a_plus(t: Remoting) -> None:
    """With enableRetryTopicV2 copies lie in the topic whose name joins group and topic by a plus, told by digit 2."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=0)
    t.see("copy", copies(t, topic, group, v2=True))
    t.see("in the first form", max_offset(t, retry_topic(topic, group)))
    answer = t.see("popped", t.pop(topic, group), 0)
    [(message, handle)] = t.popped(answer)
    t.see("acknowledged", t.ack(retry_topic(topic, group, v2=True), group, handle, message.queue_offset), 0)


@remoting_case("PopReviveService.reviveRetry", settings=SECOND_FORM)
def copies_of_the_second_form_stay_there(t: Remoting) -> None:
    """A copy that comes back again returns to its retry topic of the second form, with one more reconsumption."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group, v2=True)
    t.until(lambda: t.pop(topic, group, invisible_ms=0).messages)
    found = copies(t, topic, group, 2, v2=True)
    t.see("copies", [[each.queue_offset, each.reconsume_times] for each in found])


@remoting_case("PopMessageProcessor.processRequest", settings=BOTH_FORMS)
def old_copies_of_the_first_form_are_read(t: Remoting) -> None:
    """With enableRetryTopicV2 pops by turns of chance also read what lies in the retry topic of the first form."""
    topic, group = t.topic(queues=1), t.group()
    name = t.topic(queues=1, name=retry_topic(topic, group))
    filled(t, name)
    found = t.until(lambda: t.pop(topic, group).messages)
    t.see("popped", found)
