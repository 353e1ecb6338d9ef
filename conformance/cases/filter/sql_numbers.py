"""SQL92 filters: numeric literals and numeric strings of properties.

The messages are those of `helpers/filtered.py`.
"""

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.filtered import note_outcomes


@remoting_case("ConstantExpression.createFromDecimal")
def a_32_bit_integer_literal_parses_strings_as_java_integer(t: RemotingContext) -> None:
    """A 32-bit integer literal equals every string that Java parses to that Integer, in any script and with a sign."""
    note_outcomes(
        t,
        *("a = 0", "a = 1", "a = 2", "a = 3", "a = 10", "1 = a", "a = 1L", "a = 1l", "a = 2147483647", "a <> 0"),
        *("a <> 1", "1 <> a", "a <> 2147483647", "NOT (a = 1)", "NOT (a <> 1)"),
    )


@remoting_case("UnaryExpression.createNegate")
def a_minus_negates_only_numeric_literals(t: RemotingContext) -> None:
    """A minus negates only numeric literals; before a property, a string or a truth value the result is unknown."""
    note_outcomes(
        t,
        *("a = -1", "a = - 1", "a = - -1", "a = -+1", "a = +1", "a = + 1", "a = + +1", "a = -(1)", "a = -0"),
        *("a = -.5", "-1 = a", "-a = 1", "-a = -1", "-(a) = 1", "-a IS NULL", "-'1' IS NULL", "-TRUE IS NULL"),
        *("-NULL IS NULL", "-1 IS NULL", "-a = x", "-a = a", "a = -b", "a > -b", "- -a = 1", "-'1' = 1", "-1 = - 1"),
        "a > -'1'",
    )


@remoting_case("ConstantExpression.createFromDecimal")
def a_leading_zero_is_a_complete_literal(t: RemotingContext) -> None:
    """Octal and hexadecimal literals do not exist: a leading zero is a complete literal, and the rest is ignored."""
    note_outcomes(t, "a = 01", "a = 00", "a = 0x1", "a = 0L", "a = 007", "a = 007.5", "a = 01.5", "a = 00e1", "01 = a")


@remoting_case("ConstantExpression.createFromDecimal")
def a_larger_integer_literal_parses_strings_as_java_long(t: RemotingContext) -> None:
    """An integer literal beyond 32 bits parses strings as Java's Long. A negative literal accepts the same strings."""
    note_outcomes(
        t,
        *("a = 2147483648", "a > 2147483647", "a >= 2147483648", "a > 2147483648", "a < 2147483648"),
        *("a <= 2147483648", "a = -2147483648", "a > -2147483648", "a >= -2147483648L", "a < 3000000000L"),
        *("a <> 2147483648", "a = 9223372036854775807", "a >= 9223372036854775807", "a < 9223372036854775807"),
        *("a > -9223372036854775807", "a = 9223372036854775807L", "a = -9223372036854775807"),
    )


@remoting_case("ComparisonExpression.createGreaterThan")
def integer_order_comparisons_match_only_integer_strings(t: RemotingContext) -> None:
    """An order comparison with an integer matches neither non-integer strings nor messages without the property."""
    note_outcomes(
        t,
        *("a > 0", "a >= 0", "a < 0", "a <= 0", "a > 1", "a >= 1", "a < 1", "a <= 1", "a > 2147483647", "0 < a"),
        *("0 <= a", "0 > a", "1 >= a", "NOT (a > 0)", "NOT (a <= 0)", "a>0", "a<=-1"),
    )


@remoting_case("ConstantExpression.createFloat")
def a_floating_point_literal_parses_strings_as_java_double(t: RemotingContext) -> None:
    """A floating-point literal parses strings as Java's Double, with blanks, suffixes, hexadecimal and NaN."""
    note_outcomes(
        t,
        *("a = 1.0", "a = 1.", "a = 1.00", "a = .5", "a = 0.5", "a = 1.5", "a = 2.0", "a = 10.0", "a = 1e0"),
        *("a = 1E1", "a = 1e+1", "a = 10e-1", "a = .1e1", "a = 1.e1", "a <> 1.0", "1.0 = a", "a = 2147483648.0"),
        *("a = 9.2e18", "a = 9223372036854775808.0", "a = 9223372036854775807.0", "a = 1.0f", "a = 1.0d"),
    )


