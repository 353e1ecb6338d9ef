"""Tests of sends to a broker, without Spark: batches, order, acknowledgements, and missing acknowledgements."""

from collections import Counter
from itertools import count

import pytest
from pyspark_rocketmq.cluster.cluster import Cluster
from pyspark_rocketmq.errors import ClusterError, RowError, SendError
from pyspark_rocketmq.options.options import sink_options
from pyspark_rocketmq.writing.messages import Outgoing, QueueSelection
from pyspark_rocketmq.writing.sending import Sender, Sent
from response_dropper import ResponseDropper
from rocketmq_testkit.conformance.clients.remoting_consumption import pull_request
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient, decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode

NUMBERS = count()


def message(
    body: bytes,
    topic: str = "orders",
    queue_selection: QueueSelection | None = None,
    *,
    ordered: bool = False,
    delay: str = "",
    flag: int = 0,
) -> Outgoing:
    """Create an outgoing message."""
    properties = f"UNIQ_KEY\x01{next(NUMBERS):032X}\x02" + (f"DELAY\x01{delay}\x02" if delay else "")
    return Outgoing(
        topic, body, properties, queue_selection, delayed=bool(delay), ordered=ordered, uniq_key="", flag=flag
    )


def send(emulator: Emulator, messages: list[Outgoing], **options: str) -> Sent:
    """Send messages and wait until all are acknowledged."""
    given = {"nameServer": emulator.namesrv, "fetchOffset.retryIntervalMs": "20", **options}
    known = sink_options(given)
    with Cluster(known) as cluster:
        sender = Sender(cluster, known)
        sender.send(messages)
        return sender.finish()


def stored_flags(emulator: Emulator, topic: str) -> list[int]:
    """Return the flags of the messages in queue 0."""
    with RemotingClient(emulator.broker) as client:
        return [each.flag for each in decode_messages(client.request(*pull_request(topic, "g")).body)]


@pytest.mark.parametrize("window", ["1", "8", "64"])
@pytest.mark.parametrize("batch", ["1", "7", "32"])
def test_all_messages_arrive_once_with_any_window_and_batch_size(rocketmq: Emulator, window: str, batch: str) -> None:
    """All messages arrive once with any window and batch size, and the counts match those of the queues."""
    topic = rocketmq.topic("orders", queues=4)

    sent = send(rocketmq, [message(b"%d" % at) for at in range(500)], sendWindow=window, sendBatchSize=batch)

    assert Counter(each.body for each in topic.messages) == Counter(b"%d" % at for at in range(500))
    assert sent.count == 500
    by_queue = Counter(each.queue_id for each in topic.messages)
    assert {queue.queue_id: counted for queue, (_, _, counted) in sent.queues.items()} == by_queue
    assert all(first == 0 and last == counted - 1 for first, last, counted in sent.queues.values())
    assert len(by_queue) == 4


