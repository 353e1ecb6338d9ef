"""SQL92 filters match as the filter of 5.3.3 does, errors included."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.filter.sql_filter import SqlError, compile_sql
from rocketmq_testkit.emulator.filter.sql_nodes import constant_node
from rocketmq_testkit.emulator.filter.sql_values import JavaType, number_text

_VECTORS: dict[str, Any] = json.loads(Path(__file__).with_name("sql_vectors.json").read_text())

# Matches observed on a running broker for messages with these values of the properties a and b (None: absent).
_A = (None, "1", "10", "5.5", "abc", "3", "01", "9999999999", "-2", " 1 ", "1e1", "2")
_B = ("x", "true", "xyz", "it's", "TRUE", "2")

_PRESENT_A = {value for value in _A if value is not None}

SEEN_WITH_A = [
    ("a = 1", {"1", "01"}),
    ("a = '1'", {"1"}),
    ("a = 5.5", {"5.5"}),
    ("a = 10", {"10"}),
    ("a = 1e1", {"10", "1e1"}),
    ("a = 1L", {"1", "01"}),
    ("a > 1", {"10", "3", "2"}),
    ("a > 5.0", {"10", "5.5", "9999999999", "1e1"}),
    ("a > 3000000000", {"9999999999"}),
    ("a > .5", {"1", "10", "5.5", "3", "01", "9999999999", " 1 ", "1e1", "2"}),
    ("a <> 1", {"10", "3", "-2", "2"}),
    ("a <> '1'", _PRESENT_A - {"1"}),
    ("NOT (a = 1)", {"10", "3", "-2", "2"}),
    ("a BETWEEN 1 AND 10", {"1", "10", "3", "01", "2"}),
    ("a NOT BETWEEN 1 AND 5", {"10", "-2"}),
    ("a BETWEEN 1.5 AND 6", {"3", "2"}),
    ("a IN ('1','10')", {"1", "10"}),
    ("a NOT IN ('1')", _PRESENT_A - {"1"}),
    ("a = TRUE", set()),
    ("a = 1 foo", {"1", "01"}),
    ("a = 1)", {"1", "01"}),
    ("a + 1 = 2", set()),
    ("a = 007", set()),
    ("a-b = 1", set()),
    ("-a = 2", set()),
    ("a = -2", {"-2"}),
    ("-- c\na = 1", {"1", "01"}),
    ("/* c */ a = 1", {"1", "01"}),
]

SEEN_WITH_B = [
    ("b", set()),
    ("NOT b", set(_B)),
    ("NULL", set()),
    ("TRUE", set(_B)),
    ("1 = 1", set(_B)),
    ("b = TRUE", {"true", "TRUE"}),
    ("b = FALSE", set(_B) - {"true", "TRUE"}),
    ("b CONTAINS ''", set()),
    ("b NOT CONTAINS 'y'", set(_B) - {"xyz"}),
    ("b NOT STARTSWITH 'x'", set(_B) - {"x", "xyz"}),
    ("b LIKE 'x%'", set()),
    ("b = 'it''s'", {"it's"}),
]

REFUSED = [
    "a BETWEEN 5 AND 1",
    "a BETWEEN '1' AND '5'",
    "a BETWEEN NULL AND 3",
    "a > 'x'",
    "a IN (1,10)",
    "a IN ()",
    "a = NULL",
    "a != 1",
    "a == 1",
    "*",
    '"a"',
    "a > 0.0",
    "9223372036854775808",
    "1",
    "  ",
    "(a = 1",
]


@pytest.mark.parametrize(("expression", "matching"), SEEN_WITH_A)
def test_an_sql_expression_matches_the_observed_values_of_property_a(expression: str, matching: set[str]) -> None:
    """Exactly the observed values of property a match, absence included."""
    compiled = compile_sql(expression)
    assert {a for a in _A if compiled.matches({} if a is None else {"a": a})} == matching


@pytest.mark.parametrize(("expression", "matching"), SEEN_WITH_B)
def test_an_sql_expression_matches_the_observed_values_of_property_b(expression: str, matching: set[str]) -> None:
    """Exactly the observed values of property b match."""
    compiled = compile_sql(expression)
    assert {b for b in _B if compiled.matches({"b": b})} == matching


@pytest.mark.parametrize("expression", REFUSED)
def test_an_sql_expression_that_the_broker_rejects_does_not_compile(expression: str) -> None:
    """An expression that the broker rejects with code 23 does not compile."""
    with pytest.raises(SqlError):
        compile_sql(expression)


@pytest.mark.parametrize(
    ("expression", "properties", "matches"),
    [
        ("a IS NULL", {}, True),
        ("a IS NULL", {"a": ""}, True),
        ("a IS NULL", {"a": "1"}, False),
        ("a = b", {}, True),
        ("a = b", {"a": "1", "b": "1"}, True),
        ("a = b", {"a": "1"}, False),
        ("a = x", {}, True),
        ("a = x", {"a": "1"}, False),
        ("a <> b", {"a": "1"}, True),
        ("a <> b", {"b": "1"}, False),
        ("a <> b", {"a": "1", "b": "2"}, True),
        ("x <> a", {"a": "1"}, False),
        ("a > 0 OR b = 'x'", {"b": "x"}, True),
        ("b = 'x' OR a > 0", {"b": "x"}, True),
        ("a > 0 OR b = 'x'", {"a": "abc", "b": "x"}, False),
        ("A = 1", {"a": "1"}, False),
        ("A = 1", {"A": "1"}, True),
        ("TAGS = 'T'", {"TAGS": "T"}, True),
        ("b NOT CONTAINS 'y'", {}, False),
    ],
)
def test_absent_properties_are_null_in_sql_comparisons(
    expression: str, properties: dict[str, str], matches: bool
) -> None:
    """Absent properties are null: equal to each other, unknown as a left operand, different as a right operand."""
    assert compile_sql(expression).matches(properties) is matches


@pytest.mark.parametrize("expression", [row[0] for row in _VECTORS["expressions"]])
def test_recorded_sql_expressions_match_or_fail_as_in_the_real_filter(expression: str) -> None:
    """Every recorded expression matches the same messages, or fails with the same text."""
    wanted = dict(_VECTORS["expressions"])[expression]
    assert _outcome(expression) == wanted


def _outcome(expression: str) -> str | dict[str, str]:
    try:
        compiled = compile_sql(expression)
    except SqlError as refusal:
        return {"error": str(refusal)}
    return "".join("01"[compiled.matches(message)] for message in _VECTORS["messages"])


def test_an_sql_syntax_error_names_the_wrong_token_and_the_valid_ones() -> None:
    """The error names the first wrong token and all tokens that would be valid there."""
    with pytest.raises(SqlError) as caught:
        compile_sql("a >")
    assert str(caught.value).startswith(
        'org.apache.rocketmq.filter.parser.ParseException: Encountered "<EOF>" at line 1, column 3.\n'
        'Was expecting one of:\n    "NOT" ...'
    )


@pytest.mark.parametrize(
    ("expression", "line", "column"),
    [
        ("a = 'open", 1, 10),
        ("a = 'open\n", 2, 0),
        ("a = 'open\r", 2, 0),
        ("a = 'open\r\n", 2, 0),
        ("a = 'open\n\n", 3, 0),
        ("a = 'open\nx", 2, 2),
        ("a = 1 /* open\n", 2, 0),
    ],
)
def test_an_unfinished_sql_token_is_reported_at_the_end_of_the_text(expression: str, line: int, column: int) -> None:
    """An unfinished token is reported at the end; after a final line break that is column 0 of the next line."""
    with pytest.raises(SqlError) as caught:
        compile_sql(expression)
    assert f"Lexical error at line {line}, column {column}.  Encountered: <EOF> after" in str(caught.value)


@pytest.mark.parametrize(
    ("sign", "operand", "fits", "does_not_fit"),
    [
        ("NOT ", "TRUE", 16_000, 20_000),
        ("- ", "1 > a", 16_000, 20_000),
        ("(", "a = 1", 1200, 1300),
        ("+", "1 > a", 6000, 0),
    ],
)
def test_sql_nesting_compiles_up_to_the_depth_observed_on_the_broker(
    sign: str, operand: str, fits: int, does_not_fit: int
) -> None:
    """Expressions compile up to the depth `fits`, observed on 5.3.3, and fail at `does_not_fit`."""
    end = ")" if sign == "(" else ""
    compile_sql(sign * fits + operand + end * fits)
    if does_not_fit:
        with pytest.raises(SqlError, match="StackOverflowError"):
            compile_sql(sign * does_not_fit + operand + end * does_not_fit)


def test_an_sql_expression_of_too_many_tokens_does_not_compile() -> None:
    """An expression with too many tokens fails with the limit, which is the emulator's own."""
    with pytest.raises(SqlError, match="more than 50000 tokens"):
        compile_sql("a" + " OR a" * 25_000)


