"""`RemotingClient`, the client of the remoting protocol for tests, connected to a port on a real socket."""

import ssl
from collections.abc import Iterator
from struct import pack
from time import time

import pytest
from remoting_harness import Port
from remoting_port import SocketPort
from rocketmq_testkit.conformance.clients.remoting_consumption import pull_request
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.conformance.clients.remoting_topics import topic_request
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.client import (
    ConnectionLost,
    Credentials,
    RemotingClient,
    RemotingTimeout,
    batch_body,
    decode_messages,
    ext_texts,
    properties_text,
    signature,
)
from rocketmq_testkit.remoting.client.messages import split_records
from rocketmq_testkit.remoting.processors.send import SendMessageRequestHeaderV2
from rocketmq_testkit.remoting.request.request_code import RequestCode


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """Yield the address of a port of a broker and a name server."""
    with SocketPort(Port(Engine(now_ms=int(time() * 1000)))) as port:
        yield port.address


@pytest.fixture
def client(address: tuple[str, int]) -> Iterator[RemotingClient]:
    """Yield a client of the port, which has created topic T."""
    with RemotingClient(address, timeout=20) as made:
        assert made.request(*topic_request("T", queues=1)).code == 0
        yield made


def message(**more: object) -> SendMessageRequestHeaderV2:
    """Return the header of a send to T."""
    text = properties_text({"TAGS": "A", "KEYS": "k1 k2"})
    base = {"producer_group": "PG", "topic": "T", "queue_id": 0, "sys_flag": 0, "born_timestamp": 5, "flag": 9}
    return SendMessageRequestHeaderV2(**{**base, "properties": text, **more})  # type: ignore[arg-type]  # as declared


PULL = pull_request("T", "G")


def test_a_sent_message_is_pulled_with_its_properties_hosts_and_ids(client: RemotingClient) -> None:
    sent = client.request(RequestCode.SEND_MESSAGE_V2, message(), b"hello")
    pulled = client.request(*PULL)
    (found,) = decode_messages(pulled.body)
    assert (found.topic, found.body, found.tag, found.keys) == ("T", b"hello", "A", ["k1", "k2"])
    assert (found.flag, found.born_timestamp, found.born_host) == (9, 5, client.local_address)
    assert found.offset_message_id == (sent.ext_fields or {})["msgId"]
    assert found.message_id == (sent.ext_fields or {})["transactionId"]


def test_pulled_batches_are_split_and_zlib_bodies_are_decompressed(client: RemotingClient) -> None:
    import zlib

    body = b"squeeze me " * 100
    assert client.request(RequestCode.SEND_MESSAGE_V2, message(sys_flag=1), zlib.compress(body)).code == 0
    pair = batch_body([(b"one", {"TAGS": "A"}), (b"two", {})])
    assert client.request(RequestCode.SEND_BATCH_MESSAGE, message(batch=True), pair).code == 0
    pulled = client.request(*PULL)
    assert [each.body for each in decode_messages(pulled.body)] == [body, b"one", b"two"]


def test_a_waiting_pull_does_not_block_later_requests_of_its_client(client: RemotingClient) -> None:
    """A waiting pull does not block the send that wakes it. Responses can be collected in any order."""
    waiting = client.submit(*pull_request("T", "G", suspend_ms=15000))
    sends = [client.submit(RequestCode.SEND_MESSAGE_V2, message(), b"%d" % n) for n in range(3)]
    assert [client.collect(each).code for each in reversed(sends)] == [0, 0, 0]
    assert decode_messages(client.collect(waiting).body)[0].body == b"0"


