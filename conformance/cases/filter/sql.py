"""SQL92 filters: the messages that an expression matches, and invalid expressions."""

from collections.abc import Iterable

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.settings import FURTHER_CHANGED_KEYS, shared_settings

VALUES_OF_A = (None, "1", "10", "5.5", "abc", "3", "01", "9999999999", "-2", " 1 ", "1e1", "2")
"""Values of the property `a`. Each message's body names its value."""
VALUES_OF_B = ("x", "true", "xyz", "it's", "TRUE", "2")
"""Values of the property `b`, likewise; these messages have no `a`."""


def _messages(t: RemotingContext) -> str:
    topic = t.topic(queues=1)
    sends = [
        t.send(topic, f"a {value}", tag="T", properties={} if value is None else {"a": value}) for value in VALUES_OF_A
    ]
    sends += [t.send(topic, f"b {value}", properties={"b": value}) for value in VALUES_OF_B]
    sends += [t.send(topic, "a 1 b 1", properties={"a": "1", "b": "1"})]
    sends += [t.send(topic, "a 1 b x", properties={"a": "1", "b": "x"})]
    t.readable(topic, *sends)
    return topic


def _note_all(t: RemotingContext, expressions: Iterable[str]) -> None:
    """Record the bodies that each expression matches in a pull, or the error code."""
    topic, group = _messages(t), t.group()
    for expression in expressions:
        response = t.pull(topic, group, expression=expression, type="SQL92")
        t.note(expression, response.bodies if response.code == 0 else response.code)


def _check(t: RemotingContext, group: str, topic: str, expression: str, *, kind: str = "SQL92") -> DecodedResponse:
    data = {"topic": topic, "subString": expression, "expressionType": kind}
    body = {"clientId": "client", "group": group, "subscriptionData": data}
    return t.request(RequestCode.CHECK_CLIENT_CONFIG, None, dumps(body))


@remoting_case("ComparisonExpression.createEqual")
def equality_parses_strings_in_the_type_of_the_literal(t: RemotingContext) -> None:
    """A number equals the strings that parse to it in the literal's type; a string equals only itself."""
    _note_all(
        t,
        (
            *("a = 1", "a = '1'", "a = 5.5", "a = 10", "a = 1e1", "a = 1L", "a = 007", "a = -2"),
            *("a = 'abc'", "a = ''", "1 = a", "a = 9999999999"),
        ),
    )


@remoting_case("ComparisonExpression.createGreaterThan")
def order_comparisons_parse_strings_in_the_type_of_the_literal(t: RemotingContext) -> None:
    """Order comparisons are numeric: strings that do not parse as the literal's type never match."""
    _note_all(
        t,
        (
            *("a > 1", "a >= 1", "a < 3", "a <= 3", "a > 5.0", "a < 5.5", "a > 3000000000", "a > .5", "1 < a"),
            *("a > -3", "a < -1", "a > b", "b > a"),
        ),
    )


@remoting_case("ComparisonExpression.createNotEqual")
def inequality_never_matches_a_missing_property(t: RemotingContext) -> None:
    """A message without the property never matches <>, and neither does a string that is not a number."""
    _note_all(t, ("a <> 1", "a <> '1'", "NOT (a = 1)", "NOT a = 1", "a <> 5.5", "b <> 'x'"))


