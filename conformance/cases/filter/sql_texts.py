"""SQL92 filters: strings.

The messages are those of `helpers/filtered.py`.
"""

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.filtered import note_outcomes


@remoting_case("ComparisonExpression.createEqual")
def a_quoted_string_equals_only_the_identical_string(t: RemotingContext) -> None:
    """A quoted string equals only the identical string, case and blanks included. A quote in it is doubled."""
    note_outcomes(
        t,
        *("a = '1'", "a = '01'", "a = ' 1 '", "a = 'abc'", "a = 'ABC'", "a = 'abc '", "a = 'it''s'", "a = ''''"),
        *("a = ''", "a <> ''", "a <> 'abc'", "a <> 'x'", "'abc' = a", "'' = a", "'' = ''", "'' IS NULL", "a = '1.0'"),
        *("a = 'TRUE'", "a = 'é'", "a = '\N{GRINNING FACE}'", "a = '\N{ARABIC-INDIC DIGIT THREE}'", "a = '100%'"),
        *("a = '\\'", "a = 'a\\nb'", "NOT (a = 'abc')", "b = 'x'", "b = 'X'", "b = 'x' OR b = 'X'"),
        "a = 'x' AND b = 'y'",
    )


@remoting_case("ComparisonExpression.createEqual")
def properties_are_equal_as_strings_but_ordered_as_doubles(t: RemotingContext) -> None:
    """Two properties are equal if their strings are equal or both are missing.

    Order comparisons parse both as doubles.
    """
    note_outcomes(
        t,
        *("a = b", "b = a", "a <> b", "b <> a", "NOT (a = b)", "a = a", "a <> a", "b = b", "a = x", "x = a", "x = y"),
        *("x <> y", "a > b", "a >= b", "a < b", "a <= b", "b > a", "b < a", "a >= a", "a > a", "a > x", "x > a"),
        *("x >= y", "NOT (a > b)", "a = b AND a IS NOT NULL", "A = a", "A = B"),
    )


@remoting_case("UnaryExpression.createInExpression")
def in_searches_a_list_of_strings(t: RemotingContext) -> None:
    """IN and NOT IN search a list of strings. A missing property matches neither."""
    note_outcomes(
        t,
        *("a IN ('1')", "a IN ('1','01',' 1 ')", "a IN ('1', '1')", "a IN ('')", "a IN ('it''s')", "a IN ('ABC')"),
        *("a NOT IN ('1')", "a NOT IN ('')", "a NOT IN ('1', 'abc')", "NOT (a IN ('1'))", "NOT (a NOT IN ('1'))"),
        *("a IN ('1','2','10','abc','é','\N{GRINNING FACE}')", "a NOT IN ('1','2','10','abc','é','true','x','it''s')"),
        *("x IN ('1')", "x NOT IN ('1')", "NOT (x IN ('1'))", "(a) IN ('1')", "+a IN ('1')", "a in('1')"),
        *("a IN ( '1' )", "a IN ('1') = TRUE", "(a IN ('1')) IS NULL", "a IN ('1') AND b IN ('1','2')"),
        "a IN ('1') OR b NOT IN ('x')",
    )


@remoting_case("ComparisonExpression.createContains")
def contains_is_false_for_operands_that_are_not_strings(t: RemotingContext) -> None:
    """CONTAINS searches only strings.

    CONTAINS and NOT CONTAINS are both false for other operands and for an empty search string.
    """
    note_outcomes(
        t,
        *("a CONTAINS '1'", "a CONTAINS ' '", "a CONTAINS ''''", "a CONTAINS 'B'", "a CONTAINS 'b'", "a CONTAINS '%'"),
        *("a CONTAINS '\N{GRINNING FACE}'", "a CONTAINS ''", "a NOT CONTAINS '1'", "a NOT CONTAINS ''"),
        *("x CONTAINS '1'", "x NOT CONTAINS '1'", "NOT (x CONTAINS '1')", "NOT (a CONTAINS '1')"),
        *("NOT a CONTAINS '1'", "NOT a NOT CONTAINS '1'", "'abc' CONTAINS 'b'", "'abc' NOT CONTAINS 'b'"),
        *("1 CONTAINS '1'", "1 NOT CONTAINS '1'", "TRUE CONTAINS 'T'", "TRUE NOT CONTAINS 'T'", "NULL CONTAINS 'x'"),
        *("NULL NOT CONTAINS 'x'", "(a = 1) CONTAINS 't'", "-a CONTAINS '1'", "(a CONTAINS '1') = TRUE"),
        *("a CONTAINS '1' = FALSE", "a CONTAINS '1' IS NULL", "a CONTAINS '1' CONTAINS 't'"),
        *("(a CONTAINS '1') NOT CONTAINS 't'", "+a CONTAINS '1'", "a CONTAINS 'it''s'"),
        "a CONTAINS '1' AND b CONTAINS 'x'",
    )


@remoting_case("ComparisonExpression.createStartsWith")
def startswith_and_endswith_examine_one_end_of_a_string(t: RemotingContext) -> None:
    """STARTSWITH and ENDSWITH examine one end of a string.

    Their negations are false for operands that are not strings.
    """
    note_outcomes(
        t,
        *("a STARTSWITH '1'", "a STARTSWITH '-'", "a STARTSWITH ''", "a STARTSWITH 'T'", "a NOT STARTSWITH '1'"),
        *("a NOT STARTSWITH ''", "x STARTSWITH '1'", "x NOT STARTSWITH '1'", "1 STARTSWITH '1'"),
        *("'abc' STARTSWITH 'ab'", "a ENDSWITH '1'", "a ENDSWITH 'E'", "a ENDSWITH ''", "a ENDSWITH '%'"),
        *("a NOT ENDSWITH '1'", "a NOT ENDSWITH ''", "x ENDSWITH '1'", "x NOT ENDSWITH '1'", "1 ENDSWITH '1'"),
        *("'abc' ENDSWITH 'bc'", "TRUE NOT ENDSWITH 'E'", "a STARTSWITH '1' AND a ENDSWITH '0'"),
        *("a STARTSWITH '1' OR b ENDSWITH 'z'", "NOT (a STARTSWITH '1')", "NOT (a ENDSWITH '1')"),
        *("a STARTSWITH '1' = TRUE", "a STARTSWITH '1' STARTSWITH 't'", "NULL STARTSWITH 'x'"),
    )


@remoting_case("SelectorParser.comparisonExpression")
def like_is_not_supported(t: RemotingContext) -> None:
    """LIKE is not supported: it ends the expression, and the rest is ignored. After NOT it is an error."""
    note_outcomes(
        t,
        *("a LIKE 'a%'", "NOT a LIKE 'a%'", "a = 1 LIKE '1'", "a NOT LIKE 'a%'", "a LIKE 'a%' ESCAPE '!'"),
        *("a like 'a%'", "a = 'abc' AND b LIKE 'x'", "a = 'abc' OR b LIKE 'x'", "(a LIKE 'a%')", "a REGEXP '.'"),
        "LIKE IS NULL",
    )
