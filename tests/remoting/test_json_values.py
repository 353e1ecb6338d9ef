"""A member of a JSON body becomes the Java value of a 5.3.3 broker, or is rejected with its exception.

The tables were recorded on 5.3.3: a group, a subscription or a heartbeat was stored with the text, then read back.
"""

import tracemalloc

import pytest
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.remoting.bodies.client import ConsumerBody, HeartbeatBody, SubscriptionBody, queue_offsets
from rocketmq_testkit.remoting.bodies.group import GroupConfigBody, RetryPolicyBody
from rocketmq_testkit.remoting.wire.errors import ProtocolError
from rocketmq_testkit.remoting.wire.header_json import decode
from rocketmq_testkit.remoting.wire.json_values import fast_read

INTS = {
    "5": 5, "2147483647": 2147483647, "-2147483648": -2147483648, "1.5": 1, "-1.9": -1, "1e3": 1000, "-0": 0,
    "1e30": 1073741824, "007": 7, "+5": 5, "5L": 5, "NaN": 16, "null": 16, '""': 16, '"null"': 16, '"NULL"': 16,
    "5000000000": 705032704, "true": 1, "false": 0, '"12"': 12, '"+12"': 12, '"1,000"': 1000, '"5.0"': 5,
}  # fmt: skip
NO_INTS = [
    "2147483648", "-2147483649", "4294967297", "9223372036854775807", "9223372036854775808", "1" + "0" * 23,
    "-1" + "0" * 23, "1" + "0" * 60, "1" * 5000, "1E400", "1E999999999999999999999", '" 12 "', '"1.5"',
    '"1e3"', '"abc"', '"2147483648"', '"\\ud800"', "[]", "[5]", "{}", '{"a":1}', '"5L"', '"' + "1" * 5000 + '"',
]  # fmt: skip
LONGS = {
    "2147483648": 2147483648, "9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63), "1.5": 1,
    "1" + "0" * 23: 200376420520689664, "-1" + "0" * 23: -200376420520689664, "1" + "0" * 60: 1152921504606846976,
    '"1' + "0" * 23 + '"': 200376420520689664, "1e30": 5076944270305263616, "true": 1, '"1,000"': 1000, "NaN": 5000,
    "null": 5000, '""': 5000,
}  # fmt: skip
NO_LONGS = ["9223372036854775808", "-9223372036854775809", "1E400", '"5.0"', '"1.5"', '"x"', "[]", "{}"]
BOOLEANS = {
    "true": True, "false": False, "1": True, "0": False, "2": False, "-1": False, "1.5": True, "0.0": False,
    "1e3": False, '"TRUE"': True, '"Y"': True, '"N"': False, '"T"': True, '"F"': False, '"1"': True, '"0"': False,
    '""': True, '"null"': True, "null": True,
}  # fmt: skip
NO_BOOLEANS = ['"yes"', '"on"', '"abc"', "[]", "{}", "99999999999999999999"]
TEXTS = {
    '"\\ud800"': "?", '"a\\udfffb"': "a?b", '"\\ud83d\\ude00"': "\U0001f600", "5": "5", "1.50": "1.50", "1e3": "1E+3",
    "true": "true", "null": "", "NaN": "", "{}": "{}", '{"b":1,"a":[1,2.50,null]}': '{"a":[1,2.50,null],"b":1}',
    '[1,"x"]': '[1,"x"]', "1" + "0" * 23: "1" + "0" * 23, "7" * 5000: "7" * 5000,
}  # fmt: skip
CONSUME_TYPES = {
    '"CONSUME_ACTIVELY"': "CONSUME_ACTIVELY", '"consume_actively"': "CONSUME_ACTIVELY", "0": "CONSUME_ACTIVELY",
    "2": "CONSUME_POP",
}  # fmt: skip
NO_CONSUME_TYPES = {"3": "3", "-1": "-1", "true": "true", "[]": "[]", "1.0": "1.0"}


def group(member: str, text: str) -> GroupConfigBody:
    """Decode a group configuration whose `member` has the JSON text `text`."""
    return GroupConfigBody.parse(f'{{"groupName":"g","{member}":{text}}}'.encode())


