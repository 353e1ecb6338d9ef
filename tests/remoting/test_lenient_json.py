"""The parser of JSON that accepts the deviations from the standard that upstream's fastjson accepts."""

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
def test_valid_json_is_read_as_by_the_standard_library(value: Any) -> None:
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
def test_deviations_from_json_that_fastjson_accepts_are_accepted(text: str, value: Any) -> None:
    """Single quotes, unquoted names, trailing commas, comments, control characters and object names are accepted."""
    assert lenient_json.loads(text) == value


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize(
    ("escape", "character"),
    [
        ('\\"', '"'),
        ("\\'", "'"),
        ("\\\\", "\\"),
        ("\\/", "/"),
        ("\\b", "\b"),
        ("\\t", "\t"),
        ("\\n", "\n"),
        ("\\v", "\v"),
        ("\\f", "\f"),
        ("\\F", "\f"),
        ("\\r", "\r"),
        ("\\0", "\0"),
        ("\\7", "\x07"),
        ("\\x41", "A"),
        ("\\xe9", "é"),
        ("\\u0041", "A"),
        ("\\u+041", "A"),
        ("\\u-001", "\uffff"),
        ("\\ud83d\\ude00", "😀"),
    ],
)
def test_escapes_of_fastjson_are_accepted_in_both_kinds_of_quotes(quote: str, escape: str, character: str) -> None:
    """Each escape is accepted in double and single quotes, as in JSONLexerBase of fastjson 1.2.83."""
    assert lenient_json.loads(f"{quote}a{escape}1{quote}") == f"a{character}1"
    assert lenient_json.loads(f"{{{quote}a{escape}1{quote}:5}}") == {f"a{character}1": 5}


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("escape", ["\\8", "\\a", "\\x4", "\\x4g", "\\u004", "\\u++41", "\\U0041", "\\"])
def test_escapes_that_fastjson_rejects_raise_value_error(quote: str, escape: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        lenient_json.loads(f"{quote}{escape}{quote}")


@pytest.mark.parametrize("text", ["", "{", "{a}", "{a:}", "[1 2]", "nonsense", '{"a":1}}', "'open", "]", "[" * 5000])
def test_text_that_is_not_json_raises_value_error(text: str) -> None:
    """Text that is not JSON raises ValueError, even if it is deeply nested."""
    with pytest.raises(ValueError, match=r"."):
        lenient_json.loads(text)


@given(st.text(alphabet="{}[]:,\"'\\/* a0\n", max_size=30))
def test_any_text_returns_a_value_or_raises_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        lenient_json.loads(text)
