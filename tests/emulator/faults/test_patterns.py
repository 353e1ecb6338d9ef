"""Texts that a pattern matches."""

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
def test_only_a_star_stands_for_other_texts(text: str, wanted: str | list[str], expected: bool) -> None:
    assert matches(text, wanted) is expected


def test_a_pattern_with_many_stars_is_compared_fast() -> None:
    """The time grows with the length of the text, and not with its power."""
    assert not matches("a" * 50_000, "*a" * 30 + "*b")
