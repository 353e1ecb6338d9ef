"""The JSON Schema of one rule, for editors and for programs that write rules."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from .criteria import CRITERIA
from .criterion_checks import PATTERN_CHARACTERS_MAX
from .errors import FaultError
from .facts import PROTOCOLS
from .fault import KINDS, Fault, create
from .parameters import DurationCheck, Optional, ParameterCheck, given
from .phase import Phase
from .rule import NAME_CHARACTERS_MAX, RESERVED_NAMES
from .rule_form import THEN, WHEN
from .versions import PATTERN

Schema = Mapping[str, Any]
NULL: Schema = {"type": "null"}
_TEXT: Schema = {"type": "string", "minLength": 1}
NAMES: Schema = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
"""One name or several."""
_COUNT: Schema = {"type": "integer", "minimum": 1}


def rule_schema(operations: Sequence[str]) -> Schema:
    """Return the schema of a rule. `operations` are the names that the criterion `operation` accepts."""
    members: Mapping[str, Schema] = {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": NAME_CHARACTERS_MAX,
            "not": {"enum": list(RESERVED_NAMES)},
        },
        WHEN: {"type": "object", "properties": _criteria(operations), "additionalProperties": False},
        "nth": {"anyOf": [_COUNT, {"type": "array", "items": _COUNT, "minItems": 1}]},
        "every": _COUNT,
        "after": {"type": "integer", "minimum": 0},
        "times": _COUNT,
        "probability": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "optional": {"type": "boolean"},
        "strict": {"type": "boolean"},
    }
    skips = {"required": ["after"], "properties": {"after": {"not": {"enum": [None, 0]}}}}
    return {
        "type": "object",
        "description": "A rule: criteria, one fault, and how often it acts.",
        "required": [THEN],
        "additionalProperties": False,
        "properties": {THEN: _fault(), **{name: or_null(each) for name, each in members.items()}},
        "not": {"allOf": [given("nth"), {"anyOf": [given("every"), skips]}]},
    }


def or_null(schema: Schema) -> Schema:
    """Return the schema of a value that may be null, which means that it is not given."""
    return {"anyOf": [schema, NULL]}


def _criteria(operations: Sequence[str]) -> Schema:
    operation = {"enum": list(operations)}
    duration = DurationCheck().schema()
    version = {"type": "string", "pattern": PATTERN}
    known: Mapping[str, Schema] = {
        "operation": {"anyOf": [operation, {"type": "array", "items": operation, "minItems": 1}]},
        "version": {"anyOf": [version, {"type": "array", "items": version, "minItems": 1}]},
        "protocol": {"enum": list(PROTOCOLS)},
        "property": {"type": "object", "additionalProperties": {"type": "string"}},
        "body_matches": {"type": "string", "minLength": 1, "maxLength": PATTERN_CHARACTERS_MAX},
        "phase": {"enum": [phase.value for phase in Phase if phase is not Phase.STANDING]},
        "start": duration,
        "end": duration,
    }
    return {name: or_null(known.get(name, NAMES)) for name in CRITERIA if name != "where"}


def _fault() -> Schema:
    return {
        "anyOf": [
            {"enum": sorted(name for name in KINDS if _needs_nothing(name))},
            *(_kind(name, KINDS[name]) for name in sorted(KINDS)),
        ]
    }


def _kind(name: str, cls: type[Fault]) -> Schema:
    parameters = parameters_schema(cls.KIND.parameters, cls.KIND.required)
    return named_schema(name, {**parameters, **cls.SCHEMA}, cls.__doc__, needs_nothing=_needs_nothing(name))


def parameters_schema(declared: Mapping[str, Any], needed: Sequence[str] = ()) -> Schema:
    """Return the schema of parameters, from their declared fields by name."""
    return {
        "type": "object",
        "properties": {
            name: {**_value(each.metadata["check"]), "description": each.metadata["about"]}
            for name, each in declared.items()
        },
        "additionalProperties": False,
        **({"required": list(needed)} if needed else {}),
    }


def named_schema(name: str, parameters: Schema, about: str | None, *, needs_nothing: bool) -> Schema:
    """Return the schema of a mapping from a name to its parameters. `about`: a docstring, for the description."""
    return {
        "type": "object",
        "properties": {name: or_null(parameters) if needs_nothing else parameters},
        "required": [name],
        "additionalProperties": False,
        "description": (about or "").partition("\n")[0],
    }


def _value(check: ParameterCheck) -> Schema:
    return or_null(check.schema()) if isinstance(check, Optional) else check.schema()


@cache
def _needs_nothing(name: str) -> bool:
    """True if a fault can be created without parameters."""
    try:
        create(name, {})
    except FaultError:
        return False
    return True
