"""Tests of sends to a broker, without Spark: batches, order, acknowledgements, and missing acknowledgements."""

from collections import Counter
from itertools import count

import pytest
from answer_eater import AnswerEater
from pyspark_rocketmq.cluster import Cluster
from pyspark_rocketmq.errors import ClusterError, RowError, SendError
from pyspark_rocketmq.messages import Outgoing, QueueWish
from pyspark_rocketmq.options import sink_options
from pyspark_rocketmq.sending import Sender, Sent
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient, decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode

NUMBERS = count()


def message(
    body: bytes,
    topic: str = "orders",
    lane: QueueWish | None = None,
    *,
    ordered: bool = False,
    delay: str = "",
    flag: int = 0,
) -> Outgoing:
    """Create an outgoing message."""
    properties = f"UNIQ_KEY\x01{next(NUMBERS):032X}\x02" + (f"DELAY\x01{delay}\x02" if delay else "")
    return Outgoing(topic, body, properties, lane, bool(delay), ordered, "", flag)


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
    asked = {"consumerGroup": "g", "topic": topic, "queueId": 0, "queueOffset": 0, "maxMsgNums": 32, "sysFlag": 4}
    asked |= {"commitOffset": 0, "suspendTimeoutMillis": 0, "subscription": "*", "subVersion": 0}
    with RemotingClient(emulator.broker) as client:
        return [each.flag for each in decode_messages(client.request(RequestCode.PULL_MESSAGE, asked).body)]


