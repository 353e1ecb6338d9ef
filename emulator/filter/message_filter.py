"""Message filters of subscriptions: by tag hash in the consume queue, by properties in the record.

Source: FilterAPI, ExpressionMessageFilter (5.3.3).
"""

from collections.abc import Mapping
from typing import Protocol

from ..kernel.errors import EngineError, SqlError
from ..kernel.java_numbers import TRIMMED
from ..kernel.java_split import java_split
from ..kernel.response_code import ResponseCode
from ..operations.clients import SubscriptionData
from ..store.tags_code import tags_code_of

TAG = "TAG"
SQL92 = "SQL92"
EVERYTHING = "*"
TAGS_MAX = 20_000
"""The largest number of tags in an expression. Upstream has no limit."""


class MessageFilter(Protocol):
    """A filter in two steps: a cheap one by tag hash, then one by properties."""

    def may_match_tag(self, tags_code: int) -> bool:
        """True if a message with this tag hash can match."""

    def matches_properties(self, properties: Mapping[str, str]) -> bool:
        """True if a message with these properties matches. Called only after `may_match_tag` returned True."""

    @property
    def needs_properties(self) -> bool:
        """False if `may_match_tag` alone decides."""


class TagFilter:
    """Filters by 32-bit hash codes only: as in upstream, messages with another tag of the same hash pass."""

    needs_properties = False

    def __init__(self, codes: frozenset[int]) -> None:
        self._codes = codes

    def may_match_tag(self, tags_code: int) -> bool:
        return tags_code in self._codes

    def matches_properties(self, properties: Mapping[str, str]) -> bool:
        return True


class SqlFilter:
    """Filters by a compiled SQL92 expression over the properties. Its compiler is imported at first use."""

    needs_properties = True

    def __init__(self, expression: str) -> None:
        from .sql_filter import compile_sql

        self._expression = compile_sql(expression)

    def may_match_tag(self, tags_code: int) -> bool:
        return True

    def matches_properties(self, properties: Mapping[str, str]) -> bool:
        return self._expression.matches(properties)


def is_tag_type(expression_type: str | None) -> bool:
    """True for TAG, None and the empty text."""
    return not expression_type or expression_type == TAG


def build_subscription(topic: str, expression: str | None, expression_type: str | None = None) -> SubscriptionData:
    """Build the subscription of an expression.

    Raises ValueError for a tag expression with no part or too many, and for an empty expression of another type.
    """
    if expression_type is None or expression_type == TAG:
        if not expression or expression == EVERYTHING:
            return SubscriptionData(topic)
        if expression.count("||") >= TAGS_MAX:
            raise ValueError(f"more than {TAGS_MAX} tags")
        parts = java_split(expression, "||")
        if not parts:
            raise ValueError("subString split error")
        tags = frozenset(tag for tag in (part.strip(TRIMMED) for part in parts) if tag)
        return SubscriptionData(topic, expression, TAG, tags, frozenset(map(tags_code_of, tags)))
    if not expression:
        raise ValueError(f"Expression can't be null! {expression_type}")
    # With the empty type this is a TAG subscription without parsed tags, as in upstream.
    return SubscriptionData(topic, expression, expression_type)


def filter_of(subscription: SubscriptionData) -> MessageFilter | None:
    """Return the filter of a subscription; None accepts every message, as in upstream for unknown types.

    Raises SqlError if a SQL92 expression does not compile.
    """
    if subscription.class_filter_mode:
        return None
    if is_tag_type(subscription.expression_type):
        if subscription.sub_string == EVERYTHING:
            return None
        return TagFilter(subscription.codes)
    if subscription.expression_type == SQL92:
        return SqlFilter(subscription.sub_string)
    return None


def parse_failed() -> EngineError:
    """Build the error for an expression from which no subscription can be built."""
    return EngineError(ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed")


__all__ = [
    "EVERYTHING",
    "SQL92",
    "TAG",
    "MessageFilter",
    "SqlError",
    "SqlFilter",
    "TagFilter",
    "build_subscription",
    "filter_of",
    "is_tag_type",
    "parse_failed",
]
