"""Names of RocketMQ versions and the numbers by which clients report them."""

import pytest
from rocketmq_testkit.emulator.client.client_versions import (
    VERSION_3_0_7,
    VERSION_3_1_8,
    release_of,
    unsupported,
    version_number,
    version_text,
)
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("V3_0_0_SNAPSHOT", 0),
        ("V3_0_7_SNAPSHOT", VERSION_3_0_7),
        ("V3_1_8_SNAPSHOT", VERSION_3_1_8),
        ("V4_9_7", 407),
        ("v5_1_0_snapshot", 432),
        ("V5_3_3", 479),
        ("HIGHER_VERSION", 612),
        ("5.2.0", None),
        ("V3_3_0", None),
        ("", None),
    ],
)
def test_a_version_name_has_the_number_of_upstream(name: str, number: int | None) -> None:
    """Version names have the numbers of 5.3.3, in which V3_3_0 has none."""
    assert version_number(name) == number
    if number is not None:
        assert version_text(number) == name.upper()


@pytest.mark.parametrize("number", [-1, -1_000])
def test_a_negative_number_has_no_version_name(number: int) -> None:
    """Source: MQVersion.getVersionDesc (5.3.3)."""
    text = f"ArrayIndexOutOfBoundsException: Index {number} out of bounds for length 613"
    with pytest.raises(EngineError, match=text) as refused:
        unsupported(number)
    assert refused.value.code is ResponseCode.SYSTEM_ERROR


@pytest.mark.parametrize("number", [612, 613, 2**31 - 1])
def test_a_number_above_the_table_has_the_last_name(number: int) -> None:
    """Source: MQVersion.getVersionDesc (5.3.3)."""
    assert version_text(number) == "HIGHER_VERSION"


@pytest.mark.parametrize(("number", "release"), [(0, "3.0.0.SNAPSHOT"), (479, "5.3.3"), (-1, ""), (100_000, "")])
def test_a_number_names_a_release(number: int, release: str) -> None:
    assert release_of(number) == release
