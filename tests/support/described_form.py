"""Differences between JSON and a schema of docs/openapi.json."""

from collections.abc import Iterator, Mapping
from typing import Any

_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def differences(document: Mapping[str, Any], schema: Mapping[str, Any], form: Any, where: str = "") -> Iterator[str]:
    """Yield the places at which JSON differs from a schema: by type, value, or an unknown or missing field."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        if all(list(differences(document, each, form)) for each in schema["anyOf"]):
            yield f"{where}: {form!r} is none of {schema['anyOf']}"
        return
    kind = schema.get("type")
    if kind is not None and (not isinstance(form, _KINDS[kind]) or (kind == "integer" and isinstance(form, bool))):
        yield f"{where}: {form!r} is no {kind}"
        return
    if "enum" in schema and form not in schema["enum"]:
        yield f"{where}: {form!r} is none of {schema['enum']}"
    if isinstance(form, list):
        for number, each in enumerate(form):
            yield from differences(document, schema.get("items", {}), each, f"{where}[{number}]")
    if isinstance(form, dict):
        known, others = schema.get("properties"), schema.get("additionalProperties", {})
        if known is not None:
            yield from (f"{where}.{name}: is missing" for name in set(schema.get("required", ())) - form.keys())
            yield from (f"{where}.{name}: is not described" for name in form.keys() - known.keys())
        for name, each in form.items():
            yield from differences(document, (known or {}).get(name, others), each, f"{where}.{name}")
