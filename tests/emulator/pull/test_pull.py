"""Pulls and long polling of pulls."""

from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness, refused
from pull_operation import pull_of
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.clients import ChannelClosed, DropInactiveRequests
from rocketmq_testkit.emulator.operations.consume import FLAG_LITE_PULL, PullResult, PullStatus
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.offsets import (
    OffsetResult,
    QueryConsumerOffset,
    ResetOffset,
    UpdateConsumerOffset,
)
from stored import scheduled


def result(call: DirectCall) -> PullResult:
    assert isinstance(call.outcome, PullResult), call.outcome
    return call.outcome


@pytest.mark.parametrize(
    ("stored", "offset", "code", "status", "following"),
    [
        (3, 0, 0, "FOUND", 3),
        (3, 3, 19, "OFFSET_OVERFLOW_ONE", 3),
        (3, 9, 21, "OFFSET_OVERFLOW_BADLY", 3),
        (3, -1, 21, "OFFSET_TOO_SMALL", 0),
        (0, 0, 19, "NO_MESSAGE_IN_QUEUE", 0),
        (0, 5, 21, "NO_MESSAGE_IN_QUEUE", 0),
    ],
)
def test_a_pull_offset_in_or_out_of_range_returns_code_status_and_next_offset(
    harness: EngineHarness, stored: int, offset: int, code: int, *, status: str, following: int
) -> None:
    """Each pull offset returns its code, status and next offset (seen on 5.3.3)."""
    harness.topic("A")
    for _ in range(stored):
        harness.send("A")
    pulled = result(harness.pull("A", offset))
    assert (pulled.code, pulled.status.name, pulled.next_begin_offset) == (code, status, following)
    assert (pulled.min_offset, pulled.max_offset) == (0, stored)


def test_one_pull_returns_at_most_32_messages_and_256_kib(harness: EngineHarness) -> None:
    """A pull returns at most 32 messages and 256 KiB, but always at least one message."""
    harness.topic("A")
    for _ in range(40):
        harness.send("A")
    assert len(result(harness.pull("A", 0, count=100)).records) == 32
    assert len(result(harness.pull("A", 0, count=0)).records) == 1
    harness.topic("B")
    for _ in range(6):
        harness.send("B", b"x" * 60_000)
    assert len(result(harness.pull("B", 0)).records) == 4
    harness.topic("C")
    harness.send("C", b"x" * 1_000_000)
    assert len(result(harness.pull("C", 0)).records) == 1


def test_a_waiting_pull_is_answered_by_the_next_message_of_its_queue(harness: EngineHarness) -> None:
    """A pull at the end of a queue waits and is answered by the next message of that queue."""
    harness.topic("A", 2)
    call = harness.pull("A", 0, suspend_ms=15_000)
    assert call.outcome is None
    harness.send("A", queue=1)
    assert call.outcome is None
    harness.send("A", b"wanted")
    assert decode(result(call).records[0]).body == b"wanted"
    assert result(call).next_begin_offset == 1


@pytest.mark.parametrize(("suspend_ms", "waited_ms"), [(0, 0), (1000, 5000), (7000, 10_000), (15_000, 15_000)])
def test_a_waiting_pull_ends_at_the_next_check_every_5_s(
    harness: EngineHarness, suspend_ms: int, waited_ms: int
) -> None:
    """A waiting pull ends at the next check; upstream checks every 5 s, counted from its start."""
    harness.topic("A")
    call = harness.pull("A", 0, suspend_ms=suspend_ms)
    harness.advance(max(waited_ms - 1, 0))
    assert (call.outcome is None) == (waited_ms > 0)
    harness.advance(1)
    assert result(call).code == ResponseCode.PULL_NOT_FOUND


def test_with_a_check_interval_of_1_ms_a_waiting_pull_ends_at_its_timeout() -> None:
    harness = make_harness(pull_hold_check_interval=1)
    harness.topic("A")
    call = harness.pull("A", 0, suspend_ms=1234)
    harness.advance(1233)
    assert call.outcome is None
    harness.advance(1)
    assert result(call).status is PullStatus.NO_MESSAGE_IN_QUEUE


