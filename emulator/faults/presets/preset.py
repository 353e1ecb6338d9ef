"""Presets: named lists of rules with few parameters.

    - preset: {flaky-network: {loss: 0.02, delay: 20ms±10ms}}
    - preset: lossy-acks

Each rule of a preset is optional: a test does not fail if one of them never fires.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, ClassVar, TypeVar, dataclass_transform

from ...kernel.user_error import hides_frames
from ...kernel.value_class import frozen_value
from ..errors import FaultError, joined, shown, unknown_name, unknown_parameter, without_frames
from ..parameters import parameter
from ..rule import RuleSpec

__tracebackhide__ = hides_frames

P = TypeVar("P", bound="type[Preset]")
PRESET = "preset"


class Preset:
    """A preset with its parameters. A subclass makes the rules."""

    __slots__ = ()
    NAME: ClassVar[str]

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # each subclass is a dataclass
            setattr(self, each.name, each.metadata["check"].plain(each.name, getattr(self, each.name)))

    def rules(self) -> list[RuleSpec]:
        """Return the rules."""
        raise NotImplementedError(self.NAME)


PRESETS: dict[str, type[Preset]] = {}
"""All presets by name."""


@dataclass_transform(field_specifiers=(parameter,), frozen_default=True)
def named(name: str) -> Callable[[P], P]:
    """Declare the decorated subclass of Preset. Its annotated fields are the parameters."""

    def declare(cls: P) -> P:
        made: Any = frozen_value(cls)
        made.NAME = name
        PRESETS[name] = made
        declared: P = made
        return declared

    return declare


def preset(name: str, /, **parameters: Any) -> list[RuleSpec]:
    """Return the rules of a preset: `preset("flaky-network", loss=0.02)`.

    Raises FaultError for an unknown name or a wrong parameter.
    """
    cls: Any = PRESETS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise unknown_name(PRESET, name, PRESETS)
    known = [each.name for each in fields(cls)]
    for given in parameters:
        if given not in known:
            raise unknown_parameter(name, given, known)
    made: Preset = without_frames(partial(cls, **parameters))
    return made.rules()


def is_preset(form: object) -> bool:
    """True if a mapping of a file of rules names a preset."""
    return isinstance(form, Mapping) and PRESET in form


def read_preset(form: Mapping[str, Any], at: str) -> list[RuleSpec]:
    """Return the rules of the preset that a mapping names. `at` names it in errors. Raises FaultError."""
    wanted = form[PRESET]
    try:
        if len(form) > 1:
            others = joined(str(each) for each in form if each != PRESET)
            raise FaultError(f"{PRESET}: has no other members beside it; its rules are complete; remove {others}")
        if isinstance(wanted, str):
            return preset(wanted)
        if isinstance(wanted, Mapping) and len(wanted) == 1:
            name, parameters = next(iter(wanted.items()))
            if parameters is None or isinstance(parameters, Mapping):
                return preset(name, **{str(each): value for each, value in (parameters or {}).items()})
        raise FaultError(
            f"{PRESET}={shown(wanted)}: neither the name of a preset nor a mapping of one name to its parameters; "
            "use {'flaky-network': {'loss': 0.02}}"
        )
    except FaultError as wrong:
        raise wrong.located(at) from None
