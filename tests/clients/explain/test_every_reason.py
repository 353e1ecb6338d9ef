"""Each reason of explanations is provoked through an SDK by a test of this folder."""

import ast
from pathlib import Path

from rocketmq_testkit.emulator.explanation.reason import Reason


def reasons_of_sdk_tests() -> set[str]:
    """Return the names of the reasons that tests with SDKs, or their helpers, name."""
    found = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        if path.samefile(__file__):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason":
                found.add(node.attr)
    return found


def test_each_reason_is_provoked_through_an_sdk() -> None:
    """The tests of single reasons check that the explanation has the reason that they name."""
    assert {reason.name for reason in Reason} == reasons_of_sdk_tests()
    assert len(Reason) >= 28
