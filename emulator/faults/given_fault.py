"""A fault as Python gives it: alone, or together with its criteria as `drop_request(operation="AckMessage")`."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .base_fault import BaseFault
from .criteria import CRITERIA, Criteria
from .errors import FaultError
from .kind_declaration import FLAGS
from .occurrence import OCCURRENCE, Occurrence
from .rule import RuleSpec

GivenFault = BaseFault | RuleSpec
"""A fault without criteria, or a rule: a fault with its criteria, and how often it acts."""


def rule_of(given: GivenFault, keywords: Mapping[str, Any]) -> RuleSpec:
    """Return the rule of a fault, with further criteria, numbers and options. Raises FaultError.

    `keywords` are names of `KEYWORDS`. One that the fault has already may not be given again.
    """
    if isinstance(given, RuleSpec):
        known = _keywords_of(given)
        for name in keywords:
            if name in known:
                raise FaultError(f"{name}: given to the fault and to add(); a rule has it once; remove one of the two")
        fault, keywords = given.fault, {**known, **keywords}
    else:
        fault = given
    return RuleSpec(
        fault=fault,
        criteria=Criteria(**_named(keywords, CRITERIA)),
        occurrence=Occurrence(**_named(keywords, OCCURRENCE)),
        **_named(keywords, ("name", *FLAGS)),
    )


def _named(keywords: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if name in names}


def _keywords_of(rule: RuleSpec) -> dict[str, Any]:
    """Return the keywords of a rule that differ from their defaults."""
    often = {
        each.name: value
        for each in fields(Occurrence)
        if (value := getattr(rule.occurrence, each.name)) != each.default
    }
    options = {"name": rule.name, "optional": rule.optional, "strict": rule.strict}
    defaults = {"name": None, "optional": False, "strict": True}
    return {
        **dict(rule.criteria.given()),
        **often,
        **{name: value for name, value in options.items() if value != defaults[name]},
    }
