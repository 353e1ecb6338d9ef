"""A timer that an administrator stops while its broker goes on."""

from rocketmq_testkit.emulator.names import TIMER_TOPIC

from ..case import remoting_case
from ..worlds.remoting import Remoting
from .config import change


@remoting_case("TimerMessageStore.enqueue", tidy=True)
def what_is_kept_out_comes_later(t: Remoting) -> None:
    """While timerStopEnqueue is set a timed message stays where it is stored; it comes at once when that ends."""
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


@remoting_case("TimerMessageStore.dequeue", tidy=True)
def slots_are_read_later(t: Remoting) -> None:
    """While timerStopDequeue is set slots are not read; what was due meanwhile comes at once when that ends."""
    topic = t.topic(queues=1)
    t.see("set", change(t, "timerStopDequeue=true\n"), 0)
    start = t.now_ms() // 1000 * 1000
    for seconds in (4, 2, 12):
        at = str(start + seconds * 1000 + 500)
        t.send(topic, f"after {seconds} s", properties={"TIMER_DELIVER_MS": at})
    t.wait(8)
    t.see("delivered meanwhile", t.max_offset(topic))
    t.see("waiting", t.max_offset(TIMER_TOPIC) >= 3)
    watch = t.stopwatch()
    t.see("ended", change(t, "timerStopDequeue=false\n"), 0)
    t.see("delivered", t.stored(topic, 2).bodies)
    t.see("after", watch.between(0, 3))
    t.see("the last", t.stored(topic, 3).bodies)
    t.see("after", watch.between(3, 8))
