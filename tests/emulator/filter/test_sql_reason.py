"""The clause of an SQL92 filter that a message does not match, with the message's values of its properties."""

import json
from pathlib import Path

import pytest
from rocketmq_testkit.emulator.filter.sql_filter import compile_sql
from rocketmq_testkit.emulator.filter.sql_reason import false_clause
from rocketmq_testkit.emulator.kernel.errors import SqlError

_PROPERTIES = {"price": "9", "region": "s", "name": "it's", "word": "abc", "flag": "true"}

TABLE = [
    ("price > 10 AND region = 'n'", "price > 10", {"price": "9"}),
    ("price < 10 AND region = 'n'", "region = 'n'", {"region": "s"}),
    ("price < 10 AND region = 'n' AND name = 'x'", "region = 'n'", {"region": "s"}),
    ("price < 10 AND (region = 's' AND missing = 1)", "missing = 1", {"missing": None}),
    ("price > 10 OR region = 'n'", "price > 10 OR region = 'n'", {"price": "9", "region": "s"}),
    ("price < 10 AND (price = 1 OR region = 'n')", "price = 1 OR region = 'n'", {"price": "9", "region": "s"}),
    ("price = 1 OR price = 2 OR price = 3", "price = 1 OR price = 2 OR price = 3", {"price": "9"}),
    ("price > 10 AND word > 5 OR region = 'n'", "(price > 10 AND word > 5) OR region = 'n'", None),
    ("word > 5", "word > 5", {"word": "abc"}),
    ("price < 10 AND word > 5 AND region = 'n'", "word > 5", {"word": "abc"}),
    ("NOT (price = 9)", "price <> 9", {"price": "9"}),
    ("price <> 9", "price <> 9", {"price": "9"}),
    ("NOT (price < 10)", "NOT (price < 10)", {"price": "9"}),
    ("missing IS NOT NULL", "missing IS NOT NULL", {"missing": None}),
    ("price IS NULL", "price IS NULL", {"price": "9"}),
    ("price BETWEEN 10 AND 20", "price >= 10", {"price": "9"}),
    ("price BETWEEN 1 AND 5", "price <= 5", {"price": "9"}),
    ("price NOT BETWEEN 1 AND 10", "price < 1 OR price > 10", {"price": "9"}),
    ("region IN ('n', 'e')", "region IN ( n, e )", {"region": "s"}),
    ("region NOT IN ('s')", "region NOT IN ( s )", {"region": "s"}),
    ("name CONTAINS 'x''y'", "name CONTAINS 'x''y'", {"name": "it's"}),
    ("name NOT STARTSWITH 'it'", "name NOT STARTSWITH 'it'", {"name": "it's"}),
    ("flag", "flag", {"flag": "true"}),
    ("price < 10 AND flag = FALSE", "flag = FALSE", {"flag": "true"}),
    ("price > -5 AND price > -1.5 AND price = -2", "price = -2", {"price": "9"}),
    ("FALSE", "FALSE", {}),
    ("name = '&& == ||'", "name = '&& == ||'", {"name": "it's"}),
]


@pytest.mark.parametrize(("expression", "clause", "values"), TABLE, ids=[row[0] for row in TABLE])
def test_clause_that_is_not_true_is_named_with_its_values(
    expression: str, clause: str, values: dict[str, str | None] | None
) -> None:
    assert not compile_sql(expression).matches(_PROPERTIES)
    found, seen = false_clause(expression, _PROPERTIES)
    assert found == clause
    if values is not None:
        assert seen == values


def test_clause_of_every_known_expression_does_not_match_either() -> None:
    """The clause is a condition of its own: compiled again, it does not match the properties of the message.

    IN prints its texts as upstream does, without quotes, so such a clause cannot be compiled.
    """
    vectors = json.loads(Path(__file__).with_name("sql_vectors.json").read_text())
    tried = 0
    for expression in _expressions(vectors):
        try:
            matches = compile_sql(expression).matches(_PROPERTIES)
        except SqlError:
            continue
        if matches:
            continue
        clause, _ = false_clause(expression, _PROPERTIES)
        if " IN ( " in clause:
            continue
        assert not compile_sql(clause).matches(_PROPERTIES), (expression, clause)
        tried += 1
    assert tried > 50


def _expressions(vectors: object) -> set[str]:
    if isinstance(vectors, str):
        return {vectors}
    if isinstance(vectors, dict):
        return {text for value in [*vectors, *vectors.values()] for text in _expressions(value)}
    if isinstance(vectors, list):
        return {text for value in vectors for text in _expressions(value)}
    return set()


def test_clause_of_a_deep_chain_needs_no_deep_stack() -> None:
    expression = "price < 10 AND (" * 300 + "region = 'n'" + ")" * 300
    assert false_clause(expression, _PROPERTIES) == ("region = 'n'", {"region": "s"})


def test_expression_that_does_not_compile_is_rejected() -> None:
    with pytest.raises(SqlError):
        false_clause("price >", _PROPERTIES)
