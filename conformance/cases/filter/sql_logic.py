"""SQL92 filters: truth values, NULL and precedence.

The messages are those of `helpers/filtered.py`.
"""

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.filtered import note_outcomes


@remoting_case("LogicExpression.createAND")
def logic_has_three_values(t: RemotingContext) -> None:
    """In AND false has priority over unknown, in OR true has, and NOT keeps unknown."""
    note_outcomes(
        t,
        *("TRUE", "FALSE", "NULL", "NOT TRUE", "NOT FALSE", "NOT NULL", "TRUE AND TRUE", "TRUE AND FALSE"),
        *("TRUE AND NULL", "NULL AND TRUE", "NULL AND FALSE", "NULL AND NULL", "FALSE OR FALSE", "TRUE OR NULL"),
        *("NULL OR TRUE", "FALSE OR NULL", "NULL OR NULL", "NOT (NULL AND FALSE)", "NOT (FALSE AND NULL)"),
        *("NOT (NULL AND TRUE)", "NOT (NULL OR FALSE)", "NOT (NULL OR TRUE)", "NOT (FALSE OR FALSE)", "NOT NOT NULL"),
        *("NOT NOT TRUE", "NULL AND TRUE OR TRUE", "NOT (TRUE AND TRUE AND NULL)", "NOT (TRUE AND NULL AND FALSE)"),
    )


@remoting_case("UnaryExpression.createBooleanCast")
def a_property_alone_is_false(t: RemotingContext) -> None:
    """A property as a condition is false if it exists and unknown if it is missing. Its value does not matter."""
    note_outcomes(
        t,
        *("a", "NOT a", "(a)", "NOT (a)", "NOT NOT a", "x", "NOT x", "a AND b", "a OR b", "NOT a AND NOT b"),
        *("NOT (a OR b)", "NOT (a AND b)", "a OR TRUE", "a AND TRUE", "a IS NULL OR a", "NOT a OR b = 'x'", "(a) = 1"),
    )


@remoting_case("ComparisonExpression.createEqual")
def a_string_is_parsed_as_boolean_only_left_of_a_boolean(t: RemotingContext) -> None:
    """A string is compared with a truth value on its right like Java's Boolean, but never with one on its left."""
    note_outcomes(
        t,
        *("a = TRUE", "a = FALSE", "a <> TRUE", "a <> FALSE", "TRUE = a", "FALSE = a", "TRUE <> a", "NOT (TRUE = a)"),
        *("TRUE = TRUE", "TRUE = FALSE", "TRUE <> FALSE", "FALSE = FALSE", "'true' = TRUE", "'x' = FALSE"),
        *("'x' = TRUE", "1 = TRUE", "1 <> TRUE", "1.5 = FALSE", "(1 = 1) = TRUE", "(1 = 1) = 'true'"),
        *("'true' = (1 = 1)", "(1 = 1) = 1", "1 = (1 = 1)", "(a = 1) = TRUE", "(a = 1) = FALSE", "(a = 1) = NULL"),
        *("(a = 1) = (b = 1)", "(a > 0) = (b > 0)", "(a = 1) <> (b = 1)", "b = (b = 'true')", "TRUE = TRUE = TRUE"),
        *("(x = 1) = (x = 1)", "(x = 1) = TRUE"),
    )


@remoting_case("ComparisonExpression.createIsNull")
def is_null_accepts_any_operand_and_tests_for_unknown(t: RemotingContext) -> None:
    """IS NULL tests whether any operand is unknown; a condition that cannot be evaluated has no result."""
    note_outcomes(
        t,
        *("a IS NULL", "a IS NOT NULL", "x IS NULL", "x IS NOT NULL", "b IS NULL", "a IS NULL AND b IS NULL"),
        *("a IS NULL OR b IS NULL", "a IS NOT NULL AND b IS NOT NULL", "NOT (a IS NULL)", "NULL IS NULL", "1 IS NULL"),
        *("NULL IS NOT NULL", "TRUE IS NOT NULL", "'x' IS NOT NULL", "(a = 1) IS NULL", "(a = 1) IS NOT NULL"),
        *("(x = 1) IS NULL", "(a > 0) IS NULL", "(a > 0) IS NOT NULL", "(a IN ('1')) IS NULL", "(NOT x) IS NULL"),
        *("(a CONTAINS '1') IS NULL", "a IS NULL IS NULL", "a IS NULL = TRUE", "a IS NULL = FALSE"),
        *("a IS NOT NULL = TRUE", "(a AND b) IS NULL", "(a OR b) IS NULL", "(a AND b) IS NOT NULL"),
    )


