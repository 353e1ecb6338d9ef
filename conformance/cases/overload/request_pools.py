"""Request thread pools without free threads: requests time out in the queue or are rejected if the queue is full.

The cases use a master without its slave. A recall and a commit hold their thread while they wait for the slave; a send
does not.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.pending import Pending
from ...clients.remoting_response import DecodedResponse
from ...clients.remoting_sends import short_names
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext
from ...helpers.consumer import consuming
from ...helpers.transactions import COMMIT, ROLLBACK, transacting

WITHOUT_SLAVE: Mapping[str, str] = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2", "slaveTimeout": "3000"}
ONE_THREAD_EACH: Mapping[str, str] = {
    **WITHOUT_SLAVE,
    "brokerFastFailureEnable": "true",
    "sendMessageThreadPoolNums": "1",
    "sendThreadPoolQueueCapacity": "1",
    "waitTimeMillsInSendQueue": "1000",
    "endTransactionThreadPoolNums": "1",
    "endTransactionPoolQueueCapacity": "1",
    "waitTimeMillsInTransactionQueue": "1000",
}
"""One thread for sends and recalls, and one for transaction ends. One request may wait for each, for 1 s."""
SLOW_DISK: Mapping[str, str] = {
    "osPageCacheBusyTimeOutMills": "-1",
    "brokerFastFailureEnable": "true",
    "sendMessageThreadPoolNums": "8",
    "requestTimes": "send=20",
    "waitTimeMillsInSendQueue": "10000",  # otherwise the timeout check finds them first if the client is busy
}
"""The page cache counts as busy while a message is written. An emulator must be configured with that time."""
ONE_PROXY_THREAD: Mapping[str, str] = {
    "slaveTimeout": "3000",
    "proxy.grpcTransactionThreadPoolNums": "1",
    "proxy.grpcTransactionThreadQueueCapacity": "1",
}
"""A proxy with one thread for EndTransaction, for which one request may wait."""
_AT_ONCE = {"WAIT": "false"}
"""Properties of a send that waits neither for a flush nor for a slave: upstream's isWaitStoreMsgOK is false."""
STARTED_SECONDS = 0.2
_PERIOD = re.compile(r"period in queue: \d+ms")
_SIZE = re.compile(r"size of queue: \d+")
_LONG = bytes(300_000)
_CONNECTIONS, _AT_ONCE_EACH, _ROUNDS_MAX = 4, 10, 20
_STORED = (0, "")
_REJECTED = (2, "[REJECTREQUEST]system busy, start flow control for a while")
_ALSO_REFUSED = (
    (2, "[PC_SYNCHRONIZED]broker busy, start flow control for a while"),
    (
        2,
        "[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: {ms}, size of queue: {n}",
    ),
)


def without_waiting_time(response: DecodedResponse) -> DecodedResponse:
    """Replace the waiting time in a response's remark, because the timeout check runs some milliseconds late."""
    return replace(response, remark=_PERIOD.sub("period in queue: {ms}", response.remark or "") or response.remark)


def waiting_recall(t: RemotingContext, topic: str) -> Pending:
    """Start a recall that waits for a slave."""
    timed = t.send(topic, properties={"TIMER_DELAY_MS": "600000", **_AT_ONCE})
    fields = {"producerGroup": "PG", "topic": topic, "recallHandle": timed["recallHandle"]}
    recall = t.start(RequestCode.RECALL_MESSAGE, fields, to=t.connect())
    t.wait(STARTED_SECONDS)
    return recall


def start_send(t: RemotingContext, topic: str) -> Pending:
    """Start a send that waits only for a thread."""
    fields = t.send_fields(topic, properties=_AT_ONCE)
    sent = t.start(RequestCode.SEND_MESSAGE_V2, short_names(fields), b"waits", to=t.connect())
    t.wait(STARTED_SECONDS)
    return sent


@remoting_case("BrokerFastFailure.cleanExpiredRequestInQueue", settings=ONE_THREAD_EACH, tidy=True)
def sends_are_rejected_after_a_queue_timeout_or_if_the_queue_is_full(t: RemotingContext) -> None:
    """A send waiting behind a recall is rejected after 1 s, and one without queue space at once.

    Pulls are still served.
    """
    topic = t.topic(queues=1)
    recall = waiting_recall(t, topic)
    watch = t.stopwatch()
    waits = start_send(t, topic)
    t.note("no room", t.send(topic, properties=_AT_ONCE), 2)
    t.note("pulled", t.pull(topic, t.group()), 19)
    t.note("waited", without_waiting_time(t.arrival(waits)), 2)
    t.note("for", watch.between(0.9, 1.9))
    t.note("recalled", t.arrival(recall), 0)
    t.note("after", watch.between(2.0, 5.0))
    t.note("sent then", t.send(topic, "then", properties=_AT_ONCE), 0)
    t.note("stored", t.stored(topic).bodies)


