"""Kinds of faults: how Python creates a fault of a kind, and the table in which each kind is declared."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from ..gate.effects import Effect
from ..kernel.user_error import hides_frames
from ..kernel.value_class import LazySignature, frozen_value
from ..operations.base import Operation
from .base_fault import BaseFault
from .errors import FaultError, joined, shown, unknown_name, without_frames
from .facts import PROTOCOLS
from .given_fault import rule_of
from .kind_declaration import KEYWORDS, LAYERS, FaultKind, check_names
from .parameters import parameter
from .phase import Phase

if TYPE_CHECKING:
    from .rule_keywords import RuleKeywords
else:
    RuleKeywords = object

__tracebackhide__ = hides_frames

C = TypeVar("C", bound="type[Fault]")


class Called(type):
    """The metaclass of kinds of faults. A wrong call of a kind raises one sentence, without frames of the emulator."""

    if not TYPE_CHECKING:  # type checkers read the parameters of a kind from its fields

        def __call__(cls, *given: Any, **parameters: Any) -> Any:
            """Create a fault, or a RuleSpec if criteria or options of a rule are given. Raises FaultError."""
            kind = cls.KIND
            of_rule = {name: parameters.pop(name) for name in KEYWORDS if name in parameters.keys() - kind.parameters}
            if of_rule:
                return without_frames(lambda: rule_of(cls(*given, **parameters), of_rule))
            names = list(kind.parameters)[: len(given)]
            if len(given) > len(names):
                at_most = joined(kind.parameters) or "none"
                raise FaultError(f"{kind.name}: {len(given)} values for its parameters; it has {at_most}; remove some")
            for name in names:
                if name in parameters:
                    raise FaultError(f"{kind.name}: the parameter {name} is given twice; remove one of its values")
            check_names(kind, [*names, *parameters], others=KEYWORDS)
            return without_frames(partial(super().__call__, *given, **parameters))


class Fault(BaseFault, RuleKeywords, metaclass=Called):
    """The base class of all kinds.

    A call with criteria or numbers, such as `DropRequest(operation="AckMessage", times=1)`, returns a `RuleSpec`.
    """

    __slots__ = ()
    __signature__ = LazySignature()


KINDS: dict[str, type[Fault]] = {}
"""The kinds of faults that every interface can add, by name. Importing `kinds` fills it."""
IN_PYTHON: dict[str, type[Fault]] = {}
"""The kinds of faults that only Python can add, because a parameter is a function, by name."""


@dataclass_transform(field_specifiers=(parameter,), frozen_default=True)
def kind(
    name: str,
    *,
    layer: str,
    phases: tuple[Phase, ...],
    situation: str,
    protocols: tuple[str, ...] = PROTOCOLS,
    operations: tuple[type[Operation] | type[Effect], ...] | None = None,
    in_all_phases: bool = False,
    in_python: bool = False,
) -> Callable[[C], C]:
    """Declare the decorated subclass of Fault as a kind. Its annotated fields are the parameters.

    `in_python`: True if only Python can add it, because files, the control port and the command have no functions.
    """
    assert layer in LAYERS, layer
    assert name not in KINDS.keys() | IN_PYTHON.keys(), f"{name} is declared twice"

    def declare(cls: C) -> C:
        made: Any = frozen_value(cls)
        parameters = {each.name: each for each in fields(made)}
        made.KIND = FaultKind(
            name,
            layer,
            phases,
            protocols,
            operations=operations,
            situation=situation,
            in_all_phases=in_all_phases,
            parameters=parameters,
        )
        (IN_PYTHON if in_python else KINDS)[name] = made
        declared: C = made
        return declared

    return declare


def create(name: str, parameters: Mapping[str, Any]) -> Fault:
    """Create a fault from the name of its kind and its parameters. Raises FaultError."""
    cls = KINDS.get(name)
    if name in IN_PYTHON:
        raise FaultError(f"fault={shown(name)}: a function can only be given in Python; use faults.{name}(function)")
    if cls is None:
        raise unknown_name("fault", name, KINDS)
    check_names(cls.KIND, parameters)
    return cls(**parameters)
