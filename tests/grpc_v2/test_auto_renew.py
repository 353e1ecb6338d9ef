"""Receives with auto_renew: without renewal, as a 5.3.3 proxy does by default, and with renewScheduleEnable."""

import pytest
from grpc_harness import START_MS, Client, GrpcHarness, Received, a_change, a_forward, a_receive, an_ack, subscribing
from grpc_texts import PROXY_EXCEPTION
from rocketmq_testkit.emulator.operations.consume import ChangeInvisibleTime
from rocketmq_testkit.emulator.operations.groups import GroupConfig, RetryPolicy
from rocketmq_testkit.emulator.operations.topics import DeleteTopic
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.auto_renewal import retry_delay_ms

MINUTE, HOUR = 60_000, 3_600_000
REVIVED = 5_000
"""A time after which due messages were revived, and before the first renewal, in ms."""


@pytest.fixture
def renewing() -> GrpcHarness:
    harness = GrpcHarness()
    harness.config.renew_schedule_enable = True
    harness.topic()
    return harness


def taken(harness: GrpcHarness, count: int = 1, client: Client | None = None) -> Received:
    """Return messages that a client received with auto_renew."""
    for number in range(count):
        harness.store(b"%d" % number)
    received = (client or harness.consumer()).receive(a_receive(auto_renew=True, invisible_ms=None))
    assert len(received.handles) == count
    return received


def visible_messages(harness: GrpcHarness) -> list[bytes]:
    """Return the messages that another client receives now."""
    harness.config.end_polls_on_cancel = True
    received = harness.consumer("other").receive(a_receive())
    if not received.call.finished:
        received.call.cancel()
    return received.bodies


def leave(client: Client) -> None:
    request = sv.NotifyClientTerminationRequest()
    request.group.name = "G"
    assert client.ask("NotifyClientTermination", request).status.code == 20000


def renewals(harness: GrpcHarness) -> list[tuple[int, int]]:
    """Return the time (ms from the start) and the new invisible duration of each renewal."""
    return [
        (entry.now_ms - START_MS, entry.subject.invisible_ms)
        for entry in harness.engine.journal
        if entry.label == "RenewMessage" and isinstance(entry.subject, ChangeInvisibleTime)
    ]


class TestWithoutRenewal:
    """By default no message is renewed."""

    def test_without_renewal_a_message_is_redelivered_after_60_s(self, harness: GrpcHarness) -> None:
        """A message is redelivered after 60 s, although its client is alive.

        Requests with its handle are then rejected.
        """
        harness.topic()
        consumer = harness.consumer()
        (handle,) = taken(harness, client=consumer).handles
        assert handle.split(" ")[2] == "60000"
        for _ in range(6):
            harness.advance(10_000)
            beat = sv.HeartbeatRequest()
            beat.group.name = "G"
            assert consumer.ask("Heartbeat", beat).status.code == 20000
        expired = (40013, PROXY_EXCEPTION + "receipt handle is expired")
        ack = consumer.ask("AckMessage", an_ack(handle)).entries[0].status
        change = consumer.ask("ChangeInvisibleDuration", a_change(handle, 10_000)).status
        assert [(status.code, status.message) for status in (ack, change)] == [expired, expired]
        harness.advance(REVIVED)
        assert visible_messages(harness) == [b"0"]
        assert renewals(harness) == []

    def test_a_terminated_clients_message_is_visible_after_invisible_time_when_clear(
        self, harness: GrpcHarness
    ) -> None:
        """After its client leaves, a message becomes visible after invisibleTimeMillisWhenClear and a revive."""
        harness.config.invisible_time_millis_when_clear = 20_000
        harness.topic()
        consumer = harness.consumer()
        taken(harness, client=consumer)
        leave(consumer)
        harness.advance(19_999)
        assert visible_messages(harness) == []
        harness.advance(REVIVED)
        assert visible_messages(harness) == [b"0"]

    @pytest.mark.parametrize("cancelled", [False, True])
    def test_a_pending_receive_of_a_terminated_client_fails_at_its_end(
        self, harness: GrpcHarness, cancelled: bool
    ) -> None:
        """The proxy pops a message for a pending receive whose client has left, and the receive fails at its end.

        The message is then redelivered only after its invisible duration.
        """
        harness.topic()
        consumer = harness.consumer()
        taken(harness, client=consumer)
        waiting = consumer.receive(a_receive(auto_renew=True, invisible_ms=None, poll_ms=20_000))
        leave(consumer)
        if cancelled:
            waiting.call.cancel()
        harness.advance(19_999)
        assert waiting.call.sent == []
        harness.advance(1)
        if not cancelled:
            assert waiting.status.code == 50001
            assert waiting.messages == []
        harness.advance(MINUTE - 1)
        assert visible_messages(harness) == []
        harness.advance(REVIVED)
        assert visible_messages(harness) == [b"0"]

    def test_a_pending_receive_of_a_client_that_returned_gets_the_message(self, harness: GrpcHarness) -> None:
        """A pending receive of a client that left and returned gets the message.

        It becomes visible when the client leaves again.
        """
        harness.topic()
        consumer = harness.consumer()
        taken(harness, client=consumer)
        waiting = consumer.receive(a_receive(auto_renew=True, invisible_ms=None, poll_ms=20_000))
        leave(consumer)
        harness.advance(10_000)
        again = harness.consumer()
        harness.advance(10_000)
        assert waiting.bodies == [b"0"]
        leave(again)
        harness.advance(REVIVED)
        assert visible_messages(harness) == [b"0"]

    def test_without_proxy_auto_renew_the_requests_invisible_duration_is_used(self, harness: GrpcHarness) -> None:
        """Without enableProxyAutoRenew, the invisible duration of the request is used and validated."""
        harness.config.enable_proxy_auto_renew = False
        harness.topic()
        harness.store(b"x")
        consumer = harness.consumer()
        for invisible_ms in (None, 9_999):
            refused = consumer.receive(a_receive(auto_renew=True, invisible_ms=invisible_ms)).status
            assert (refused.code, refused.message) == (40011, "the invisibleTime is too small. min is 10000")
        (handle,) = consumer.receive(a_receive(auto_renew=True, invisible_ms=30_000)).handles
        assert handle.split(" ")[2] == "30000"
        leave(consumer)
        harness.advance(29_999)
        assert visible_messages(harness) == []