@remoting_case(
    "SendMessageProcessor.rejectRequest, DefaultMessageStore.checkStoreStatus", settings=SLOW_DISK, alone=True
)
def sends_are_refused_while_the_log_is_written_to(t: RemotingContext) -> None:
    """A send is rejected while the log is written: on arrival, when a thread finds it locked, or while it waits.

    The remarks differ. The kind of rejection is random, but some of many sends are always rejected on arrival. All
    others are stored.
    """
    topic = t.topic(queues=1)
    connections = [t.connect() for _ in range(_CONNECTIONS)]
    responses: Counter[tuple[int | None, str]] = Counter()
    for _ in range(_ROUNDS_MAX):
        under_way = [
            t.start(RequestCode.SEND_MESSAGE_V2, short_names(t.send_fields(topic)), _LONG, to=connection)
            for connection in connections
            for _ in range(_AT_ONCE_EACH)
        ]
        for each in under_way:
            response = without_waiting_time(t.arrival(each))
            responses[response.code, _SIZE.sub("size of queue: {n}", response.remark or "")] += 1
        if responses.keys() >= {_STORED, _REJECTED}:
            break
    t.require(responses.keys() <= {_STORED, _REJECTED, *_ALSO_REFUSED}, f"there is another response: {responses}")
    t.note("responses", sorted(responses.keys() - set(_ALSO_REFUSED)))
    t.until(lambda: t.max_offset(topic) >= responses[_STORED])
    t.note("all that were stored are there", t.max_offset(topic) == responses[_STORED])
    t.note("others are served", t.pull(topic, t.group(), max_messages=1).code)


@remoting_case("NettyRemotingAbstract.processRequestCommand", settings=ONE_THREAD_EACH, tidy=True)
def a_transaction_end_is_rejected_after_a_queue_timeout(t: RemotingContext) -> None:
    """A transaction end waiting behind a commit is rejected after 1 s. Sends have their own threads."""
    producers = transacting(t)
    first, second, third = (t.arrival(producers.start_half(name)) for name in ("first", "second", "third"))

    def start(half: DecodedResponse, value: int) -> Pending:
        ended = t.start(RequestCode.END_TRANSACTION, producers.end_fields(half, value), to=t.connect())
        t.wait(STARTED_SECONDS)
        return ended

    watch = t.stopwatch()
    committed, waits = start(first, COMMIT), start(second, COMMIT)
    t.note("no room", producers.end(third, ROLLBACK), 2)
    t.note("sent", t.send(t.topic(queues=1), properties=_AT_ONCE), 0)
    t.note("waited", without_waiting_time(t.arrival(waits)), 2)
    t.note("committed", t.arrival(committed), 0)
    t.note("after", watch.between(2.8, 6.0))
    t.note("stored", t.stored(producers.topic).bodies)


@remoting_case("DefaultMessageStore.waitForPutResult", settings=WITHOUT_SLAVE)
def a_commit_or_recall_succeeds_if_the_wait_for_a_slave_times_out(t: RemotingContext) -> None:
    """A commit and a recall succeed when their wait for a slave times out.

    A rollback stores nothing, and a commit of a message with WAIT=false does not wait either.
    """
    producers = transacting(t)
    halves = [producers.start_half(name) for name in ("committed", "rolled back")]
    committed, rolled_back = (t.arrival(half) for half in halves)
    at_once = producers.half("at once", properties=_AT_ONCE)
    watch = t.stopwatch()
    t.note("committed at once", producers.end(at_once, COMMIT), 0)
    ended = t.start(RequestCode.END_TRANSACTION, producers.end_fields(committed, COMMIT), to=t.connect())
    t.note("rolled back", producers.end(rolled_back, ROLLBACK), 0)
    t.note("after", watch.between(0, 2))
    t.note_arrival(ended, watch, 2.9, 8, code=0)
    watch = t.stopwatch()
    recall = waiting_recall(t, producers.topic)
    t.note_arrival(recall, watch, 2.9, 8, code=0)
    t.note("stored", t.stored(producers.topic, 2).bodies)


@grpc_case("LocalMessageService.endTransactionOneway", settings={"slaveTimeout": "3000"}, alone=True)
def an_end_transaction_rpc_succeeds_if_the_wait_for_a_slave_times_out(t: GrpcContext) -> None:
    """EndTransaction through the proxy returns OK when the wait for a slave times out."""
    topic, [half] = _halves_of_a_lonely_master(t, 1)
    watch = t.stopwatch()
    end = t.start_end(topic, half)
    t.wait(2.9)
    t.note("ended", end(), pb.OK)
    t.note("after", watch.between(2.8, 8))
    t.note("stored", t.max_offset(topic))


@grpc_case("GrpcMessagingApplication.endTransaction", settings=ONE_PROXY_THREAD, alone=True)
def an_end_transaction_rpc_waits_for_a_thread_of_the_proxy(t: GrpcContext) -> None:
    """EndTransaction waits for a thread of the proxy behind one that waits for a slave.

    One without queue space never gets a response; other RPCs are served.
    """
    topic, halves = _halves_of_a_lonely_master(t, 3)
    watch = t.stopwatch()
    ends = []
    for half in halves[:2]:
        ends.append(t.start_end(topic, half))
        t.wait(STARTED_SECONDS)
    t.note("no room", t.end_transaction(topic, halves[2], deadline=1.5), "DEADLINE_EXCEEDED")
    t.note("route", t.route(topic).status, pb.OK)
    t.wait(1)
    t.note("first", ends[0](), pb.OK)
    t.note("after", watch.between(2.8, 5.5))
    t.wait(2.8)
    t.note("second", ends[1](), pb.OK)
    t.note("after", watch.between(5.8, 11))
    t.note("stored", t.max_offset(topic))


def _halves_of_a_lonely_master(t: GrpcContext, count: int) -> tuple[str, list[str]]:
    """Store half messages, then configure the broker to wait for a slave. Return the topic and the transaction ids."""
    consumer = consuming(t, kind="TRANSACTION")
    sent = [t.send(consumer.message(f"half {number}", message_type=pb.TRANSACTION)) for number in range(count)]
    changed = t.request(RequestCode.UPDATE_BROKER_CONFIG, {}, b"brokerRole=SYNC_MASTER\ninSyncReplicas=2\n")
    t.require(changed.code == 0, f"the broker's configuration was not changed: {changed}")
    return consumer.topic, [each.entries[0].transaction_id for each in sent]
