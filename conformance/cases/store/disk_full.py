"""A broker with a full disk: rejected and lost messages, requests still served, and recovery."""

from dataclasses import replace

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case, remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext
from ...helpers.consumer import consuming
from ...helpers.disk import CAN_BE_FULL, HALF_FULL, fill_disk, free_disk, without_disk_usage
from ...helpers.pops import PopGroup
from ...helpers.sends import send_back
from ...helpers.timers import recall, timed
from ...helpers.transactions import COMMIT, ROLLBACK, transacting


def _without_usage(response: DecodedResponse) -> DecodedResponse:
    """Return the response without the disk usage."""
    return replace(response, remark=without_disk_usage(response.remark))


@remoting_case("HookUtils.checkBeforePutMessage", needs=CAN_BE_FULL, settings=HALF_FULL, tidy=True)
def sends_to_a_full_disk_get_service_not_available(t: RemotingContext) -> None:
    """Sends to a full disk return SERVICE_NOT_AVAILABLE with the reason; sending back returns an error.

    Reads are served, and sends work again once there is space.
    """
    producers, group = transacting(t), t.group()
    topic = producers.topic
    [sent] = t.sent(topic, 1)
    fill_disk(t)
    t.note("sent", _without_usage(t.send(topic)), 14)
    t.note("half message", _without_usage(producers.half()), 14)
    t.note("delayed", _without_usage(t.send(topic, properties={"DELAY": "1"})), 14)
    t.note("sent back", send_back(t, group, sent.place, 1), 1)
    t.note("pulled", t.pull(topic, group).bodies)
    t.note("committed", t.commit(topic, group, 1), 0)
    t.note("made", t.config_of(t.topic(queues=1)).code)
    free_disk(t)
    t.note("sent then", t.send(topic, "then"), 0)
    t.note("stored", t.stored(topic, 2).bodies)


@remoting_case("EndTransactionProcessor.sendFinalMessage", needs=CAN_BE_FULL, settings=HALF_FULL, tidy=True)
def a_full_disk_rejects_commits_but_accepts_rollbacks(t: RemotingContext) -> None:
    """On a full disk a commit is rejected until there is space, and a rollback succeeds at once. A recall fails."""
    producers = transacting(t)
    committed, rolled_back = producers.half("committed"), producers.half("rolled back")
    waits = timed(t, producers.topic, 3_600_000)
    fill_disk(t)
    t.note("committed", producers.end(committed, COMMIT), 14)
    t.note("rolled back", producers.end(rolled_back, ROLLBACK), 0)
    t.note("recalled", recall(t, producers.topic, waits["recallHandle"]), 1)
    free_disk(t)
    t.note("committed then", producers.end(committed, COMMIT), 0)
    t.note("stored", t.stored(producers.topic).bodies)


@remoting_case("PopBufferMergeService.addCkJustOffset", needs=CAN_BE_FULL, settings=HALF_FULL, tidy=True)
def a_full_disk_allows_pops_and_acks_but_no_invisible_duration_change(t: RemotingContext) -> None:
    """On a full disk pops and acknowledgements succeed, but an invisible duration cannot be changed."""
    pops = PopGroup(t, t.topic(queues=1), t.group())
    pops.fill(2)
    handle = pops.handle(max_messages=1, invisible_ms=300_000)
    fill_disk(t)
    t.note("popped", pops.pop(max_messages=1, invisible_ms=300_000).bodies)
    t.note("changed", t.change(pops.topic, pops.name, handle, 0, invisible_ms=60_000), 1)
    t.note("acknowledged", t.ack(pops.topic, pops.name, handle, 0), 0)


@remoting_case(
    "ScheduleMessageService.DeliverDelayedMessageTimerTask.syncDeliver",
    needs=CAN_BE_FULL,
    settings=HALF_FULL,
    tidy=True,
)
def a_full_disk_postpones_delayed_messages_and_loses_timed_ones(t: RemotingContext) -> None:
    """On a full disk a delayed message is delivered later. A timed message that is due in the meantime is lost."""
    topic = t.topic(queues=1)
    a_minute = {"DELAY": "5"}
    t.note("delayed", t.send(topic, "level", properties=a_minute).code)
    t.note("timed", timed(t, topic, 66_000, "timer").code)
    fill_disk(t)
    t.wait(8)
    t.note("due", t.max_offset(topic))
    free_disk(t)
    t.note("stored", t.stored(topic, 1).bodies)
    t.wait(5)
    t.note("in the end", t.max_offset(topic))


@grpc_case("SendMessageActivity.convertToSendMessageResponse", needs=CAN_BE_FULL, settings=HALF_FULL, tidy=True)
def proxy_sends_to_a_full_disk_get_internal_server_error(t: GrpcContext) -> None:
    """Through the proxy sends to a full disk return INTERNAL_SERVER_ERROR, and existing messages are received."""
    consumer = consuming(t, 1)
    fill_disk(t)
    refused = t.send(consumer.message("m1")).status
    t.note("sent", [refused.code, without_disk_usage(refused.message)])
    t.note("received", consumer.receive().bodies)
    free_disk(t)
    t.note("sent then", t.send(consumer.message("m2")), pb.OK)
