"""Batches: messages of one request are stored in the queue as if they had been sent one by one."""

from protocol_client import ProtocolClient
from protocol_clients import ALL, BROKER, through

PARTS: tuple[tuple[bytes, dict[str, str]], ...] = ((b"0", {"colour": "red"}), (b"1", {"colour": "blue"}), (b"2", {}))


@through(*ALL)
def test_messages_of_a_batch_get_consecutive_offsets_and_are_acknowledged_singly(e: ProtocolClient) -> None:
    """Messages of a batch get consecutive offsets, are acknowledged individually and are redelivered individually."""
    e.topic()
    assert e.send_batch(*PARTS).ok
    assert [record.queue_offset for record in e.records("T")] == [0, 1, 2]
    taken = e.take(invisible_ms=10_000)
    assert [(each.body, each.offset) for each in taken] == [(b"0", 0), (b"1", 1), (b"2", 2)]
    assert e.ack(taken[0].handle, taken[2].handle).ok
    e.advance(20_000)
    assert e.bodies() == [b"1"]


@through(*BROKER)
def test_messages_of_a_batch_are_filtered_by_their_own_properties(e: ProtocolClient) -> None:
    """A SQL92 filter matches each message of a batch by the message's own properties."""
    e.topic()
    assert e.send_batch(*PARTS).ok
    assert e.bodies(expression="colour = 'blue'", kind="SQL92") == [b"1"]


@through("grpc")
def test_behind_the_proxy_messages_of_a_batch_have_the_first_ones_properties(e: ProtocolClient) -> None:
    """Behind the proxy, every message of a batch has the properties of the first, which replace its own."""
    e.topic()
    assert e.send_batch(*PARTS).ok
    assert e.bodies(expression="colour = 'red'", kind="SQL92") == [b"0", b"1", b"2"]


@through(*ALL)
def test_a_batch_with_one_message_too_large_is_rejected_as_a_whole(e: ProtocolClient) -> None:
    e.topic()
    sent = e.send_batch((b"small", {}), (bytes(4 * 1024 * 1024 + 1), {}))
    assert e.is_error(
        sent, (1, "java.lang.RuntimeException: message body size exceeded"), (41301, "message body cannot exceed")
    ), sent
    assert e.records("T") == []
