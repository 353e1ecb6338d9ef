"""Bit sets of acknowledgements, encoded as `java.util.BitSet.toByteArray` does."""

import pytest
from rocketmq_testkit.emulator.operations.consume import bit_set


@pytest.mark.parametrize(
    ("bits", "octets"),
    [
        ([], b""),
        ([0], b"\x01"),
        ([7], b"\x80"),
        ([8], b"\x00\x01"),
        ([0, 2, 9], b"\x05\x02"),
        ([63, 64], b"\x00\x00\x00\x00\x00\x00\x00\x80\x01"),
    ],
)
def test_a_bit_set_has_its_lowest_byte_first_and_no_zero_bytes_at_the_end(bits: list[int], octets: bytes) -> None:
    assert bit_set(sum(1 << bit for bit in bits)) == octets