class TestRenewal:
    """Renewals with renewScheduleEnable."""

    def test_a_message_is_renewed_for_longer_each_time_until_it_is_3_hours_old(self, renewing: GrpcHarness) -> None:
        """A message is renewed 10 s before its end for 1, 3, 5, 10, 30 and then 60 minutes, until it is 3 hours old."""
        taken(renewing)
        renewing.advance(3 * HOUR)
        second = 1_000
        assert renewals(renewing) == [
            (50 * second, MINUTE),
            (100 * second, 3 * MINUTE),
            (270 * second, 5 * MINUTE),
            (560 * second, 10 * MINUTE),
            (1_150 * second, 30 * MINUTE),
            (2_940 * second, HOUR),
            (6_530 * second, HOUR),
            (10_120 * second, HOUR),
        ]
        assert visible_messages(renewing) == []

    def test_the_first_renewal_after_3_hours_uses_the_groups_retry_delay(self, renewing: GrpcHarness) -> None:
        renewing.group(retry_policy=RetryPolicy(next_ms=[1_000, 2_000, 33_000]))
        consumer = renewing.consumer()
        taken(renewing, client=consumer)
        renewing.advance(13_710_000)
        assert renewals(renewing)[-1] == (13_710_000, 33_000)
        renewing.advance(32_999)
        assert visible_messages(renewing) == []
        renewing.advance(REVIVED)
        assert visible_messages(renewing) == [b"0"]
        renewing.advance(HOUR)
        assert len(renewals(renewing)) == 9
        leave(consumer)

    def test_the_first_handle_acknowledges_a_renewed_message(self, renewing: GrpcHarness) -> None:
        """After renewals the client still acknowledges with its first handle, and the response has that handle."""
        consumer = renewing.consumer()
        (message,) = taken(renewing, client=consumer).messages
        renewing.advance(2 * HOUR)
        response = consumer.ask("AckMessage", an_ack(message))
        assert (response.status.code, response.entries[0].receipt_handle) == (
            20000,
            message.system_properties.receipt_handle,
        )
        seen = len(renewals(renewing))
        renewing.advance(12 * HOUR)
        assert visible_messages(renewing) == []
        assert len(renewals(renewing)) == seen

    def test_a_message_acknowledged_under_another_id_continues_to_be_renewed(self, renewing: GrpcHarness) -> None:
        """A message acknowledged under another message id continues to be renewed, as in upstream.

        It becomes visible when its client leaves.
        """
        consumer = renewing.consumer()
        (handle,) = taken(renewing, client=consumer).handles
        assert consumer.ask("AckMessage", an_ack(handle)).status.code == 20000
        renewing.advance(55_000)
        assert renewals(renewing) == [(50_000, MINUTE)]
        leave(consumer)
        renewing.advance(REVIVED)
        assert visible_messages(renewing) == [b"0"]

    def test_the_messages_of_a_batch_are_renewed_separately(self, renewing: GrpcHarness) -> None:
        consumer = renewing.consumer()
        messages = taken(renewing, 3, consumer).messages
        renewing.advance(55_000)
        assert len(renewals(renewing)) == 3
        consumer.ask("AckMessage", an_ack(messages[1]))
        renewing.advance(MINUTE)
        assert len(renewals(renewing)) == 5
        leave(consumer)
        renewing.advance(REVIVED)
        assert sorted(visible_messages(renewing)) == [b"0", b"2"]

    def test_a_message_whose_duration_the_client_changed_is_not_renewed(self, renewing: GrpcHarness) -> None:
        """After the client changes the invisible duration, the message is not renewed.

        The new duration and the new handle apply.
        """
        consumer = renewing.consumer()
        (message,) = taken(renewing, client=consumer).messages
        renewing.advance(5 * MINUTE)
        changed = consumer.ask("ChangeInvisibleDuration", a_change(message, 20_000))
        assert changed.status.code == 20000
        assert changed.receipt_handle.split(" ")[2] == "20000"
        seen = len(renewals(renewing))
        renewing.advance(19_999)
        assert visible_messages(renewing) == []
        renewing.advance(REVIVED)
        assert visible_messages(renewing) == [b"0"]
        assert len(renewals(renewing)) == seen

    def test_a_message_forwarded_to_the_dlq_is_not_renewed(self, renewing: GrpcHarness) -> None:
        """A message forwarded to the dead letter queue is not renewed and is only there."""
        consumer = renewing.consumer()
        (message,) = taken(renewing, client=consumer).messages
        renewing.advance(5 * MINUTE)
        assert consumer.ask("ForwardMessageToDeadLetterQueue", a_forward(message)).status.code == 20000
        renewing.advance(12 * HOUR)
        assert visible_messages(renewing) == []
        dead = renewing.consumer("reader", "readers").receive(a_receive("%DLQ%G", "readers"))
        assert dead.bodies == [b"0"]

    def test_messages_of_a_terminated_client_are_not_renewed(self, renewing: GrpcHarness) -> None:
        """After the client leaves, its messages are not renewed and become visible soon, even after a long renewal."""
        consumer = renewing.consumer()
        taken(renewing, client=consumer)
        renewing.advance(HOUR)
        leave(consumer)
        renewing.advance(REVIVED)
        assert visible_messages(renewing) == [b"0"]
        seen = len(renewals(renewing))
        renewing.advance(12 * HOUR)
        assert len(renewals(renewing)) == seen

    def test_messages_of_an_expired_client_become_visible(self, renewing: GrpcHarness) -> None:
        """A silent client expires 130 s after its stream closed, and its messages become visible."""
        client = renewing.client("c")
        stream = client.send_settings(subscribing())
        taken(renewing, client=client)
        renewing.advance(10 * MINUTE)
        stream.half_close()
        renewing.advance(140_000)
        assert visible_messages(renewing) == [b"0"]

    def test_a_redelivered_message_is_renewed_from_the_shortest_renewal(self, renewing: GrpcHarness) -> None:
        """A message redelivered from its retry topic is renewed again, starting with the shortest renewal."""
        consumer = renewing.consumer()
        taken(renewing, client=consumer)
        leave(consumer)
        renewing.advance(REVIVED)
        seen = len(renewals(renewing))
        again = renewing.consumer("other").receive(a_receive(auto_renew=True))
        assert again.messages[0].system_properties.delivery_attempt == 2
        renewing.advance(10 * MINUTE)
        assert [length for _, length in renewals(renewing)[seen:]] == [MINUTE, 3 * MINUTE, 5 * MINUTE, 10 * MINUTE]
        ack = renewing.client("other").ask("AckMessage", an_ack(*again.messages))
        assert ack.status.code == 20000

    def test_in_an_ordered_group_a_renewed_message_blocks_its_queue(self, renewing: GrpcHarness) -> None:
        """In an ordered group a renewed message blocks its queue until it is acknowledged."""
        renewing.group(consume_message_orderly=True)
        consumer = renewing.consumer()
        renewing.store(b"0")
        renewing.store(b"1")
        (message,) = consumer.receive(a_receive(auto_renew=True, batch=1)).messages
        renewing.advance(HOUR)
        assert visible_messages(renewing) == []
        assert consumer.ask("AckMessage", an_ack(message)).status.code == 20000
        assert visible_messages(renewing) == [b"1"]

    def test_a_message_whose_renewal_the_broker_rejects_is_not_renewed_again(self, renewing: GrpcHarness) -> None:
        """A message whose renewal the broker rejects is not renewed again: here the topic was deleted."""
        taken(renewing)
        renewing.ask(DeleteTopic("T"))
        renewing.advance(HOUR)
        assert renewals(renewing) == [(50_000, MINUTE)]

    @pytest.mark.parametrize(
        ("fails_ms", "asked_ms"),
        [(53_000, [50_000, 52_000, 54_000, 104_000]), (57_000, [50_000, 52_000, 54_000])],
    )
    def test_a_failed_renewal_is_retried_until_max_renew_retry_times(
        self, renewing: GrpcHarness, fails_ms: int, asked_ms: list[int]
    ) -> None:
        """A failed renewal is retried every renewSchedulePeriodMillis, until maxRenewRetryTimes failed in a row."""
        renewing.config.renew_schedule_period_millis = 2_000
        taken(renewing)
        # With KV records enabled, but not initialized at the start, a renewal fails with SYSTEM_ERROR.
        config = renewing.broker.config
        config.pop_consumer_kv_service_enable = True
        renewing.advance(fails_ms)
        config.pop_consumer_kv_service_enable = False
        renewing.advance(120_000 - fails_ms)
        assert [at_ms for at_ms, _ in renewals(renewing)] == asked_ms
        assert visible_messages(renewing) == ([] if len(asked_ms) == 4 else [b"0"])

    def test_configuration_keys_change_the_times_of_renewals(self, renewing: GrpcHarness) -> None:
        """renewAheadTimeMillis and defaultInvisibleTimeMills change the times of renewals."""
        renewing.config.renew_ahead_time_millis = 1_000
        renewing.config.default_invisible_time_mills = 15_000
        taken(renewing)
        renewing.advance(80_000)
        assert renewals(renewing) == [(14_000, MINUTE), (73_000, 3 * MINUTE)]

    def test_after_a_crash_of_the_proxy_no_message_is_renewed(self, renewing: GrpcHarness) -> None:
        """After a crash of the proxy no message is renewed. It is redelivered when its invisible duration ends."""
        taken(renewing)
        renewing.service.clients.discard()
        renewing.advance(60_000 + REVIVED)
        assert renewals(renewing) == []
        assert visible_messages(renewing) == [b"0"]

    def test_handles_of_unacknowledged_messages_are_bounded(self, harness: GrpcHarness) -> None:
        """The proxy keeps a bounded number of handles of unacknowledged messages: above 1,000 it drops expired ones."""
        harness.topic()
        consumer = harness.consumer()
        for _ in range(40):
            taken(harness, 32, consumer)
        harness.advance(61_000)
        taken(harness, 32, consumer)
        session = harness.service.clients.sessions.find("consumer-1")
        assert session is not None
        assert len(harness.service.clients.renewals.messages_of(session)) == 32


