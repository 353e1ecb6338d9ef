"""Checks of the values of criteria."""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..kernel.durations import DurationError, milliseconds
from ..kernel.nearest_name import nearest_of
from .addresses import check_address
from .errors import FaultError, shortened, shown
from .facts import PROTOCOLS
from .parameters import duration_error
from .phase import Phase
from .versions import check_version

PATTERN_CHARACTERS_MAX = 1_000
"""The most characters of the criterion `body_matches`."""
BASE64 = "base64:"
_LONG_NUMBER = 10**15
"""A number below this may be a name whose quotes the user forgot; a greater one is none."""


def ms_of_criterion(name: str, value: object) -> int:
    """Return a duration in ms. Raises FaultError."""
    try:
        return milliseconds(value, name)
    except DurationError as wrong:
        raise duration_error(name, value, wrong) from None


def check_names(name: str, value: object) -> None:
    """Raise FaultError unless a value is a name or a list of names."""
    if isinstance(value, str) and value:  # the most frequent form
        return
    several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    texts = list(value) if several else [value]  # type: ignore[call-overload]  # mypy does not follow the condition
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise FaultError(f"{name}={shown(value)}: neither a name nor a list of names; use {_text_like(name, value)!r}")


EXAMPLES: Mapping[str, str] = {
    "operation": "SendMessage",
    "broker": "broker-a",
    "topic": "orders",
    "group": "order-service",
    "client": "client-1",
    "language": "JAVA",
    "version": "5.3",
    "tag": "red",
    "key": "order-42",
}
"""A value of each criterion that is a name."""


def _text_like(name: str, value: object) -> str:
    """Return the text that a wrong value may mean: a number as a text, or an example."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LONG_NUMBER:
        return EXAMPLES[name]
    return str(value)


def _check_versions(name: str, value: Any) -> None:
    check_names(name, value)
    for each in (value,) if isinstance(value, str) else value:
        check_version(name, each)


def _check_addresses(name: str, value: object) -> None:
    for each in value if isinstance(value, list | tuple) and value else (value,):
        check_address(name, each)


def _check_protocol(name: str, value: object) -> None:
    if value not in PROTOCOLS:
        nearest = nearest_of(value, PROTOCOLS)
        hint = f"did you mean {nearest}?" if nearest else f"there are {' and '.join(PROTOCOLS)}"
        raise FaultError(f"{name}={shown(value)}: there is no such protocol; {hint}")


def _check_phase(name: str, value: object) -> None:
    known = [phase.value for phase in Phase if phase is not Phase.STANDING]
    if value not in known:
        nearest = nearest_of(value, known)
        hint = f"did you mean {nearest}?" if nearest else f"there are {', '.join(known)}"
        raise FaultError(f"{name}={shown(value)}: there is no such phase; {hint}")


def _check_properties(name: str, value: object) -> None:
    if not isinstance(value, Mapping) or not all(
        isinstance(each, str) and isinstance(text, str) for each, text in value.items()
    ):
        raise FaultError(f"{name}={shown(value)}: not a mapping of names to texts; use {{'color': 'red'}}")


def _check_body(name: str, value: object) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= PATTERN_CHARACTERS_MAX:
        raise FaultError(
            f"{name}={shown(value)}: not a regular expression of at most {PATTERN_CHARACTERS_MAX} characters; "
            f"use 'order-42', or '{BASE64}' and the bytes"
        )
    try:
        if value.startswith(BASE64):
            if not b64decode(value.removeprefix(BASE64), validate=True):
                raise ValueError("without bytes, which each body contains")
        else:
            re.compile(value)
    except (ValueError, re.error) as wrong:
        raise FaultError(
            f"{name}={shown(value)}: {shortened(str(wrong))}; use 'order-42', or '{BASE64}' and the bytes"
        ) from None


def _check_where(name: str, value: object) -> None:
    if not callable(value):
        raise FaultError(f"{name}={shown(value)}: not a function of the operation; use lambda operation: True")


CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "version": _check_versions,
    "address": _check_addresses,
    "protocol": _check_protocol,
    "phase": _check_phase,
    "property": _check_properties,
    "body_matches": _check_body,
    "where": _check_where,
    "start": lambda name, value: _ignore(ms_of_criterion(name, value)),
    "end": lambda name, value: _ignore(ms_of_criterion(name, value)),
}


def _ignore(_value: object) -> None:
    """Drop a value that was only computed to check it."""
