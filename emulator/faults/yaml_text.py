"""Rules as YAML text, for people to read and change. `rule_files` of the fixtures reads it back."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .errors import FaultError
from .rule import RuleSpec
from .rule_form import written_rule

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that YAML 1.1 reads as a flag or as null."""
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that JSON leaves as they are, and YAML does not accept in a text."""


def to_yaml(rules: Sequence[RuleSpec]) -> str:
    """Return rules as YAML text: a list of mappings. Raises FaultError for a rule with a function.

    The text of no rules is `[]`. A file with this text is refused, as each file without rules.
    """
    lines = []
    for rule in rules:
        if rule.criteria.where is not None:
            raise FaultError("where: YAML cannot hold a function; use the other criteria")
        first, *others = _mapping(written_rule(rule), "  ")
        lines += [f"- {first[2:]}", *others]
    return "\n".join(lines or ["[]"]) + "\n"


def _mapping(form: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in form.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{scalar(name)}:"
            yield from _mapping(value, indent + "  ")
        else:
            yield f"{indent}{scalar(name)}: {scalar(value)}"


def scalar(value: Any) -> str:
    """Return a value without mappings as YAML text on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(scalar, value))}]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    if isinstance(value, float) and "." not in (text := repr(value)):
        return text.replace("e", ".0e")  # YAML 1.1 reads 1e-05 as a text
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
