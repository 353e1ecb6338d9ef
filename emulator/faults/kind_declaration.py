"""The declaration of a kind of fault: its layer, its phases, its parameters, and errors about their names."""

from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, MISSING, Field, field
from typing import Any

from ..gate.effects import Effect
from ..kernel.nearest_name import nearest_of
from ..kernel.user_error import hides_frames
from ..kernel.value_class import frozen_value
from ..operations.base import Operation
from .criteria import CRITERIA
from .errors import FaultError, unknown_parameter
from .occurrence import OCCURRENCE
from .phase import Phase

__tracebackhide__ = hides_frames

LAYERS = ("responses", "effects", "bytes", "connections", "cluster", "upstream")

FLAGS = ("optional", "strict")
RULE_OPTIONS = ("name", *OCCURRENCE, *FLAGS)
"""The options of a rule: its name, how often it acts, and the two flags."""
KEYWORDS = (*CRITERIA, *RULE_OPTIONS)
"""The keywords of a rule in Python. A parameter of a kind with the same name takes precedence."""


@frozen_value
class FaultKind:
    """The declaration of a kind of fault.

    `layer`: the layer that it disturbs, one of `LAYERS`. `phases`: those in which it can act, the default first; with
    `in_all_phases` it acts in all of them at once.
    `protocols`: those that can carry it out. `operations`: the operations or effects for which it makes sense, None for
    all. `situation`: the upstream situation that it simulates. `parameters`: the declared parameters by name.
    """

    name: str
    layer: str
    phases: tuple[Phase, ...]
    protocols: tuple[str, ...]
    _: KW_ONLY
    operations: tuple[type[Operation] | type[Effect], ...] | None
    situation: str
    in_all_phases: bool = False
    parameters: Mapping[str, Field[Any]] = field(default_factory=dict)

    @property
    def required(self) -> list[str]:
        """The names of the parameters without a default."""
        return [name for name, each in self.parameters.items() if each.default is MISSING]


def check_names(kind: FaultKind, parameters: Collection[str], others: Collection[str] = ()) -> None:
    """Check the names of the given parameters.

    Raises FaultError for an unknown parameter, and for a required one that is missing.
    `others` are names of other parts of the rule, which the error may suggest.
    """
    name, known = kind.name, kind.parameters
    for given in parameters:
        if given not in known:
            raise _unknown_parameter(name, given, known, others)
    missing = [each for each in kind.required if each not in parameters]
    if missing:
        declared = known[missing[0]]
        example = f"{missing[0]}={getattr(declared.metadata['check'], 'shown', None) or repr(example_of(declared))}"
        raise FaultError(f"{name}: the parameter {missing[0]} is missing; add it, such as {example}")


def _unknown_parameter(kind: str, given: str, known: Collection[str], others: Collection[str]) -> FaultError:
    """Return the error for a parameter that a kind does not have. It may be a part of the rule."""
    if nearest_of(given, known) is None and (nearest := nearest_of(given, others)) is not None:
        return FaultError(
            f"{given}: neither a parameter of {kind} nor a criterion of a rule; did you mean {nearest}?",
            nearest=nearest,
        )
    if given in CRITERIA:
        return FaultError(
            f"{given}: no parameter of {kind}, but a criterion of the rule; give it to add(), or write it below 'when'"
        )
    if given in RULE_OPTIONS:
        return FaultError(
            f"{given}: no parameter of {kind}, but an option of the rule; give it to add(), or write it beside 'then'"
        )
    return unknown_parameter(kind, given, known)


def example_of(declared: Any) -> Any:
    """Return a value that a declared parameter accepts."""
    check = declared.metadata["check"]
    schema = check.schema()
    examples = schema.get("examples") or schema.get("enum") or [getattr(check, "example", schema.get("minimum", 1))]
    return examples[0]
