"""Stopping the timer of a running broker (timerStopEnqueue)."""

from ...case import remoting_case
from ...worlds.remoting import Remoting
from ..admin.config import change


@remoting_case("TimerMessageStore.enqueue", tidy=True)
def what_is_kept_out_comes_later(t: Remoting) -> None:
    """With timerStopEnqueue a timed message stays in the timer topic.

    It is delivered at once when the setting is removed.
    """
    topic = t.topic(queues=1)
    t.send(topic, "before", properties={"TIMER_DELAY_MS": "5000"})
    t.wait(2)
    t.see("set", change(t, "timerStopEnqueue=true\n"), 0)
    sent = t.send(topic, "meanwhile", properties={"TIMER_DELAY_MS": "2000"})
    t.see("sent", sent.without("queueOffset", "recallHandle"), 0)
    t.wait(8)
    t.see("delivered meanwhile", t.stored(topic, 1).bodies)
    watch = t.stopwatch()
    t.see("ended", change(t, "timerStopEnqueue=false\n"), 0)
    t.see("delivered", t.stored(topic, 2).bodies)
    t.see("after", watch.between(0, 3))
    late = t.message_at(topic, 0, 1).properties
    t.see("came into a slot", late["TIMER_ENQUEUE_MS"] != str(2**63 - 1))
