"""A broker with a full disk: rejected and lost messages, requests still served, and recovery."""

from dataclasses import replace

from ...case import grpc_case, remoting_case
from ...clients.remoting_response import Answer
from ...context.grpc import Grpc
from ...context.remoting import Remoting
from ...helpers.consumer import consuming
from ...helpers.disk import CAN_BE_FULL, HALF_FULL, fill_up, make_room, without_shares
from ...helpers.pops import PopGroup
from ...helpers.sends import back
from ...helpers.timers import recall, timed
from ...helpers.transactions import COMMIT, ROLLBACK, transacting


def told(answer: Answer) -> Answer:
    """Return the response without the disk usage."""
    return replace(answer, remark=without_shares(answer.remark))


@remoting_case("HookUtils.checkBeforePutMessage", needs=CAN_BE_FULL, settings=HALF_FULL, tidy=True)
def a_full_disk_takes_no_messages(t: Remoting) -> None:
    """Sends to a full disk return SERVICE_NOT_AVAILABLE with the reason; sending back returns an error.

    Reads are served, and sends work again once there is space.
    """
    producers, group = transacting(t), t.group()
    topic = producers.topic
    [sent] = t.sent(topic, 1)
    fill_up(t)
    t.see("sent", told(t.send(topic)), 14)
    t.see("half message", told(producers.half()), 14)
    t.see("delayed", told(t.send(topic, properties={"DELAY": "1"})), 14)
    t.see("sent back", back(t, group, sent.place, 1), 1)
    t.see("pulled", t.pull(topic, group).bodies)
    t.see("committed", t.commit(topic, group, 1), 0)
    t.see("made", t.config_of(t.topic(queues=1)).code)
    make_room(t)
    t.see("sent then", t.send(topic, "then"), 0)
    t.see("stored", t.stored(topic, 2).bodies)


@remoting_case("EndTransactionProcessor.sendFinalMessage", needs=CAN_BE_FULL, settings=HALF_FULL, tidy=True)
def a_full_disk_ends_no_transactions(t: Remoting) -> None:
    """On a full disk a commit is rejected until there is space, and a rollback succeeds at once. A recall fails."""
    producers = transacting(t)
    committed, rolled_back = producers.half("committed"), producers.half("rolled back")
    waits = timed(t, producers.topic, 3_600_000)
    fill_up(t)
    t.see("committed", producers.end(committed, COMMIT), 14)
    t.see("rolled back", producers.end(rolled_back, ROLLBACK), 0)
    t.see("recalled", recall(t, producers.topic, waits["recallHandle"]), 1)
    make_room(t)
    t.see("committed then", producers.end(committed, COMMIT), 0)
    t.see("stored", t.stored(producers.topic).bodies)


@remoting_case("PopBufferMergeService.addCkJustOffset", needs=CAN_BE_FULL, settings=HALF_FULL, tidy=True)
def a_full_disk_gives_what_it_holds(t: Remoting) -> None:
    """On a full disk pops and acknowledgements succeed, but an invisible duration cannot be changed."""
    pops = PopGroup(t, t.topic(queues=1), t.group())
    pops.fill(2)
    handle = pops.handle(max_messages=1, invisible_ms=300_000)
    fill_up(t)
    t.see("popped", pops.pop(max_messages=1, invisible_ms=300_000).bodies)
    t.see("changed", t.change(pops.topic, pops.name, handle, 0, invisible_ms=60_000), 1)
    t.see("acknowledged", t.ack(pops.topic, pops.name, handle, 0), 0)


@remoting_case(
    "ScheduleMessageService.DeliverDelayedMessageTimerTask.syncDeliver",
    needs=CAN_BE_FULL,
    settings=HALF_FULL,
    tidy=True,
)
def what_falls_due_waits_for_room(t: Remoting) -> None:
    """On a full disk a delayed message is delivered later. A timed message that is due in the meantime is lost."""
    topic = t.topic(queues=1)
    a_minute = {"DELAY": "5"}
    t.see("delayed", t.send(topic, "level", properties=a_minute).code)
    t.see("timed", timed(t, topic, 66_000, "timer").code)
    fill_up(t)
    t.wait(8)
    t.see("due", t.max_offset(topic))
    make_room(t)
    t.see("stored", t.stored(topic, 1).bodies)
    t.wait(5)
    t.see("in the end", t.max_offset(topic))


@grpc_case("SendMessageActivity.convertToSendMessageResponse", needs=CAN_BE_FULL, settings=HALF_FULL, tidy=True)
def a_full_disk_behind_a_proxy(t: Grpc) -> None:
    """Through the proxy sends to a full disk return INTERNAL_SERVER_ERROR, and existing messages are received."""
    consumer = consuming(t, 1)
    fill_up(t)
    refused = t.send(consumer.message("m1")).status
    t.see("sent", [refused.code, without_shares(refused.message)])
    t.see("received", consumer.receive().bodies)
    make_room(t)
    t.see("sent then", t.send(consumer.message("m2")), 20000)
