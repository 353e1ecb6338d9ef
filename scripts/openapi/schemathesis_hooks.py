"""Hooks of Schemathesis: they shorten waits, so that a run with generated requests is short, and keep the clock near.

Schemathesis imports this file. A wait for a client that never comes lasts its `timeout`, and a search for a condition
that never becomes true its `wait`, up to 100 years. After a reset to the year 9997, jumps of the clock are refused.
"""

import re
from typing import Any

import schemathesis

WAITS = {
    "/v1/wait/consumer": "timeout",
    "/v1/wait/producer": "timeout",
    "/v1/clock/advance": "wait",
    "/v1/clock/advance_to_next": "wait",
    "/v1/clock/advance_until": "wait",
}
ASSERTIONS, WITHIN = "/v1/assertions/{name}", "within"
RESET, START_AT = "/v1/reset", "start_at"
SHORT = "20ms"
DURATION = re.compile(r"(\s*\d+(\.\d+)?\s*(ms|s|m|h|d))+\s*")
YEAR = re.compile(r"^\d{4}(?=-\d\d-\d\dT)")


@schemathesis.hook  # type: ignore[untyped-decorator]  # not installed where types are checked
def before_call(_context: schemathesis.HookContext, case: schemathesis.Case, _kwargs: dict[str, Any]) -> None:
    """Replace a valid wait by a short one, and the year of a reset by 2026."""
    if case.operation.path == RESET and isinstance(case.body, dict) and isinstance(case.body.get(START_AT), str):
        case.body[START_AT] = YEAR.sub("2026", case.body[START_AT])
    if (
        case.operation.path == ASSERTIONS
        and isinstance(case.body, dict)
        and DURATION.fullmatch(str(case.body.get(WITHIN)))
    ):
        del case.body[WITHIN]  # with it, an assertion that fails waits ten seconds for clients
    field = WAITS.get(case.operation.path)
    if field is not None and isinstance(case.body, dict):
        value = case.body.get(field, SHORT)
        if isinstance(value, str) and DURATION.fullmatch(value):
            case.body[field] = SHORT


def _text(body: dict[str, Any]) -> str:
    value = body.get(WITHIN)
    return value if isinstance(value, str) else ""
