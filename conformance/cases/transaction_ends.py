"""Ends of transactions for what never was a half message, or is another one."""

from rocketmq_testkit.remoting.request_code import RequestCode

from ..case import remoting_case
from ..worlds.remoting import Remoting
from ..worlds.transactions import COMMIT, ROLLBACK, end, half


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def what_waits_for_its_time_cannot_be_ended(t: Remoting) -> None:
    """The end of a whole, a delayed or a timed message is refused, and changes nothing."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    for what, properties in (
        ("whole", {}),
        ("delayed", {"DELAY": "5"}),
        ("timed", {"TIMER_DELAY_MS": "60000"}),
    ):
        sent = t.send(topic, what, properties=properties)
        for value in (COMMIT, ROLLBACK):
            t.see(f"{what}: {value}", end(t, sent, producer, value), 1)
    t.see("stored", t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0})["offset"])


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def an_end_names_one_half_message(t: Remoting) -> None:
    """An end with the place in the log of one half message and the place in the half topic of another is refused."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    first, second = half(t, topic, producer), half(t, topic, producer)
    for value in (COMMIT, ROLLBACK):
        t.see("mixed", end(t, first, producer, value, tranStateTableOffset=second["queueOffset"]), 1)
        t.see("before the queue", end(t, first, producer, value, tranStateTableOffset=-1), 1)
        t.see("before the log", end(t, first, producer, value, commitLogOffset=-1).code)
