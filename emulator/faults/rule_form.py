"""Rules as JSON and YAML hold them: a mapping with `when`, `then`, and how often.

    name: lost-answers
    when: {operation: SendMessage, topic: orders}
    then: {drop_response: {how: close}}
    times: 1

`then` may be the name of a fault without parameters.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any

from ..kernel.durations import milliseconds
from ..kernel.nearest_name import nearest_of
from .criteria import CRITERIA, Criteria, unknown_criterion
from .errors import FaultError, listed, shown
from .fault import KINDS, create
from .kind_declaration import FLAGS, RULE_OPTIONS, example_of
from .occurrence import OCCURRENCE, Occurrence
from .rule import RuleSpec

WHEN, THEN = "when", "then"
MEMBERS = (WHEN, THEN, *RULE_OPTIONS)
EXAMPLE = '{"then": "drop_response"}'


def read_rule(form: object, at: str = "rule") -> RuleSpec:
    """Return the rule that a mapping describes. `at` names it in errors. Raises FaultError."""
    if not isinstance(form, Mapping):
        raise FaultError(f"{at}={shown(form)}: not a mapping with 'then'; use {EXAMPLE}")
    try:
        for name in form:
            if name not in MEMBERS:
                raise _unknown_member(name)
        given = {name: form[name] for name in MEMBERS if form.get(name) is not None}
        return RuleSpec(
            fault=_fault(given.get(THEN)),
            criteria=_criteria(given.get(WHEN, {})),
            occurrence=Occurrence(**{name: given[name] for name in OCCURRENCE if name in given}),
            **{name: given[name] for name in ("name", *FLAGS) if name in given},
        )
    except FaultError as wrong:
        raise wrong.located(at) from None


def written_rule(spec: RuleSpec) -> dict[str, Any]:
    """Return a rule as a mapping that `read_rule` accepts."""
    form: dict[str, Any] = {} if spec.name is None else {"name": spec.name}
    when = {name: value for name, value in spec.criteria.given() if name != "where"}
    if when:
        form[WHEN] = {name: _plain(value) for name, value in when.items()}
    parameters = spec.fault.parameters()
    form[THEN] = {spec.fault.KIND.name: parameters} if parameters else spec.fault.KIND.name
    for each in fields(Occurrence):
        value = getattr(spec.occurrence, each.name)
        if value != each.default:
            form[each.name] = _plain(value)
    form.update({name: value for name in FLAGS if (value := getattr(spec, name)) != (name == "strict")})
    return form


def _fault(form: object) -> Any:
    if isinstance(form, str):
        return create(form, {})
    if isinstance(form, Mapping) and len(form) == 1:
        name, parameters = next(iter(form.items()))
        if parameters is None or isinstance(parameters, Mapping):
            return create(str(name), dict(parameters or {}))
    if form is None:
        raise FaultError(f"{THEN}: missing; a rule has one fault; use {EXAMPLE}")
    raise FaultError(
        f"{THEN}={shown(form)}: neither the name of a fault nor a mapping of one name to its parameters; "
        f"use {_fault_like(form)}"
    )


def _fault_like(form: object) -> str:
    """Return the fault that a wrong form may mean, as JSON: its name with the value for its first parameter."""
    name, given = next(iter(form.items())) if isinstance(form, Mapping) and len(form) == 1 else (None, None)
    kind = KINDS[name].KIND if isinstance(name, str) and name in KINDS else None
    if kind is None:
        return '{"drop_response": {"how": "close"}}'
    if not kind.parameters:
        return json.dumps(name)
    first = next(iter([*kind.required, *kind.parameters]))
    try:
        parameters = create(kind.name, {first: given}).parameters()
    except FaultError:
        parameters = {each: example_of(kind.parameters[each]) for each in kind.required or [first]}
    return json.dumps({name: parameters}, ensure_ascii=False)


def _criteria(form: object) -> Criteria:
    if not isinstance(form, Mapping):
        raise FaultError(f'{WHEN}={shown(form)}: not a mapping of criteria; use {{"topic": "orders"}}')
    for name in form:
        if name == "where":
            raise FaultError("where: a function can only be given in Python; use the other criteria")
        if name not in CRITERIA:
            raise unknown_criterion(str(name))
    return Criteria(**form)


def _unknown_member(name: object) -> FaultError:
    nearest = None
    if name in CRITERIA:
        hint = f"it is a criterion; write it below {WHEN!r}"
    elif name in KINDS:
        hint = f"it is a fault; write it below {THEN!r}"
    else:
        nearest = nearest_of(name, MEMBERS)
        hint = listed(MEMBERS) if nearest is None else f"did you mean {nearest}?"
    return FaultError(f"{shown(name)}: there is no such member of a rule; {hint}", nearest=nearest)


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return f"{milliseconds(value, 'duration')}ms"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value