def initial_delay(text: str) -> int:
    """Decode a retry policy whose first delay has the JSON text `text`; return the delay."""
    policy = f'{{"type":"EXPONENTIAL","exponentialRetryPolicy":{{"initial":{text},"max":7,"multiplier":3}}}}'
    found = RetryPolicyBody.parse(policy.encode()).exponential_retry_policy
    assert found is not None
    return found.initial


@pytest.mark.parametrize(("text", "value"), INTS.items())
def test_int_members_are_converted_as_by_fastjson(text: str, value: int) -> None:
    """For an int, fractions are truncated, strings are parsed, and nulls leave the default."""
    assert group("retryMaxTimes", text).retry_max_times == value


@pytest.mark.parametrize("text", NO_INTS, ids=lambda text: text[:30])
def test_an_invalid_int_is_rejected_with_its_field_name(text: str) -> None:
    with pytest.raises(EngineError) as refused:
        group("retryMaxTimes", text)
    assert refused.value.code == 1
    assert refused.value.remark == "com.alibaba.fastjson.JSONException: parseInt error, field : retryMaxTimes"


@pytest.mark.parametrize("text", ["Infinity", "0x10"])
def test_infinity_and_hexadecimal_numbers_are_rejected(text: str) -> None:
    with pytest.raises(EngineError, match="JSONException"):
        group("retryMaxTimes", text)


@pytest.mark.parametrize(("text", "value"), LONGS.items(), ids=lambda each: str(each)[:30])
def test_long_members_are_converted_as_by_fastjson(text: str, value: int) -> None:
    """A long with too many digits wraps around, unless the sign changes."""
    assert initial_delay(text) == value


@pytest.mark.parametrize("text", NO_LONGS)
def test_an_invalid_long_is_rejected_with_its_field_name(text: str) -> None:
    with pytest.raises(EngineError, match="parseLong error, field : initial"):
        initial_delay(text)


def test_a_too_long_number_is_rejected_if_the_members_are_not_sorted_by_name() -> None:
    """fastjson's fast reader wraps a number only if the members are in the order of their names."""
    digits = "1" + "0" * 23
    found = SubscriptionBody.parse(b'{"expressionType":"TAG","subVersion":%s,"topic":"T"}' % digits.encode())
    assert found.sub_version == 200376420520689664
    for body in ('{"topic":"T","subVersion":%s}', '{"x":1,"subVersion":%s}'):
        with pytest.raises(EngineError, match="parseLong error, field : subVersion"):
            SubscriptionBody.parse((body % digits).encode())


@pytest.mark.parametrize(("text", "value"), BOOLEANS.items())
def test_boolean_members_are_converted_as_by_fastjson(text: str, value: bool) -> None:
    """Of all numbers, only 1 is read as true."""
    assert group("consumeEnable", text).consume_enable is value


@pytest.mark.parametrize("text", NO_BOOLEANS)
def test_an_invalid_boolean_is_rejected_with_its_field_name(text: str) -> None:
    with pytest.raises(EngineError, match="parseBoolean error, field : consumeEnable"):
        group("consumeEnable", text)


@pytest.mark.parametrize(("text", "value"), TEXTS.items(), ids=lambda each: ascii(each)[:30])
def test_string_members_convert_other_json_values_to_text(text: str, value: str) -> None:
    """In a string, a lone surrogate becomes a question mark. Other values become their JSON text."""
    assert HeartbeatBody.parse(f'{{"clientID":{text}}}'.encode()).client_id == value


@pytest.mark.parametrize(("text", "value"), CONSUME_TYPES.items())
def test_an_enum_is_read_by_name_in_any_case_or_by_ordinal(text: str, value: str) -> None:
    assert ConsumerBody.parse(f'{{"groupName":"g","consumeType":{text}}}'.encode()).consume_type == value


