"""Operations by which a fault makes delivered messages visible to their group again."""

from types import SimpleNamespace
from typing import Any

from protocol_client import BrokerProtocolClient
from protocol_clients import protocol_client
from pull_operation import pull_of
from rocketmq_testkit.emulator.faults.delivered import delivered
from rocketmq_testkit.emulator.faults.redelivery import place_of, redeliveries, visible_from_ms
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.consume import ChangeInvisibleTime, PullResult, PullStatus
from rocketmq_testkit.emulator.operations.send import SendMessageBack


def test_selected_messages_of_a_pull_are_sent_back_and_have_no_invisible_duration() -> None:
    """Messages that do not match the criteria are not sent back."""
    e = protocol_client("remoting")
    assert isinstance(e, BrokerProtocolClient)
    e.topic(queues=1)
    e.put(b"1", tag="a")
    e.put(b"2", tag="b")
    records = [e.engine.brokers[0].store.record("T", 0, offset) or b"" for offset in (0, 1)]
    outcome = PullResult(ResponseCode.SUCCESS, PullStatus.FOUND, 2, 0, 2, records, [0, 1])
    event: Any = SimpleNamespace(
        operation=pull_of("G", "T", expression=None),
        outcome=outcome,
        matches=lambda message: message.tag == "b",
    )
    assert len(delivered(outcome)) == 2
    [back] = redeliveries(event)
    assert isinstance(back, SendMessageBack)
    assert place_of(back) == ("G", e.records("T")[1].physical_offset)
    assert visible_from_ms(outcome) is None


def test_the_place_of_a_popped_message_is_its_queue_and_offset() -> None:
    assert place_of(ChangeInvisibleTime("G", "T", 3, "handle", 7, 1)) == ("G", "T", 3, 7)