@remoting_case("ComparisonExpression.createBetween")
def between_is_two_comparisons(t: RemotingContext) -> None:
    """BETWEEN includes both bounds and parses the value in each bound's type."""
    _note_all(
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
def in_compares_strings(t: RemotingContext) -> None:
    """IN compares strings. A message without the property matches neither IN nor NOT IN."""
    _note_all(t, ("a IN ('1','10')", "a NOT IN ('1')", "a IN ('abc')", "b IN ('it''s', 'x')", "b NOT IN ('x', 'true')"))


@remoting_case("ComparisonExpression.createIsNull")
def null_is_a_missing_property(t: RemotingContext) -> None:
    """IS NULL matches messages without the property."""
    _note_all(t, ("a IS NULL", "a IS NOT NULL", "b IS NULL", "b IS NOT NULL", "c IS NULL", "a IS NULL AND b IS NULL"))


@remoting_case("LogicExpression.createOR")
def missing_values_make_logic_three_valued(t: RemotingContext) -> None:
    """AND, OR and NOT use three-valued logic with unknown values."""
    _note_all(
        t,
        (
            *("a > 0 OR b = 'x'", "b = 'x' OR a > 0", "a = 1 AND b = 'x'", "b = 'x' AND a = 1"),
            *("NOT (a > 0 OR b = 'x')", "NOT (a = 1 AND b = 'x')", "a = 1 OR a = 2 AND b = 'x'"),
            *("(a = 1 OR a = 2) AND b = 'x'", "NOT NOT (a = 1)"),
        ),
    )


@remoting_case("PropertyExpression.evaluate")
def two_properties_are_equal_if_their_strings_are_equal(t: RemotingContext) -> None:
    """Two properties are equal if their strings are equal or both are missing."""
    _note_all(t, ("a = b", "a <> b", "a = x", "x = y", "x <> a", "A = 1", "TAGS = 'T'", "TAGS IS NULL"))


@remoting_case("ConstantExpression.evaluate")
def true_matches_all_messages_and_false_and_null_match_none(t: RemotingContext) -> None:
    """TRUE matches all messages, FALSE and NULL match none, and a property alone never matches."""
    _note_all(
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
def contains_startswith_and_endswith_search_strings(t: RemotingContext) -> None:
    """CONTAINS, STARTSWITH and ENDSWITH search the string of a property and never match a missing one."""
    _note_all(
        t,
        (
            *("b CONTAINS 'y'", "b NOT CONTAINS 'y'", "b STARTSWITH 'x'", "b NOT STARTSWITH 'x'", "b ENDSWITH 'z'"),
            *("b NOT ENDSWITH 'z'", "b CONTAINS ''", "b STARTSWITH ''", "a CONTAINS '1'", "b contains 'y'"),
        ),
    )


@remoting_case("SelectorParser.JmsSelector")
def text_after_a_complete_sql_expression_is_ignored(t: RemotingContext) -> None:
    """Comments and lower-case keywords are accepted; the text after a complete expression is ignored."""
    _note_all(
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
def check_client_config_rejects_invalid_sql_expressions(t: RemotingContext) -> None:
    """CHECK_CLIENT_CONFIG with an invalid expression returns the parse error."""
    topic, group = t.topic(queues=1), t.group()
    for expression in REFUSED:
        t.note(expression, _check(t, group, topic, expression), 23)


@remoting_case("ClientManageProcessor.checkClientConfig")
def check_client_config_accepts_valid_sql_expressions(t: RemotingContext) -> None:
    """CHECK_CLIENT_CONFIG with a valid expression succeeds; tag expressions are not checked."""
    topic, group = t.topic(queues=1), t.group()
    for expression in ("a > 1", "a BETWEEN 1 AND 5 OR b IS NULL", "a LIKE", "b LIKE 'x%'", "a = 1 foo"):
        t.note(expression, _check(t, group, topic, expression), 0)
    t.note("tag", _check(t, group, topic, "||", kind="TAG"), 0)
    t.note("unknown topic and group", _check(t, t.new("group"), t.new(), "a > 1"), 0)
    t.note("no body", t.request(RequestCode.CHECK_CLIENT_CONFIG), 0)
    t.note("unknown type", _check(t, group, topic, "a > 1", kind="FOO"))


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_with_an_invalid_sql_expression_returns_all_messages(t: RemotingContext) -> None:
    """A pull with an invalid SQL92 expression returns all messages; one with an empty expression is rejected."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2, properties={"a": "1"})
    for expression in ("a >", "a betwixt 3", "a BETWEEN 5 AND 1"):
        t.note(expression, t.pull(topic, group, expression=expression, type="SQL92"))
    t.note("no expression", t.pull(topic, group, expression="", type="SQL92"))


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_with_a_bad_expression_is_refused(t: RemotingContext) -> None:
    """A pop with an invalid SQL92 expression is rejected; one with an empty expression returns all messages."""
    topic = t.topic(queues=1)
    t.sent(topic, 2, properties={"a": "1"})
    for expression in ("a >", "a betwixt 3", "a BETWEEN 5 AND 1", ""):
        t.note(f"expression {expression!r}", t.pop(topic, t.group(), expression=expression, type="SQL92"))


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_filters_by_properties(t: RemotingContext) -> None:
    """A pop returns the matching messages and skips the others."""
    topic, group = _messages(t), t.group()
    t.note("popped", t.pop(topic, group, expression="a > 1", type="SQL92").bodies)
    t.note("again", t.pop(topic, group, expression="a > 1", type="SQL92"), 210)
    t.note("by another expression", t.pop(topic, group, expression="b = 'x'", type="SQL92"), 210)


@remoting_case("ConsumerFilterManager.register")
def a_heartbeat_registers_its_expression(t: RemotingContext) -> None:
    """A pull without a subscription is filtered by the expression of the consumer's heartbeat."""
    topic, group = _messages(t), t.group()
    t.heartbeat(t.new("client"), groups={group: {topic: "a BETWEEN 1 AND 3"}}, expression_type="SQL92", version=1)
    response = t.pull(topic, group, sysFlag=0, expression=None, type=None)
    t.note("pulled", response.found)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_relying_on_an_invalid_heartbeat_expression_is_rejected(t: RemotingContext) -> None:
    """A heartbeat with an invalid expression succeeds, but a pull that relies on it is rejected."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1, properties={"a": "1"})
    beat = t.heartbeat(t.new("client"), groups={group: {topic: "a >"}}, expression_type="SQL92", version=1)
    t.note("heartbeat", beat, 0)
    t.note("pulled", t.pull(topic, group, sysFlag=0, expression=None, type=None), 27)


@remoting_case(
    "PullMessageProcessor.processRequest", settings=shared_settings(FURTHER_CHANGED_KEYS, "enablePropertyFilter")
)
def without_property_filter_sql_pulls_are_rejected_but_pops_filter(t: RemotingContext) -> None:
    """With enablePropertyFilter=false SQL92 pulls and checks are rejected, but pops still filter."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, *(t.send(topic, f"m{number}", properties={"a": str(number)}) for number in range(3)))
    t.note("pulled", t.pull(topic, group, expression="a = 1", type="SQL92"), 1)
    t.note("checked", _check(t, group, topic, "a = 1"), 1)
    t.note("popped", t.pop(topic, group, expression="a = 1", type="SQL92"), 0)
