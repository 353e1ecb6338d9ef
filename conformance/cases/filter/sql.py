"""SQL92 filters: the messages that an expression matches, and invalid expressions."""

from collections.abc import Iterable

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.settings import ODD, with_keys

A = (None, "1", "10", "5.5", "abc", "3", "01", "9999999999", "-2", " 1 ", "1e1", "2")
"""Values of the property `a`. Each message's body names its value."""
B = ("x", "true", "xyz", "it's", "TRUE", "2")
"""Values of the property `b`, likewise; these messages have no `a`."""


def _messages(t: Remoting) -> str:
    topic = t.topic(queues=1)
    sends = [t.send(topic, f"a {value}", tag="T", properties={} if value is None else {"a": value}) for value in A]
    sends += [t.send(topic, f"b {value}", properties={"b": value}) for value in B]
    sends += [t.send(topic, "a 1 b 1", properties={"a": "1", "b": "1"})]
    sends += [t.send(topic, "a 1 b x", properties={"a": "1", "b": "x"})]
    t.readable(topic, *sends)
    return topic


def _see_all(t: Remoting, expressions: Iterable[str]) -> None:
    """Record the bodies that each expression matches in a pull, or the error code."""
    topic, group = _messages(t), t.group()
    for expression in expressions:
        answer = t.pull(topic, group, expression=expression, type="SQL92")
        t.see(expression, answer.bodies if answer.code == 0 else answer.code)


def _check(t: Remoting, group: str, topic: str, expression: str, kind: str = "SQL92") -> Answer:
    data = {"topic": topic, "subString": expression, "expressionType": kind}
    body = {"clientId": "client", "group": group, "subscriptionData": data}
    return t.ask(RequestCode.CHECK_CLIENT_CONFIG, None, dumps(body))


@remoting_case("ComparisonExpression.createEqual")
def equality_compares_as_its_literal(t: Remoting) -> None:
    """A number equals the strings that parse to it in the literal's type; a string equals only itself."""
    _see_all(
        t,
        (
            *("a = 1", "a = '1'", "a = 5.5", "a = 10", "a = 1e1", "a = 1L", "a = 007", "a = -2"),
            *("a = 'abc'", "a = ''", "1 = a", "a = 9999999999"),
        ),
    )


@remoting_case("ComparisonExpression.createGreaterThan")
def order_compares_as_its_literal(t: Remoting) -> None:
    """Order comparisons are numeric: strings that do not parse as the literal's type never match."""
    _see_all(
        t,
        (
            *("a > 1", "a >= 1", "a < 3", "a <= 3", "a > 5.0", "a < 5.5", "a > 3000000000", "a > .5", "1 < a"),
            *("a > -3", "a < -1", "a > b", "b > a"),
        ),
    )


@remoting_case("ComparisonExpression.createNotEqual")
def inequality_needs_a_value(t: Remoting) -> None:
    """A message without the property never matches <>, and neither does a string that is not a number."""
    _see_all(t, ("a <> 1", "a <> '1'", "NOT (a = 1)", "NOT a = 1", "a <> 5.5", "b <> 'x'"))


@remoting_case("ComparisonExpression.createBetween")
def between_is_two_comparisons(t: Remoting) -> None:
    """BETWEEN includes both bounds and parses the value in each bound's type."""
    _see_all(
        t,
        (
            "a BETWEEN 1 AND 10",
            "a NOT BETWEEN 1 AND 5",
            "a BETWEEN 1.5 AND 6",
            "a BETWEEN 1.5 AND 6.0",
            "a BETWEEN 3 AND 3",
        ),
    )


@remoting_case("UnaryExpression.createInExpression")
def in_compares_texts(t: Remoting) -> None:
    """IN compares strings. A message without the property matches neither IN nor NOT IN."""
    _see_all(t, ("a IN ('1','10')", "a NOT IN ('1')", "a IN ('abc')", "b IN ('it''s', 'x')", "b NOT IN ('x', 'true')"))


