"""Traffic of both protocols that gives each metric of a broker a value.

Most counts are the same in each run, because no send, read or acknowledgement is repeated: `until` repeats only
requests for offsets.
"""

from collections.abc import Callable

from rocketmq_testkit.emulator.message.names import dlq_topic, pop_retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.remoting_members import unregister_request
from ..clients.remoting_sends import batch_request, send_back_request
from ..clients.remoting_topics import topic_request
from ..context.grpc import GrpcContext
from ..context.remoting import RemotingContext
from ..helpers.pops import PopGroup
from ..helpers.transactions import COMMIT, ROLLBACK, Producers

TOKEN = "seen"
"""Part of the names and message ids that the contexts create. It is fixed, so that these are the same in each run."""
BIG = 5_000
"""Size of a large body in bytes, above the second bucket of the histogram of sizes."""
DELAY_SECONDS = 5
"""The duration of delay level 2. The scrape in the middle is before its end."""
TOPICS = {
    "plain": None,
    "ordered": "FIFO",
    "delayed": "DELAY",
    "transactional": "TRANSACTION",
    **dict.fromkeys(("popped", "served", "waited", "held")),
}
"""The topics and their types of messages."""
Scrape = Callable[[str], None]
"""Called with the name of a moment: `start`, `middle` or `end`."""


def run(t: RemotingContext, g: GrpcContext, scrape: Scrape) -> None:
    """Send the traffic to a broker that has just started. `scrape` is called before, in the middle and at the end."""
    scrape("start")
    for topic, kind in TOPICS.items():
        t.topic(name=topic, queues=1, kind=kind)
    t.request(*topic_request("bad name"))
    for group in ("pullers", "poppers", "receivers"):
        t.group(name=group)
    producers = t.connect(language="JAVA")
    t.heartbeat("producer", producers=("makers",), to=producers)
    consumers = t.connect(language="JAVA")
    t.heartbeat("puller", groups={"pullers": {"plain": "*", "waited": "*"}}, to=consumers)
    poppers = t.connect(language="JAVA")
    t.heartbeat("popper", groups={"poppers": {"popped": "*"}}, type="CONSUME_POP", to=poppers)
    _sends(t)
    _pulls(t)
    _pops(t)
    _grpc(g)
    scrape("middle")
    _waits(t)
    t.request(*unregister_request("producer", producers="makers"), to=producers)
    scrape("end")


def _sends(t: RemotingContext) -> None:
    for number in range(5):
        t.send("plain", f"m{number}")
    t.send("plain", "x" * BIG)
    t.request(*batch_request("plain", [(b"b0", {}), (b"b1", {}), (b"b2", {})], born_ms=t.now_ms(), new_id=t.message_id))
    t.send("ordered", "o0", properties={"__SHARDINGKEY": "a"})
    t.send("ordered", "o1", properties={"__SHARDINGKEY": "a"})
    t.send("delayed", "d0", properties={"DELAY": "2"})
    t.send("delayed", "d1", properties={"TIMER_DELAY_MS": "6000"})
    t.send("delayed", "d2", properties={"TIMER_DELAY_SEC": "600"})
    makers = Producers(t, "transactional", "makers")
    makers.end(makers.half("committed"), COMMIT)
    makers.end(makers.half("rolled back"), ROLLBACK)
    makers.half("open")
    t.send("plain", "refused", queue=99)
    t.sent("popped", 4)
    t.sent("waited", 1)


def _pulls(t: RemotingContext) -> None:
    t.until(lambda: t.max_offset("plain") == 9)
    pulled = t.pull("plain", "pullers", max_messages=4)
    t.commit("plain", "pullers", 3)
    t.request(*send_back_request("pullers", pulled.messages[0].physical_offset, -1, originTopic="plain"))
    t.until(lambda: t.max_offset(dlq_topic("pullers")) == 1)
    t.pull("plain", "pullers", offset=9)
    t.pull("missing", "pullers")
    t.query("plain", "nothing")


def _pops(t: RemotingContext) -> None:
    group = PopGroup(t, "popped", "poppers")
    popped = group.pop(max_messages=3, invisible_ms=10_000)
    [_, first], [second_message, second], _ = t.popped(popped)
    group.ack(first, 0)
    group.change(second, second_message.queue_offset, 600_000)


def _grpc(g: GrpcContext) -> None:
    producer = g.producer("served")
    consumer = g.consumer("receivers", {"served": "*"})
    for number in range(2):
        g.send(g.message("served", f"s{number}"), client=producer)
    message = g.take("served", "receivers", client=consumer)
    system = message.system_properties
    g.ack("served", "receivers", (system.message_id, system.receipt_handle), client=consumer)
    g.send(g.message("missing", "refused"), client=producer)


def _waits(t: RemotingContext) -> None:
    waiting = t.start_pull("waited", "pullers", offset=1, suspend_ms=15_000, to=t.connect())
    t.wait(1)
    t.send("waited", "woken")
    waiting()
    popping = t.start_pop("held", "poppers", poll_ms=15_000, to=t.connect())
    t.wait(1)
    t.send("held", "popped")
    popping()
    late = t.start_pull("waited", "pullers", offset=2, suspend_ms=3_000, to=t.connect())
    t.wait(DELAY_SECONDS)
    t.until(lambda: t.max_offset("delayed") == 2)
    t.until(lambda: t.max_offset(pop_retry_topic("popped", "poppers", v2=False)) == 1)
    late()
    t.request(RequestCode.GET_BROKER_RUNTIME_INFO, {})
