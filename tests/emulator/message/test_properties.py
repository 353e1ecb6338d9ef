"""The encoded text of properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.message.properties import _LARGE, _PAIRS_MAX, decode, encode, encode_with

WORDS = st.text("AWIT\x01ü", min_size=1, max_size=6).filter(lambda word: not word.startswith("\x01"))
PROPERTIES = st.dictionaries(WORDS | st.just("WAIT"), WORDS | st.just("")).map(lambda any_: decode(encode(any_)))


@given(PROPERTIES, st.sampled_from(["WAIT", "A", "I"]), st.sampled_from(["false", "A"]))
def test_one_more_value(properties: dict[str, str], name: str, value: str) -> None:
    """Changing or adding one value in a text equals encoding the changed properties."""
    text = encode(properties)
    assert encode_with(text, properties, name, value) == encode({**properties, name: value})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\x011\x02b\x012\x02", {"a": "1", "b": "2"}),
        ("a\x01\x02b\x012", {"b": "2"}),
        ("a\x02b\x012\x02", {"b": "2"}),
        ("\x011\x02b\x012\x02", {"b": "2"}),
        ("\x02\x02b\x012\x02", {"b": "2"}),
        ("", {}),
    ],
)
def test_a_part_without_name_or_value_is_no_property(text: str, found: dict[str, str]) -> None:
    """A part without name or value is skipped, and the parts after it are decoded."""
    assert decode(text) == found


def test_an_empty_value_is_no_property() -> None:
    """An empty value is not encoded."""
    assert encode({"a": "", "b": "2", "c": ""}) == "b\x012\x02"


def test_a_text_of_very_many_properties_is_read_up_to_a_limit() -> None:
    """A text with very many properties, too long to be stored, is decoded up to a limit."""
    text = "".join(f"name-{number:06}\x01value\x02" for number in range(_PAIRS_MAX + 100))
    assert len(text) > _LARGE
    assert len(decode(text)) == _PAIRS_MAX + 1