@remoting_case("ComparisonExpression.createIsNull")
def null_is_a_missing_property(t: Remoting) -> None:
    """IS NULL matches messages without the property."""
    _see_all(t, ("a IS NULL", "a IS NOT NULL", "b IS NULL", "b IS NOT NULL", "c IS NULL", "a IS NULL AND b IS NULL"))


@remoting_case("LogicExpression.createOR")
def missing_values_make_logic_three_valued(t: Remoting) -> None:
    """AND, OR and NOT use three-valued logic with unknown values."""
    _see_all(
        t,
        (
            *("a > 0 OR b = 'x'", "b = 'x' OR a > 0", "a = 1 AND b = 'x'", "b = 'x' AND a = 1"),
            *("NOT (a > 0 OR b = 'x')", "NOT (a = 1 AND b = 'x')", "a = 1 OR a = 2 AND b = 'x'"),
            *("(a = 1 OR a = 2) AND b = 'x'", "NOT NOT (a = 1)"),
        ),
    )


@remoting_case("PropertyExpression.evaluate")
def properties_compare_with_each_other(t: Remoting) -> None:
    """Two properties are equal if their strings are equal or both are missing."""
    _see_all(t, ("a = b", "a <> b", "a = x", "x = y", "x <> a", "A = 1", "TAGS = 'T'", "TAGS IS NULL"))


@remoting_case("ConstantExpression.evaluate")
def constants_are_expressions(t: Remoting) -> None:
    """TRUE matches all messages, FALSE and NULL match none, and a property alone never matches."""
    _see_all(
        t,
        (
            "TRUE",
            "FALSE",
            "NULL",
            "1 = 1",
            "1 = 2",
            "b",
            "NOT b",
            "b = TRUE",
            "b = FALSE",
            "a = TRUE",
            "TRUE AND a = 1",
        ),
    )


@remoting_case("ComparisonExpression.createContains")
def texts_are_searched(t: Remoting) -> None:
    """CONTAINS, STARTSWITH and ENDSWITH search the string of a property and never match a missing one."""
    _see_all(
        t,
        (
            *("b CONTAINS 'y'", "b NOT CONTAINS 'y'", "b STARTSWITH 'x'", "b NOT STARTSWITH 'x'", "b ENDSWITH 'z'"),
            *("b NOT ENDSWITH 'z'", "b CONTAINS ''", "b STARTSWITH ''", "a CONTAINS '1'", "b contains 'y'"),
        ),
    )


@remoting_case("SelectorParser.JmsSelector")
def what_follows_an_expression_is_ignored(t: Remoting) -> None:
    """Comments and lower-case keywords are accepted; the text after a complete expression is ignored."""
    _see_all(
        t,
        (
            *("-- c\na = 1", "/* c */ a = 1", "a = 1 foo", "a = 1)", "a + 1 = 2", "a-b = 1", "-a = 2", "b LIKE 'x%'"),
            *("a is null", "a between 1 and 3", "a in ('1')", "not a = 1", "a = 1 or a = 2", "a\t=\n1"),
        ),
    )


REFUSED = (
    *("a >", "a >> 1", "(a = 1", "a = ", "= 1", "a BETWEEN 5 AND 1", "a BETWEEN '1' AND '5'", "a BETWEEN NULL AND 3"),
    *("a > 'x'", "a IN (1,10)", "a IN ()", "a = NULL", "a != 1", "a == 1", "*", '"a" = 1', "a > 0.0", "1", "   "),
    *("a = 9223372036854775808", "a = 'x", "a IS", "AND", "a > TRUE", "a CONTAINS 1", "a CONTAINS NULL"),
)


@remoting_case("ClientManageProcessor.checkClientConfig")
def bad_expressions_are_refused_beforehand(t: Remoting) -> None:
    """CHECK_CLIENT_CONFIG with an invalid expression returns the parse error."""
    topic, group = t.topic(queues=1), t.group()
    for expression in REFUSED:
        t.see(expression, _check(t, group, topic, expression), 23)


