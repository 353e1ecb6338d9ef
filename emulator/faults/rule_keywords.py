"""The keywords of rules in calls of faults, as type checkers and editors see them: `drop_request(operation=...)`.

A kind of fault inherits them only for type checkers. At run time the call itself takes them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, dataclass_transform

from ..kernel.durations import Duration
from .criteria import Names

C = TypeVar("C")


def keyword(*, default: Any, kw_only: bool = True) -> Any:
    """Declare a keyword of rules."""


@dataclass_transform(field_specifiers=(keyword,), frozen_default=True)
def keywords(cls: type[C]) -> type[C]:
    """Declare the annotated attributes of a class as keywords of the calls of its subclasses."""
    return cls


@keywords
class RuleKeywords:
    """Criteria of a rule, how often it acts, and its options.

    Names that are also parameters of faults come first, in the order of these parameters, because type checkers keep
    the position of an inherited name.
    """

    group: Names = keyword(default=None, kw_only=True)
    topic: Names = keyword(default=None, kw_only=True)
    broker: Names = keyword(default=None, kw_only=True)
    client: Names = keyword(default=None, kw_only=True)
    address: Names = keyword(default=None, kw_only=True)
    operation: Names = keyword(default=None, kw_only=True)
    protocol: str | None = keyword(default=None, kw_only=True)
    language: Names = keyword(default=None, kw_only=True)
    version: Names = keyword(default=None, kw_only=True)
    tag: Names = keyword(default=None, kw_only=True)
    key: Names = keyword(default=None, kw_only=True)
    property: Mapping[str, str] | None = keyword(default=None, kw_only=True)
    body_matches: str | None = keyword(default=None, kw_only=True)
    where: Callable[[Any], bool] | None = keyword(default=None, kw_only=True)
    phase: str | None = keyword(default=None, kw_only=True)
    start: Duration | None = keyword(default=None, kw_only=True)
    end: Duration | None = keyword(default=None, kw_only=True)
    nth: int | Sequence[int] | None = keyword(default=None, kw_only=True)
    every: int | None = keyword(default=None, kw_only=True)
    after: int = keyword(default=0, kw_only=True)
    times: int | None = keyword(default=None, kw_only=True)
    probability: float | None = keyword(default=None, kw_only=True)
    name: str | None = keyword(default=None, kw_only=True)
    optional: bool = keyword(default=False, kw_only=True)
    strict: bool = keyword(default=True, kw_only=True)
