"""Brokers without a free thread: the faults `respond` and `throttle` with SYSTEM_BUSY.

On the emulator a rule causes the fault. A real broker has the keys in `real`, one thread for sends among them, and the
case occupies that thread.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ...case import remoting_case
from ...context.remoting import RemotingContext, connection_state
from ..overload.request_pools import ONE_THREAD_EACH, start_send, waiting_recall

_AT_ONCE = {"WAIT": "false"}
"""Properties of a send that waits neither for a flush nor for a slave: upstream's isWaitStoreMsgOK is false."""
OVERLOAD = "[OVERLOAD]system busy, start flow control for a while"
"""NettyRemotingAbstract.processRequestCommand, 5.3.3."""


@contextmanager
def _without_free_thread(t: RemotingContext) -> Iterator[None]:
    """Occupy the thread for sends and the only place in its queue.

    A recall keeps the thread while it waits for a missing slave; a send waits in the queue.
    """
    topic = t.topic(queues=1)
    recall = waiting_recall(t, topic)
    waits = start_send(t, topic)
    yield
    t.arrival(waits)
    t.arrival(recall)


_TOO_BUSY: Mapping[str, object] = {"respond": {"code": "SYSTEM_BUSY", "remark": OVERLOAD}}


@remoting_case("NettyRemotingAbstract.processRequestCommand", real=ONE_THREAD_EACH, tidy=True, fault="respond")
def a_broker_without_a_free_thread_responds_with_system_busy(t: RemotingContext) -> None:
    """A send that finds no free thread and a full queue returns SYSTEM_BUSY and is not stored. Pulls are served."""
    topic = t.topic(queues=1)
    rule = {"when": {"operation": "SendMessage", "topic": topic}, "then": _TOO_BUSY}
    with t.faulty(rule, lambda: _without_free_thread(t)):
        t.note("sent", t.send(topic, properties=_AT_ONCE), 2)
        t.note("pulled", t.pull(topic, t.group()).code)
        t.note("stored", t.max_offset(topic))
        t.note("connection", connection_state(t.broker))
    t.note("sent then", t.send(topic, "then", properties=_AT_ONCE).code)


@remoting_case("NettyRemotingAbstract.processRequestCommand", real=ONE_THREAD_EACH, tidy=True, fault="throttle")
def a_throttled_send_is_rejected_like_one_without_a_free_thread(t: RemotingContext) -> None:
    """A send above the rate returns SYSTEM_BUSY and is not stored."""
    topic = t.topic(queues=1)
    throttle = {"throttle": {"per_second": 0.001, "burst": 1, "code": "SYSTEM_BUSY", "remark": OVERLOAD}}
    rule = {"when": {"operation": "SendMessage", "topic": topic}, "then": throttle}
    with t.faulty(rule, lambda: _without_free_thread(t)):
        t.until(lambda: t.send(topic, "let through", properties=_AT_ONCE).code == 2, 5)
        before = t.max_offset(topic)
        t.note("sent", t.send(topic, properties=_AT_ONCE), 2)
        t.note("stored", t.max_offset(topic) - before)
        t.note("connection", connection_state(t.broker))