@pytest.mark.parametrize("batch", ["1", "5"])
def test_flags_are_kept_and_do_not_change_the_order(rocketmq: Emulator, batch: str) -> None:
    """Flags are stored unchanged and in order: a request has one flag, so a batch ends where the flag changes."""
    topic = rocketmq.topic("orders", queues=1)

    send(
        rocketmq,
        [message(b"%d" % at, queue_selection=0, ordered=True, flag=at // 3 % 2 * 9) for at in range(30)],
        sendBatchSize=batch,
    )

    assert [int(each.body) for each in topic.messages] == list(range(30))
    assert stored_flags(rocketmq, "orders") == [at // 3 % 2 * 9 for at in range(30)]


@pytest.mark.rocketmq(brokers=2)
def test_a_row_goes_to_the_queue_of_its_broker(rocketmq: Emulator) -> None:
    """A row goes to the queue of its broker; if the topic has none there, the number is an index into all queues."""
    topic = rocketmq.topic("orders", queues=2)
    selections: list[QueueSelection] = [("broker-a", 1), ("broker-b", 1), ("elsewhere", 2), 3]

    send(
        rocketmq,
        [
            message(b"%d" % at, queue_selection=queue_selection, ordered=True)
            for at, queue_selection in enumerate(selections)
        ],
    )

    found = {int(each.body): (each.broker, each.queue_id) for each in topic.messages}
    assert found == {0: ("broker-a", 1), 1: ("broker-b", 1), 2: ("broker-b", 0), 3: ("broker-b", 1)}


@pytest.mark.parametrize("batch", ["1", "5"])
def test_queues_selected_by_rows_keep_their_order(rocketmq: Emulator, batch: str) -> None:
    """Queues selected by number or key keep their order, even if delayed messages are between the others."""
    topic = rocketmq.topic("orders", queues=3)
    messages = [message(b"n%d" % at, queue_selection=at % 3, ordered=True) for at in range(60)]
    messages += [message(b"k%d" % at, queue_selection="key", ordered=True) for at in range(60)]

    send(rocketmq, messages, sendBatchSize=batch)

    stored = sorted(topic.messages, key=lambda each: (each.queue_id, each.queue_offset))
    for queue in range(3):
        numbered = [int(each.body[1:]) for each in stored if each.queue_id == queue and each.body[:1] == b"n"]
        assert numbered == list(range(queue, 60, 3))
    keyed = [each for each in stored if each.body[:1] == b"k"]
    assert [int(each.body[1:]) for each in keyed] == list(range(60))
    assert len({each.queue_id for each in keyed}) == 1


def test_delayed_messages_are_not_sent_in_batches(rocketmq: Emulator) -> None:
    """Delayed messages are sent alone, because a broker rejects them in a batch."""
    topic = rocketmq.topic("orders", queues=1)

    send(rocketmq, [message(b"%d" % at, delay="1" if at % 2 else "") for at in range(10)], sendBatchSize="5")
    before = sorted(each.body for each in topic.messages)
    rocketmq.clock.advance("5s")

    assert before == [b"0", b"2", b"4", b"6", b"8"]
    assert sorted(each.body for each in topic.messages) == [b"%d" % at for at in range(10)]


def test_large_bodies_do_not_share_a_request(rocketmq: Emulator) -> None:
    """Large bodies are sent in separate requests, because a broker limits the size of a batch."""
    topic = rocketmq.topic("orders", queues=1)

    send(rocketmq, [message(b"x" * 900_000) for _ in range(10)], sendBatchSize="32")

    assert len(topic.messages) == 10


@pytest.mark.recovery
def test_messages_not_acknowledged_before_a_restart_are_sent_again(rocketmq: Emulator) -> None:
    """Messages not acknowledged before a restart are sent again; some arrive twice, and none is lost."""
    topic = rocketmq.topic("orders", queues=2)
    known = sink_options({"nameServer": rocketmq.namesrv, "fetchOffset.retryIntervalMs": "20", "sendWindow": "16"})
    with Cluster(known) as cluster:
        sender = Sender(cluster, known)
        for part in range(5):
            sender.send([message(b"%d" % at) for at in range(part * 100, part * 100 + 100)])
            rocketmq.restart()
        sender.finish()

    assert {each.body for each in topic.messages} == {b"%d" % at for at in range(500)}


@pytest.mark.recovery
def test_messages_whose_responses_are_lost_are_sent_again(rocketmq: Emulator) -> None:
    """Messages whose responses are lost with the connection are sent again; at most those in flight arrive twice."""
    topic = rocketmq.topic("orders", queues=2)
    known = sink_options({"nameServer": rocketmq.namesrv, "fetchOffset.retryIntervalMs": "20", "sendWindow": "16"})
    with Cluster(known) as cluster, ResponseDropper(rocketmq.broker) as dropper:
        sender = Sender(cluster, known)
        sender.send([message(b"first")])
        sender.finish()
        cluster.connections.drop(rocketmq.broker)
        cluster.addresses["broker-a"] = dropper.address
        sender.send([message(b"%d" % at) for at in range(100)])
        sent = sender.finish()

    found = Counter(each.body for each in topic.messages)
    assert dropper.dropped_bytes > 0
    assert set(found) == {b"first", *(b"%d" % at for at in range(100))}
    assert 101 < sum(found.values()) <= 101 + 16
    assert sent.count == 101


@pytest.mark.rocketmq(brokers=2)
def test_a_row_without_a_queue_goes_to_another_broker_if_one_refuses_it(rocketmq: Emulator) -> None:
    """A row without a selected queue goes to the next broker if one no longer knows the topic."""
    topic = rocketmq.topic("orders", queues=2)
    known = sink_options({"nameServer": rocketmq.namesrv, "fetchOffset.retryIntervalMs": "1"})
    with Cluster(known) as cluster:
        sender = Sender(cluster, known)
        sender.send([message(b"%d" % at) for at in range(20)])
        sender.finish()
        with RemotingClient(rocketmq.brokers["broker-a"]) as client:
            assert client.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "orders"}).code == 0
        sender.send([message(b"%d" % at) for at in range(20, 40)])
        sender.finish()

    assert {b"%d" % at for at in range(20, 40)} <= {each.body for each in topic.messages}


def test_a_send_to_a_stopped_broker_names_it_after_all_retries(rocketmq: Emulator) -> None:
    """A send to a stopped broker raises an error that names it, after all retries."""
    rocketmq.topic("orders", queues=2)
    known = sink_options({"nameServer": rocketmq.namesrv, "fetchOffset.retryIntervalMs": "1", "sendRetries": "1"})
    with Cluster(known) as cluster:
        sender = Sender(cluster, known)
        sender.send([message(b"x")])
        sender.finish()
        rocketmq.stop_broker("broker-a")
        sender.send([message(b"x")])
        with pytest.raises(
            SendError, match=r"queue . of topic orders on broker-a did not acknowledge a message.*2 times"
        ):
            sender.finish()


@pytest.mark.parametrize(
    ("outgoing", "error", "text"),
    [
        (message(b"x", topic="nowhere"), ClusterError, "topic nowhere has no route for a write"),
        (message(b"x", queue_selection=9, ordered=True), RowError, "queueId is 9; topic orders has 2 queues to write"),
        (
            message(b"x", topic="SELF_TEST_TOPIC"),
            SendError,
            "of topic SELF_TEST_TOPIC .* did not acknowledge a message: NO_PERMISSION",
        ),
    ],
)
def test_a_message_that_cannot_be_sent_fails_with_topic_queue_and_reason(
    rocketmq: Emulator, outgoing: Outgoing, error: type[Exception], text: str
) -> None:
    rocketmq.topic("orders", queues=2)

    with pytest.raises(error, match=text):
        send(rocketmq, [outgoing], **{"fetchOffset.retryIntervalMs": "1"})


@pytest.mark.rocketmq(config={"maxMessageSize": 1000})
def test_a_message_that_the_broker_rejects_permanently_fails_at_once(rocketmq: Emulator) -> None:
    """A message that the broker rejects permanently fails at once, with the broker's reason."""
    rocketmq.topic("orders", queues=2)

    with pytest.raises(SendError, match="queue 0 of topic orders on broker-a refuses a message: MESSAGE_ILLEGAL"):
        send(rocketmq, [message(b"x" * 2000)])


def test_a_row_with_an_invalid_queue_fails_its_whole_batch(rocketmq: Emulator) -> None:
    """A row with an invalid queue fails its whole batch, because queues are selected before anything is sent."""
    topic = rocketmq.topic("orders", queues=2)

    with pytest.raises(RowError):
        send(rocketmq, [*(message(b"x") for _ in range(100)), message(b"x", queue_selection=9, ordered=True)])

    assert topic.messages == []
