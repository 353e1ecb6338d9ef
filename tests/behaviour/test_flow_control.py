"""Sends that return an error status, and the messages that are stored nevertheless."""

from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through

BUSY = 2
LATE = {"engine": 10, "remoting": 10, "grpc": 50401}


@through(*ALL, flush_disk_type="SYNC_FLUSH", sync_flush_timeout=0)
def test_a_send_that_returns_flush_disk_timeout_is_stored(e: ProtocolClient) -> None:
    """A send that returns FLUSH_DISK_TIMEOUT is stored, so that a repeated send stores the message twice."""
    e.topic()
    for body in (b"0", b"again"):
        sent = e.put(body)
        assert sent.code == LATE[e.name], sent
    assert e.bodies() == [b"0", b"again"]


@through(*BROKER, transient_store_pool_enable=True, transient_store_pool_size=0)
def test_a_broker_without_free_write_buffers_rejects_sends_as_busy(e: BrokerProtocolClient) -> None:
    e.topic()
    sent = e.put()
    assert (sent.ok, sent.code) == (False, BUSY)
    assert e.records("T") == []


@through("grpc", transient_store_pool_enable=True, transient_store_pool_size=0)
def test_a_send_through_the_proxy_needs_no_free_write_buffer(e: ProtocolClient) -> None:
    e.fill_topic(1)
    assert e.bodies() == [b"0"]
