"""The queues that clients have requested, and ended long polls whose clients have not started the next one."""

import pytest
from engine_harness import EngineHarness, make_harness
from pull_operation import pull_of
from rocketmq_testkit.emulator.client.queue_uses import ANY_QUEUE
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import ChannelClosed, ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import (
    Notification,
    PopMessage,
)

PLACE = ("broker-a", "G", "T")
POLL_MS = 15_000


class Consumer:
    """A push consumer of group G that subscribes to topic T and to a topic that does not exist."""

    def __init__(self, harness: EngineHarness) -> None:
        self.harness = harness
        self.channel = DirectChannel("c")
        subscriptions = [SubscriptionData("T", sub_version=1), SubscriptionData("missing", sub_version=1)]
        self.ask(Heartbeat("consumer", [], [ConsumerData("G", subscriptions=subscriptions)]))

    def ask(self, operation: Operation) -> DirectCall:
        return self.harness.engine.submit(self.harness.broker, operation, self.channel)

    def pull(self, queue_id: int = 0, offset: int = 0, topic: str = "T", group: str = "G") -> DirectCall:
        return self.ask(pull_of(group, topic, queue=queue_id, offset=offset, suspend_ms=POLL_MS))

    def pop(self, poll_ms: int = POLL_MS, queue_id: int = -1, count: int = 32) -> DirectCall:
        return self.ask(
            PopMessage("G", "T", queue_id=queue_id, max_msg_nums=count, invisible_ms=10_000, poll_ms=poll_ms)
        )


@pytest.fixture
def harness() -> EngineHarness:
    harness = make_harness()
    harness.topic("T", queues=2)
    return harness


@pytest.fixture
def consumer(harness: EngineHarness) -> Consumer:
    return Consumer(harness)


def requested(harness: EngineHarness, queue_id: int) -> bool:
    return harness.engine.deliveries.has_requested("c", PLACE, queue_id)


def ends(harness: EngineHarness) -> list[str]:
    """Return the topics of ended long polls."""
    return [poll.topic for poll in harness.engine.deliveries.poll_ends()]


def uses(harness: EngineHarness) -> int:
    return sum(1 for _ in harness.engine.deliveries._queues)


# requests


def test_a_pull_requests_one_queue(harness: EngineHarness, consumer: Consumer) -> None:
    """A pull counts as a request of its queue and of "any queue" of the topic."""
    assert not requested(harness, ANY_QUEUE)
    consumer.pull(1)
    assert [requested(harness, queue_id) for queue_id in (0, 1, ANY_QUEUE)] == [False, True, True]


def test_a_pop_of_all_queues_requests_each_of_them(harness: EngineHarness, consumer: Consumer) -> None:
    """A pop with a negative queue id requests all queues."""
    consumer.pop(queue_id=-3)
    assert all(requested(harness, queue_id) for queue_id in (0, 1, ANY_QUEUE))


def test_a_request_counts_only_for_its_own_client_group_and_broker(harness: EngineHarness, consumer: Consumer) -> None:
    """A request belongs to one channel, one broker, one group and one topic."""
    consumer.pop()
    deliveries = harness.engine.deliveries
    assert not deliveries.has_requested("another", PLACE, 0)
    assert not deliveries.has_requested("c", ("broker-a", "other", "T"), 0)
    assert not deliveries.has_requested("c", ("broker-b", "G", "T"), 0)


@pytest.mark.parametrize("sub_version", [0, 99], ids=["known version", "newer version than known"])
def test_a_pull_that_its_sdk_repeats_is_no_request(
    harness: EngineHarness, consumer: Consumer, sub_version: int
) -> None:
    """After SUBSCRIPTION_NOT_LATEST the SDK repeats the pull, so the first one is no request of its queue."""
    outcome = consumer.ask(pull_of("G", "T", suspend_ms=POLL_MS, version=sub_version, expression=None)).outcome
    assert isinstance(outcome, EngineError) == (sub_version == 99)
    assert requested(harness, 0) == (sub_version == 0)


def test_a_pull_that_fails_otherwise_is_a_request(harness: EngineHarness, consumer: Consumer) -> None:
    """A pull that the broker always rejects counts as a request, so that a test does not wait for a successful one."""
    harness.broker.config.broker_permission = 2
    assert isinstance(consumer.pull().outcome, EngineError)
    assert isinstance(consumer.pop().outcome, EngineError)
    assert requested(harness, 0)
    assert ends(harness) == ["T", "T"]


def test_a_failed_pop_without_poll_ends_no_poll(harness: EngineHarness, consumer: Consumer) -> None:
    """A pop that does not wait has no long poll that could end."""
    harness.broker.config.broker_permission = 2
    consumer.pop(poll_ms=0)
    assert requested(harness, 0)
    assert ends(harness) == []


def test_failed_requests_with_other_names_take_no_memory(harness: EngineHarness, consumer: Consumer) -> None:
    """Only queues of existing topics to which the client's group subscribes are stored."""
    for number in range(3):
        assert isinstance(consumer.pull(topic="missing").outcome, EngineError)
        assert isinstance(consumer.pull(topic=f"unknown-{number}").outcome, EngineError)
        assert isinstance(consumer.pull(2 + number).outcome, EngineError)
        assert isinstance(consumer.pull(group=f"g-{number}", topic="missing").outcome, EngineError)
        assert isinstance(consumer.ask(Notification("G", f"unknown-{number}", 0, POLL_MS, 0)).outcome, EngineError)
    assert uses(harness) == 0


def test_the_requests_of_a_closed_channel_are_deleted(harness: EngineHarness, consumer: Consumer) -> None:
    """After its connection closed, a client must request its queues again."""
    consumer.pull(1)
    consumer.ask(ChannelClosed())
    assert not requested(harness, 1)
    assert uses(harness) == 0


# long polls


@pytest.mark.parametrize("way", ["pull", "pop", "notification"])
def test_the_end_of_a_long_poll_lasts_until_the_next_one(harness: EngineHarness, consumer: Consumer, way: str) -> None:
    """The end of a long poll is listed from its timeout until the client starts the next poll of the same queue."""
    begun_ms = harness.now_ms

    def poll() -> None:
        if way == "pull":
            consumer.pull()
        elif way == "pop":
            consumer.pop()
        else:
            consumer.ask(Notification("G", "T", -1, POLL_MS, 0))

    poll()
    assert ends(harness) == []
    harness.advance(2 * POLL_MS)
    [end] = harness.engine.deliveries.poll_ends()
    assert (end.node, end.group, end.topic, end.client.client_id) == ("broker-a", "G", "T", "consumer")
    assert begun_ms + POLL_MS <= end.since_ms < begun_ms + 2 * POLL_MS
    assert end.number == harness.engine.deliveries.last_number
    poll()
    assert ends(harness) == []


def test_a_pop_that_does_not_wait_starts_no_poll(harness: EngineHarness, consumer: Consumer) -> None:
    """A pop without poll time replaces an ended poll, and leaves no end itself."""
    consumer.pop()
    harness.advance(2 * POLL_MS)
    assert ends(harness) == ["T"]
    consumer.pop(poll_ms=0)
    assert ends(harness) == []


def test_ends_of_a_disconnected_client_are_left_out(harness: EngineHarness, consumer: Consumer) -> None:
    """A disconnected client starts no next poll."""
    consumer.pop()
    harness.advance(2 * POLL_MS)
    consumer.channel.active = False
    assert ends(harness) == []