def test_a_message_with_another_tag_ends_a_waiting_pull_at_the_next_check(harness: EngineHarness) -> None:
    """A message with another tag ends a waiting pull at the next check, with code 20 and an offset past the message."""
    harness.topic("A")
    harness.send("A", TAGS="T")
    call = harness.pull("A", 1, suspend_ms=12_000, expression="T")
    harness.advance(100)
    harness.send("A", TAGS="U")
    assert call.outcome is None
    harness.advance(4900)
    assert result(call).code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert result(call).next_begin_offset == 2


def test_a_message_with_another_tag_at_a_check_ends_a_waiting_pull_five_seconds_later(harness: EngineHarness) -> None:
    """The message arrives after the check of the same millisecond, so the pull ends at the next check."""
    harness.topic("A")
    harness.send("A", TAGS="T")
    harness.advance(5_000)
    call = harness.pull("A", 1, suspend_ms=12_000, expression="T")
    harness.send("A", TAGS="U")
    harness.advance(4_999)
    assert call.outcome is None
    harness.advance(1)
    assert result(call).code == ResponseCode.PULL_RETRY_IMMEDIATELY


def test_tags_are_matched_by_hash(harness: EngineHarness) -> None:
    """Tags of an OR list are trimmed and matched by hash code: `Aa` and `BB` collide, `A` is another tag."""
    harness.topic("A")
    for tag in ("Aa", "BB", "A", "x"):
        harness.send("A", tag.encode(), TAGS=tag)
    harness.send("A", b"untagged")

    def matched(expression: str) -> list[bytes]:
        return [decode(record).body for record in result(harness.pull("A", 0, expression=expression)).records]

    assert matched("Aa") == [b"Aa", b"BB"]
    assert matched(" A ||x|| ") == [b"A", b"x"]
    assert matched("*") == matched("") == [b"Aa", b"BB", b"A", b"x", b"untagged"]
    refused = harness.pull("A", 0, expression="||").outcome
    assert isinstance(refused, EngineError)
    assert refused.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


def pull_by_heartbeat(harness: EngineHarness, topic: str, version: int = 0) -> DirectCall:
    return harness.engine.submit(harness.broker, pull_of("G", topic, version=version, expression=None))


def test_a_pull_without_inline_subscription_uses_that_of_the_heartbeat(harness: EngineHarness) -> None:
    """A pull without inline subscription uses group, topic and version of the last heartbeat."""
    harness.topic("A")
    harness.topic("B")
    harness.send("A")
    assert refused(pull_by_heartbeat(harness, "A")).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    harness.heartbeat("c1", topics={"A": "*"}, version=5)
    assert result(pull_by_heartbeat(harness, "A", 5)).code == 0
    assert refused(pull_by_heartbeat(harness, "A", 6)).code == ResponseCode.SUBSCRIPTION_NOT_LATEST
    assert refused(pull_by_heartbeat(harness, "B")).code == ResponseCode.SUBSCRIPTION_NOT_EXIST


def test_pulls_are_rejected_in_upstreams_order_of_checks(harness: EngineHarness) -> None:
    """Group switch, topic, permission and queue id are checked in this order, with upstream's texts."""
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("off", consume_enable=False)))
    harness.topic("W", perm=2)
    harness.topic("A")
    cases = [
        (harness.pull("none", group="off"), 16, "subscription group no permission, off"),
        (harness.pull("none", group="bad group!"), 26, "subscription group [bad group!] does not exist"),
        (harness.pull("none"), 17, "topic[none] not exist, apply first please!"),
        (harness.pull("W", queue=7), 16, "the topic[W] pulling message is forbidden"),
        (harness.pull("A", queue=7), 29, "queueId[7] is illegal, topic:[A] topicConfig.readQueueNums:[1]"),
    ]
    for call, code, text in cases:
        assert isinstance(call.outcome, EngineError)
        assert call.outcome.code == code
        assert text in (call.outcome.remark or "")


@pytest.mark.parametrize(
    ("keys", "flag", "remark"),
    [
        ({"broker_permission": 2}, 0, "the broker[127.0.0.1] pulling message is forbidden"),
        (
            {"lite_pull_message_enable": False},
            FLAG_LITE_PULL,
            "the broker[127.0.0.1] for lite pull consumer is forbidden",
        ),
    ],
)
def test_a_refusal_of_all_pulls_of_a_broker_has_its_address(keys: dict[str, Any], flag: int, remark: str) -> None:
    """The remark has brokerIP1, not the name of the broker (PullMessageProcessor.processRequest)."""
    harness = make_harness(**keys)
    harness.topic("A")
    pull = pull_of("G", "A")
    pull.sys_flag |= flag
    error = refused(harness.engine.submit(harness.broker, pull))
    assert (error.code, error.remark, error.details) == (
        ResponseCode.NO_PERMISSION,
        remark,
        {"forbidden_type": 1},
    )


