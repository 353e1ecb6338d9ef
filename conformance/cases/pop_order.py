"""Popping in order: one batch of a queue is out at a time."""

from typing import Any

from ..case import remoting_case
from ..json_text import dumps
from ..worlds.answer import Answer
from ..worlds.pops import committed, filled, max_offset, retry_topic, texts
from ..worlds.remoting import Remoting
from .batch_ack import BATCH_ACK, entry


def order_pop(t: Remoting, topic: str, group: str, count: int = 32, **more: Any) -> Answer:
    """Pop in order, for 3 s unless said otherwise."""
    return t.pop(topic, group, max_messages=count, order=True, **{"invisible_ms": 3000, **more})


@remoting_case("ConsumerOrderInfoManager.update")
def an_ordered_pop_hands_out_the_first(t: Remoting) -> None:
    """An ordered pop gets the first messages, no revive queue, and no count; the group's offset stays."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 6)
    answer = t.see("popped", order_pop(t, topic, group, 3), 0)
    t.see("handles", [handle for _, handle in t.popped(answer)])
    t.see("committed", t.committed(topic, group), 0)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def a_batch_that_is_out_blocks_the_queue(t: Remoting) -> None:
    """While a batch is out the queue hands out nothing, to another attempt or to none."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    order_pop(t, topic, group, 2, attempt_id="a")
    t.see("another attempt", order_pop(t, topic, group, 2, attempt_id="b"), 210)
    t.see("no attempt", order_pop(t, topic, group, 2), 210)
    t.see("an empty attempt", order_pop(t, topic, group, 2, attempt_id=""), 210)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def an_attempt_may_be_repeated(t: Remoting) -> None:
    """A pop with the attempt id of the batch that is out gets it again, and that is not counted."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    t.see("first", order_pop(t, topic, group, 2, attempt_id="a"), 0)
    t.see("again", order_pop(t, topic, group, 2, attempt_id="a"), 0)
    t.see("more of it", order_pop(t, topic, group, 3, attempt_id="a"), 0)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def no_attempt_id_is_no_attempt(t: Remoting) -> None:
    """Pops without an attempt id are not repetitions of each other."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    t.see("first", texts(order_pop(t, topic, group, 1)))
    t.see("second", texts(order_pop(t, topic, group, 1)))


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def acknowledging_all_frees_the_queue(t: Remoting) -> None:
    """When every message of the batch is acknowledged, the offset moves behind it and the next batch may go."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    for message, handle in t.popped(order_pop(t, topic, group, 2, invisible_ms=60_000)):
        t.see("acknowledged", t.ack(topic, group, handle, message.queue_offset), 0)
    t.see("committed", committed(t, topic, group, 2), 0)
    t.see("next", order_pop(t, topic, group, 2), 0)


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def acknowledging_parts_moves_to_the_first_open(t: Remoting) -> None:
    """The offset goes to the first message of the batch that is not acknowledged, and the queue stays blocked."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    handles = [handle for _, handle in t.popped(order_pop(t, topic, group, 3, invisible_ms=60_000))]
    for offset, moved in ((1, 0), (0, 2)):
        t.see(f"offset {offset}", t.ack(topic, group, handles[offset], offset), 0)
        t.see("committed", committed(t, topic, group, moved), 0)
        t.see("for others", order_pop(t, topic, group).code)
    t.see("offset 2", t.ack(topic, group, handles[2], 2), 0)
    t.see("committed", committed(t, topic, group, 3), 0)
    t.see("for others", texts(order_pop(t, topic, group)))


@remoting_case("ConsumerOrderInfoManager.update")
def a_batch_comes_again_from_the_first_open(t: Remoting) -> None:
    """After the invisible time the queue starts at the first open message, with new ones behind and counts for each."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 6)
    handles = [handle for _, handle in t.popped(order_pop(t, topic, group, 3, invisible_ms=1000))]
    t.ack(topic, group, handles[0], 0)
    t.wait(1.3)
    t.see("second", order_pop(t, topic, group, 3, invisible_ms=1000), 0)
    t.wait(1.3)
    t.see("third", order_pop(t, topic, group, 4, invisible_ms=1000), 0)
    t.wait(1.3)
    t.see("fourth", order_pop(t, topic, group, 1, invisible_ms=1000), 0)
    t.see("retry topic", max_offset(t, retry_topic(topic, group)))


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def what_was_acknowledged_out_of_turn_comes_again(t: Remoting) -> None:
    """A message that was acknowledged behind an open one is handed out again with it."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    handles = [handle for _, handle in t.popped(order_pop(t, topic, group, 3, invisible_ms=1000))]
    t.ack(topic, group, handles[1], 1)
    t.wait(1.3)
    t.see("again", texts(order_pop(t, topic, group, 3)))


@remoting_case("AckMessageProcessor.ackOrderly")
def a_stale_handle_acknowledges_nothing(t: Remoting) -> None:
    """An acknowledgement by a handle of an earlier batch succeeds, and the message stays out."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    [(_, old)] = t.popped(order_pop(t, topic, group, 1, invisible_ms=500))
    t.wait(0.8)
    [(_, new)] = t.popped(order_pop(t, topic, group, 1, invisible_ms=60_000))
    t.see("by the old handle", t.ack(topic, group, old, 0), 0)
    t.see("committed", t.committed(topic, group), 0)
    t.see("by the new handle", t.ack(topic, group, new, 0), 0)
    t.see("committed", committed(t, topic, group, 1), 0)


@remoting_case("AckMessageProcessor.ackOrderly")
def an_offset_outside_the_batch_is_refused(t: Remoting) -> None:
    """An acknowledgement of an offset that is not in the batch is refused; one of an offset passed already succeeds."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 6)
    batch = t.popped(order_pop(t, topic, group, 2, invisible_ms=60_000))
    t.see("offset 5", t.ack(topic, group, batch[0][1], 5), 13)
    t.see("offset 9", t.ack(topic, group, batch[0][1], 9), 208)
    for message, handle in batch:
        t.ack(topic, group, handle, message.queue_offset)
    t.see("offset 0 again", t.ack(topic, group, batch[0][1], 0), 0)
    t.see("committed", committed(t, topic, group, 2), 0)


