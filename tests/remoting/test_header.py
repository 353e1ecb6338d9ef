"""Headers of requests, declared as classes: reading, defaults, missing fields, and writing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.remoting.processors import PROCESSORS
from rocketmq_testkit.remoting.wire.errors import ProtocolError
from rocketmq_testkit.remoting.wire.ext_fields import Header, Int, Long, header, required, wire
from rocketmq_testkit.remoting.wire.header_json import read_head


@header
class Sample(Header):
    """A header with one field of each kind."""

    topic: str
    queue_id: Int
    offset: Long
    order: bool = False
    note: str | None = None
    limit: Int | None = None
    born: Long = 0
    unique: bool | None = wire("_UNIQUE", default=None)


FULL = {
    "topic": "T",
    "queueId": "3",
    "offset": "5000000000",
    "order": "true",
    "note": "n",
    "limit": "-1",
    "born": "7",
    "_UNIQUE": "false",
    "bname": "broker-a",
}


def test_every_kind_of_field_is_read() -> None:
    """A field is named like its attribute, in camelCase, unless a name is declared. Unknown fields are ignored."""
    assert Sample.parse(FULL) == Sample(
        topic="T", queue_id=3, offset=5_000_000_000, order=True, note="n", limit=-1, born=7, unique=False
    )


def test_absent_fields_have_their_defaults() -> None:
    """Absent fields have their defaults. Only fields without a default are required."""
    assert Sample.parse({"topic": "T", "queueId": "0", "offset": "0"}) == Sample(topic="T", queue_id=0, offset=0)


def test_fields_are_accepted_as_json_numbers_and_booleans() -> None:
    """Numbers and booleans are accepted as JSON numbers and booleans, as C++ clients send them."""
    parsed = Sample.parse({"topic": 5, "queueId": 3, "offset": -1, "order": True, "limit": 9})
    assert parsed == Sample(topic="5", queue_id=3, offset=-1, order=True, limit=9)


@pytest.mark.parametrize(("text", "value"), [("TRUE", True), ("True", True), ("1", False), ("yes", False), ("", False)])
def test_only_true_in_any_case_is_read_as_true(text: str, value: bool) -> None:
    assert Sample.parse({**FULL, "order": text}).order is value


@pytest.mark.parametrize(
    ("field", "remark"),
    [
        (
            "topic",
            'java.lang.NullPointerException: Cannot invoke "Object.hashCode()" because "key" is null',
        ),
        (
            "queueId",
            'java.lang.NullPointerException: Cannot invoke "java.lang.Integer.intValue()" because the return value of '
            '"org.apache.rocketmq.remoting.protocol.header.Sample.getQueueId()" is null',
        ),
        (
            "offset",
            'java.lang.NullPointerException: Cannot invoke "java.lang.Long.longValue()" because the return value of '
            '"org.apache.rocketmq.remoting.protocol.header.Sample.getOffset()" is null',
        ),
    ],
)
def test_a_missing_required_field_is_rejected_with_a_null_pointer_exception(field: str, remark: str) -> None:
    """A missing field is rejected with the remark of upstream's handler."""
    ext = {name: value for name, value in FULL.items() if name != field}
    with pytest.raises(EngineError) as refused:
        Sample.parse(ext)
    assert (refused.value.code, refused.value.remark) == (ResponseCode.SYSTEM_ERROR, remark)


@pytest.mark.parametrize("value", ["x", "", "1.5", str(2**31), str(-(2**31) - 1), "9" * 30, None])
def test_an_unreadable_number_counts_as_missing(value: str | None) -> None:
    """A text that is no number, or a number that does not fit 32 bits, counts as a missing field."""
    with pytest.raises(EngineError):
        Sample.parse({**FULL, "queueId": value})
    assert Sample.parse({**FULL, "limit": value}).limit is None


@pytest.mark.parametrize("value", [-(2**31), -1, 0, 2**31 - 1])
def test_the_limits_of_an_int_are_read(value: int) -> None:
    """The limits of an int are read, also negative ones."""
    assert Sample.parse({**FULL, "queueId": str(value)}).queue_id == value


def test_required_returns_an_optional_number_or_raises_the_missing_field_error() -> None:
    assert required(Sample(topic="T", queue_id=1, offset=0, limit=4), "limit") == 4
    with pytest.raises(EngineError, match=r"Sample.getLimit\(\)"):
        required(Sample(topic="T", queue_id=1, offset=0), "limit")


SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(-5, 5).map(str),
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["true", "false", "TRUE", "", "x", "\x00"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.floats(allow_nan=True),
)


@given(st.dictionaries(st.sampled_from([each.name for each in Sample.FIELDS]), SCALARS))
def test_the_compiled_header_parser_agrees_with_the_plain_parser(ext: dict[str, Any]) -> None:
    """The compiled parser returns the same as the plain parser, for any values.

    The compiled parser accepts two forms that Java rejects: blanks around a number and a whole fraction.
    """
    try:
        careful: Any = Sample._parse_carefully(ext)
    except EngineError as error:
        careful = error.remark
    try:
        quick: Any = Sample.parse(ext)
    except EngineError as error:
        quick = error.remark
    lenient = any(
        isinstance(value, float | bool) or (isinstance(value, str) and value != value.strip()) for value in ext.values()
    )
    assert quick == careful or lenient


@pytest.mark.parametrize("code", sorted(PROCESSORS), ids=lambda code: PROCESSORS[code].label)
def test_every_request_header_is_written_and_read_back_equal(code: int) -> None:
    """The header of each code, filled with a value for each field, is written and read back equal."""
    kind = PROCESSORS[code].header
    samples: dict[str, Any] = {"str": "text", "Int": 7, "Long": 2**40, "bool": True}
    made = kind(**{each.attribute: samples[each.kind] for each in kind.FIELDS})
    ext = made.ext_fields()
    assert kind.parse(ext) == made
    assert len(ext) == len(kind.FIELDS)
    needed = {each.name: ext[each.name] for each in kind.FIELDS if each.required}
    assert kind.parse(needed).ext_fields().items() >= needed.items()


@pytest.mark.parametrize("name", ["code", "opaque", "flag", "version"])
@pytest.mark.parametrize(
    ("number", "is_valid"),
    [(-1, True), (0x7FFFFFFF, True), (-0x80000000, True), (1 << 31, False), (-0x80000001, False)],
)
def test_each_number_of_a_header_is_checked(name: str, number: int, is_valid: bool) -> None:
    """A number beyond a Java int is rejected in each member of a JSON header."""
    members = {"code": 10, "opaque": 1, "flag": 0, "version": 0} | {name: number}
    header = json.dumps(members).encode()
    if is_valid:
        code, opaque, flag, _, version, *_ = read_head(header)
        assert {"code": code, "opaque": opaque, "flag": flag, "version": version} == members
    else:
        with pytest.raises(ProtocolError, match="where a 32-bit number belongs"):
            read_head(header)
