"""The table of property names, and the text in which a record stores properties."""

import pytest
from engine_harness import make_harness
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record
from rocketmq_testkit.emulator.message.properties import _LARGE, _PAIRS_MAX, SetBy, decode, encode, encode_with
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.remoting.client import batch_body

WORDS = st.text("AWIT\x01ü", min_size=1, max_size=6).filter(lambda word: not word.startswith("\x01"))
"""Words of the letters of WAIT, so that one name is often a part of another name or value."""
PROPERTIES = st.dictionaries(WORDS | st.just("WAIT"), WORDS | st.just("")).map(lambda any_: decode(encode(any_)))
"""Properties as a record stores them: without empty values and without separators in names."""


@given(PROPERTIES, st.sampled_from(["WAIT", "A", "I"]), st.sampled_from(["false", "A"]))
def test_changing_one_value_in_a_property_text_equals_encoding_all(
    properties: dict[str, str], name: str, value: str
) -> None:
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
def test_a_property_without_name_or_value_is_skipped(text: str, found: dict[str, str]) -> None:
    """A part without name or value is skipped, and the parts after it are decoded."""
    assert decode(text) == found


def test_a_property_with_an_empty_value_is_not_encoded() -> None:
    assert encode({"a": "", "b": "2", "c": ""}) == "b\x012\x02"


def test_a_text_of_very_many_properties_is_decoded_up_to_a_limit() -> None:
    """A text too long to be stored is decoded up to `_PAIRS_MAX` properties and one more, which proves it too long."""
    text = "".join(f"name-{number:06}\x01value\x02" for number in range(_PAIRS_MAX + 100))
    assert len(text) > _LARGE
    assert len(decode(text)) == _PAIRS_MAX + 1


def test_each_property_name_is_declared_once_in_the_table() -> None:
    """Each constant of the module is a name in the table, and a second declaration of a name raises AssertionError."""
    constants = {
        value for name, value in vars(props).items() if name.isupper() and name[0] != "_" and isinstance(value, str)
    }
    assert constants - {props.NAME_VALUE_SEPARATOR, props.PROPERTY_SEPARATOR} <= set(props.TABLE)
    with pytest.raises(AssertionError, match="KEYS is declared twice"):
        props._property("KEYS", SetBy.SENDER)


def test_upstream_reserves_51_property_names() -> None:
    """MessageConst.STRING_HASH_SET of 5.3.3 has 51 names. The proxy omits them from the user properties of messages."""
    assert len(props.RESERVED) == 51
    assert {"KEYS", "__CRC32#", "INNER_MULTI_QUEUE_OFFSET"} <= props.RESERVED
    assert not {"__SHARDINGKEY", "__transactionId__", "INNER_MULTI_DISPATCH"} & props.RESERVED


@pytest.mark.parametrize("batch", [False, True])
def test_a_broker_sets_and_removes_only_the_properties_of_the_table(batch: bool) -> None:
    """A sent message keeps all known properties but those that a broker sets in, or removes from, each message.

    Properties with the id, queue, transaction or delay of another message (`steers`) are not sent.
    """
    sent = {name: "x" for name, each in props.TABLE.items() if not each.steers}
    sent |= dict.fromkeys((*props.SET_AT_SEND, *props.REMOVED_AT_SEND), "x")
    harness = make_harness()
    harness.topic("T")
    body, properties = (batch_body([(b"m", sent)]), {}) if batch else (b"m", dict(sent))
    operation = SendMessage("PG", "T", 0, body, properties, ("10.0.0.1", 5000), harness.now_ms, batch=batch)
    harness.ask(SendResult, operation)
    outcome = harness.pull("T").outcome
    assert isinstance(outcome, PullResult)
    stored = stored_record.decode(outcome.records[0]).property_map()
    assert {name for name in sent if stored.get(name) != "x"} == {*props.SET_AT_SEND, *props.REMOVED_AT_SEND}
    assert set(props.SET_AT_SEND) <= set(stored)
    assert not set(props.REMOVED_AT_SEND) & set(stored)
