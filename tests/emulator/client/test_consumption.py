"""Decoding of request and response fields: popped places, bit sets of acknowledgements, offsets that pulls commit."""

import pytest
from rocketmq_testkit.emulator.client.consumption import (
    acknowledged_offsets,
    committed_by_pull,
    holding_topic,
    is_acknowledged,
    popped_places,
)
from rocketmq_testkit.emulator.operations.consume import FLAG_COMMIT_OFFSET, FLAG_SUSPEND, bit_set


@pytest.mark.parametrize(
    ("digit", "topic"), [("0", "T"), ("1", "%RETRY%G_T"), ("2", "%RETRY%G+T"), ("7", "%RETRY%G_T"), (2, "%RETRY%G+T")]
)
def test_the_topic_digit_names_the_topic_that_holds_the_message(digit: str | int, topic: str) -> None:
    """Digits 1 and 2 mean the two forms of the pop retry topic; an unknown digit raises no error."""
    assert holding_topic("T", "G", digit) == topic


def test_the_places_of_a_pop_are_those_of_its_offset_info() -> None:
    """Each entry of the info names a topic digit, a queue, and the offsets of its messages."""
    assert list(popped_places("T", "G", "0 3 7,8;1 0 2")) == [("T", 3, 7), ("T", 3, 8), ("%RETRY%G_T", 0, 2)]
    assert list(popped_places("T", "G", "")) == []


@pytest.mark.parametrize("bits", [0, 0b1, 0b1000_0001, 1 << 17, 0xFFFF])
def test_a_bit_set_stands_for_the_offsets_of_its_bits(bits: int) -> None:
    """Bit i stands for the start offset plus i; both directions agree."""
    octets = bit_set(bits)
    found = acknowledged_offsets(40, octets)
    assert found == [40 + bit for bit in range(bits.bit_length()) if bits >> bit & 1]
    assert [offset for offset in range(30, 80) if is_acknowledged(offset, 40, octets)] == found


def test_a_pull_commits_only_with_its_flag() -> None:
    """Without the flag the commit offset of a pull is ignored."""
    assert committed_by_pull(FLAG_COMMIT_OFFSET | FLAG_SUSPEND, 5) == 5
    assert committed_by_pull(FLAG_SUSPEND, 5) is None
