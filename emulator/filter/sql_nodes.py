"""Nodes of a compiled SQL92 filter: each is a function from properties to true, false or unknown.

The types of operands are known at compile time, because only properties vary, and these are texts. So the compiler
chooses the conversions of a comparison, and an evaluation is a few calls. Unknown is None. An evaluation raises
ValueError for a text that is not a number, and TypeError for a Boolean where upstream casts to a text. Either error
ends the evaluation of the whole expression, and the message does not match.
Source: ComparisonExpression, LogicExpression, UnaryExpression, UnaryInExpression, ConstantExpression (5.3.3).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, field
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

from ..kernel.errors import SqlError
from ..kernel.java_numbers import compare_doubles, parse_double
from ..kernel.value_class import frozen_value
from .sql_values import NUMBERS, PARSERS, JavaType, Value, compare, hash_set_order, number_text

Properties = Mapping[str, str]
Part: TypeAlias = "str | SqlNode | Callable[[], str]"
"""A piece of an expression's text: a text, a node with its own text, or a function that returns the text."""
Evaluate = Callable[[Properties], Value]
Truth = bool | None

_RUNTIME = "java.lang.RuntimeException: "
_PARSE = "org.apache.rocketmq.filter.parser.ParseException: "


@frozen_value
class SqlNode:
    """A node of an expression: the pieces of its text as upstream prints it, and its evaluation.

    `name` is the name of a property without operator, None for all other nodes. `constant` is True for literals
    (upstream's ConstantExpression), `boolean` for conditions, TRUE, FALSE and NULL (its BooleanExpression). `value` is
    the value of literals and negated numbers, else None. `negated` is the evaluation of the operand of NOT. `search` is
    the text for which CONTAINS, STARTSWITH or ENDSWITH search; upstream does not print it.
    """

    parts: tuple[Part, ...]
    evaluate: Evaluate
    java_type: JavaType
    value: Value = None
    _: KW_ONLY
    name: str | None = None
    constant: bool = False
    boolean: bool = False
    negated: Evaluate | None = field(default=None, compare=False)
    search: str | None = None

    @property
    def is_property(self) -> bool:
        """True for a property without operator."""
        return self.name is not None

    @property
    def text(self) -> str:
        """The text, built only for errors, because a long chain contains the text of each of its prefixes."""
        pieces: list[str] = []
        pending: list[Part] = [self]
        while pending:
            part = pending.pop()
            if isinstance(part, SqlNode):
                pending.extend(reversed(part.parts))
            else:
                pieces.append(part if isinstance(part, str) else part())
        return "".join(pieces)


def property_node(name: str) -> SqlNode:
    """Create the node of a property; unknown if the message does not have it, or if its text is empty."""
    return SqlNode((name,), lambda properties: properties.get(name) or None, JavaType.STRING, name=name)


def constant_node(value: Value, java_type: JavaType) -> SqlNode:
    """Create the node of a literal."""
    if isinstance(value, str):
        text = "'" + value.replace("'", "''") + "'"
    elif isinstance(value, bool):
        text = "TRUE" if value else "FALSE"
    elif value is None:
        text = "NULL"
    else:
        text = number_text(value, java_type)
    boolean = java_type in (JavaType.BOOLEAN, JavaType.NULL)
    return SqlNode((text,), lambda _: value, java_type, value, constant=True, boolean=boolean)


def decimal_node(image: str) -> SqlNode:
    """Create the node of a whole number: an Integer if it fits, else a Long. Raises SqlError from 2^63 on."""
    digits = image.rstrip("lL")
    value = int(digits) if len(digits) < 20 else 1 << 64
    if value > 0x7FFFFFFFFFFFFFFF:
        raise SqlError(f'java.lang.NumberFormatException: For input string: "{digits}"')
    return constant_node(value, JavaType.INTEGER if value <= 0x7FFFFFFF else JavaType.LONG)


