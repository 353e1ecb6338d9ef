"""The criterion `address` of rules, which selects clients by address."""

from typing import Any

import pytest
from rocketmq_testkit.emulator.faults.addresses import check_address, matches_address
from rocketmq_testkit.emulator.faults.criteria import Criteria
from rocketmq_testkit.emulator.faults.errors import FaultError


@pytest.mark.parametrize(
    ("wanted", "matching", "other"),
    [
        ("10.0.0.7", "10.0.0.7", "10.0.0.71"),
        ("10.0.*", "10.0.0.7", "10.1.0.7"),
        ("*", "::1", None),
        ("localhost", "127.0.0.1", "10.0.0.7"),
        ("localhost", "::1", "127.0.0.2"),
        ("0:0:0:0:0:0:0:1", "::1", "::2"),
        (["10.0.0.7", "localhost"], "::1", "10.0.0.8"),
    ],
)
def test_an_address_matches_itself_its_pattern_or_localhost(wanted: Any, matching: str, other: str | None) -> None:
    Criteria(address=wanted)
    assert matches_address(matching, wanted)
    assert other is None or not matches_address(other, wanted)


@pytest.mark.parametrize(
    ("wrong", "use"),
    [
        ("127.0.0.1:8081", "127.0.0.1"),
        ("[::1]:8081", "::1"),
        ("localhost:80", "localhost"),
        ("999.1.1.1", "10.0.0.7"),
        ("999.1.1.1:80", "10.0.0.7"),
        ("build-server", "10.0.0.7"),
        ("host-*", "10.0.0.7"),
        ("", "10.0.0.7"),
        (5, "10.0.0.7"),
        (["10.0.0.7", None], "10.0.0.7"),
        ([], "10.0.0.7"),
    ],
)
def test_a_wrong_address_is_rejected_with_one_sentence(wrong: Any, use: str) -> None:
    """The sentence proposes an address: that without its port if a port is the mistake."""
    for check in (lambda: Criteria(address=wrong), lambda: check_address("address", wrong)):
        with pytest.raises(FaultError) as caught:
            check()
        sentence = str(caught.value)
        assert sentence.startswith("address=")
        assert sentence.endswith(f": neither an IP address without port nor a pattern of one; use {use!r}")