@pytest.mark.parametrize(("text", "shown"), NO_CONSUME_TYPES.items())
def test_an_invalid_enum_is_rejected_with_its_class_name(text: str, shown: str) -> None:
    with pytest.raises(EngineError) as refused:
        ConsumerBody.parse(f'{{"groupName":"g","consumeType":{text}}}'.encode())
    assert refused.value.remark == (
        "com.alibaba.fastjson.JSONException: parse enum org.apache.rocketmq.remoting.protocol.heartbeat.ConsumeType "
        f"error, value : {shown}"
    )


@pytest.mark.parametrize(
    ("member", "text", "remark"),
    [
        ("tagsSet", '"x"', "field tagsSet expect '[', but string"),
        ("tagsSet", "{}", "field tagsSet expect '[', but {"),
        ("codeSet", "5", "field codeSet expect '[', but int"),
        ("codeSet", "[2147483648]", "parseInt error, field : 0"),
        ("codeSet", '["x"]', "parseInt error, field : 0"),
    ],
)
def test_an_invalid_set_or_item_is_rejected_with_its_field_name_or_index(member: str, text: str, remark: str) -> None:
    """Items of a set are read by the rules of their type, and errors name them by index."""
    with pytest.raises(EngineError) as refused:
        SubscriptionBody.parse(f'{{"topic":"T","{member}":{text}}}'.encode())
    assert refused.value.remark == f"com.alibaba.fastjson.JSONException: {remark}"


def test_a_nested_object_may_be_null_or_empty_but_no_other_value() -> None:
    """An empty list or string is read as null. Other values than objects are rejected, and so is null in a list."""
    for null in ("null", "[]", '""'):
        assert group("groupRetryPolicy", null).group_retry_policy is None
    with pytest.raises(EngineError, match=r"syntax error, expect \{, actual int, pos 0, fieldName groupRetryPolicy"):
        group("groupRetryPolicy", "5")
    with pytest.raises(EngineError, match="NullPointerException"):
        HeartbeatBody.parse(b'{"clientID":"c","consumerDataSet":[null]}')


@pytest.mark.parametrize("member", ["code", "opaque", "flag", "version"])
@pytest.mark.parametrize("text", ["2147483648", "4294967296", "9" * 23, '"x"', "[]"])
def test_an_invalid_number_in_a_json_header_is_a_protocol_error(member: str, text: str) -> None:
    """A number that does not fit its member raises ProtocolError, which closes the connection, as on a real broker."""
    with pytest.raises(ProtocolError):
        decode(f'{{"code":34,"{member}":{text}}}'.replace('"code":34,"code"', '"code"').encode())


@pytest.mark.parametrize(
    ("text", "language"), [("", "JAVA"), ('"cpp"', "CPP"), ("5", "ERLANG"), ('"KLINGON"', ""), ("null", "")]
)
def test_the_header_language_defaults_to_java_and_is_empty_if_unknown(text: str, language: str) -> None:
    header = f'{{"code":34,"language":{text}}}' if text else '{"code":34}'
    assert decode(header.encode()).language == language


def test_an_unreadable_offset_table_of_a_client_is_read_as_none() -> None:
    """The table is read as None, so that the client is omitted from the response to administrators."""
    body = '{"messageQueueTable":{{"brokerName":"b","queueId":0,"topic":"T"}:%s}}'
    assert queue_offsets((body % "5").encode()) is not None
    for bad in ("1" + "0" * 30, '"x"', "[]"):
        assert queue_offsets((body % bad).encode()) is None


def test_numbers_of_a_megabyte_are_read_in_linear_memory() -> None:
    """Numbers of a megabyte are read in linear memory, although Python rejects them or takes quadratic time."""
    body = b'{"clientID":%s,"heartbeatFingerprint":7}' % (b"9" * 1_000_000)
    tracemalloc.start()
    assert len(HeartbeatBody.parse(body).client_id) == 1_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * len(body)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-9223372036854775808", -(1 << 63)),
        ("9223372036854775807", (1 << 63) - 1),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("18446744073709551617", 1),
        ("-18446744073709551617", -1),
    ],
)
def test_a_long_out_of_range_wraps_around_only_if_its_sign_is_kept(text: str, found: object) -> None:
    """A long wraps around if its sign stays. Otherwise it is left unchanged."""
    assert fast_read(text, 64) == found
