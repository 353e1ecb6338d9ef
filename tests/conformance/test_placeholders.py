"""Placeholders: replacements for values that differ between two runs."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rocketmq_testkit.conformance.context.placeholders import Placeholders


@pytest.fixture
def placeholders() -> Placeholders:
    found = Placeholders()
    found.put("topic-ab12-1", "topic 1")
    found.put("topic-ab12-11", "topic 11")
    found.put("127.0.0.1:10911", "broker")
    return found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Topic topic-ab12-1 not exist!", "Topic {topic 1} not exist!"),
        ("%RETRY%g_topic-ab12-11", "%RETRY%g_{topic 11}"),
        ("consumer:[/127.0.0.1:40508] at 127.0.0.1:10911", "consumer:[/{address}] at {broker}"),
        ("the broker[192.0.2.7] sending", "the broker[{broker ip}] sending"),
        ("7F00000100003A3F0000000000009FA4", "{id}"),
        ("FD0000000000000000000000000000025D284E0E2F2A6930C5D90002", "{id}"),
        ("TIMER_OUT_MS=1795256004000", "TIMER_OUT_MS={time}"),
        ("2026-11-21T14:35:01.123Z", "{time}"),
        ("0 1795256004000 60000 5 0 broker-a 3 17", "0 {time} 60000 {revive queue} 0 broker-a 3 17"),
        ("0 1795256004000 6021 999 0 broker-a 3 17 48611", "0 {time} 6021 999 0 broker-a 3 17 {log offset}"),
        (
            "java.lang.NullPointerException: no body, org.apache.rocketmq.X.y(X.java:361)",
            "java.lang.NullPointerException",
        ),
        (
            "For input. NumberFormatException. java.base/java.lang.Long.parse(Long.java:67)",
            "For input. NumberFormatException.",
        ),
        (
            'Cannot invoke "a.B.c()" because "b" is null. NullPointerException. a.D.e(D.java:7)',
            "{null pointer}",
        ),
        ("null. NullPointerException", "{null pointer}"),
        ("offset 5800941 of 12", "offset 5800941 of 12"),
    ],
)
def test_names_addresses_times_and_ids_in_texts_are_replaced(placeholders: Placeholders, text: str, shown: str) -> None:
    """Known names are replaced exactly, longest first; other values are recognized by their form."""
    assert placeholders.normal(text) == shown


def test_lists_and_keys_are_searched_and_times_are_replaced(placeholders: Placeholders) -> None:
    """Lists and keys are searched; numbers that are times are replaced, other numbers stay."""
    value = {"topic-ab12-1": [1795256004000, 4194304, True, None, 0.5], "n": -1}
    assert placeholders.normal(value) == {"{topic 1}": ["{time}", 4194304, True, None, 0.5], "n": -1}


def test_a_value_that_is_no_json_is_refused(placeholders: Placeholders) -> None:
    """A value that is not JSON is rejected: a case has to choose the parts of an object."""
    with pytest.raises(TypeError, match="bytes is no JSON value"):
        placeholders.normal(b"x")


@settings(suppress_health_check=[HealthCheck.too_slow])  # a pause of the garbage collector counts as slow input
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_replacing_twice_equals_replacing_once(value: object) -> None:
    """Replacing twice equals replacing once for any value, so that records can be compared with new notes."""
    placeholders = Placeholders()
    once = placeholders.normal(value)
    assert placeholders.normal(once) == once
