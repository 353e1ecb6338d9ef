"""Names of topics and groups, and the topic digit of a receipt handle."""

import pytest
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.names import is_legal_group, pop_retry_topic
from rocketmq_testkit.emulator.message.receipt import NORMAL, RETRY_V1, RETRY_V2, real_topic, topic_digit


@pytest.mark.parametrize(
    ("group", "legal"),
    [("", True), ("G", True), ("g" * 255, True), ("g" * 256, False), ("a b", False), ("%RETRY%G", True), ("ü", False)],
)
def test_a_group_of_up_to_255_legal_characters_is_created_by_its_use(group: str, legal: bool) -> None:
    """At most 255 legal characters; 5.3.3 accepts an empty name as well."""
    assert is_legal_group(group) is legal


@pytest.mark.parametrize(("v2", "digit"), [(None, NORMAL), (False, RETRY_V1), (True, RETRY_V2)])
def test_each_kind_of_topic_has_its_digit_in_both_directions(v2: bool | None, digit: int) -> None:
    """Each kind of topic (normal, pop retry v1, pop retry v2) has its digit, in both directions."""
    topic = "T" if v2 is None else pop_retry_topic("T", "G", v2=v2)
    assert topic_digit(topic) == digit
    assert real_topic("T", "G", digit) == real_topic("T", "G", str(digit)) == topic


@pytest.mark.parametrize("digit", ["3", "", "x", -1])
def test_an_unknown_topic_digit_is_rejected_with_upstreams_text(digit: str | int) -> None:
    with pytest.raises(EngineError, match="getRetry fail, format is wrong"):
        real_topic("T", "G", digit)
