"""SQL92 filters: invalid expressions with their error messages.

The messages are those of `helpers/filtered.py`.
"""

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.filtered import note_outcomes


@remoting_case("SelectorParser.generateParseException")
def the_error_for_an_incomplete_expression_names_its_end(t: RemotingContext) -> None:
    """The error for an incomplete expression names its end, with line and column, and the expected tokens."""
    note_outcomes(
        t,
        *("a =", "a >", "a <>", "a AND", "a OR", "NOT", "(", "(a", "(a = 1", "a = (1", "a BETWEEN", "a BETWEEN 1"),
        *("a BETWEEN 1 AND", "a IN", "a IN (", "a IN ('x'", "a IN ('x',", "a IS", "a IS NOT", "a CONTAINS"),
        *("a STARTSWITH", "a NOT", "a NOT IN", "a NOT IN (", "a NOT BETWEEN 1", "a NOT CONTAINS", "-", "+", "a = -"),
        *("a = +", "a AND NOT", "a = 1\n AND", "a = 1\n\tAND", "\t\ta =", "a =\r\n", "a = /* x */", "a = -- c\n"),
        *("\n\n", "a = ''AND"),
    )


@remoting_case("SelectorParser.generateParseException")
def the_error_for_a_misplaced_token_names_the_expected_tokens(t: RemotingContext) -> None:
    """The error for a misplaced token names its kind and the expected tokens in a fixed order."""
    note_outcomes(
        t,
        *(")", "= 1", "a = = 1", "a == 1", "a > > 1", "a >> 1", "a => 1", "a =< 1", "a <=> 1", "a = )", "AND a", "OR"),
        *("IN ('x')", "a AND OR b", "BETWEEN 1 AND 2", "IS NULL", ", a", "()", "(a, b)", "(a = 1 b", "(a b)"),
        *("NOT NOT", "NOT AND", "(a = 1 AND)", "a IN 'x'", "a IN (1)", "a IN (1, 2)", "a IN (a)", "a IN ('x' 'y')"),
        *("a IN ()", "a IN ('x',)", "a IN (,)", "a IN ('x' AND", "a IN (NULL)", "a NOT IN (1)", "a BETWEEN 1, 2"),
        *("a BETWEEN 1 OR 2", "a BETWEEN AND 2", "a BETWEEN (1 AND 2)", "a IS 1", "a IS TRUE", "a IS NOT TRUE"),
        *("a IS NOT 'x'", "a IS a", "a CONTAINS a", "a CONTAINS NULL", "a STARTSWITH 1", "a ENDSWITH 1.5"),
        *("a NOT = 1", "a NOT NULL", "a NOT LIKE 'x'", "a NOT a", "a NOT (b)", "+)", "+(a", "+(a = )", "a = +)"),
        *("+ + (a", "+ - )", "a = +(1", "a IN (\n'x'\n1)", "a = 'x'\n  AND = 2", "\t(a = 1\t(", "a = 1 AND /* x */ )"),
        *("a IS 'it''s'", 'a IS "', "a IS é", "a IN (\N{GRINNING FACE})", "+(99999999999999999999 = )"),
        *("+(1 = 'x' AND )", "(TRUE = 1 AND"),
    )


@remoting_case("TokenMgrError.LexicalError")
def the_error_for_an_invalid_character_names_its_code(t: RemotingContext) -> None:
    """The error for an invalid character names its code and the text of the token so far."""
    note_outcomes(
        t,
        *("*", "a ! 1", "a != 1", "a # 1", 'a = "x"', "a = `x`", "a & b", "a | b", "a @ b", "a [1]", "{a}", "a ~ 1"),
        *("a ? b", "a \\ b", "a * 2", "a / 2", "a = /", "a = / 2", "a . b", "a = .", "a = .x", "a.b", "a = 1..5"),
        *("a = 1.5.x", "a;", "a:", "a = 'open", "a = 'it''s", "a = 'open\nline", "'", "a = '''", "/* open", "/*"),
        *("a = 1 /* open", "a /* x * /", "é", "a = é", "a é = 1", "\N{GRINNING FACE}", "a = \N{GRINNING FACE}"),
        *("a = '\N{GRINNING FACE}' é", "a\N{NO-BREAK SPACE}= 1", "a = '\N{GRINNING FACE}", "a\t\t!", "a\n\n!", "a\r!"),
        *("a\r\n !", "/* \N{GRINNING FACE} */ !", "a = 'é' !", "a = '\t'!", "\x01a"),
    )


@remoting_case("ComparisonExpression.checkLessThanOperand")
def order_comparisons_require_numbers_or_properties(t: RemotingContext) -> None:
    """Order comparisons require numbers or properties.

    The error for other literals or conditions prints them in full.
    """
    note_outcomes(
        t,
        *("a > 'x'", "'x' > a", "a >= ''", "a < 'it''s'", "a > TRUE", "FALSE <= a", "a > NULL", "NULL < a"),
        *("a > (b = 1)", "(a = 1) > 1", "a > (NOT b)", "NOT a > 1", "a > 1 > 1", "(a IS NULL) > 1"),
        *("(a IS NOT NULL) < 1", "(a AND b) > 1", "(a = 1 AND b = 'it''s' OR NOT c) > 1", "(a BETWEEN 1 AND 2) > 1"),
        *("(a NOT BETWEEN 1 AND 2) > 1", "(-a = 1) > 1", "(a CONTAINS 'x') > 1", "(a NOT ENDSWITH 'x') > 1"),
        *("(a <> 1) > 1", "(a = TRUE) > 1", "(a = -1) > 1", "(a <= 1L) > 1", "(a IN ('x')) > 1"),
        *("(a NOT IN ('x', 'y')) > 1", "(a IN ('5','4','3','2','1')) > 1"),
        "(a IN ('Aa','BB','C#','x','longer','it''s','é')) > 1",
        *("(a IN ('0','1','2','3','4','5','6','7','8','9','10','11','12')) > 1", "(a = 1.0) > 1"),
        *("(a = 12345678.9) > 1", "(a = 0.001) > 1", "(a = 0.0001) > 1", "(a = 1e7) > 1", "(a = 1.5e-10) > 1"),
        *("(a = 123456789012345678.0) > 1", "(a = .1) > 1", "(a = 2147483648) > 1", "(a = '\N{GRINNING FACE}') > 1"),
        "-(a = 1) > 1",
    )


