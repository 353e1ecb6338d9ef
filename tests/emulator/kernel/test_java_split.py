"""Text is split as in Java, which drops empty parts at the end."""

import pytest
from rocketmq_testkit.emulator.kernel.java_split import java_split


@pytest.mark.parametrize(
    ("text", "parts"),
    [("", [""]), ("a", ["a"]), (" ", []), ("   ", []), ("a b", ["a", "b"]), (" a  b  ", ["", "a", "", "b"])],
)
def test_text_is_split_without_empty_parts_at_the_end(text: str, parts: list[str]) -> None:
    """Text without a separator is one part, also if it is empty. Source: java.lang.String.split."""
    assert java_split(text, " ") == parts
