"""JSON as fastjson reads it."""

import contextlib
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.remoting.wire import lenient_json
from rocketmq_testkit.remoting.wire.lenient_json import ObjectMap

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_valid_json_is_read_as_ever(value: Any) -> None:
    """Valid JSON is read as by the standard library, and fractions keep all their digits."""
    written = json.dumps(value)
    assert lenient_json.loads(written) == json.loads(written, parse_float=Decimal)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'code':5}", {"code": 5}),
        ('{code:5,language:"JAVA"}', {"code": 5, "language": "JAVA"}),
        ('{0:"a",-1:"b"}', {"0": "a", "-1": "b"}),
        ('{"a":1,}', {"a": 1}),
        ("[1,2,]", [1, 2]),
        ('/* c */ {"a": // to the end\n 1}', {"a": 1}),
        ("'it\\'s \"so\"'", 'it\'s "so"'),
        ('"a\tb"', "a\tb"),
        ('"//"', "//"),
        ("NaN", None),
        ('{{"queueId":0}:5,{"queueId":1}:7}', ObjectMap([({"queueId": 0}, 5), ({"queueId": 1}, 7)])),
    ],
)
def test_what_stricter_readers_refuse(text: str, value: Any) -> None:
    """Single quotes, unquoted names, trailing commas, comments, control characters and object names are accepted."""
    assert lenient_json.loads(text) == value


@pytest.mark.parametrize("text", ["", "{", "{a}", "{a:}", "[1 2]", "nonsense", '{"a":1}}', "'open", "]", "[" * 5000])
def test_what_is_no_json_at_all(text: str) -> None:
    """Text that is not JSON raises ValueError, even if it is deeply nested."""
    with pytest.raises(ValueError, match=r"."):
        lenient_json.loads(text)


@given(st.text(alphabet="{}[]:,\"'\\/* a0\n", max_size=30))
def test_any_text_ends_in_a_value_or_an_error(text: str) -> None:
    """Any text returns a value or raises ValueError, and no other exception."""
    with contextlib.suppress(ValueError):
        lenient_json.loads(text)
