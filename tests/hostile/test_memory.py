"""Bounded memory: handling a client's frame takes at most four times the memory of the largest frame.

Measured are peaks of Python's allocations, including the bytes from the socket.
"""

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from remoting_harness import Peer, Port, create, send
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.rules.request_size import FIELDS_MAX, count_fields, decoder
from rocketmq_testkit.grpc_v2.transport.grpc.messages import MessageReader
from rocketmq_testkit.grpc_v2.transport.grpc.status import StatusError
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire import inflate as inflating
from rocketmq_testkit.remoting.wire.errors import ProtocolError
from rocketmq_testkit.remoting.wire.inflate import TooLargeError, inflate
from rocketmq_testkit.remoting.wire.json_bounds import ASCII_BYTES_MAX, OTHER_BYTES_MAX, STRUCTURAL_CHARACTERS_MAX

pytestmark = pytest.mark.sampled

LIMIT = 4 * frame.MAX_FRAME_BYTES
FRAME = frame.MAX_FRAME_BYTES - 64
PIECE = 65_536
SEND = {"a": "P", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
PULL = {"consumerGroup": "G", "topic": "T", "queueId": "0", "queueOffset": "0", "maxMsgNums": "1", "sysFlag": "4"}
PULL = {**PULL, "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0"}


def filled(begin: str, fragment: str, end: str = "", size: int = FRAME) -> bytes:
    """Return a text of about `size` bytes: a beginning, a repeated fragment, an end."""
    return (begin + fragment * ((size - len(begin) - len(end)) // len(fragment.encode())) + end).encode()


def numbered(begin: str, fragment: str, end: str, count: int) -> bytes:
    """Return a list of `count` members, each with its own number."""
    return (begin + ",".join(fragment.replace("#", str(number)) for number in range(count)) + end).encode()


def header(code: RequestCode, **ext: str) -> bytes:
    """Return a JSON header."""
    fields = {"code": int(code), "language": "JAVA", "version": 479, "opaque": 7, "flag": 0, "extFields": ext}
    return json.dumps(fields).encode()


def request(code: RequestCode, body: bytes, **ext: str) -> bytes:
    """Return a frame with a JSON header."""
    head = header(code, **ext)
    return frame.join(head, body[: frame.MAX_FRAME_BYTES - len(head) - 4])


def binary(ext: dict[str, str], remark: bytes = b"") -> bytes:
    """Return a frame with a binary header."""
    fields = bytearray()
    for name, value in ext.items():
        fields += len(name).to_bytes(2, "big") + name.encode() + len(value).to_bytes(4, "big") + value.encode()
    head = bytes([1, 0x36, 0, 1, 0xDF, *bytes(8)]) + len(remark).to_bytes(4, "big") + remark
    return frame.join(head + len(fields).to_bytes(4, "big") + fields, b"x", frame.ROCKETMQ)


BEAT = RequestCode.HEART_BEAT
SUBSCRIPTIONS = '{"clientID":"c","consumerDataSet":[{"groupName":"G","subscriptionDataSet":['
MARKS = STRUCTURAL_CHARACTERS_MAX - 100
FRAMES: dict[str, Callable[[], bytes]] = {
    "header of blanks": lambda: frame.join(filled("{", " ")),
    "header with an open text": lambda: frame.join(filled('{"', "a")),
    "header of comments": lambda: frame.join(filled("{", "//\n")),
    "largest header of blanks": lambda: frame.join(filled("{", " ", size=ASCII_BYTES_MAX)),
    "largest header in single quotes": lambda: frame.join(filled("{'", "\\n", "':1}", ASCII_BYTES_MAX)),
    "largest header of wide characters": lambda: frame.join(filled("{'\U0001f600", "a", "':1}", OTHER_BYTES_MAX)),
    "header of escaped wide characters": lambda: frame.join(filled('{"\\ud83d\\ude00', "a", '":1}', ASCII_BYTES_MAX)),
    "header of lists": lambda: frame.join(filled('{"a":[', "[],", "1]}", MARKS * 3 // 2)),
    "header of members": lambda: frame.join(numbered('{"extFields":{', '"#":"x"', "}}", MARKS // 2)),
    "header of digits": lambda: frame.join(filled('{"code":', "9", "}", ASCII_BYTES_MAX)),
    "header of long numbers": lambda: frame.join(filled('{"code":[', "9" * 4000 + ",", "1]}", ASCII_BYTES_MAX)),
    "binary header of fields": lambda: binary({f"{number:x}": "b" for number in range(400_000)}),
    "binary header of wide characters": lambda: binary({}, filled("\U0001f600", "a", size=4_000_000)),
    "binary properties": lambda: binary({**SEND, "i": "".join(f"{n:x}\x01b\x02" for n in range(420_000))}),
    "properties": lambda: request(
        RequestCode.SEND_MESSAGE_V2, b"x", **SEND, i="".join(f"{n:x}\x01b\x02" for n in range(200_000))
    ),
    "body of blanks": lambda: request(BEAT, filled("{", " ")),
    "body with an open text": lambda: request(BEAT, filled('{"', "a")),
    "largest body of blanks": lambda: request(BEAT, filled("{", " ", size=ASCII_BYTES_MAX)),
    "largest body of comments": lambda: request(BEAT, filled("{", "/* */", size=ASCII_BYTES_MAX)),
    "largest body in single quotes": lambda: request(BEAT, filled("{'", "\\'", size=ASCII_BYTES_MAX)),
    "largest body of wide characters": lambda: request(BEAT, filled("{'\U0001f600", "a", "':1}", OTHER_BYTES_MAX)),
    "subscriptions": lambda: request(BEAT, filled(SUBSCRIPTIONS, '{"tagsSet":["ab"]},', "{}]}]}", MARKS // 4 * 19)),
    "empty subscriptions": lambda: request(BEAT, filled(SUBSCRIPTIONS, "{},", "{}]}]}", MARKS // 2 * 3)),
    "consumers": lambda: request(BEAT, filled('{"clientID":"c","consumerDataSet":[', "{},", "{}]}", MARKS // 2 * 3)),
    "producers": lambda: request(BEAT, numbered('{"producerDataSet":[', '{"groupName":"#"}', "]}", MARKS // 3)),
    "tags": lambda: request(BEAT, numbered(SUBSCRIPTIONS + '{"tagsSet":[', '"#"', "]}]}]}", MARKS)),
    "tag expression": lambda: request(
        RequestCode.PULL_MESSAGE, b"", **PULL, subscription="||".join(map(str, range(400_000)))
    ),
    "SQL": lambda: request(
        RequestCode.PULL_MESSAGE, b"", **PULL, expressionType="SQL92", subscription="a" + " OR a" * 800_000
    ),
    "SQL of as many tokens as are read": lambda: request(
        RequestCode.PULL_MESSAGE, b"", **PULL, expressionType="SQL92", subscription="a" + " OR a" * 24_990
    ),
    "message": lambda: request(RequestCode.SEND_MESSAGE_V2, filled("", "x"), **SEND),
    "batch": lambda: request(RequestCode.SEND_BATCH_MESSAGE, bytes(FRAME), **SEND, m="true"),
    "acknowledgements": lambda: request(
        RequestCode.BATCH_ACK_MESSAGE, numbered('{"acks":[', '{"c":"#"}', "]}", MARKS // 3)
    ),
    "configuration": lambda: request(RequestCode.UPDATE_BROKER_CONFIG, filled("", "a=1\n")),
    "largest configuration": lambda: request(
        RequestCode.UPDATE_BROKER_CONFIG, "".join(f"{n}=\n" for n in range(130_000)).encode()
    ),
    "configuration key": lambda: request(RequestCode.UPDATE_BROKER_CONFIG, filled("", "a", size=1_000_000)),
    "queues to lock": lambda: request(
        RequestCode.LOCK_BATCH_MQ, numbered('{"mqSet":[', '{"queueId":#}', "]}", MARKS // 3)
    ),
}


def handled(data: bytes) -> tuple[Peer, int]:
    """Return the peer that sent a frame in pieces, and the peak of memory while it was handled."""
    port = Port(Engine(now_ms=1_700_000_000_000, brokers=[BrokerConfig(enable_property_filter=True)]))
    peer = port.peer()
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    del data
    tracemalloc.start()
    try:
        for piece in pieces:
            if not peer.connection.received(bytes(bytearray(piece))):  # measure a copy
                break
        return peer, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_costs_at_most_the_memory_of_four_frames(name: str) -> None:
    """A frame costs at most the memory of four frames, whether it gets a response or ends its connection."""
    _, peak = handled(FRAMES[name]())
    assert peak <= LIMIT


@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_frame_in_small_pieces_costs_at_most_the_memory_of_four_frames(size: int) -> None:
    """Small pieces, each an object of forty bytes until they are joined, do not add to the memory of a frame."""
    data = frame.join(b"{}", bytes(range(256)) * 800)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    splitter = frame.FrameSplitter()
    tracemalloc.start()
    try:
        found = [each for piece in pieces for each in splitter.feed(bytes(bytearray(piece)))]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [body for _, _, body in found] == [bytes(range(256)) * 800]
    assert peak <= 4 * len(data)


def test_tags_of_clients_are_not_kept_after_the_journal_drops_the_requests() -> None:
    """Tags of subscriptions and of messages take no memory once the journal has dropped the requests."""
    port = Port(Engine(now_ms=1_700_000_000_000))
    peer = port.peer()
    create(peer, "T")

    def ask(number: int) -> None:
        peer.exchange(RequestCode.PULL_MESSAGE, {**PULL, "sysFlag": "4", "subscription": f"{number}" + "x" * 100_000})
        send(peer, "T", TAGS=f"{number}" + "x" * 30_000)

    for number in range(40):
        if number == 10:
            port.engine.journal.clear()
            tracemalloc.start()
            stored = port.engine.brokers[0].store.log.max_offset
        ask(number)
    port.engine.journal.clear()
    grown = tracemalloc.get_traced_memory()[0] - (port.engine.brokers[0].store.log.max_offset - stored)
    tracemalloc.stop()
    assert grown < 1_000_000  # of 3,900,000 characters


def test_history_of_long_and_unique_names_takes_little_memory() -> None:
    """The history keeps a limited number of records about refused requests, groups and connections, of limited size."""
    port = Port(Engine(emulation=EmulationConfig(journal_max_entries=0), now_ms=1_700_000_000_000))
    create(port.peer(), "T")
    send(port.peer(), "T")
    long = "x" * 10_000
    tracemalloc.start()
    for number in range(600):
        peer = port.peer()
        peer.exchange(RequestCode.PULL_MESSAGE, {**PULL, "consumerGroup": f"G{number}", "subscription": "*"})
        peer.exchange(RequestCode.PULL_MESSAGE, {**PULL, "topic": f"{number}{long}", "consumerGroup": long})
        peer.exchange(RequestCode.SEND_MESSAGE_V2, {**SEND, "b": f"{number}{long}", "i": f"UNIQ_KEY\x01{number}{long}"})
        peer.connection.closed()
    notes = tracemalloc.take_snapshot().filter_traces(
        [tracemalloc.Filter(inclusive=True, filename_pattern="*/history/*")]
    )
    tracemalloc.stop()
    history = port.engine.history
    assert (len(history.refused()), len(history.record)) == (1_000, 600)
    assert sum(each.size for each in notes.statistics("filename")) < 1_000_000  # of 24,000,000 characters


@pytest.mark.parametrize("count", [1, 50])
def test_a_large_but_usual_heartbeat_is_accepted(count: int) -> None:
    """A heartbeat with fifty groups of a hundred topics, more than real clients send, is accepted."""
    subscriptions = [
        {"topic": f"T{n}", "subString": "*", "tagsSet": [], "codeSet": [], "subVersion": n} for n in range(100)
    ]
    groups = [{"groupName": f"G{n}", "subscriptionDataSet": subscriptions} for n in range(count)]
    body = json.dumps({"clientID": "c", "consumerDataSet": groups}).encode()
    peer, _ = handled(request(BEAT, body))
    assert [response.code for response in peer.received()][-1:] == [0]


def test_a_rejected_request_names_the_limit() -> None:
    """A rejected request names the limit. A header above the limit ends its connection with a line in the log."""
    peer, _ = handled(request(BEAT, filled("{", " ")))
    (response,) = peer.received()
    assert (response.code, (response.remark or "").partition(" bytes of JSON")[2]) == (
        1,
        f", the limit is {ASCII_BYTES_MAX}",
    )
    peer, _ = handled(request(BEAT, filled('{"a":[', "1,", "1]}", 2 * STRUCTURAL_CHARACTERS_MAX + 20)))
    assert f"the limit is {STRUCTURAL_CHARACTERS_MAX}" in (peer.received()[0].remark or "")
    with pytest.raises(ProtocolError, match="limit"):
        list(frame.FrameSplitter().feed(frame.join(bytes(frame.HEADER_BYTES_MAX + 1))))


def test_a_grpc_request_of_countless_messages_is_refused() -> None:
    """A gRPC request of countless empty messages is rejected, because each takes two bytes, and sixty when decoded."""
    decode = decoder(sv.SendMessageRequest)
    usual = sv.SendMessageRequest(messages=[pb.Message(body=bytes(1000))] * 1000).SerializeToString()
    assert len(decode(usual).messages) == 1000  # type: ignore[attr-defined]  # a send request
    many = 2 * FIELDS_MAX
    body = sv.SendMessageRequest(messages=[pb.Message(body=b"\x0a\x00" * many)]).SerializeToString()
    assert len(decode(body).messages) == 1  # type: ignore[attr-defined]  # as above
    for hostile in (b"\x0a\x00" * many, b"\x08\x01" * many, b"\x0a\x80\xb5\x18" + b"\x0a\x00" * many):
        with pytest.raises(Exception, match="more than"):
            decode(hostile)


def test_fields_are_counted_by_the_schema() -> None:
    """Fields of nested messages are counted by the schema. Bytes in texts and bodies that look like fields are not."""
    message = pb.Message(topic=pb.Resource(name="T"), body=b"\x0a\x00" * 50)
    data = sv.SendMessageRequest(messages=[message, message]).SerializeToString()
    assert count_fields(data, sv.SendMessageRequest.DESCRIPTOR, 1000) == 2 * 4
    assert count_fields(data, sv.SendMessageRequest.DESCRIPTOR, 3) == 4


def test_a_compressed_grpc_message_is_inflated_up_to_the_limit() -> None:
    """A gzip message of a thousand times its length is rejected before it is decompressed completely."""
    bomb = gzip.compress(bytes(64 * 1024 * 1024))
    reader = MessageReader(1024 * 1024, gzip=True)
    reader.feed(b"\x01" + len(bomb).to_bytes(4, "big") + bomb)
    tracemalloc.start()
    try:
        with pytest.raises(StatusError, match="exceeds maximum size"):
            reader.take()
        assert tracemalloc.get_traced_memory()[1] < 4 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_compressed_body_is_inflated_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body is decompressed up to exactly the limit. Truncated or invalid data is rejected."""
    monkeypatch.setattr(inflating, "INFLATED_BYTES_MAX", 100_000)
    largest = zlib.compress(bytes(100_000))
    assert len(inflate(largest)) == 100_000
    assert inflate(gzip.compress(b"x"), or_gzip=True) == b"x"
    with pytest.raises(TooLargeError, match="100000"):
        inflate(zlib.compress(bytes(100_001)))
    for broken in (largest[:-4], b"", b"x"):
        with pytest.raises(ValueError, match="compressed body"):
            inflate(broken)
