"""POLLING_INFO: the number of waiting pops."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, note_refused_places, popping
from .notification import waiting as waiting_notification


def polling_info(group: PopGroup, queue: int = -1) -> DecodedResponse:
    """Send a POLLING_INFO request."""
    return group.t.request(
        RequestCode.POLLING_INFO, {"consumerGroup": group.name, "topic": group.topic, "queueId": queue}
    )


@remoting_case("PollingInfoProcessor.processRequest")
def held_pops_are_counted_by_topic_group_and_queue_id(t: RemotingContext) -> None:
    """POLLING_INFO counts the waiting pops of a topic, group and queue id. Id -1 stands only for pops of all queues."""
    group = popping(t, queues=2)
    t.note("none", polling_info(group), 0)
    pops = [group.waiting(poll_ms=4000) for _ in range(2)] + [group.waiting(queue=1)]
    t.note("all queues", polling_info(group), 0)
    t.note("queue 0", polling_info(group, 0), 0)
    t.note("queue 1", polling_info(group, 1), 0)
    t.note("another group", polling_info(group.with_group(t.group())), 0)
    t.arrival(pops[0])
    t.arrival(pops[1])
    t.note("when they have ended", polling_info(group), 0)


@remoting_case("PollingInfoProcessor.processRequest")
def notifications_are_not_counted(t: RemotingContext) -> None:
    """Waiting notifications do not count as waiting pops."""
    group = popping(t)
    waiting_notification(group, poll_ms=3000)
    t.note("with a notification", polling_info(group), 0)


@remoting_case("PollingInfoProcessor.processRequest")
def a_negative_queue_id_means_all_queues(t: RemotingContext) -> None:
    """Pops with any negative queue id count as pops of all queues, and every negative queue id returns that count."""
    group = popping(t)
    group.waiting(queue=-5, poll_ms=3000)
    t.note("-1", polling_info(group), 0)
    t.note("-5", polling_info(group, -5), 0)


@remoting_case("PollingInfoProcessor.processRequest")
def an_invalid_topic_queue_or_group_is_refused(t: RemotingContext) -> None:
    """POLLING_INFO is rejected for an unknown topic or queue, an illegal or disabled group, or a write-only topic."""
    group = popping(t)
    note_refused_places(group, polling_info, {9: 29}, unknown_group=0)
    t.note("no queue", t.request(RequestCode.POLLING_INFO, {"consumerGroup": group.name, "topic": group.topic}), 0)
    t.note("no topic", t.request(RequestCode.POLLING_INFO, {"consumerGroup": group.name}), 1)
