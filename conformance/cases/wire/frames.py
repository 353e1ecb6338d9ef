"""Valid and invalid frames and headers on the wire."""

from collections.abc import Mapping

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire import frame

from ...case import remoting_case
from ...clients.json_text import dumps
from ...context.remoting import RemotingContext, connection_state, reply_to

ALWAYS_SERVED_CODE = int(RequestCode.GET_CONSUMER_LIST_BY_GROUP)
NOBODY = {"consumerGroup": "nobody"}


def header(opaque: int = 77, **members: object) -> bytes:
    """Return the JSON header of a request that always gets a response, with changed members."""
    plain = {
        "code": ALWAYS_SERVED_CODE,
        "language": "JAVA",
        "version": 479,
        "opaque": opaque,
        "flag": 0,
        "extFields": NOBODY,
    }
    return dumps({name: value for name, value in {**plain, **members}.items() if value is not ...})


def answer_to(connection: RemotingClient, data: bytes, opaque: int = 77) -> object:
    """Send bytes and return the response."""
    connection.send_bytes(data)
    return reply_to(connection, opaque, 10)


def seen(t: RemotingContext, cases: Mapping[str, bytes], *, seconds: float = 0.5) -> None:
    """Send the bytes of each case on a connection of their own; record the response and the connection's state."""
    for label, data in cases.items():
        connection = t.connect()
        connection_state(connection)  # a server ignores the start of a connection before it has 12 bytes
        connection.send_bytes(data)
        answered = reply_to(connection, 77, seconds)
        t.note(label, [answered, connection_state(connection) if answered != "closed" else "closed"])


@remoting_case("NettyDecoder.decode")
def garbage_closes_the_connection(t: RemotingContext) -> None:
    """Bytes that are not a frame close the connection without a response."""
    seen(
        t,
        {
            "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "20 MB": (20_000_000).to_bytes(4, "big") + b"x" * 100,
            "negative length": b"\xff" * 4 + bytes(60),
            "header longer than the frame": bytes.fromhex("00000008 00000100 00000000"),
            "header is no JSON": frame.join(b"not json"),
            "header is cut": frame.join(header()[:-1]),
            "header is empty": frame.join(b""),
        },
        seconds=10,
    )


@remoting_case("RemotingCommand.headerDecode")
def only_json_object_headers_keep_the_connection_open(t: RemotingContext) -> None:
    """A header that is an empty JSON object counts as a request without opaque.

    Other JSON types close the connection.
    """
    seen(
        t,
        {
            "object": frame.join(b"{}"),
            "null": frame.join(b"null"),
            "list": frame.join(b"[]"),
            "number": frame.join(b"5"),
            "text": frame.join(b'"text"'),
            "a response to nothing": frame.join(header(flag=1)),
            "code is a text": frame.join(header(code="x")),
        },
    )


@remoting_case("RemotingCommand.headerDecode")
def an_unknown_serialize_type_closes_the_connection(t: RemotingContext) -> None:
    """A frame with an unknown serialize type closes the connection."""
    seen(t, {"type 9": frame.join(header(), serialize_type=9), "type 255": frame.join(header(), serialize_type=255)})


@remoting_case("NettyDecoder.decode")
def a_frame_received_in_parts_is_served_when_complete(t: RemotingContext) -> None:
    """A frame is served when its last byte arrives, which may come together with the next frame."""
    data = frame.join(header(), b"body")
    connection = t.connect()
    for part in (data[:2], data[2:30], data[30:]):
        connection.send_bytes(part)
    t.note("in three parts", reply_to(connection, 77, 10))
    connection.send_bytes(frame.join(header(1)) + frame.join(header(2)) + data[:20])
    t.note("first", reply_to(connection, 1, 10))
    t.note("second", reply_to(connection, 2, 10))
    t.note("rest", answer_to(connection, data[20:]))


@remoting_case("NettyDecoder.decode")
def a_frame_longer_than_16_mib_closes_the_connection(t: RemotingContext) -> None:
    """A frame with a length of 16 MiB is read; one more byte closes the connection."""
    size = 16 * 1024 * 1024
    head = header()
    connection = t.connect()
    t.note("16 MiB", answer_to(connection, frame.join(head, bytes(size - 4 - 4 - len(head)))))
    seen(t, {"one more": (size + 1).to_bytes(4, "big") + bytes(64)}, seconds=10)


@remoting_case("RemotingSerializable.fromJson")
def json_headers_may_vary_in_white_space_members_and_value_types(t: RemotingContext) -> None:
    """A header may have white space, any order, missing members, and numbers and null as fields."""
    ways: dict[str, bytes] = {
        "white space": b'\n {\t"opaque" : 77 , "code":%d, "extFields": {"consumerGroup": "nobody"} } \r\n'
        % ALWAYS_SERVED_CODE,
        "few members": b'{"code":%d,"opaque":77,"extFields":{"consumerGroup":"nobody"}}' % ALWAYS_SERVED_CODE,
        "numbers as texts": header(code=str(ALWAYS_SERVED_CODE), version="479", flag="0"),
        "fields that are no texts": header(
            extFields={**NOBODY, "n": 5, "f": 1.5, "b": True, "z": None, "l": [1], "m": {}}
        ),
        "unknown members": header(later="version", remark="hello", serializeTypeCurrentRPC="JSON"),
        "null members": header(remark=None, language=None, version=None),
        "no fields": header(extFields=...),
        "null fields": header(extFields=None),
        "unknown language": header(language="COBOL"),
        "language as number": header(language=3),
        "large version": header(version=99999),
        "other flags": header(flag=4),
        "escapes": header().replace(b"nobody", b"no\\u0062ody"),
        "raw newline in a text": header().replace(b"nobody", b"no\nbody"),
        "a name twice": header()[:-1] + b',"opaque":77,"flag":0}',
        "byte order mark": b"\xef\xbb\xbf" + header(),
        "more behind": header() + b"  {}",
    }
    seen(t, {label: frame.join(data) for label, data in ways.items()}, seconds=1.5)


