"""SQL92 filters: results and errors recorded on the real broker, and laws that hold for all expressions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.conformance.context.placeholders import Placeholders
from rocketmq_testkit.conformance.deployment.target import REFERENCE_VERSION
from rocketmq_testkit.conformance.helpers.filtered import MESSAGES, matches, refused
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.emulator.filter.sql_filter import SqlError, compile_sql
from rocketmq_testkit.emulator.filter.sql_parser import SqlParser

TRUTH = RecordedOutcomes()
NOUNS = ("sql_numbers", "sql_texts", "sql_logic", "sql_grammar", "sql_errors")
CASES = [(noun, name) for noun in NOUNS for name in TRUTH.names(REFERENCE_VERSION, noun)]
OF_THE_BROKER = {"UNIQ_KEY": "k", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "CLUSTER": "c"}
"""Properties that the broker adds to every stored message."""
STORED = {name: {**OF_THE_BROKER, **properties} for name, properties in MESSAGES.items()}


def outcome(expression: str) -> Any:
    """Return the matches or the error of an expression, in the form of the recorded cases."""
    try:
        compiled = compile_sql(expression)
    except SqlError as error:
        return Placeholders().normal(refused(str(error)))
    return matches(name for name, properties in STORED.items() if compiled.matches(properties))


@pytest.mark.parametrize(("noun", "name"), CASES)
def test_each_recorded_sql_expression_matches_and_fails_as_on_the_real_broker(noun: str, name: str) -> None:
    record = TRUTH.record_of(REFERENCE_VERSION, noun, name)
    assert record is not None
    assert {expression: outcome(expression) for expression, _ in record.notes} == dict(record.notes)


def test_the_sql_corpus_has_at_least_300_expressions() -> None:
    records = [TRUTH.record_of(REFERENCE_VERSION, noun, name) for noun, name in CASES]
    assert len({expression for record in records if record for expression, _ in record.notes}) >= 300


# --- laws

_OPERANDS = ("a", "b", "c", "1", "2.5", "3000000000", "-1")
_TEXTS = ("'x'", "'1'", "''")
_TRUTHS = ("TRUE", "FALSE", "NULL", "a", "c", "a IS NULL", "b CONTAINS 'x'", "a IN ('1', 'x')", "c = 1", "b = 'x'")
"""Conditions that can always be evaluated."""
_CONDITIONS = st.sampled_from((*_TRUTHS, "a > 1", "b < 2", "a = 1", "a <> 2.5", "a >= b", "b BETWEEN 1 AND 2"))
"""Conditions whose evaluation fails if the text of a property is not a number."""
_PROPERTIES = st.dictionaries(
    st.sampled_from("ab"), st.sampled_from(["1", "2", "2.5", "-1", "x", "xx", "true", " 1 ", "NaN", "9999999999"])
)


def same(one: str, other: str, properties: Mapping[str, str]) -> bool:
    """Return True if two expressions, and their negations, have the same result for a message."""
    pairs = ((one, other), (f"NOT ({one})", f"NOT ({other})"), (f"({one}) IS NULL", f"({other}) IS NULL"))
    return all(compile_sql(left).matches(properties) == compile_sql(right).matches(properties) for left, right in pairs)


@given(_CONDITIONS, _CONDITIONS, _PROPERTIES)
def test_sql_not_turns_and_into_or_by_de_morgan(p: str, q: str, properties: dict[str, str]) -> None:
    """NOT turns AND into OR, even for unknown and failed evaluations, because both stop at the same operand."""
    assert same(f"NOT ({p} AND {q})", f"NOT ({p}) OR NOT ({q})", properties)
    assert same(f"NOT ({p} OR {q})", f"NOT ({p}) AND NOT ({q})", properties)


@given(st.sampled_from(_TRUTHS), st.sampled_from(_TRUTHS), st.sampled_from(_TRUTHS), _PROPERTIES)
def test_sql_and_and_or_are_commutative_and_distributive(p: str, q: str, r: str, properties: dict[str, str]) -> None:
    """AND and OR are commutative and distribute over each other."""
    assert same(f"{p} AND {q}", f"{q} AND {p}", properties)
    assert same(f"{p} OR {q}", f"{q} OR {p}", properties)
    assert same(f"({p}) AND ({q} OR {r})", f"{p} AND {q} OR {p} AND {r}", properties)
    assert same(f"({p}) OR {q} AND {r}", f"({p} OR {q}) AND ({p} OR {r})", properties)


@given(_CONDITIONS, _CONDITIONS, _CONDITIONS, _PROPERTIES)
def test_sql_chains_of_and_or_of_or_are_associative(p: str, q: str, r: str, properties: dict[str, str]) -> None:
    """A chain of AND or of OR has the same result with any parentheses."""
    for word in ("AND", "OR"):
        assert same(f"{p} {word} {q} {word} {r}", f"({p} {word} {q}) {word} {r}", properties)
        assert same(f"{p} {word} {q} {word} {r}", f"{p} {word} ({q} {word} {r})", properties)


@given(st.sampled_from(_OPERANDS), st.sampled_from(_OPERANDS), st.sampled_from(_OPERANDS), _PROPERTIES)
def test_sql_between_and_not_equal_match_the_comparisons_they_abbreviate(
    operand: str, low: str, high: str, properties: dict[str, str]
) -> None:
    """BETWEEN, NOT BETWEEN and <> equal the comparisons that they abbreviate, where they are allowed."""
    try:
        compile_sql(f"{operand} BETWEEN {low} AND {high}")
    except SqlError as error:
        assert "left value" in str(error)  # noqa: PT017  # only BETWEEN is rejected for this reason
    else:
        assert same(f"{operand} BETWEEN {low} AND {high}", f"{operand} >= {low} AND {operand} <= {high}", properties)
    assert same(f"{operand} NOT BETWEEN {low} AND {high}", f"{operand} < {low} OR {operand} > {high}", properties)
    assert same(f"{operand} <> {low}", f"NOT ({operand} = {low})", properties)


@dataclass(frozen=True)
class Written:
    """An expression with as few parentheses as needed (`short`), and with all (`full`).

    `level` is the precedence of its last operator.
    """

    short: str
    full: str
    level: int

    def within(self, level: int) -> str:
        """Return the short form as an operand of an operator of this level."""
        return self.short if self.level >= level else f"({self.short})"


_OR, _AND, _EQUAL, _ORDER, _UNARY = range(5)
_PROPERTY_LEAVES = st.sampled_from("abc").map(lambda name: Written(name, name, _UNARY))
_LEAVES = st.sampled_from([*"abc", "TRUE", "FALSE"]).map(lambda text: Written(text, text, _UNARY))


def _binary(word: str, level: int, left: Written, right: Written) -> Written:
    # Operators of one level associate to the left, so the right operand must bind tighter.
    short = f"{left.within(level)} {word} {right.within(level + 1)}"
    return Written(short, f"({left.full} {word} {right.full})", level)


def _written(parts: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    orders = st.builds(
        lambda word, left, right: _binary(word, _ORDER, left, right),
        st.sampled_from([">", ">=", "<", "<="]),
        _PROPERTY_LEAVES,
        _PROPERTY_LEAVES,
    )
    return st.one_of(
        orders,
        st.builds(lambda left, right: _binary("OR", _OR, left, right), parts, parts),
        st.builds(lambda left, right: _binary("AND", _AND, left, right), parts, parts),
        st.builds(
            lambda word, left, right: _binary(word, _EQUAL, left, right), st.sampled_from(["=", "<>"]), parts, parts
        ),
        parts.map(lambda it: Written(f"NOT {it.within(_UNARY)}", f"(NOT {it.full})", _UNARY)),
        parts.map(lambda it: Written(f"{it.within(_EQUAL)} IS NULL", f"({it.full} IS NULL)", _EQUAL)),
        parts.map(lambda it: Written(f"{it.within(_ORDER)} CONTAINS 'x'", f"({it.full} CONTAINS 'x')", _ORDER)),
    )


@given(st.recursive(_LEAVES, _written, max_leaves=12))
def test_redundant_sql_parentheses_do_not_change_the_parsed_expression(written: Written) -> None:
    """An expression parses equally with all parentheses and with only those that it needs."""
    assert SqlParser(written.short).parse().text == SqlParser(written.full).parse().text


@given(st.sampled_from(_OPERANDS + _TEXTS), st.sampled_from(_OPERANDS + _TEXTS), st.integers(0, 40), _PROPERTIES)
def test_nested_sql_parentheses_do_not_change_the_result(
    left: str, right: str, depth: int, properties: dict[str, str]
) -> None:
    nested = "(" * depth + f"{left} = {right}" + ")" * depth
    assert same(nested, f"{left} = {right}", properties)