def float_node(image: str) -> SqlNode:
    """Create the node of a Double. Raises SqlError for 0.0 (upstream's minimum is 4.9E-324) and for infinity."""
    value = float(image)
    if value == float("inf"):
        raise SqlError(f"{_RUNTIME}{image} is greater than 1.7976931348623157E308")
    if value == 0.0:
        raise SqlError(f"{_RUNTIME}{image} is less than 4.9E-324")
    return constant_node(value, JavaType.DOUBLE)


def negate_node(operand: SqlNode) -> SqlNode:
    """Create the negative of a number literal or its negative; unknown for all other operands, even properties."""
    parts = ("(- ", operand, ")")
    if operand.java_type not in NUMBERS or not isinstance(operand.value, int | float):
        inner = operand.evaluate

        def nothing(properties: Properties) -> Value:
            inner(properties)  # evaluated only for its errors
            return None

        return SqlNode(parts, nothing, JavaType.NULL)
    value = -operand.value
    return SqlNode(parts, lambda _: value, operand.java_type, value)


def as_boolean(operand: SqlNode) -> SqlNode:
    """Convert an operand to a condition. A property without operator is false, or unknown if it is missing or empty.

    Raises SqlError for other operands that are not conditions.
    """
    if operand.boolean:
        return operand
    name = operand.name
    if name is None:
        raise SqlError(f"{_PARSE}Expression will not result in a boolean value: {operand.text}")
    cast: Evaluate = lambda properties: False if properties.get(name) else None  # noqa: E731 - short, as the other evaluations
    return SqlNode(operand.parts, cast, JavaType.BOOLEAN, boolean=True)


# logic


def not_node(operand: SqlNode) -> SqlNode:
    """Create NOT of a condition; unknown stays unknown, and a double NOT evaluates the operand itself."""
    inner = operand.evaluate

    def evaluate(properties: Properties) -> Truth:
        value = inner(properties)
        return None if value is None else not value

    return SqlNode(("(NOT ", operand, ")"), operand.negated or evaluate, JavaType.BOOLEAN, boolean=True, negated=inner)


def and_node(*conditions: SqlNode) -> SqlNode:
    """Create AND of two or more conditions: false takes precedence over unknown."""
    return _chain("&&", conditions, deciding_value=False)


def or_node(*conditions: SqlNode) -> SqlNode:
    """Create OR of two or more conditions: true takes precedence over unknown."""
    return _chain("||", conditions, deciding_value=True)


def _chain(symbol: str, conditions: Sequence[SqlNode], *, deciding_value: bool) -> SqlNode:
    """Create `a AND b AND c`, with the text `((a && b) && c)`. One loop evaluates it, without recursion."""
    first, *others = conditions
    parts: list[Part] = ["(" * len(others), first]
    for condition in others:
        parts += (f" {symbol} ", condition, ")")
    if len(others) == 1:
        evaluate = _two(first.evaluate, others[0].evaluate, deciding_value)
    else:
        evaluate = _many([condition.evaluate for condition in conditions], deciding_value)
    return SqlNode(tuple(parts), evaluate, JavaType.BOOLEAN, boolean=True)


def _two(left: Evaluate, right: Evaluate, deciding_value: bool) -> Evaluate:
    def evaluate(properties: Properties) -> Truth:
        first = left(properties)
        if first is deciding_value:
            return deciding_value
        second = right(properties)
        if second is deciding_value:
            return deciding_value
        return None if first is None or second is None else not deciding_value

    return evaluate


def _many(conditions: Sequence[Evaluate], deciding_value: bool) -> Evaluate:
    def evaluate(properties: Properties) -> Truth:
        result: Truth = not deciding_value
        for condition in conditions:
            value = condition(properties)
            if value is deciding_value:
                return deciding_value
            if value is None:
                result = None
        return result

    return evaluate


# comparisons


