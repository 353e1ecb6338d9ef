"""Tests of user-defined schemas."""

import pytest
from pyspark_rocketmq.errors import SchemaError
from pyspark_rocketmq.options.schema import wanted


def test_a_schema_may_name_any_columns_in_any_order() -> None:
    """A schema may name any columns in any order, and only those are returned."""
    assert wanted([("queueOffset", "bigint"), ("body", "string")]) == (("queueOffset", "bigint"), ("body", "string"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([("bdy", "binary")], "column bdy: a read has no such column; did you mean body"),
        ([("BODY", "binary")], "column BODY: a read has no such column; did you mean body"),
        ([("zzzzzz", "binary")], "there are topic, flag, body"),
        ([("body", "int")], "column body int: of the wrong type; it can be binary or string"),
        ([("flag", "int"), ("flag", "int")], "column flag: twice in the schema"),
    ],
)
def test_a_wrong_column_is_refused_with_the_allowed_types(fields: list[tuple[str, str]], said: str) -> None:
    """A wrong column is rejected with an error that names it and the allowed types."""
    with pytest.raises(SchemaError, match=said):
        wanted(fields)
