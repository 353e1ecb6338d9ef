"""POLLING_INFO: the number of held pops."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.pops import PopGroup, popping, see_refused_places
from .notification import waiting as waiting_notification


def polling_info(group: PopGroup, queue: int = -1) -> Answer:
    """Send a POLLING_INFO request."""
    return group.t.ask(RequestCode.POLLING_INFO, {"consumerGroup": group.name, "topic": group.topic, "queueId": queue})


@remoting_case("PollingInfoProcessor.processRequest")
def waiting_pops_are_counted(t: Remoting) -> None:
    """POLLING_INFO counts the held pops of a topic, group and queue id. Queue id -1 counts only pops of all queues."""
    group = popping(t, queues=2)
    t.see("none", polling_info(group), 0)
    pops = [group.waiting(poll_ms=4000) for _ in range(2)] + [group.waiting(queue=1)]
    t.see("all queues", polling_info(group), 0)
    t.see("queue 0", polling_info(group, 0), 0)
    t.see("queue 1", polling_info(group, 1), 0)
    t.see("another group", polling_info(group.among(t.group())), 0)
    t.arrival(pops[0])
    t.arrival(pops[1])
    t.see("when they have ended", polling_info(group), 0)


@remoting_case("PollingInfoProcessor.processRequest")
def notifications_are_not_counted(t: Remoting) -> None:
    """Held notifications do not count as held pops."""
    group = popping(t)
    waiting_notification(group, poll_ms=3000)
    t.see("with a notification", polling_info(group), 0)


@remoting_case("PollingInfoProcessor.processRequest")
def a_negative_queue_means_all(t: Remoting) -> None:
    """Pops with any negative queue id count as pops of all queues, and every negative queue id returns that count."""
    group = popping(t)
    group.waiting(queue=-5, poll_ms=3000)
    t.see("-1", polling_info(group), 0)
    t.see("-5", polling_info(group, -5), 0)


@remoting_case("PollingInfoProcessor.processRequest")
def what_is_not_there_is_refused(t: Remoting) -> None:
    """POLLING_INFO is rejected for an unknown topic or queue, an illegal or disabled group, or a write-only topic."""
    group = popping(t)
    see_refused_places(group, polling_info, {9: 29}, unknown_group=0)
    t.see("no queue", t.ask(RequestCode.POLLING_INFO, {"consumerGroup": group.name, "topic": group.topic}), 0)
    t.see("no topic", t.ask(RequestCode.POLLING_INFO, {"consumerGroup": group.name}), 1)