@remoting_case("ComparisonExpression.__compare")
def nan_sorts_above_infinity_and_negative_zero_below_zero(t: RemotingContext) -> None:
    """Among doubles NaN is above infinity, and negative zero is below zero."""
    note_outcomes(
        t,
        *("a > 1.0", "a >= 1.0", "a < 1.0", "a <= 1.5", "a > .5", "a < .5", "a > 1e308", "a > 1.7976931348623157E308"),
        *("a < 4.9E-324", "a >= 4.9E-324", "a > -4.9E-324", "a < -1e-300", "a <= -.5", "a > -1e308", "NOT (a > .5)"),
    )


@remoting_case("ComparisonExpression.__compare")
def literals_compare_across_their_types(t: RemotingContext) -> None:
    """Literals of different types are compared as the wider one; strings are parsed as the other operand's type."""
    note_outcomes(
        t,
        *("1 = 1", "1 = 2", "1 <> 2", "1 = 1L", "1 = 1.0", "1.0 = 1", "1 = '1'", "'1' = 1", "1 = ' 1 '"),
        *("1.0 = ' 1 '", "'x' = 1", "1 = 'x'", "'x' = 1.5", "NOT ('x' = 1)", "'1' = '1'", "'1' = '01'", "1 <> '1'"),
        *("'01' = 1", "1 < 2", "2 < 1", "1 <= 1", "1.5 > 1", "1 > 1.5", "3000000000 > 1", "1 > 3000000000", "1 < 1L"),
        *("2147483648 = 2147483648.0", "9007199254740993 = 9007199254740992.0", "-1 < 1", "-1 < -2", "1 = 2147483648"),
        *("'2147483648' = 2147483648", "1 = '2147483648'", "'2147483648' = 1", "1 BETWEEN 0 AND 2"),
        "1 NOT BETWEEN 2 AND 0",
    )


@remoting_case("ComparisonExpression.createBetween")
def each_bound_of_between_parses_the_string_in_its_type(t: RemotingContext) -> None:
    """BETWEEN is two order comparisons, and each parses the string as its own bound.

    Only literals are checked before.
    """
    note_outcomes(
        t,
        *("a BETWEEN 0 AND 2", "a BETWEEN 1 AND 1", "a BETWEEN -1 AND 1", "a BETWEEN 0.5 AND 1.5"),
        *("a BETWEEN 1 AND 1.5", "a BETWEEN 0 AND 3000000000", "a BETWEEN 2147483648 AND 3000000000"),
        *("a BETWEEN 2 AND -1", "a BETWEEN -1 AND -2", "a NOT BETWEEN 0 AND 1", "a NOT BETWEEN 5 AND 1"),
        *("a NOT BETWEEN 0.5 AND 1.5", "a NOT BETWEEN -1 AND 1", "a BETWEEN 1 AND 1L", "a BETWEEN 1.0 AND 1"),
        *("NOT (a BETWEEN 0 AND 2)", "NOT (a NOT BETWEEN 0 AND 2)", "a BETWEEN b AND 2", "a BETWEEN 1 AND b"),
        *("a BETWEEN b AND b", "a NOT BETWEEN b AND b", "1 BETWEEN a AND b", "1 BETWEEN b AND a"),
        *("a BETWEEN 0 AND 2 AND b = 'x'", "a BETWEEN 0 AND 2 OR b = 'x'", "x BETWEEN 0 AND 2", "a BETWEEN x AND 2"),
        *("a NOT BETWEEN x AND 1", "a BETWEEN (1) AND (2)", "a BETWEEN +1 AND +2", "-a BETWEEN 0 AND 2"),
    )