@pytest.mark.parametrize("window", ["1", "8", "64"])
@pytest.mark.parametrize("batch", ["1", "7", "32"])
def test_all_arrive_once(rocketmq: Emulator, window: str, batch: str) -> None:
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
        [message(b"%d" % at, lane=0, ordered=True, flag=at // 3 % 2 * 9) for at in range(30)],
        sendBatchSize=batch,
    )

    assert [int(each.body) for each in topic.messages] == list(range(30))
    assert stored_flags(rocketmq, "orders") == [at // 3 % 2 * 9 for at in range(30)]


@pytest.mark.rocketmq(brokers=2)
def test_a_row_goes_to_the_queue_of_its_broker(rocketmq: Emulator) -> None:
    """A row goes to the queue of its broker; if the topic has none there, the number is an index into all queues."""
    topic = rocketmq.topic("orders", queues=2)
    lanes: list[QueueWish] = [("broker-a", 1), ("broker-b", 1), ("elsewhere", 2), 3]

    send(rocketmq, [message(b"%d" % at, lane=lane, ordered=True) for at, lane in enumerate(lanes)])

    found = {int(each.body): (each.broker, each.queue_id) for each in topic.messages}
    assert found == {0: ("broker-a", 1), 1: ("broker-b", 1), 2: ("broker-b", 0), 3: ("broker-b", 1)}


@pytest.mark.parametrize("batch", ["1", "5"])
def test_queues_that_rows_chose_keep_their_order(rocketmq: Emulator, batch: str) -> None:
    """Queues selected by number or key keep their order, even if delayed messages are between the others."""
    topic = rocketmq.topic("orders", queues=3)
    messages = [message(b"n%d" % at, lane=at % 3, ordered=True) for at in range(60)]
    messages += [message(b"k%d" % at, lane="key", ordered=True) for at in range(60)]

    send(rocketmq, messages, sendBatchSize=batch)

    stored = sorted(topic.messages, key=lambda each: (each.queue_id, each.queue_offset))
    for queue in range(3):
        numbered = [int(each.body[1:]) for each in stored if each.queue_id == queue and each.body[:1] == b"n"]
        assert numbered == list(range(queue, 60, 3))
    keyed = [each for each in stored if each.body[:1] == b"k"]
    assert [int(each.body[1:]) for each in keyed] == list(range(60))
    assert len({each.queue_id for each in keyed}) == 1


def test_delayed_messages_go_alone(rocketmq: Emulator) -> None:
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
def test_a_broker_that_restarts_gets_what_it_did_not_acknowledge(rocketmq: Emulator) -> None:
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
def test_what_was_stored_without_its_acknowledgement_is_sent_again(rocketmq: Emulator) -> None:
    """Messages whose responses are lost with the connection are sent again; at most those in flight arrive twice."""
    topic = rocketmq.topic("orders", queues=2)
    known = sink_options({"nameServer": rocketmq.namesrv, "fetchOffset.retryIntervalMs": "20", "sendWindow": "16"})
    with Cluster(known) as cluster, AnswerEater(rocketmq.broker) as eater:
        sender = Sender(cluster, known)
        sender.send([message(b"first")])
        sender.finish()
        cluster.connections.drop(rocketmq.broker)
        cluster.addresses["broker-a"] = eater.address
        sender.send([message(b"%d" % at) for at in range(100)])
        sent = sender.finish()

    found = Counter(each.body for each in topic.messages)
    assert eater.eaten > 0
    assert set(found) == {b"first", *(b"%d" % at for at in range(100))}
    assert 101 < sum(found.values()) <= 101 + 16
    assert sent.count == 101


@pytest.mark.rocketmq(brokers=2)
def test_another_broker_takes_what_one_refuses(rocketmq: Emulator) -> None:
    """A row without a selected queue goes to the next broker if one no longer knows the topic."""
    topic = rocketmq.topic("orders", queues=2)
    known = sink_options({"nameServer": rocketmq.namesrv, "fetchOffset.retryIntervalMs": "1"})
    with Cluster(known) as cluster:
        sender = Sender(cluster, known)
        sender.send([message(b"%d" % at) for at in range(20)])
        sender.finish()
        with RemotingClient(rocketmq.brokers["broker-a"]) as client:
            assert client.request(215, {"topic": "orders"}).code == 0
        sender.send([message(b"%d" % at) for at in range(20, 40)])
        sender.finish()

    assert {b"%d" % at for at in range(20, 40)} <= {each.body for each in topic.messages}


def test_a_broker_that_is_gone_is_named(rocketmq: Emulator) -> None:
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
    ("made", "error", "said"),
    [
        (message(b"x", topic="nowhere"), ClusterError, "topic nowhere has no route for a write"),
        (message(b"x", lane=9, ordered=True), RowError, "queueId is 9; topic orders has 2 queues to write"),
        (
            message(b"x", topic="SELF_TEST_TOPIC"),
            SendError,
            "of topic SELF_TEST_TOPIC .* did not acknowledge a message: NO_PERMISSION",
        ),
    ],
)
def test_what_cannot_be_sent_is_named(rocketmq: Emulator, made: Outgoing, error: type[Exception], said: str) -> None:
    """A message that cannot be sent raises an error with topic, queue and the broker's reason."""
    rocketmq.topic("orders", queues=2)

    with pytest.raises(error, match=said):
        send(rocketmq, [made], **{"fetchOffset.retryIntervalMs": "1"})


@pytest.mark.rocketmq(config={"maxMessageSize": 1000})
def test_a_message_that_no_try_would_help_is_refused_at_once(rocketmq: Emulator) -> None:
    """A message that the broker rejects permanently fails at once, with the broker's reason."""
    rocketmq.topic("orders", queues=2)

    with pytest.raises(SendError, match="queue 0 of topic orders on broker-a refuses a message: MESSAGE_ILLEGAL"):
        send(rocketmq, [message(b"x" * 2000)])


def test_a_row_that_cannot_go_anywhere_keeps_its_batch_back(rocketmq: Emulator) -> None:
    """A row with an invalid queue fails its whole batch, because queues are selected before anything is sent."""
    topic = rocketmq.topic("orders", queues=2)

    with pytest.raises(RowError):
        send(rocketmq, [*(message(b"x") for _ in range(100)), message(b"x", lane=9, ordered=True)])

    assert topic.messages == []