def test_a_pull_with_commit_flag_commits_its_offset(harness: EngineHarness) -> None:
    """A pull with flag 1 commits its commit offset, on the first pass only."""
    harness.topic("A")
    harness.send("A")
    harness.engine.submit(harness.broker, pull_of("G", "A", commit=1))
    assert harness.broker.offsets.query("G", "A", 0) == 1


def test_an_offset_reset_is_returned_by_the_next_pull_once(harness: EngineHarness) -> None:
    """After a server-side reset the next pull returns OFFSET_RESET once; commits before it are ignored."""
    harness.topic("A")
    for _ in range(5):
        harness.send("A")
    harness.pull("A", 0)
    update = UpdateConsumerOffset("G", "A", 0, 4)
    harness.engine.execute(harness.broker, update)
    harness.engine.execute(harness.broker, ResetOffset("G", "A", 0))
    harness.engine.execute(harness.broker, update)
    assert harness.ask(OffsetResult, QueryConsumerOffset("G", "A", 0)).offset == 0
    moved = result(harness.pull("A", 4))
    assert (moved.code, moved.status.name, moved.next_begin_offset) == (21, "OFFSET_RESET", 0)
    assert result(harness.pull("A", 0)).code == 0


def test_a_pull_that_returns_a_reset_moves_the_pull_offset_there(harness: EngineHarness) -> None:
    """The pull offset of consume stats is the next offset of each response (PullMessageProcessor.tryCommitOffset)."""
    harness.topic("A")
    for _ in range(5):
        harness.send("A")
    harness.pull("A", 0)
    harness.engine.execute(harness.broker, ResetOffset("G", "A", 0, queue_id=0, offset=2))
    moved = result(harness.pull("A", 4))
    assert (moved.status, moved.next_begin_offset) == (PullStatus.OFFSET_RESET, 2)
    assert harness.broker.offsets.pull_offset("G", "A", 0) == 2


def test_a_waiting_pull_that_ends_after_a_reset_reads_no_messages(harness: EngineHarness) -> None:
    """The response has only the reset, so that the message that ends the wait counts as not read."""
    harness.topic("A")
    for _ in range(5):
        harness.send("A")
    call = harness.pull("A", 5, suspend_ms=15_000)
    harness.engine.execute(harness.broker, ResetOffset("G", "A", 0, queue_id=0, offset=2))
    harness.send("A")
    moved = result(call)
    assert (moved.status, moved.next_begin_offset, moved.min_offset, moved.max_offset) == (
        PullStatus.OFFSET_RESET,
        2,
        0,
        6,
    )
    assert harness.broker.store.stats.got == 0
    assert harness.broker.offsets.pull_offset("G", "A", 0) == 2


def test_a_pull_of_a_closed_connection_gets_no_response_and_is_removed(harness: EngineHarness) -> None:
    """A pull whose connection is closed gets no response and is removed from the hold."""
    harness.topic("A")
    call = harness.pull("A", 0, suspend_ms=15_000)
    call.active = False
    harness.send("A")
    assert call.outcome is None
    assert len(harness.broker.pulls.hold) == 0


class ClosingCall(DirectCall):
    """A call whose connection is lost when the response is written."""

    def __init__(self, harness: EngineHarness, channel: DirectChannel, others: list[DirectCall]) -> None:
        super().__init__(channel)
        self.harness, self.others = harness, others

    def reply(self, outcome: Outcome) -> None:
        """Keep the response, and close the connection with all its other calls."""
        super().reply(outcome)
        for other in self.others:
            other.active = False
        self.harness.engine.submit(self.harness.broker, ChannelClosed(), self.channel)


def test_a_connection_lost_with_the_first_response_gets_no_second_response(harness: EngineHarness) -> None:
    """A message matches several pulls of a connection that is lost with the first response: the others get none."""
    harness.topic("A")
    channel = DirectChannel("closing", ("10.0.0.9", 4000))
    others = [DirectCall(channel), DirectCall(channel)]
    calls = [ClosingCall(harness, channel, others), *others]
    kept = DirectCall(DirectChannel("kept", ("10.0.0.9", 4001)))
    for call in (*calls, kept):
        harness.engine.gate.submit(harness.broker, call, pull_of("G", "A", suspend_ms=15_000))
    harness.send("A")
    assert [isinstance(call.outcome, PullResult) for call in (*calls, kept)] == [True, False, False, True]
    assert len(harness.broker.pulls.hold) == 0


