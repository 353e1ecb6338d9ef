"""Stopping the timer of a running broker (timerStopEnqueue)."""

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.broker_config import change


@remoting_case("TimerMessageStore.enqueue", tidy=True)
def timer_stop_enqueue_holds_back_new_timed_messages_until_unset(t: RemotingContext) -> None:
    """With timerStopEnqueue a timed message stays in the timer topic.

    It is delivered at once when the setting is removed.
    """
    topic = t.topic(queues=1)
    t.send(topic, "before", properties={"TIMER_DELAY_MS": "5000"})
    t.wait(2)
    t.note("set", change(t, "timerStopEnqueue=true\n"), 0)
    sent = t.send(topic, "meanwhile", properties={"TIMER_DELAY_MS": "2000"})
    t.note("sent", sent.without("queueOffset", "recallHandle"), 0)
    t.wait(8)
    t.note("delivered meanwhile", t.stored(topic, 1).bodies)
    watch = t.stopwatch()
    t.note("ended", change(t, "timerStopEnqueue=false\n"), 0)
    t.note("delivered", t.stored(topic, 2).bodies)
    t.note("after", watch.between(0, 3))
    late = t.message_at(topic, 0, 1).properties
    t.note("came into a slot", late["TIMER_ENQUEUE_MS"] != str(2**63 - 1))
