"""How many pops wait."""

from ..case import remoting_case
from ..worlds.answer import Answer
from ..worlds.remoting import Remoting
from .notification import waiting as waiting_notification
from .pop_poll import arrived, waiting

POLLING_INFO = 200055


def polling_info(t: Remoting, topic: str, group: str, queue: int = -1) -> Answer:
    """Ask how many pops wait."""
    return t.ask(POLLING_INFO, {"consumerGroup": group, "topic": topic, "queueId": queue})


@remoting_case("PollingInfoProcessor.processRequest")
def waiting_pops_are_counted(t: Remoting) -> None:
    """The number of waiting pops is told for a topic, group and queue id, -1 being a number of its own."""
    topic, group = t.topic(queues=2), t.group()
    t.see("none", polling_info(t, topic, group), 0)
    pops = [waiting(t, topic, group, poll_ms=4000) for _ in range(2)] + [waiting(t, topic, group, queue=1)]
    t.see("all queues", polling_info(t, topic, group), 0)
    t.see("queue 0", polling_info(t, topic, group, 0), 0)
    t.see("queue 1", polling_info(t, topic, group, 1), 0)
    t.see("another group", polling_info(t, topic, t.group()), 0)
    arrived(t, pops[0])
    arrived(t, pops[1])
    t.see("when they have ended", polling_info(t, topic, group), 0)


@remoting_case("PollingInfoProcessor.processRequest")
def notifications_are_not_counted(t: Remoting) -> None:
    """Waiting notifications do not count as waiting pops."""
    topic, group = t.topic(queues=1), t.group()
    waiting_notification(t, topic, group, poll_ms=3000)
    t.see("with a notification", polling_info(t, topic, group), 0)


@remoting_case("PollingInfoProcessor.processRequest")
def a_negative_queue_means_all(t: Remoting) -> None:
    """Pops with any negative queue id wait together, and are counted under any negative queue id."""
    topic, group = t.topic(queues=1), t.group()
    waiting(t, topic, group, queue=-5, poll_ms=3000)
    t.see("-1", polling_info(t, topic, group), 0)
    t.see("-5", polling_info(t, topic, group, -5), 0)


@remoting_case("PollingInfoProcessor.processRequest")
def what_is_not_there_is_refused(t: Remoting) -> None:
    """The question is refused for an unknown topic, queue or group, and where reading is not allowed."""
    topic, group = t.topic(queues=1), t.group()
    t.see("unknown topic", polling_info(t, t.new(), group), 17)
    t.see("queue 9", polling_info(t, topic, group, 9), 29)
    t.see("illegal group", polling_info(t, topic, "bad!"), 26)
    t.see("unknown group", polling_info(t, topic, t.new("group")), 0)
    t.see("write only", polling_info(t, t.topic(queues=1, perm=2), group), 16)
    t.see("disabled group", polling_info(t, topic, t.group(consumeEnable=False)), 16)
    t.see("no queue", t.ask(POLLING_INFO, {"consumerGroup": group, "topic": topic}), 0)
    t.see("no topic", t.ask(POLLING_INFO, {"consumerGroup": group}), 1)