@remoting_case("RemotingSerializable.fromJson")
def most_non_strict_json_headers_are_accepted(t: RemotingContext) -> None:
    """Headers that are not strict JSON are read: single quotes, bare names, a trailing comma or a comment."""
    ways = {
        "single quotes": header().replace(b'"', b"'"),
        "bare names": b'{code:%d,opaque:77,extFields:{consumerGroup:"nobody"}}' % ALWAYS_SERVED_CODE,
        "trailing comma": header()[:-1] + b",}",
        "comment": b"/* c */" + header(),
    }
    seen(t, {label: frame.join(data) for label, data in ways.items()}, seconds=1.5)


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def the_opaque_of_a_request_is_returned_unchanged(t: RemotingContext) -> None:
    """The opaque of a request is returned unchanged, even if it is negative, the largest one, or used twice."""
    for opaque in (-7, 0, 2147483647, -2147483648):
        connection = t.connect()
        t.note(f"{opaque}", answer_to(connection, frame.join(header(opaque)), opaque))
    connection = t.connect()
    t.note("twice", [answer_to(connection, frame.join(header())) for _ in range(2)])


@remoting_case("RemotingCommand.encodeHeader")
def requests_with_a_binary_header_get_json_responses(t: RemotingContext) -> None:
    """Brokers and name servers read binary headers and respond with JSON."""
    topic = t.topic(queues=1)
    broker = t.connect(binary=True)
    t.note("sent", t.send(topic, "binary", tag="B", to=broker), 0)
    t.note("stored", t.stored(topic), 0)
    t.note("unknown", t.request(9999, {}, to=broker), 3)
    t.note("refused", t.send(topic, queue=5, to=broker), 29)
    namesrv = t.connect(t.deployment.access.namesrv, binary=True)
    t.note("route", t.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=namesrv), 0)


@remoting_case("RocketMQSerializable.rocketMQProtocolEncode")
def a_pop_with_a_binary_header_is_rejected_as_an_unknown_code(t: RemotingContext) -> None:
    """A binary header has only 16 bits for the code, so a pop's code arrives as an unknown one."""
    t.note("pop", t.request(RequestCode.POP_MESSAGE & 0xFFFF, {}, to=t.connect(binary=True)), 3)


@remoting_case("RocketMQSerializable.rocketMQProtocolDecode")
def truncated_binary_headers_close_the_connection(t: RemotingContext) -> None:
    """A binary header that is too short or has wrong lengths closes the connection."""
    good = bytes.fromhex("0026 00 01df 0000004d 00000000 00000000")
    fields = b"\x00\x0dconsumerGroup\x00\x00\x00\x06nobody"
    whole = good + len(fields).to_bytes(4, "big") + fields
    headers = {
        "whole": whole,
        "cut": whole[:-3],
        "no fields": good + bytes(4),
        "empty": b"",
        "half": good[:9],
        "negative length of fields": good + b"\xff" * 4,
        "length of fields too large": good + (100).to_bytes(4, "big") + fields,
        "more behind": whole + b"xyz",
        "negative length of a value": good + (19).to_bytes(4, "big") + b"\x00\x0dconsumerGroup\xff\xff\xff\xff",
    }
    framed = {}
    for label, data in headers.items():
        framed[label] = frame.join(data, serialize_type=1)
    seen(t, framed, seconds=1.5)


@remoting_case("NettyRemotingServer.HandshakeHandler.decode, NettyRemotingServer.HAProxyMessageHandler.channelRead")
def a_proxy_protocol_line_does_not_change_the_born_host(t: RemotingContext) -> None:
    """A PROXY protocol line before the first frame is accepted, but the born host is still the proxy's address."""
    topic = t.topic(queues=1)
    connection = t.connect()
    connection.send_bytes(b"PROXY TCP4 192.0.2.7 192.0.2.1 5555 10911\r\n")
    t.note("sent", t.send(topic, "proxied", to=connection), 0)
    [message] = t.stored(topic).messages
    t.note("birth host is the connection's", message.born_host == connection.local_address)


@remoting_case("NettyRemotingServer.TlsModeHandler.channelRead0")
def a_connection_with_an_invalid_tls_handshake_is_not_served(t: RemotingContext) -> None:
    """A connection that starts like TLS but continues with other bytes is not served."""
    connection = t.connect()
    connection.send_bytes(bytes.fromhex("16030100050100000100") + b"x" * 50)
    t.note("response", reply_to(connection, 77, 10))
