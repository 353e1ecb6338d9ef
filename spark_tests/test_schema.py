"""Schemas that users give."""

import pytest
from pyspark_rocketmq.errors import SchemaError
from pyspark_rocketmq.schema import wanted


def test_any_columns_in_any_order() -> None:
    """Only what is named is made."""
    assert wanted([("queueOffset", "bigint"), ("body", "string")]) == (("queueOffset", "bigint"), ("body", "string"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([("bdy", "binary")], "unknown column bdy; did you mean body?"),
        ([("BODY", "binary")], "unknown column BODY; did you mean body?"),
        ([("zzzzzz", "binary")], "known are topic, flag, body"),
        ([("body", "int")], "column body is int; it can be binary or string"),
        ([("flag", "int"), ("flag", "int")], "column flag stands twice"),
    ],
)
def test_wrong_columns_are_named(fields: list[tuple[str, str]], said: str) -> None:
    """One text with the column and what it can be."""
    with pytest.raises(SchemaError, match=said):
        wanted(fields)
