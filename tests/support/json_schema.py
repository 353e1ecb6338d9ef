"""A check of JSON values against the keywords of JSON Schema that the emulator's schemas use."""

import re
from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_WITHOUT_RULE = frozenset({"$schema", "$defs", "title", "description", "examples"})


def is_valid(value: Any, schema: Schema) -> bool:
    """True if a schema allows a value. Raises KeyError for a keyword that is not known here."""
    return _allows(schema, value, schema)


def _allows(schema: Schema, value: Any, root: Schema) -> bool:
    return all(_KEYWORDS[name](each, value, schema, root) for name, each in schema.items() if name not in _WITHOUT_RULE)


def _is_type(names: Any, value: Any, *_: Any) -> bool:
    return any(_TYPES[name](value) for name in ([names] if isinstance(names, str) else names))


def _matches(schemas: Any, value: Any, root: Schema) -> int:
    return sum(_allows(each, value, root) for each in schemas)


def _properties(schemas: Any, value: Any, _schema: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(
        _allows(each, value[name], root) for name, each in schemas.items() if name in value
    )


def _additional(other: Any, value: Any, schema: Schema, root: Schema) -> bool:
    rest = set(value) - set(schema.get("properties", ())) if isinstance(value, dict) else set()
    return all(other is not False and _allows(other, value[name], root) for name in rest)


_KEYWORDS: Mapping[str, Callable[[Any, Any, Schema, Schema], bool]] = {
    "$ref": lambda path, value, _, root: _allows(root["$defs"][path.removeprefix("#/$defs/")], value, root),
    "type": _is_type,
    "enum": lambda values, value, *_: any(type(each) is type(value) and each == value for each in values),
    "anyOf": lambda schemas, value, _, root: _matches(schemas, value, root) >= 1,
    "oneOf": lambda schemas, value, _, root: _matches(schemas, value, root) == 1,
    "allOf": lambda schemas, value, _, root: _matches(schemas, value, root) == len(schemas),
    "not": lambda schema, value, _, root: not _allows(schema, value, root),
    "properties": _properties,
    "additionalProperties": _additional,
    "required": lambda names, value, *_: not isinstance(value, dict) or all(name in value for name in names),
    "items": lambda schema, value, _, root: (
        not isinstance(value, list) or all(_allows(schema, each, root) for each in value)
    ),
    "minItems": lambda least, value, *_: not isinstance(value, list) or len(value) >= least,
    "maxItems": lambda most, value, *_: not isinstance(value, list) or len(value) <= most,
    "minLength": lambda least, value, *_: not isinstance(value, str) or len(value) >= least,
    "maxLength": lambda most, value, *_: not isinstance(value, str) or len(value) <= most,
    "pattern": lambda text, value, *_: not isinstance(value, str) or re.search(text, value) is not None,
    "minimum": lambda least, value, *_: not _TYPES["number"](value) or value >= least,
    "maximum": lambda most, value, *_: not _TYPES["number"](value) or value <= most,
    "exclusiveMinimum": lambda least, value, *_: not _TYPES["number"](value) or value > least,
}