def equal_node(left: SqlNode, right: SqlNode) -> SqlNode:
    """Create `=`. Raises SqlError for NULL, and for TRUE or FALSE on the left of a number or text literal."""
    for operand in (left, right):
        if operand.constant and operand.value is None:
            raise SqlError(f"{_RUNTIME}'{operand.text}' cannot be compared.")
    if left.constant and right.constant and left.boolean and not right.boolean:
        raise SqlError(f"{_RUNTIME}'{left.text}' cannot be compared with '{right.text}'")
    return _equal(left, right)


def not_equal_node(left: SqlNode, right: SqlNode) -> SqlNode:
    """Create `<>`. Raises SqlError as `equal_node` does."""
    return not_node(equal_node(left, right))


def is_null_node(operand: SqlNode) -> SqlNode:
    """Create IS NULL: true if the operand is unknown, else false."""
    return _equal(operand, constant_node(None, JavaType.NULL))


def is_not_null_node(operand: SqlNode) -> SqlNode:
    """Create IS NOT NULL: false if the operand is unknown, else true."""
    return not_node(is_null_node(operand))


def _equal(left: SqlNode, right: SqlNode) -> SqlNode:
    evaluate = _equal_to_constant(left, right) or _equal_in_general(left, right)
    return SqlNode(("(", left, " == ", right, ")"), evaluate, JavaType.BOOLEAN, boolean=True)


def _equal_to_constant(left: SqlNode, right: SqlNode) -> Evaluate | None:
    """Return a fast evaluation of `property = literal`, the most common comparison; None for other operands."""
    name, wanted = left.name, right.value
    if name is None or not right.constant or wanted is None:
        return None
    if right.java_type is JavaType.STRING:

        def same_text(properties: Properties) -> Truth:
            text = properties.get(name)
            return text == wanted if text else None

        return same_text
    parse = PARSERS[right.java_type]

    def same_value(properties: Properties) -> Truth:
        text = properties.get(name)
        return parse(text) == wanted if text else None

    return same_value


def _equal_in_general(left: SqlNode, right: SqlNode) -> Evaluate:
    """Return an evaluation of `=`: as upstream, unknown on the left is unknown, and only on the right is false."""
    left_evaluate, right_evaluate = left.evaluate, right.evaluate
    left_type, right_type = left.java_type, right.java_type

    def evaluate(properties: Properties) -> Truth:
        one, other = left_evaluate(properties), right_evaluate(properties)
        if one is None:
            return True if other is None else None
        if other is None:
            return False
        return compare(one, left_type, other, right_type) == 0

    return evaluate


_Order = Callable[[Any, Any], bool]
_ORDERS: dict[str, _Order] = {">": gt, ">=": ge, "<": lt, "<=": le}


def comparison_node(symbol: str, left: SqlNode, right: SqlNode) -> SqlNode:
    """Create `>`, `>=`, `<` or `<=`, which compare numbers. Raises SqlError for text literals, NULL and conditions."""
    for operand in (left, right):
        if operand.boolean or (operand.constant and operand.java_type not in NUMBERS):
            raise SqlError(f"{_RUNTIME}Value '{operand.text}' cannot be compared.")
    order = _ORDERS[symbol]
    if left.is_property and right.java_type in NUMBERS:
        evaluate = _order_to_number(str(left.name), right, order)
    else:
        evaluate = _order_in_general(left, right, order)
    return SqlNode(("(", left, f" {symbol} ", right, ")"), evaluate, JavaType.BOOLEAN, boolean=True)


def _order_to_number(name: str, right: SqlNode, order: _Order) -> Evaluate:
    parse = PARSERS[right.java_type]
    bound = right.value
    if isinstance(bound, float):
        double = bound

        def against_double(properties: Properties) -> Truth:
            text = properties.get(name)
            return order(compare_doubles(parse_double(text), double), 0) if text else None

        return against_double

    def against_whole(properties: Properties) -> Truth:
        text = properties.get(name)
        return order(parse(text), bound) if text else None

    return against_whole


