"""Every parser of input from clients, files and users does work in proportion to its input.

Hostile inputs are doubled, and operations are counted instead of timed. Work that C does within one call, such as
copying the rest of a text repeatedly, shows in the processor time of long inputs.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from struct import pack
from typing import Any
from zlib import crc32

import pytest
from control_parsers import CONTROL_FRAGMENTS, CONTROL_PARSERS
from operation_counts import operations
from pyspark_rocketmq.audit.events import parse as parse_event
from pyspark_rocketmq.options.offsets import positions_from
from pyspark_rocketmq.options.option import read_options
from pyspark_rocketmq.options.options import SinkOptions, SourceOptions
from pyspark_rocketmq.options.schema import parse as parse_columns
from pyspark_rocketmq.sql.tables import _parsed as table_options
from rocketmq_testkit.conformance.targets.target_option import parse_target
from rocketmq_testkit.emulator.auth.acl_requests import _is_source as is_source
from rocketmq_testkit.emulator.auth.policies import Resource
from rocketmq_testkit.emulator.config import BrokerConfig, parse_properties
from rocketmq_testkit.emulator.config.keys import unknown_key
from rocketmq_testkit.emulator.filter.message_filter import build_subscription
from rocketmq_testkit.emulator.filter.sql_filter import SqlExpression
from rocketmq_testkit.emulator.kernel.durations import milliseconds
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.java_numbers import parse_double, parse_integer, parse_long
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message import names, properties
from rocketmq_testkit.emulator.message.batch import are_well_formed, split_batch
from rocketmq_testkit.emulator.message.receipt import parse_extra_info, parse_for_record
from rocketmq_testkit.emulator.message.stored_record import decode as decode_record
from rocketmq_testkit.emulator.pop.check_point import Ack, CheckPoint
from rocketmq_testkit.emulator.schedule.delay_levels import parse_delay_levels
from rocketmq_testkit.emulator.schedule.recall_service import RecallHandle
from rocketmq_testkit.emulator.snapshot.snapshot_file import ENGINE, MAGIC, VERSION, read_snapshot
from rocketmq_testkit.emulator.store import tags_code
from rocketmq_testkit.emulator.store.consume_queue import messages_in_record
from rocketmq_testkit.emulator.store.lmq_dispatch import _offsets as light_offsets
from rocketmq_testkit.emulator.transaction.op_queue import half_offsets
from rocketmq_testkit.fixtures.network.first_bytes import FirstBytes
from rocketmq_testkit.fixtures.network.protocol_by_first_bytes import recognize_protocol
from rocketmq_testkit.fixtures.network.route_address import RouteAddress
from rocketmq_testkit.fixtures.options.options import Options, TopicOption
from rocketmq_testkit.fixtures.values.addresses import split_host_port
from rocketmq_testkit.grpc_v2.config.duration_lists import delays_ms, times_ms
from rocketmq_testkit.grpc_v2.convert.message_encoder import parse_number
from rocketmq_testkit.grpc_v2.convert.receipt_handle import ReceiptHandle
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.authorization import _signed as signature_in
from rocketmq_testkit.grpc_v2.proxy.routes import _order_conf_queues as order_conf_queues
from rocketmq_testkit.grpc_v2.rules.proxy_rules import check_group, check_topic
from rocketmq_testkit.grpc_v2.rules.request_size import decoder
from rocketmq_testkit.grpc_v2.rules.status import from_broker_exception
from rocketmq_testkit.grpc_v2.transport.grpc.messages import MessageReader
from rocketmq_testkit.grpc_v2.transport.grpc.metadata import decode_binary, parse_timeout, percent_encode
from rocketmq_testkit.grpc_v2.transport.http2.header_decoder import HeaderDecoder
from rocketmq_testkit.grpc_v2.transport.http2.huffman import decode_huffman
from rocketmq_testkit.grpc_v2.transport.http2.limits import Limits
from rocketmq_testkit.grpc_v2.transport.http2.request_blocks import RequestBlocks
from rocketmq_testkit.grpc_v2.transport.http2.request_head import HeadReader
from rocketmq_testkit.grpc_v2.transport.http2.settings import decode_settings
from rocketmq_testkit.remoting.bodies import reading
from rocketmq_testkit.remoting.bodies.client import HeartbeatBody, LockBody
from rocketmq_testkit.remoting.bodies.properties_text import read_properties
from rocketmq_testkit.remoting.bodies.topic import attribute_changes
from rocketmq_testkit.remoting.client.messages import split_records
from rocketmq_testkit.remoting.wire import frame, header_binary, header_json, json_values, lenient_json
from rocketmq_testkit.remoting.wire.proxy_protocol import ProxyPrologue
from rule_parsers import RULE_PARSERS

pytestmark = pytest.mark.sampled

FRAGMENTS = [
    *"a09 \n\t/'\"\\,;:.=-+*%|{[(])\x00\x01\x02\u00e4\U0001f600\ud800",
    *("\r\n", "//", "//\n", "/*", "*/", "/**/", "--\n", '\\"', "\\'", "''", "||", "a||", "a;", "a,", "a=b,", "+a=b,"),
    *("a:", "a: ", "a.", "a ", "{a:", '{"a":', "[[", "[]", "[],", "{},", '"a":1,', "'a',", "{{", "1,", "a\x01b\x02"),
    *("( ", "a OR ", "a AND ", "NOT ", "- ", "a = b OR ", "IS NULL ", "0.", "1e", "1s", "1h ", "\\u0041"),
]
BEGINNINGS = ("", "{", '{"', "{'", "[", "a = ", "'", "1", "GET / HTTP/1.1\r\n")
SHORT, LONG = 60, 120


def _rest(parse: Callable[[bytes], object]) -> Callable[[str], object]:
    return lambda text: parse(text.encode("utf-8", "surrogatepass"))


def _bytewise(feed: Callable[[bytes], object]) -> Callable[[str], object]:
    def parse(text: str) -> None:
        for byte in text.encode("utf-8", "surrogatepass"):
            list(feed(bytes([byte])) or ())  # type: ignore[call-overload]  # frames or bytes

    return parse


def _prologue(text: str) -> None:
    prologue = ProxyPrologue()
    for byte in text.encode("utf-8", "surrogatepass"):
        if prologue.feed(bytes([byte])) is not None:
            break


def _first_bytes(text: str) -> None:
    """Feed the first bytes of a connection one by one until its protocol is known."""
    first = FirstBytes()
    for byte in text.encode("utf-8", "surrogatepass"):
        if first.feed(bytes([byte])) is not None:
            break


def _section(content: bytes) -> None:
    """Read a snapshot whose first section has this content and valid checks."""
    data = MAGIC + pack(">I", VERSION) + pack(">4sQ", ENGINE, len(content))
    data += pack(">I", crc32(data)) + content
    read_snapshot(BytesIO(data + pack(">I", crc32(data))))


def _tags(text: str) -> None:
    tags_code.code_of_short_tag.cache_clear()
    build_subscription("T", text)


def _fields(text: str) -> list[tuple[str, str]]:
    pseudo = [(":method", "POST"), (":scheme", "http"), (":path", "/a")]
    return [*pseudo, *((part or "x", text) for part in text.split(" "))]


def _source(text: str) -> object:
    return read_options(SourceOptions, {"namesrvaddr": text, "topics": text, text: text}, "read")


def _sink(text: str) -> object:
    return read_options(SinkOptions, {"namesrvaddr": text, "topic": text, "mode": text}, "write")


PARSERS: dict[str, Callable[[str], Any]] = {
    "SQL": SqlExpression,
    "tags": _tags,
    "properties": properties.decode,
    "long properties": properties._decode_large,
    "usual properties": lambda text: are_well_formed([text.encode("utf-8", "replace")] * 3, ("TAGS", "KEYS")),
    "batch": _rest(split_batch),
    "topic name": names.check_topic,
    "group name": names.is_legal_group,
    "int": parse_integer,
    "long": parse_long,
    "double": parse_double,
    "receipt handle": parse_extra_info,
    "receipt handle of a record": parse_for_record,
    "recall handle": RecallHandle.parse,
    "check point": _rest(lambda body: CheckPoint.from_json(body, 0)),
    "acknowledgement": _rest(Ack.from_json),
    "resource": Resource.parse,
    "delay levels": parse_delay_levels,
    "configuration file": parse_properties,
    "configuration key": lambda text: unknown_key(text, BrokerConfig.attributes()),
    "configuration number": lambda text: BrokerConfig().set("maxMessageSize", text),
    "frames": lambda text: _bytewise(frame.FrameSplitter().feed)(text),
    "frames in one piece": _rest(lambda data: list(frame.FrameSplitter().feed(data))),
    "PROXY prologue": lambda text: _prologue("PROXY " + text),
    "PROXY prologue 2": lambda text: _prologue("\r\n\r\n\x00\r\nQUIT\n!\x11\x7f\x7f" + text),
    "JSON header": _rest(header_json.loads),
    "head of a request": _rest(header_json.read_head),
    "command": _rest(header_json.decode),
    "lenient JSON": lenient_json.loads,
    "binary header": _rest(lambda data: header_binary.decode(bytes(17) + bytes([0, 0, 1, 0]) + data)),
    "JSON body": _rest(reading.loads),
    "heartbeat": _rest(HeartbeatBody.parse),
    "lock": _rest(LockBody.parse),
    "number of a body": lambda text: json_values.integer(text, "a"),
    "configuration body": _rest(read_properties),
    "topic attributes": attribute_changes,
    "gRPC topic": lambda text: check_topic(text, ()),
    "gRPC group": check_group,
    "gRPC receipt handle": ReceiptHandle.parse,
    "gRPC durations": delays_ms,
    "gRPC times": times_ms,
    "gRPC request": _rest(lambda data: decoder(sv.SendMessageRequest)(data)),
    "exception of a broker": lambda text: from_broker_exception(
        EngineError(ResponseCode.SYSTEM_ERROR, "java.a: " + text)
    ),
    "header block": _rest(lambda data: RequestBlocks(Limits()).decode(data)),
    "number of a property": parse_number,
    "HPACK": _rest(lambda data: HeaderDecoder().decode(data)),
    "Huffman": _rest(decode_huffman),
    "metadata": decode_binary,
    "time-out": parse_timeout,
    "status message": percent_encode,
    "request head": lambda text: HeadReader(65536).read(_fields(text)),
    "gRPC messages": lambda text: _bytewise(MessageReader(4096, gzip=True).feed)(text),
    "duration": lambda text: milliseconds(text, "by"),
    "topic option": TopicOption.parse,
    "address": split_host_port,
    "first bytes": _first_bytes,
    "first bytes after a prologue": lambda text: _first_bytes("PROXY UNKNOWN\r\n" + text),
    "protocol by first bytes": _rest(recognize_protocol),
    "authority of a gRPC client": RouteAddress._split_authority,
    "signature of a gRPC client": lambda text: signature_in({"authorization": "a " + text, "x-mq-date-time": "x"}),
    "HTTP/2 settings": _rest(decode_settings),
    "order configuration": order_conf_queues,
    "source of a right": is_source,
    "LMQs": light_offsets,
    "inner number": lambda text: messages_in_record({"INNER_NUM": text}),
    "op message": _rest(half_offsets),
    "records of a response": _rest(split_records),
    "stored record": _rest(lambda data: decode_record(bytes(84) + data)),
    "snapshot": _rest(lambda data: read_snapshot(BytesIO(data))),
    "snapshot of one section": _rest(_section),
    "advertised address": lambda text: Options.of({"advertise": text}),
    "conformance target": parse_target,
    "line of an audit journal": parse_event,
    "positions of a source": positions_from,
    "options of a table": table_options,
    **CONTROL_PARSERS,
    **RULE_PARSERS,
    "source options": _source,
    "sink options": _sink,
    "columns": parse_columns,
}


@dataclass(frozen=True)
class CostGrowth:
    """The cost of one hostile input at two lengths."""

    text: str
    short: int
    long: int

    @property
    def is_linear(self) -> bool:
        """True if twice the input costs about twice as much. Four times as much would be quadratic."""
        return self.long <= 2.9 * self.short + 800


def cost_growth(parse: Callable[[str], Any], beginning: str, fragment: str, end: str = "") -> CostGrowth:
    """Measure the operations for an input and for one of twice its length."""
    short, long = (operations(lambda n=n: parse(beginning + fragment * n + end)) for n in (SHORT, LONG))  # type: ignore[misc]  # bound at once
    return CostGrowth(f"{beginning!r} + {fragment!r} * n + {end!r}", short, long)


@pytest.mark.parametrize("name", PARSERS)
def test_the_work_of_a_parser_grows_linearly_with_its_input(name: str) -> None:
    """Twice the input takes about twice the operations, for every repeated fragment after every beginning."""
    parse = PARSERS[name]
    fragments = FRAGMENTS + CONTROL_FRAGMENTS if name in CONTROL_PARSERS else FRAGMENTS
    parse_once = [cost_growth(parse, beginning, fragment) for beginning in BEGINNINGS for fragment in fragments]
    assert [each for each in parse_once if not each.is_linear] == []


EXPRESSIONS = [
    ("", "+", "1 > a"),
    ("", "+", ""),
    ("", "+(", "a"),
    ("", "+ a OR + ", "a"),
    ("", "(", "a = 1"),
    ("", "NOT ", "TRUE"),
    ("", "- ", "1 > a"),
    ("a", " OR a = 1", " OR 5"),
    ("a", " AND a", ""),
    ("a", " = b", ""),
    ("a", " IS NULL", ""),
    ("a", " BETWEEN 1 AND 2 AND a", " BETWEEN 1 AND 2"),
    ("a IN (", "'x', ", "'y')"),
    ("a = ", "0", ""),
    ("a > 1", " + ", ""),
]


@pytest.mark.parametrize(("beginning", "fragment", "end"), EXPRESSIONS)
def test_a_whole_expression_is_compiled_in_linear_time(beginning: str, fragment: str, end: str) -> None:
    """Signs, whose operands are read ahead, and chains, whose parts have texts of their own, compile in linear time."""
    found = cost_growth(SqlExpression, beginning, fragment, end)
    assert found.is_linear, found


def test_a_quadratic_parser_is_detected() -> None:
    def quadratic(text: str) -> None:
        seen: list[str] = []
        for character in text:
            seen.append(character)
            for _ in seen:
                pass

    assert not cost_growth(quadratic, "", "a").is_linear


ONE_MEGABYTE = 1_000_000
LONG_INPUTS = {
    "SQL": ["+" * 15_000 + "1 > a", "a" + " OR a" * 20_000 + " OR 5", "a = '" + "x''" * 300_000, " " * ONE_MEGABYTE],
    "properties": ["a\x01b\x02" * 250_000, "\x02" * ONE_MEGABYTE],
    "tags": ["a||" * 300_000, "a" * ONE_MEGABYTE],
    "double": ["0" * ONE_MEGABYTE + "!", "0" * 500_000 + "." + "0" * 500_000 + "!"],
    "long": ["0" * ONE_MEGABYTE + "1", "9" * ONE_MEGABYTE],
    "lenient JSON": ["{//" + "/" * ONE_MEGABYTE + "\n/", "{" + "//\n" * 300_000, '"' + "\\u0041" * 150_000],
    "JSON header": ["{" + "//" * 30 + "\n/", "{" + " " * ONE_MEGABYTE, '{"' + "a" * ONE_MEGABYTE, "9" * ONE_MEGABYTE],
    "JSON body": ["[" * ONE_MEGABYTE, '{"a":' * 200_000, "{'" + "\\'" * 500_000, "[" + ("9" * 4000 + ",") * 200],
    "PROXY prologue 2": ["a" * 32_000],
    "metadata": [" " * ONE_MEGABYTE + "!", "a," * 300_000],
    "recall handle": ["a" * ONE_MEGABYTE, "=" * ONE_MEGABYTE],
    "configuration key": ["a" * ONE_MEGABYTE, "brokerName" * 10],
    "configuration number": ["9" * ONE_MEGABYTE],
    "HPACK": ["\x7f" * 100_000, "\x40\x01a\x01b" * 50_000],
    "control requests": ["GET / HTTP/1.1\r\n\r\n" * 20_000, "\r\n" * 500_000, "a" * ONE_MEGABYTE],
    "control chunks": ["1\r\na\r\n" * 150_000, "f4240\r\n" + "a" * ONE_MEGABYTE],
    "control trailers": ["a: b\r\n" * 150_000],
    "control headers": ["a: b\r\n" * 2_000, "a:" + " " * 16_000],
    "control path": ["/" * 16_000, "/%41" * 4_000],
    "control query": ["a=1&" * 250_000, "%41" * 300_000, "&" * ONE_MEGABYTE],
    "control fields": ['"queues":1,' * 90_000, '"' + '\\"' * 500_000, '"a":[' * 190_000],
    "control authority": ["a" * ONE_MEGABYTE, "[" + ":" * ONE_MEGABYTE, "a:" + "9" * ONE_MEGABYTE],
    "head of a request": ["{" + "//" * 30 + "\n/", "[" * ONE_MEGABYTE, '{"code":1,' * 100_000],
    "header block": ["\x7f" * 100_000, "\x40\x01a\x01b" * 50_000],
    "times of pools": ["send=1 " * 150_000, "a " * 500_000],
    "name that a pattern matches": ["a" * ONE_MEGABYTE, "ab" * 500_000],
    "keys that a rule matches": ["a " * 500_000, "a" * ONE_MEGABYTE],
    "rule of a JSON file": ["[" * ONE_MEGABYTE, '{"a":' * 200_000],
    "instant": ["9" * ONE_MEGABYTE, "2026-" * 200_000],
    "first bytes": ["PROXY " + "a" * 100_000, "\r\n\r\n\x00\r\nQUIT\n" + "a" * 100_000],
    "snapshot of one section": ["[" * ONE_MEGABYTE, "9" * ONE_MEGABYTE],
    "gRPC request": ["\x0a\x00" * 500_000, "\x08\x01" * 500_000],
}
SECONDS = 6.0
"""Limit of processor time for a megabyte. Linear parsers need a tenth of it, quadratic ones hours."""


@pytest.mark.alone
@pytest.mark.parametrize("name", LONG_INPUTS)
def test_a_megabyte_is_parsed_or_rejected_within_seconds(name: str) -> None:
    for text in LONG_INPUTS[name]:
        begun = time.process_time()
        with suppress(Exception):  # the kind of error is covered by other tests
            PARSERS[name](text)
        assert time.process_time() - begun < SECONDS, text[:40]


@pytest.mark.parametrize("digits", [19, 20, 4299, 4301, 100_000])
def test_long_numbers_are_read_as_java_reads_them(digits: int) -> None:
    """A number of thousands of digits is parsed or rejected as in Java, regardless of Python's limit."""
    assert json.loads(json.dumps({"a": "9" * digits}))["a"] == "9" * digits
    with pytest.raises(ValueError, match="For input string"):
        parse_long("9" * digits)
    assert parse_long("0" * digits + "7") == 7
