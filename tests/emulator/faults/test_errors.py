"""Errors about rules: the wrong value as the user typed it, the known names, and the place of the rule."""

from typing import Any

import pytest
from rocketmq_testkit.emulator.faults.errors import FaultError, NoSuchRule, listed, shown, unknown_name
from rocketmq_testkit.emulator.kernel.user_error import UserError


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], "there are none"),
        (["b", "a"], "there are a, b"),
        ([f"n{number:02}" for number in range(12)], "n11"),
        ([f"n{number:02}" for number in range(15)], "n11 and 3 more"),
    ],
)
def test_an_error_lists_known_names_in_order_and_counts_further_ones(names: list[str], text: str) -> None:
    assert listed(names).startswith("there are ")
    assert listed(names).endswith(text)


@pytest.mark.parametrize(("value", "text"), [("a" * 78, f"'{'a' * 78}'"), ("a" * 79, f"'{'a' * 76}...")])
def test_a_long_value_is_shortened(value: str, text: str) -> None:
    assert shown(value) == text
    assert len(text) == 80


@pytest.mark.parametrize(
    ("name", "known", "nearest", "text"),
    [
        ("toppic", ["topic", "tag"], "topic", "noun='toppic': there is no such noun; did you mean topic?"),
        ("TOPIC", ["topic"], "topic", "noun='TOPIC': there is no such noun; did you mean topic?"),
        ("x", ["topic", "tag"], None, "noun='x': there is no such noun; there are tag, topic"),
        (5, [], None, "noun=5: there is no such noun; there are none"),
    ],
)
def test_an_error_about_an_unknown_name_has_the_nearest_name_or_all_names(
    name: Any, known: list[str], nearest: str, text: str
) -> None:
    """The error keeps the nearest name as an attribute when its place is added."""
    error = unknown_name("noun", name, known)
    assert (str(error), error.nearest) == (text, nearest)
    located = error.located("rule 7")
    assert (str(located), located.nearest) == (f"rule 7: {text}", nearest)


def test_the_error_about_an_unknown_rule_lists_all_rules() -> None:
    error = NoSuchRule("a", iter(["b", "c"]))
    assert (error.name, error.known, str(error)) == (
        "a",
        ("b", "c"),
        "rule='a': there is no such rule; there are b, c",
    )
    assert isinstance(error, FaultError)
    assert isinstance(error, UserError)
    assert isinstance(error, ValueError)
