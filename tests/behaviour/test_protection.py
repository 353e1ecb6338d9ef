"""Protection of the broker and permissions: requests that are rejected before anything is stored or consumed."""

from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through

MAX_BYTES = 4 * 1024 * 1024
ILLEGAL = (13, "the message is illegal, maybe msg body or properties length not matched")
PROXY = "org.apache.rocketmq.proxy.common.ProxyException: "


def refused(e: ProtocolClient, code: int, remark: str, proxy: int) -> None:
    """Check that a send to topic T is rejected, and that T still holds only the message of `fill_topic(1)`.

    `code` is the broker's. The proxy returns the code `proxy` with the broker's remark.
    """
    sent = e.put(b"refused")
    assert e.is_error(sent, (code, remark), (proxy, PROXY + remark)), sent
    assert [record.body for record in e.records("T")] == [b"0"]


@through(*ALL, disk_used_ratio=95)
def test_a_broker_with_a_full_disk_rejects_sends_and_serves_pops(e: ProtocolClient) -> None:
    """A broker rejects sends and serves pops while its disk is full, from its first check a minute after the start."""
    e.fill_topic(1)
    e.advance(60_000)
    refused(
        e, 14, "service not available now. It may be caused by one of the following reasons: the broker's disk", 50001
    )
    assert e.bodies(invisible_ms=60_000) == [b"0"]


@through("remoting", "grpc")
def test_a_broker_with_a_busy_page_cache_rejects_sends(e: ProtocolClient) -> None:
    e.fill_topic(1)
    e.configure(requestRefusals="send=PC_SYNCHRONIZED")
    refused(e, 2, "[PC_SYNCHRONIZED]broker busy, start flow control for a while", 50001)
    e.configure(requestRefusals="")
    assert e.bodies() == [b"0"]
    e.send(b"then")


@through(*ALL)
def test_a_broker_that_does_not_accept_sends_yet_rejects_them(e: ProtocolClient) -> None:
    """A broker with startAcceptSendRequestTimeStamp in the future rejects sends with that time in the remark."""
    e.fill_topic(1)
    e.configure(startAcceptSendRequestTimeStamp="4102444800000")
    refused(e, 1, "broker unable to service, until 2100-01-01 00:00:00,000", 50001)


@through(*ALL)
def test_a_body_above_4_mib_is_rejected(e: ProtocolClient) -> None:
    """A body of 4 MiB is accepted and one byte more is rejected, by the proxy before the broker."""
    e.topic()
    e.send(bytes(MAX_BYTES))
    sent = e.put(bytes(MAX_BYTES + 1))
    assert e.is_error(sent, ILLEGAL, (41301, "message body cannot exceed the max 4194304")), sent
    assert [len(record.body) for record in e.records("T")] == [MAX_BYTES]


@through(*ALL)
def test_properties_above_the_size_limit_are_rejected(e: ProtocolClient) -> None:
    """Properties above the size limit are rejected: the broker limits all properties, the proxy the user properties."""
    e.fill_topic(1)
    sent = e.put(b"refused", mine="v" * 33_000)
    assert e.is_error(sent, ILLEGAL, (43101, "the total size of user property is too large, max is 16384")), sent
    assert len(e.records("T")) == 1


@through(*ALL)
def test_a_pop_of_a_topic_without_read_permission_is_rejected(e: ProtocolClient) -> None:
    """A pop of a topic without read permission is rejected, and the messages stay stored."""
    e.topic(perm=2)
    e.store(b"0")
    response = e.pop().response
    broker, proxy = "the topic[T] peeking message is forbidden", PROXY + "no readable queue"
    assert e.is_error(response, (16, broker), (40300, proxy)), response
    e.topic(perm=6)
    assert e.bodies() == [b"0"]


@through("grpc")
def test_the_proxy_rejects_a_send_to_a_topic_without_write_permission(e: ProtocolClient) -> None:
    """The proxy rejects a send to a topic without write permission because it finds no writable queue."""
    e.topic(perm=4)
    sent = e.put()
    assert (sent.code, sent.remark) == (40300, PROXY + "no writable queue")
    assert e.records("T") == []


@through(*BROKER)
def test_the_broker_stores_messages_of_a_topic_without_write_permission(e: BrokerProtocolClient) -> None:
    """The broker stores messages of a topic without write permission; only producers respect it in routes."""
    e.topic(perm=4)
    e.send(b"0")
    assert [record.body for record in e.records("T")] == [b"0"]


@through(*ALL)
def test_a_pop_of_a_disabled_group_is_rejected(e: ProtocolClient) -> None:
    """A pop of a group with consumption disabled is rejected until consumption is enabled again."""
    e.fill_topic(1)
    e.group(consume_enable=False)
    response = e.pop().response
    remark = "subscription group no permission, G"
    assert e.is_error(response, (16, remark), (50001, PROXY + remark)), response
    e.group(consume_enable=True)
    assert e.bodies() == [b"0"]


@through(*ALL, pop_polling_size=0)
def test_a_pop_beyond_the_limit_of_waiting_pops_is_rejected(e: ProtocolClient) -> None:
    """A pop beyond the limit of waiting pops is rejected at once; the waiting pop is served.

    A broker rejects a pop if more than popPollingSize pops wait already, so the limit 0 allows one.
    """
    e.topic()
    waits = e.pop(poll_ms=10_000)
    response = e.pop(poll_ms=10_000, client="another").response
    assert response is not None
    assert (response.ok, response.code) == (False, 42900 if e.proxied else 209), response
    assert waits.response is None
    e.send(b"0")
    assert waits.response is not None
    assert waits.response.bodies == [b"0"]


@through(*ALL, disable_consume_if_consumer_read_slowly=True, consumer_fallbehind_threshold=100_000)
def test_a_group_that_reads_too_far_behind_is_disabled(e: ProtocolClient) -> None:
    """A group that reads too far behind is disabled at the next check, which runs every three minutes.

    An administrator can enable it again.
    """
    e.topic()
    e.group()
    e.store(*(b"%1000d" % number for number in range(120)))
    assert len(e.pop(count=1, invisible_ms=600_000).response.messages) == 1  # type: ignore[union-attr]  # answered
    e.advance(180_000)
    response = e.pop().response
    remark = "subscription group no permission, G"
    assert e.is_error(response, (16, remark), (50001, PROXY + remark)), response
    e.group()
    assert len(e.bodies()) == 32  # the most messages that one pop returns
