"""The criterion `version` of rules, which selects clients by the version of their SDK."""

import pytest
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.versions import check_version, matches_version


@pytest.mark.parametrize(
    ("version", "wanted", "matches"),
    [
        ("5.3.3", "5.3.3", True),
        ("5.3.3", "5.3", True),
        ("5.3.3", "5", True),
        ("5.30.1", "5.3", False),
        ("5.3", "5.3.3", False),
        ("5.3.3.SNAPSHOT", "5.3.3", True),
        ("5.30.1", "5.3*", True),
        ("5.3", "5.3.*", False),
        ("5.1.4", ["4.9.8", "5.1"], True),
        ("5.1.4", ["4.9.8", "5.2"], False),
        ("", "5", False),
        ("", "*", True),
    ],
)
def test_a_version_matches_whole_its_first_numbers_or_a_pattern(
    version: str, wanted: str | list[str], matches: bool
) -> None:
    """Numbers between dots are compared as a whole: 5.3 does not match 5.30."""
    assert matches_version(version, wanted) is matches


@pytest.mark.parametrize("text", ["5", "5.3.3", "5.0.0-beta+1", "5.*", "*", "V5_*"])
def test_a_text_that_can_match_is_accepted(text: str) -> None:
    check_version("version", text)


@pytest.mark.parametrize("text", ["", "latest", "V5_3_3", ">=5.3", "5.3 ", "5,3", "5.3\n", "5.x y*"])
def test_a_text_that_no_version_can_match_is_rejected(text: str) -> None:
    with pytest.raises(FaultError, match=r"^version=.*: no version, which begins with a digit; use '5\.3\.3'"):
        check_version("version", text)
