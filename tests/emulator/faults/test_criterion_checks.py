"""Wrong values of criteria, and the errors about them."""

from typing import Any

import pytest
from rocketmq_testkit.emulator.faults.criteria import Criteria
from rocketmq_testkit.emulator.faults.errors import FaultError


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"protocol": "grcp"}, "protocol='grcp': there is no such protocol; did you mean grpc?"),
        ({"phase": "answer"}, "phase='answer': there is no such phase; there are connect, request, response, push"),
        ({"topic": ""}, "topic='': neither a name nor a list of names; use 'orders'"),
        ({"topic": []}, "topic=[]: neither a name nor a list of names; use 'orders'"),
        ({"topic": ["T", 1]}, "topic=['T', 1]: neither a name nor a list of names; use 'orders'"),
        ({"group": b"G"}, "group=b'G': neither a name nor a list of names; use 'order-service'"),
        ({"property": {"a": 1}}, "property={'a': 1}: not a mapping of names to texts; use {'color': 'red'}"),
        ({"where": 1}, "where=1: not a function of the operation; use lambda operation: True"),
        ({"start": 5}, "start=5: a duration needs a unit; use '5ms' or '5s'"),
        ({"version": 5.3}, "version=5.3: neither a name nor a list of names; use '5.3'"),
        (
            {"version": "five"},
            "version='five': no version, which begins with a digit; use '5.3.3', '5.3' for all versions 5.3.x, or a "
            "pattern such as '5.*'",
        ),
        (
            {"version": ["5.3", ">=5.1"]},
            "version='>=5.1': no version, which begins with a digit; use '5.3.3', '5.3' for all versions 5.3.x, or a "
            "pattern such as '5.*'",
        ),
        ({"key": 42}, "key=42: neither a name nor a list of names; use '42'"),
        ({"tag": True}, "tag=True: neither a name nor a list of names; use 'red'"),
        ({"start": "2s", "end": "2s"}, "end='2s': not after start='2s'; use a later end, or omit it"),
    ],
)
def test_a_wrong_criterion_is_rejected_with_one_sentence(given: dict[str, Any], text: str) -> None:
    """The sentence has the wrong value and an example of a correct one."""
    with pytest.raises(FaultError) as caught:
        Criteria(**given)
    assert str(caught.value) == text
