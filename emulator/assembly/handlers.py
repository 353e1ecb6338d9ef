"""Declares beside a method which operation it handles, and collects the handlers of services.

A node has one handler for each operation; a second one is refused.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from ..gate.call import Call, Handler, Handlers
from ..operations.base import Operation, Parked, Result

Service = TypeVar("Service")
Handled = TypeVar("Handled", bound=Operation)
Reply = TypeVar("Reply", bound=Result | Parked)

_handled: dict[object, type[Operation]] = {}
"""The operation of each declared method. A table, because methods of compiled classes accept no attributes."""


def handles(
    operation: type[Handled],
) -> Callable[[Callable[[Service, Call, Handled], Reply]], Callable[[Service, Call, Handled], Reply]]:
    """Declare that a method handles an operation."""

    def declare(method: Callable[[Service, Call, Handled], Reply]) -> Callable[[Service, Call, Handled], Reply]:
        _handled[method] = operation
        return method

    return declare


def handlers_of(*services: object) -> dict[type[Operation], Handler]:
    """Return the handlers that the methods of services declare. Raises ValueError for an operation with two."""
    found: dict[type[Operation], Handler] = {}
    for service in services:
        kind: Any = type(service)  # to a type checker a class is not hashable
        for operation, name in _declared(kind):
            handler = getattr(service, name)
            if operation in found:
                raise _handled_twice(operation, found[operation], handler)
            found[operation] = handler
    return found


def joined(*tables: Handlers) -> dict[type[Operation], Handler]:
    """Join tables of handlers. Raises ValueError for an operation that is in two of them."""
    found: dict[type[Operation], Handler] = {}
    for table in tables:
        for operation, handler in table.items():
            if operation in found:
                raise _handled_twice(operation, found[operation], handler)
            found[operation] = handler
    return found


def _handled_twice(operation: type[Operation], first: Handler, second: Handler) -> ValueError:
    both = f"{_name(first)} and {_name(second)}"
    return ValueError(f"{operation.__name__}: handled by {both}; an operation has one handler")


@cache
def _declared(service: type) -> list[tuple[type[Operation], str]]:
    """Return each operation that a class handles, and the name of the method; cached, as tests start many brokers."""
    return [
        (operation, name)
        for kind in reversed(service.__mro__)
        for name, member in vars(kind).items()
        if callable(member) and (operation := _handled.get(member)) is not None
    ]


def _name(handler: Handler) -> str:
    return getattr(handler, "__qualname__", repr(handler))