def test_deep_and_long_sql_expressions_within_the_limits_are_evaluated() -> None:
    """Expressions within the limits compile, and their evaluation needs no deep stack."""
    assert compile_sql("(" * 1000 + "a = 1" + ")" * 1000).matches({"a": "1"})
    assert compile_sql("NOT " * 1000 + "(a = 1)").matches({"a": "1"})
    assert compile_sql("NOT " * 1001 + "(a = 1)").matches({"a": "2"})
    with pytest.raises(SqlError, match="StackOverflowError"):
        compile_sql("(" * 5000 + "a = 1" + ")" * 5000)
    chain = compile_sql(" OR ".join(f"a = {number}" for number in range(5000)))
    assert chain.matches({"a": "4999"})
    assert not chain.matches({"a": "5000"})


_VOCABULARY = (
    "a b c 1 0 5.5 .5 1e1 9999999999 'x' '1' '' TRUE FALSE NULL = <> < <= > >= ( ) , + - NOT AND OR BETWEEN IN IS "
    "CONTAINS STARTSWITH ENDSWITH -- /* */ ~ é ' . \n \t"
)
_WORDS = st.sampled_from(_VOCABULARY.split(" "))
_EXPRESSIONS = st.one_of(st.text(max_size=40), st.lists(_WORDS, max_size=14).map(" ".join))
_VALUES = st.one_of(st.text(max_size=8), st.sampled_from(["1", "-0.0", "NaN", "1e999", "0x1p9999", "٣", "9" * 5000]))