def _order_in_general(left: SqlNode, right: SqlNode, order: _Order) -> Evaluate:
    left_evaluate, right_evaluate = left.evaluate, right.evaluate
    left_type, right_type = left.java_type, right.java_type

    def evaluate(properties: Properties) -> Truth:
        one, other = left_evaluate(properties), right_evaluate(properties)
        if one is None or other is None:
            return None
        if isinstance(one, str) and isinstance(other, str):
            return order(compare_doubles(parse_double(one), parse_double(other)), 0)
        return order(compare(one, left_type, other, right_type), 0)

    return evaluate


def between_node(operand: SqlNode, low: SqlNode, high: SqlNode) -> SqlNode:
    """Create BETWEEN (`>= low AND <= high`). Raises SqlError for two literals that are null or in the wrong order."""
    if low.constant and high.constant:
        _check_bounds(low, high)
    return and_node(comparison_node(">=", operand, low), comparison_node("<=", operand, high))


def _check_bounds(low: SqlNode, high: SqlNode) -> None:
    if low.value is None or high.value is None:
        raise SqlError(f"{_RUNTIME}Illegal values of between, values can not be null!")
    try:
        upside_down = compare(high.value, high.java_type, low.value, low.java_type) < 0
    except ValueError as bad_number:
        raise SqlError(f"{_RUNTIME}java.lang.NumberFormatException: {bad_number}") from None
    except TypeError:
        raise SqlError(
            "java.lang.ClassCastException: class java.lang.Boolean cannot be cast to class java.lang.String "
            "(java.lang.Boolean and java.lang.String are in module java.base of loader 'bootstrap')"
        ) from None
    if upside_down:
        raise SqlError(
            f"{_RUNTIME}Illegal values of between, left value({_plain(low)}) must less than or equal to "
            f"right value({_plain(high)})"
        )


def _plain(constant: SqlNode) -> str:
    if isinstance(constant.value, str):
        return constant.value
    return constant.text.lower() if isinstance(constant.value, bool) else constant.text


def not_between_node(operand: SqlNode, low: SqlNode, high: SqlNode) -> SqlNode:
    """Create NOT BETWEEN (`< low OR > high`); the order of the bounds is not checked."""
    return or_node(comparison_node("<", operand, low), comparison_node(">", operand, high))


# texts


def in_node(operand: SqlNode, values: Sequence[str], *, negated: bool) -> SqlNode:
    """Create [NOT] IN a list of texts; unknown without the property. Raises SqlError for any other operand."""
    name = operand.name
    if name is None:
        raise SqlError(f"{_RUNTIME}Expected a property for In expression, got: {operand.text}")
    wanted = frozenset(values)

    def evaluate(properties: Properties) -> Truth:
        text = properties.get(name)
        return (text in wanted) is not negated if text else None

    symbol = "NOT IN" if negated else "IN"

    def listed() -> str:
        return ", ".join(values if len(values) < 5 else hash_set_order(values))  # upstream: a HashSet if longer

    return SqlNode((operand, f" {symbol} ( ", listed, " )"), evaluate, JavaType.BOOLEAN, boolean=True)


_SEARCHES: dict[str, Callable[[str, str], bool]] = {
    "CONTAINS": str.__contains__,
    "STARTSWITH": str.startswith,
    "ENDSWITH": str.endswith,
}


def text_search_node(symbol: str, operand: SqlNode, search: str, *, negated: bool) -> SqlNode:
    """Create [NOT] CONTAINS, STARTSWITH or ENDSWITH, which are never unknown.

    They are false, even with NOT, if the operand is no text or `search` is empty.
    """
    found = _SEARCHES[symbol]
    inner = operand.evaluate

    def evaluate(properties: Properties) -> Truth:
        if not search:
            return False
        text = inner(properties)
        return isinstance(text, str) and found(text, search) is not negated

    parts = (f"({'NOT ' if negated else ''}{symbol} ", operand, ")")
    return SqlNode(parts, evaluate, JavaType.BOOLEAN, boolean=True, search=search)