@remoting_case("AckMessageProcessor.ackOrderly")
def an_ack_without_a_batch_moves_the_offset(t: Remoting) -> None:
    """An ordered acknowledgement by a group that has nothing out moves its offset behind the message."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    handle = f"0 {t.now_ms()} 60000 999 0 {t.broker_name} 0 2"
    t.see("acknowledged", t.ack(topic, group, handle, 2))
    t.see("committed", t.committed(topic, group, setZeroIfNotFound=False))
    t.see("popped", texts(order_pop(t, topic, group)))


@remoting_case("AckMessageProcessor.ackOrderly")
def a_batch_ack_takes_ordered_handles(t: Remoting) -> None:
    """A batch acknowledgement of an ordered pop moves the offset as single ones do."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    handle = t.popped(order_pop(t, topic, group, 3, invisible_ms=60_000))[0][1]
    for offsets, moved in (([0, 1], 2), ([2], 3)):
        body = dumps({"acks": [entry(topic, group, handle, offsets)], "brokerName": t.broker_name})
        t.see(f"offsets {offsets}", t.ask(BATCH_ACK, None, body), 0)
        t.see("committed", committed(t, topic, group, moved), 0)
    outside = {**entry(topic, group, handle, [0]), "so": 3}
    t.see("outside", t.ask(BATCH_ACK, None, dumps({"acks": [outside], "brokerName": t.broker_name})))


@remoting_case("ConsumerOrderInfoManager.update")
def queues_are_blocked_one_by_one(t: Remoting) -> None:
    """An ordered pop of all queues takes what is free; a queue that was read in part is blocked with all its rest."""
    topic, group = t.topic(queues=4), t.group()
    for queue in range(4):
        filled(t, topic, 2, queue=queue)
    first = order_pop(t, topic, group, 3, invisible_ms=60_000)
    t.see("first", [len(first.messages), first["restNum"]])
    second = order_pop(t, topic, group, 32, invisible_ms=60_000)
    t.see("second", [len(second.messages), second["restNum"]])
    taken = {message.queue_id for message in first.messages}
    t.see("no queue of the first", not taken & {message.queue_id for message in second.messages})
    t.see("counts", sorted(second["orderCountInfo"].split(";")) == sorted(f"0 {q} 0" for q in set(range(4)) - taken))
    t.see("third", order_pop(t, topic, group), 210)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def groups_block_for_themselves(t: Remoting) -> None:
    """What one group has out in order does not block another group."""
    topic, one, other = t.topic(queues=1), t.group(), t.group()
    filled(t, topic, 2)
    t.see("one", texts(order_pop(t, topic, one, 1)))
    t.see("other", texts(order_pop(t, topic, other, 2)))


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def pops_without_order_are_not_blocked(t: Remoting) -> None:
    """A pop without order by the same group gets the messages that are out in order too."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    order_pop(t, topic, group, 2, invisible_ms=60_000)
    t.see("without order", texts(t.pop(topic, group)))


@remoting_case("ConsumerOrderInfoManager.update")
def no_invisible_time_does_not_block(t: Remoting) -> None:
    """A batch that was taken in order for 0 ms comes again at once, counted; a negative time is the same."""
    for invisible in (0, -1):
        topic, group = t.topic(queues=1), t.group()
        filled(t, topic, 2)
        for number in range(3):
            answer = order_pop(t, topic, group, 1, invisible_ms=invisible)
            t.see(f"{invisible} ms, pop {number + 1}", [texts(answer), answer.fields.get("orderCountInfo")])
            t.wait(0.1)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def what_a_filter_skips_is_passed(t: Remoting) -> None:
    """An ordered pop with a tag counts only its messages; when they are acknowledged the offset is behind the last."""
    topic, group = t.topic(queues=1), t.group()
    for tag in ("B", "A", "B", "A", "B"):
        filled(t, topic, tag=tag)
    answer = t.see("popped", order_pop(t, topic, group, expression="A", invisible_ms=60_000), 0)
    for message, handle in t.popped(answer):
        t.ack(topic, group, handle, message.queue_offset)
    t.see("committed", committed(t, topic, group, 4), 0)
    t.see("nothing left", order_pop(t, topic, group, expression="A"), 210)
    t.see("passed", committed(t, topic, group, 5), 0)


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def a_reset_frees_the_queue(t: Remoting) -> None:
    """After a reset of the offset the batch that is out is forgotten, and the queue is read from the new offset."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    batch = t.popped(order_pop(t, topic, group, 2, invisible_ms=60_000))
    ext = {"topic": topic, "group": group, "queueId": 0, "offset": 1, "timestamp": -1, "isForce": True}
    t.see("reset", t.ask(222, ext), 0)
    t.see("popped", order_pop(t, topic, group, 2), 0)
    t.see("by the old handle", t.ack(topic, group, batch[1][1], 1), 0)
    t.see("committed", t.committed(topic, group), 0)