@remoting_case("ClientManageProcessor.checkClientConfig")
def good_expressions_pass_the_check(t: Remoting) -> None:
    """CHECK_CLIENT_CONFIG with a valid expression succeeds; tag expressions are not checked."""
    topic, group = t.topic(queues=1), t.group()
    for expression in ("a > 1", "a BETWEEN 1 AND 5 OR b IS NULL", "a LIKE", "b LIKE 'x%'", "a = 1 foo"):
        t.see(expression, _check(t, group, topic, expression), 0)
    t.see("tag", _check(t, group, topic, "||", "TAG"), 0)
    t.see("unknown topic and group", _check(t, t.new("group"), t.new(), "a > 1"), 0)
    t.see("no body", t.ask(RequestCode.CHECK_CLIENT_CONFIG), 0)
    t.see("unknown type", _check(t, group, topic, "a > 1", "FOO"))


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_with_a_bad_expression_finds_everything(t: Remoting) -> None:
    """A pull with an invalid SQL92 expression returns all messages; one with an empty expression is rejected."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2, properties={"a": "1"})
    for expression in ("a >", "a betwixt 3", "a BETWEEN 5 AND 1"):
        t.see(expression, t.pull(topic, group, expression=expression, type="SQL92"))
    t.see("no expression", t.pull(topic, group, expression="", type="SQL92"))


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_with_a_bad_expression_is_refused(t: Remoting) -> None:
    """A pop with an invalid SQL92 expression is rejected; one with an empty expression returns all messages."""
    topic = t.topic(queues=1)
    t.sent(topic, 2, properties={"a": "1"})
    for expression in ("a >", "a betwixt 3", "a BETWEEN 5 AND 1", ""):
        t.see(f"expression {expression!r}", t.pop(topic, t.group(), expression=expression, type="SQL92"))


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_filters_by_properties(t: Remoting) -> None:
    """A pop returns the matching messages and skips the others."""
    topic, group = _messages(t), t.group()
    t.see("popped", t.pop(topic, group, expression="a > 1", type="SQL92").bodies)
    t.see("again", t.pop(topic, group, expression="a > 1", type="SQL92"), 210)
    t.see("by another expression", t.pop(topic, group, expression="b = 'x'", type="SQL92"), 210)


@remoting_case("ConsumerFilterManager.register")
def a_heartbeat_registers_its_expression(t: Remoting) -> None:
    """A pull without a subscription is filtered by the expression of the consumer's heartbeat."""
    topic, group = _messages(t), t.group()
    t.heartbeat(t.new("client"), groups={group: {topic: "a BETWEEN 1 AND 3"}}, expression_type="SQL92", version=1)
    answer = t.pull(topic, group, sysFlag=0, expression=None, type=None)
    t.see("pulled", answer.found)


@remoting_case("PullMessageProcessor.processRequest")
def a_bad_expression_of_a_heartbeat_is_found_by_the_pull(t: Remoting) -> None:
    """A heartbeat with an invalid expression succeeds, but a pull that relies on it is rejected."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1, properties={"a": "1"})
    beat = t.heartbeat(t.new("client"), groups={group: {topic: "a >"}}, expression_type="SQL92", version=1)
    t.see("heartbeat", beat, 0)
    t.see("pulled", t.pull(topic, group, sysFlag=0, expression=None, type=None), 27)


@remoting_case("PullMessageProcessor.processRequest", settings=with_keys(ODD, "enablePropertyFilter"))
def filters_by_properties_may_be_off(t: Remoting) -> None:
    """With enablePropertyFilter=false SQL92 pulls and checks are rejected, but pops still filter."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, *(t.send(topic, f"m{number}", properties={"a": str(number)}) for number in range(3)))
    t.see("pulled", t.pull(topic, group, expression="a = 1", type="SQL92"), 1)
    t.see("checked", _check(t, group, topic, "a = 1"), 1)
    t.see("popped", t.pop(topic, group, expression="a = 1", type="SQL92"), 0)