@remoting_case("ComparisonExpression.createEqual")
def a_missing_property_makes_equality_unknown_left_and_false_right(t: RemotingContext) -> None:
    """A comparison with a missing property on the left of = is unknown, with one on the right it is false."""
    note_outcomes(
        t,
        *("x = 1", "x <> 1", "1 = x", "1 <> x", "'x' <> x", "x = 'x'", "NOT (x = 1)", "NOT (1 = x)", "x > 1", "1 > x"),
        *("NOT (x > 1)", "NOT (1 > x)", "x = 1 OR a = 1", "a = 1 OR x = 1", "x = 1 AND a = 1", "a = 1 AND x = 1"),
        *("NOT (x = 1 AND a = 1)", "NOT (x = 1 OR a = 1)", "NOT (a = 1 AND b = 'x')", "x IS NULL AND a = 1"),
        *("NOT (x IN ('1') OR a = 1)", "x CONTAINS '1' OR a = 1", "NOT (x CONTAINS '1' OR a = 1)"),
        "a = 1 AND NOT (x = 1)",
    )


@remoting_case("ExpressionMessageFilter.isMatchedByCommitLog")
def a_non_numeric_string_aborts_the_evaluation(t: RemotingContext) -> None:
    """A non-numeric string aborts the evaluation: nothing matches, unless the result is already decided."""
    note_outcomes(
        t,
        *("a > 0 OR a = 'abc'", "a = 'abc' OR a > 0", "a <> 'abc' AND a > 0", "a > 0 AND a <> 'abc'", "a > 0 OR TRUE"),
        *("TRUE OR a > 0", "FALSE AND a > 0", "a > 0 AND FALSE", "NOT (a > 0 AND FALSE)", "NOT (FALSE AND a > 0)"),
        *("b = 'x' OR a > 0", "a > 0 OR b = 'x'", "b = 'x' AND a > 0", "a = 1 OR a = 1.5", "a = 1.5 OR a = 1"),
        *("a IS NULL OR a > 0", "a IN ('abc') OR a > 0", "(a > 0) = (a > 0)", "NULL AND a > 0 OR TRUE"),
    )


@remoting_case("SelectorParser.orExpression")
def and_binds_tighter_than_or(t: RemotingContext) -> None:
    """AND has higher precedence than OR, parentheses have the highest, and both are left-associative."""
    note_outcomes(
        t,
        *("a = 1 OR a = 2 AND b = 'x'", "(a = 1 OR a = 2) AND b = 'x'", "a = 2 AND b = 'x' OR a = 1"),
        *("TRUE OR TRUE AND FALSE", "(TRUE OR TRUE) AND FALSE", "FALSE AND FALSE OR TRUE"),
        *("FALSE AND (FALSE OR TRUE)", "a = 1 OR a = 2 OR b = 'x'", "a = 1 AND b = '1' AND b <> 'x'"),
        *("a = 1 AND (b = '1' OR b = 'x') OR a = 10", "((((a))))", "((a = 1))", "(a) = (1)"),
        *("a IN ('1') AND b IN ('x') OR b IN ('2')", "a = 1 AND b = 'x' OR a = 2 AND b = '1'"),
        "(" * 100 + "a = 1" + ")" * 100,
    )


@remoting_case("SelectorParser.unaryExpr")
def not_binds_tighter_than_comparisons(t: RemotingContext) -> None:
    """NOT applies only to the next operand: it makes a condition of a bare property, which is then compared."""
    note_outcomes(
        t,
        *("NOT a = 1", "NOT (a) = 1", "NOT a = 1 OR TRUE", "NOT (a = 1) AND b = 'x'", "NOT a = b", "NOT a <> b"),
        *("NOT a = TRUE", "NOT a IS NULL", "NOT a IS NOT NULL", "NOT (a IS NULL)", "a = 1 AND NOT b = 'x'"),
        *("a = 1 AND NOT (b = 'x')", "a = NOT b", "a <> NOT b", "NOT NOT a = 1", "NOT TRUE = FALSE"),
        *("NOT (TRUE = FALSE)", "NOT a OR a = 1"),
    )


@remoting_case("SelectorParser.equalityExpression")
def order_comparisons_bind_tighter_than_equality(t: RemotingContext) -> None:
    """Order comparisons have higher precedence than =. A chain of = compares the first result with the next operand."""
    note_outcomes(
        t,
        *("a = 1 = TRUE", "a = 1 = FALSE", "a = b = TRUE", "TRUE = a > 1", "a > 1 = TRUE", "a > 1 <> TRUE"),
        *("a <> 1 <> TRUE", "a = 1 IS NULL", "a > 1 IS NULL", "a > 1 IS NOT NULL", "a = b = a", "a = 1 = 1"),
        *("a = 1 = 'true'", "a = b > 1", "a = 1 BETWEEN 0 AND 2", "1 = 1 AND 2 = 2 OR 1 = 2", "-a = 1 OR a = 1"),
        "a IN ('1') = b IN ('1')",
    )
