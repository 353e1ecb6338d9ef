"""The encoded properties with which the transaction check appends a half message again."""

from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.transaction.half_message import HalfMessage

HOST = records.pack_host(("10.0.0.1", 1))
TEXTS = st.lists(st.sampled_from(["a", "b", "\x01", "\x02", "a\x01b\x02", "TRANSACTION_CHECK_TIMES\x013\x02"])).map(
    "".join
)


@given(text=TEXTS, checks=st.integers(0, 3))
def test_the_encoded_properties_of_a_half_message_match_the_decoded_ones(text: str, checks: int) -> None:
    """The encoded properties match the decoded ones for any text and any number of checks; malformed pairs are lost."""
    form = records.form_of(b"half", len(HOST), len(HOST))
    stored = records.encode(form, 0, 0, 0, 0, 0, 0, HOST, 0, HOST, 0, 0, b"", text.encode())
    half = HalfMessage(stored)
    for _ in range(checks):
        assert half.count_check(15)
    expected = props.decode(text)
    if checks:
        counted = int(expected.get(props.TRANSACTION_CHECK_TIMES, "0")) + checks
        expected[props.TRANSACTION_CHECK_TIMES] = str(counted)
    assert half.properties == expected
    assert half.text == props.encode(half.properties)