@given(_EXPRESSIONS, st.dictionaries(st.sampled_from("abc"), _VALUES))
def test_any_sql_text_raises_only_sql_error_or_evaluates_to_a_boolean(
    expression: str, properties: dict[str, str]
) -> None:
    """Any text either fails with SqlError or evaluates to true or false for any properties."""
    try:
        compiled = compile_sql(expression)
    except SqlError:
        return
    assert compiled.matches(properties) in (True, False)


@given(
    st.sampled_from(["a > 5", "a = b", "b CONTAINS 'x'", "a IS NULL"]), st.dictionaries(st.sampled_from("ab"), _VALUES)
)
def test_double_sql_negation_changes_nothing(expression: str, properties: dict[str, str]) -> None:
    """An expression and its negation never both match, and NOT NOT changes nothing."""
    plain, negated = compile_sql(expression), compile_sql(f"NOT ({expression})")
    twice = compile_sql(f"NOT NOT ({expression})")
    assert not (plain.matches(properties) and negated.matches(properties))
    assert plain.matches(properties) == twice.matches(properties)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (0.000123456, "1.23456E-4"),
        (9999999.0, "9999999.0"),
        (10000000.0, "1.0E7"),
        (123456789.5, "1.234567895E8"),
        (-123456789.0, "-1.23456789E8"),
        (1e16, "1.0E16"),
        (1.5e300, "1.5E300"),
        (1e-10, "1.0E-10"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_a_double_is_printed_as_in_java(value: float, text: str) -> None:
    """A double is printed with as few digits as identify it (Double.toString).

    It has an exponent below 0.001 and from 10,000,000 on.
    """
    assert number_text(value, JavaType.DOUBLE) == text


@pytest.mark.parametrize(
    ("text", "column"), [("a = 'x' ! 1", 9), ("a = '\U0001f600' ! 1", 10), ("a = '\uffff' ! 1", 9)]
)
def test_a_character_beyond_u_ffff_counts_as_two_columns_in_sql_errors(text: str, column: int) -> None:
    with pytest.raises(SqlError) as caught:
        compile_sql(text)
    assert f"at line 1, column {column}." in str(caught.value)


@pytest.mark.parametrize(("value", "text"), [(True, "TRUE"), (False, "FALSE"), (None, "NULL"), ("it's", "'it''s'")])
def test_a_constant_is_printed_as_sql(value: bool | str | None, text: str) -> None:
    kind = JavaType.STRING if isinstance(value, str) else JavaType.NULL if value is None else JavaType.BOOLEAN
    assert constant_node(value, kind).parts == (text,)
