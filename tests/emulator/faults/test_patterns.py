"""Patterns of names in criteria, in which `*` matches any text."""

import pytest
from rocketmq_testkit.emulator.faults.patterns import matches


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("order[42]-a", "order[42]*", True),
        ("order4-a", "order[42]*", False),
        ("why?-a", "why?*", True),
        ("whyx-a", "why?*", False),
        ("[a", "[*", True),
        ("order[42]", "order[42]", True),
        ("a.b", "a*b", True),
        ("axb", "a.b", False),
        ("a\nb", "a*", True),
        ("A", "a*", False),
        ("", "*", True),
        ("c", ["a", "b*"], False),
        ("bc", ["a", "b*"], True),
    ],
)
def test_a_star_is_the_only_wildcard(text: str, wanted: str | list[str], expected: bool) -> None:
    assert matches(text, wanted) is expected


def test_a_pattern_with_many_stars_is_compared_fast() -> None:
    """The time grows linearly with the length of the text."""
    assert not matches("a" * 50_000, "*a" * 30 + "*b")
