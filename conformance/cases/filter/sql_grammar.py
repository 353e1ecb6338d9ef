"""SQL92 filters: tokens, names, white space, comments, ignored text.

The messages are those of `helpers/filtered.py`.
"""

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.filtered import note_outcomes


@remoting_case("SelectorParserTokenManager.getNextToken")
def keywords_are_case_insensitive(t: RemotingContext) -> None:
    """Keywords are case-insensitive; property names are case-sensitive."""
    note_outcomes(
        t,
        *("a Is Not Null", "a BeTween 0 aNd 2", "a nOt bEtween 0 AND 2", "a = 1 oR a = 2", "nOt (a = 1)"),
        *("a iN ('1')", "tRuE", "faLSE", "nuLL", "a contains '1'", "a not Contains '1'", "a StartsWith '1'"),
        *("a endSWITH '1'", "TRUE = true", "A = 1", "A IS NULL", "B = 'x'", "a = 1e1", "a = 1E1"),
    )


@remoting_case("SelectorParser.variable")
def property_names_have_letters_digits_underscores_and_dollars(t: RemotingContext) -> None:
    """A property name has letters, digits, _ and $, and does not start with a digit. It must not be a keyword."""
    note_outcomes(
        t,
        *("$a IS NULL", "_a IS NULL", "a1 IS NULL", "a_b IS NULL", "a$ IS NULL", "Not1 IS NULL", "true1 IS NULL"),
        *("nulls IS NULL", "between1 IS NULL", "NOTa IS NULL", "a1 = 1", "1a = 1", "a-b = 1", "a.b = 1", "a:b = 1"),
        *("é = 1", "aé = 1", "BETWEEN = 1", "TAGS IS NULL", "KEYS IS NULL", "UNIQ_KEY IS NULL", "TRACE_ON = 'true'"),
        *("MSG_REGION = 'DefaultRegion'", "WAIT IS NULL"),
    )


@remoting_case("SelectorParserTokenManager.getNextToken")
def white_space_and_comments_separate_tokens(t: RemotingContext) -> None:
    """Blanks, tabs, line ends, form feeds and comments may separate tokens. A line comment requires a line end."""
    note_outcomes(
        t,
        *("a=1", " a = 1 ", "a\t=\n1", "a\r\n=\r1", "a\f=1", "/**/a=1", "/***/a=1", "a/* x */=/* y\n */1"),
        *("a = /* 2 */ 1", "-- c\na = 1", "-- c\ra = 1", "-- c\r\na = 1", "--\n-- x\n a = 1", "a = -- c\n1"),
        *("a = 1 -- open", "a = --1", "a = 1 /* open", "a = 1 /", "a = 1 /*/", "a /* '*/ = 1", "a = '/* x */'"),
        *("a = '-- x'", "a\x0b= 1", "a\N{NO-BREAK SPACE}= 1", "a=1AND b='x'", "a=1OR b='x'", "a>0AND a<2"),
        *("a=1e1AND b='9'", "NOT(a=1)", "a IN('1')AND b='x'"),
    )


@remoting_case("SelectorParser.JmsSelector")
def text_after_a_complete_expression_is_ignored(t: RemotingContext) -> None:
    """An expression ends where no further token fits. The next token must be valid, and the rest is ignored."""
    note_outcomes(
        t,
        *("a = 1 foo", "a = 1)", "a = 1 b = 2", "a = 1, b", "a = 1 'x'", "a = 1 2", "a = 1.5.5", "a = 1e", "a = 1 +"),
        *("a = 1 - 1", "a = 1;", "a = 1 foo;", "a = 1 'open", "a = 1 foo 'open", "a = 1 * 2", "a = 1 NOT", "a = 1 IS"),
        *("a = 1 (", "TRUE FALSE", "a = 1 TRUE", "(a = 1) b", "(a = 1))", "a IS NULL b", "a IN ('1') b", "a b"),
        *("a a = 1", "FALSE OR TRUE b", "a = 1 BETWEEN"),
    )


@remoting_case("SelectorParser.unaryExpr")
def arithmetic_is_not_supported(t: RemotingContext) -> None:
    """Arithmetic is not supported: plus and minus end an expression, and other operators are invalid tokens."""
    note_outcomes(
        t,
        *("a + 1 = 2", "a - 1 = 0", "1 + a = 2", "a = 1 + 1", "a * 1 = 1", "a / 1 = 1", "a % 2 = 1", "(a + 1) = 2"),
        *("a || b = 1", "a = 1 && b = 2", "!a", "a = 1 | b", "a ^ b", "~a", "+a = 1", "+(a = 1)", "+(a) = 1"),
        *("a > +b", "+ + a = 1"),
    )