@remoting_case("ComparisonExpression.createBetween")
def literal_bounds_of_between_must_be_ascending_numbers(t: RemotingContext) -> None:
    """Literal bounds of BETWEEN must be numbers in ascending order; NOT BETWEEN does not check the order."""
    note_outcomes(
        t,
        *("a BETWEEN 5 AND 1", "a BETWEEN 1.5 AND 1", "a BETWEEN 2 AND 1.5", "a BETWEEN 3000000000 AND 1"),
        *("a BETWEEN 1L AND 0", "a BETWEEN 'x' AND 'y'", "a BETWEEN 'y' AND 'x'", "a BETWEEN '1' AND '2'"),
        *("a BETWEEN 'x' AND 5", "a BETWEEN 5 AND 'x'", "a BETWEEN '5' AND 1", "a BETWEEN 1 AND '5'"),
        *("a BETWEEN '' AND 5.5", "a BETWEEN NULL AND 1", "a BETWEEN 1 AND NULL", "a BETWEEN TRUE AND FALSE"),
        *("a BETWEEN TRUE AND 1", "a BETWEEN 1 AND TRUE", "a BETWEEN FALSE AND 'x'", "a BETWEEN 'x' AND TRUE"),
        *("a NOT BETWEEN 'x' AND 1", "a NOT BETWEEN NULL AND 1", "a NOT BETWEEN 1 AND TRUE", "TRUE BETWEEN 1 AND 2"),
        *("'x' BETWEEN 1 AND 2", "NOT a BETWEEN 1 AND 2", "(a = 1) BETWEEN 1 AND 2", "a BETWEEN (b = 1) AND 2"),
        *("a BETWEEN b AND 'x'", "a BETWEEN 1e7 AND 1"),
    )


@remoting_case("ComparisonExpression.checkEqualOperand")
def comparing_null_or_a_boolean_to_another_literal_is_invalid(t: RemotingContext) -> None:
    """Comparisons with NULL are invalid, and so are those of a truth value with a non-boolean literal on its right."""
    note_outcomes(
        t,
        *("a = NULL", "NULL = a", "a <> NULL", "NULL <> NULL", "NULL = NULL", "(NULL) = a", "TRUE = 1", "TRUE = 'x'"),
        *("TRUE <> 1.5", "FALSE = 'false'", "TRUE = 1L", "a = 1 = NULL", "NULL = 1", "1 = NULL", "TRUE = NULL"),
    )


@remoting_case("ComparisonExpression.createInFilter")
def in_needs_a_property(t: RemotingContext) -> None:
    """IN requires a property on its left. The error for other operands prints them as parsed."""
    note_outcomes(
        t,
        *("1 IN ('1')", "'x' IN ('x')", "'it''s' IN ('x')", "TRUE IN ('x')", "NULL IN ('x')", "1.5 NOT IN ('x')"),
        *("1L IN ('x')", "(a = 1) IN ('x')", "NOT a IN ('x')", "-a IN ('x')", "-1 IN ('x')", "a IN ('x') IN ('y')"),
        "(a CONTAINS 'x') IN ('y')",
    )


@remoting_case("SelectorParser.asBooleanExpression")
def a_literal_or_negated_value_is_not_a_condition(t: RemotingContext) -> None:
    """A literal or a negated value is not a condition, neither alone nor as an operand of AND, OR and NOT."""
    note_outcomes(
        t,
        *("1", "1L", "1.5", "'x'", "''", "-1", "-a", "-1.5", "- -1", "(1)", "+1", "a = 1 AND 1", "1 AND a"),
        *("a OR 'x'", "1 OR TRUE", "NOT 1", "NOT 'x'", "NOT -a", "a = 1 OR (2)", "NOT (1)", "1 foo", "007 = 7"),
        *("a = 1 OR 2 OR", "-(a = 1)", "1e7", "1e-5"),
    )


@remoting_case("ConstantExpression.createFloat")
def numeric_literals_out_of_range_are_invalid(t: RemotingContext) -> None:
    """An integer beyond 64 bits is invalid, and so is a floating-point literal that is infinite or rounds to zero."""
    note_outcomes(
        t,
        *("a = 9223372036854775808", "a = -9223372036854775808", "a = 99999999999999999999L"),
        *("a > 18446744073709551616", "a = 0.0", "a = .0", "a = 0.", "a = 0e1", "a = -0.0", "a > 0.0", "a = 1e400"),
        *("a = 1E999", "a = 1e-400", "a = -1e400", "a = 4.9E-324", "a = 2e-324", "a = 1.7976931348623157E308"),
        *("a = 1.8E308", "a = 00.0", "a = 1" + "0" * 400 + ".0"),
    )