def test_a_oneway_send_is_stored_without_a_response(client: RemotingClient) -> None:
    client.oneway(RequestCode.SEND_MESSAGE_V2, message(), b"quiet")
    assert client.request(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": 0}).ext_fields == {"offset": "1"}


def test_server_requests_are_queued_apart_from_responses(client: RemotingClient) -> None:
    assert client.request(*heartbeat_request("c", groups={"G": {}})).code == 0
    push = client.next_server_request()
    assert (push.code, push.ext_fields, push.is_oneway) == (40, {"consumerGroup": "G"}, True)


def test_a_client_can_respond_to_a_server_request(client: RemotingClient) -> None:
    """A client can respond to a server's request. The request here is oneway, so the server drops the response."""
    client.request(*heartbeat_request("c", groups={"G": {}}))
    client.respond(client.next_server_request(), remark="done")
    assert client.request(9999).code == 3


def test_a_client_with_binary_headers_sends_a_message(address: tuple[str, int], client: RemotingClient) -> None:
    with RemotingClient(f"127.0.0.1:{address[1]}", binary=True, timeout=20) as binary:
        assert binary.request(RequestCode.SEND_MESSAGE_V2, message(), b"bin").code == 0


def test_after_a_timeout_the_response_can_still_be_collected(client: RemotingClient) -> None:
    """After a timeout the response can still be collected, and the connection stays usable."""
    waiting = client.submit(*pull_request("T", "G", suspend_ms=30000))
    with pytest.raises(RemotingTimeout):
        client.collect(waiting, timeout=0.05)
    with pytest.raises(RemotingTimeout):
        client.next_server_request(timeout=0)
    client.request(RequestCode.SEND_MESSAGE_V2, message(), b"late")
    assert client.collect(waiting).code == 0


def test_a_connection_closed_by_the_server_raises_connection_lost(client: RemotingClient) -> None:
    client.send_bytes(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(ConnectionLost):
        client.next_server_request()


def test_a_connection_to_a_closed_port_raises_connection_error() -> None:
    with pytest.raises(ConnectionError):
        RemotingClient("127.0.0.1:1", timeout=1)


def test_a_signature_covers_the_ext_fields_sorted_by_name() -> None:
    """The signature covers the values of all fields, the token included, in the order of field names, then the body."""
    ext = {"topic": "T", "AccessKey": "ak"}
    assert signature("sk", ext) == "vX6jW2Q9g11lvMjNC+gReuZ8fTQ="
    assert signature("sk", {**ext, "SecurityToken": "tok", "Signature": "old"}) == "lBJAxv3ke6xvagX3v2rETxrIBbQ="


def test_a_server_without_authentication_serves_signed_requests(
    address: tuple[str, int], client: RemotingClient
) -> None:
    with RemotingClient(address, credentials=Credentials("ak", "sk", "tok"), timeout=20) as signed:
        assert signed.request(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": 0}).code == 0
        assert signed.request(RequestCode.GET_ALL_TOPIC_CONFIG).code == 0


def test_with_an_ssl_context_the_whole_connection_is_encrypted() -> None:
    server, trust = certificates()
    with (
        SocketPort(Port(Engine(now_ms=int(time() * 1000))), server) as port,
        RemotingClient(port.address, tls=trust, server_hostname="localhost", timeout=20) as client,
    ):
        assert client.request(9999).code == 3
        large = client.request(RequestCode.SEND_MESSAGE_V2, message(), bytes(300_000))
        assert large.code == 0


def certificates() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return a server's context with a certificate for localhost, and a client's context that trusts it."""
    from datetime import UTC, datetime, timedelta
    from tempfile import NamedTemporaryFile

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    with NamedTemporaryFile(suffix=".pem") as file:
        file.write(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + pem
        )
        file.flush()
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(file.name)
    return server, ssl.create_default_context(cadata=pem.decode())


def test_records_are_split_by_their_size_fields() -> None:
    """Records are split by their sizes. A size below that of the size field, or beyond the bytes, raises ValueError."""
    small, larger = pack(">i", 4), pack(">i", 7) + b"abc"
    assert list(split_records(small + larger + small)) == [small, larger, small]
    for broken in (small + b"abc", pack(">i", 3), pack(">i", 8), larger[:-1]):
        with pytest.raises(ValueError, match=r"bytes after the last record|record of \d+ bytes"):
            list(split_records(broken))


def test_ext_fields_are_written_as_java_writes_them() -> None:
    """Booleans are `true` and `false`, and fields that are None are left out."""
    assert ext_texts({"order": True, "unique": False, "queueId": 3, "note": None}) == {
        "order": "true",
        "unique": "false",
        "queueId": "3",
    }
    assert ext_texts(None) is None
