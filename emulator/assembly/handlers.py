"""Declares beside a method which operation it handles, and collects the handlers of services.

A node has one handler for each operation; a second one is refused.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..gate.gate import Call, Handlers
from ..operations.base import Operation, Parked, Result

Service = TypeVar("Service")
Asked = TypeVar("Asked", bound=Operation)
Reply = TypeVar("Reply", bound=Result | Parked)

_HANDLED = "handled_operation"

Handler = Callable[[Call, Any], Result | Parked]


def handles(
    operation: type[Asked],
) -> Callable[[Callable[[Service, Call, Asked], Reply]], Callable[[Service, Call, Asked], Reply]]:
    """Declare that a method handles an operation."""

    def declare(method: Callable[[Service, Call, Asked], Reply]) -> Callable[[Service, Call, Asked], Reply]:
        setattr(method, _HANDLED, operation)
        return method

    return declare


def handlers_of(*services: object) -> dict[type[Operation], Handler]:
    """Return the handlers that the methods of services declare. Raises ValueError for an operation with two."""
    return joined(*({operation: handler} for service in services for operation, handler in _declared(service)))


def joined(*tables: Handlers) -> dict[type[Operation], Handler]:
    """Join tables of handlers. Raises ValueError for an operation that is in two of them."""
    found: dict[type[Operation], Handler] = {}
    for table in tables:
        for operation, handler in table.items():
            if operation in found:
                both = f"{_name(found[operation])} and {_name(handler)}"
                raise ValueError(f"{operation.__name__}: handled by {both}; an operation has one handler")
            found[operation] = handler
    return found


def _declared(service: object) -> Iterator[tuple[type[Operation], Handler]]:
    for kind in reversed(type(service).__mro__):
        for name, member in vars(kind).items():
            operation = getattr(member, _HANDLED, None)
            if operation is not None:
                yield operation, getattr(service, name)


def _name(handler: Handler) -> str:
    return getattr(handler, "__qualname__", repr(handler))