class SendingCall(DirectCall):
    """A call that counts its responses, and sends a message with the first one."""

    def __init__(self, harness: EngineHarness, channel: DirectChannel) -> None:
        super().__init__(channel)
        self.harness, self.replies = harness, 0

    def reply(self, outcome: Outcome) -> None:
        """Keep the response and send a message, which wakes all other pulls before this method returns."""
        super().reply(outcome)
        self.replies += 1
        if self.replies == 1:
            self.harness.send("A", b"second")


def test_a_message_sent_with_the_first_response_wakes_no_pull_twice(harness: EngineHarness) -> None:
    """A message sent with the first response wakes no pull twice: each gets one response with all messages."""
    harness.topic("A")
    calls = [SendingCall(harness, DirectChannel(f"c{number}")) for number in range(3)]
    for call in calls:
        harness.engine.gate.submit(harness.broker, call, pull_of("G", "A", suspend_ms=15_000))
    harness.send("A", b"first")
    assert [call.replies for call in calls] == [1, 1, 1]
    assert [len(result(call).records) for call in calls] == [1, 2, 3]
    assert len(harness.broker.pulls.hold) == 0


def test_forget_waiting_keeps_the_other_waiting_pull_of_the_connection(harness: EngineHarness) -> None:
    """Of two pulls of one connection only the one whose client no longer waits is removed."""
    harness.topic("A")
    channel = DirectChannel("c")
    gone, kept = DirectCall(channel), DirectCall(channel)
    for call in (gone, kept):
        pull = pull_of("G", "A", suspend_ms=15_000)
        harness.engine.gate.submit(harness.broker, call, pull)
    gone.active = False
    harness.engine.submit(harness.broker, DropInactiveRequests(), channel)
    assert len(harness.broker.pulls.hold) == 1
    harness.send("A")
    assert (gone.outcome, len(result(kept).records)) == (None, 1)


def test_a_pull_with_a_newer_subscription_version_is_rejected_as_not_latest(harness: EngineHarness) -> None:
    """A pull with a newer subscription version than the heartbeat returns SUBSCRIPTION_NOT_LATEST."""
    harness.topic("A")
    harness.heartbeat("c", topics={"A": "*"}, version=5)
    for version, code in ((6, ResponseCode.SUBSCRIPTION_NOT_LATEST), (5, None)):
        call = harness.engine.submit(harness.broker, pull_of("G", "A", version=version, expression=None))
        if code is None:
            assert not isinstance(call.outcome, EngineError)
        else:
            refusal = refused(call)
            assert (refusal.code, refusal.remark) == (code, "the consumer's subscription not latest")


def test_a_pull_that_has_ended_leaves_no_timer(harness: EngineHarness) -> None:
    """A pull that was woken, or whose connection is closed, leaves no timer scheduled."""
    harness.topic("A")
    woken, gone = harness.pull("A", suspend_ms=15_000), harness.pull("A", suspend_ms=15_000)
    assert len(scheduled(harness, "pull")) == 2
    gone.active = False
    harness.engine.submit(harness.broker, DropInactiveRequests(), gone.channel)
    assert len(scheduled(harness, "pull")) == 1
    harness.send("A")
    assert (len(result(woken).records), scheduled(harness, "pull")) == (1, [])


def test_only_queues_whose_pulls_returned_messages_are_recorded(harness: EngineHarness) -> None:
    """Queues whose pulls returned messages are recorded by topic and group; other queues are not."""
    harness.topic("A", 3)
    harness.send("A", queue=1)
    for queue in (0, 1):
        harness.pull("A", queue=queue)
    assert harness.broker.store.stats.by_name._read_queues.find("A", "G") == {1}


def test_the_response_to_a_disabled_group_has_the_forbidden_type_of_groups(harness: EngineHarness) -> None:
    """`forbiddenType` in the response is 2 (ForbiddenType.GROUP_FORBIDDEN), which some clients read."""
    harness.topic("A")
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("off", consume_enable=False)))
    assert refused(harness.pull("A", group="off")).details == {"forbidden_type": 2}