@pytest.mark.parametrize(
    ("policy", "times", "delay_ms"),
    [
        (RetryPolicy(), 0, 10_000),
        (RetryPolicy(), 3, 120_000),
        (RetryPolicy(), 99, 7_200_000),
        (RetryPolicy(next_ms=[1_000]), 0, 1_000),
        (RetryPolicy("EXPONENTIAL"), 0, 5_000),
        (RetryPolicy("EXPONENTIAL"), 3, 40_000),
        (RetryPolicy("EXPONENTIAL"), 99, 7_200_000),
        (RetryPolicy("EXPONENTIAL"), -1, 5_000),
    ],
)
def test_the_retry_delay_is_taken_from_the_policy_of_the_group(policy: RetryPolicy, times: int, delay_ms: int) -> None:
    """The third delay is used for the first retry, and the last one for all further retries."""
    assert retry_delay_ms(GroupConfig("G", retry_policy=policy), times) == delay_ms


def test_a_message_of_a_client_without_settings_is_not_renewed(renewing: GrpcHarness) -> None:
    """A message received by a client without settings is not renewed and is redelivered."""
    renewing.store(b"m")
    received = renewing.client("no-settings").receive(a_receive(auto_renew=True, invisible_ms=None))
    assert received.bodies == [b"m"]
    renewing.advance(MINUTE + REVIVED)
    assert visible_messages(renewing) == [b"m"]
