"""Criteria of a rule: the facts that a request, response, push or connection must have."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from fnmatch import fnmatchcase
from typing import Any, Protocol

from ..gate.raw_request import RawRequest
from ..kernel.durations import Duration, DurationError, milliseconds
from ..kernel.nearest_name import nearest_of
from ..kernel.value_class import frozen_value
from .errors import FaultError, listed
from .parameters import duration_error
from .phase import KNOWN_CRITERIA, Phase
from .subject import MessageFacts

PROTOCOLS = ("remoting", "grpc")
PATTERN_CHARACTERS_MAX = 1_000
BODY_BYTES_MAX = 65_536
"""The part of a body in which `body_matches` searches, in bytes."""
BASE64 = "base64:"


class Facts(Protocol):
    """The facts of one event, each computed when it is first read."""

    @property
    def label(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def protocol(self) -> str: ...
    @property
    def brokers(self) -> Sequence[str]: ...
    @property
    def address(self) -> str: ...
    @property
    def topics(self) -> Sequence[str]: ...
    @property
    def groups(self) -> Sequence[str]: ...
    @property
    def clients(self) -> Sequence[str]: ...
    @property
    def language(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def messages(self) -> Sequence[MessageFacts]: ...
    @property
    def subject(self) -> object: ...


Names = str | Sequence[str] | None
Predicate = Callable[[Facts], bool]


@frozen_value
class Criteria:
    """All given criteria must hold. A text matches exactly, or as a pattern with `*`; a list, if one entry matches.

    - `operation`: the class of an operation or effect of the engine, a request code or an RPC
    - `protocol`: `remoting` or `grpc`; `address`: host of the client
    - `broker`: the name of the server's node; of a request that the gRPC proxy answers on its own, `proxy` and the
      names of all brokers
    - `topic`, `group`, `client` (client id), `language` (such as `JAVA`) and `version` of the SDK (such as `5.3.3`)
    - `tag`, `key`, `property` (values by name), `body_matches`: of one of the messages that the request sends or
      acknowledges, or that the response delivers. `body_matches` is a regular expression that is searched in the first
      64 KiB of the body, or `base64:` and bytes that the body contains.
    - `where`: a function that gets the operation; from Python only. Requests that the gRPC proxy refuses on its own
      have none, and do not match.
    - `phase`: chooses among the phases in which a fault can act
    - `start`, `end`: durations of the emulator's time after the rule was added; the rule matches in between
    """

    operation: Names = None
    protocol: str | None = None
    broker: Names = None
    address: Names = None
    topic: Names = None
    group: Names = None
    client: Names = None
    language: Names = None
    version: Names = None
    tag: Names = None
    key: Names = None
    property: Mapping[str, str] | None = None
    body_matches: str | None = None
    where: Callable[[Any], bool] | None = field(default=None, compare=False)
    phase: str | None = None
    start: Duration | None = None
    end: Duration | None = None

    def __post_init__(self) -> None:
        for name, value in self.given():
            _CHECKS.get(name, _check_names)(name, value)
        if self.start is not None and self.end is not None and _ms("end", self.end) <= _ms("start", self.start):
            raise FaultError(f"end={self.end!r}: not after start={self.start!r}; use a later end, or omit it")

    def given(self) -> Iterator[tuple[str, Any]]:
        """Iterate over the criteria that are set, as (name, value)."""
        return ((each.name, value) for each in fields(self) if (value := getattr(self, each.name)) is not None)

    def check_phase(self, phase: Phase) -> None:
        """Raise FaultError for a criterion that is not known in a phase."""
        known = KNOWN_CRITERIA[phase] | {"phase", "start", "end"}
        for name, value in self.given():
            if name not in known:
                raise FaultError(
                    f"{name}={value!r}: not known in the phase {phase.value!r}; {listed(known - {'phase'})}; "
                    f"remove it, or choose a fault of another phase"
                )

    def window_ms(self) -> tuple[int, int | None]:
        """Return start and end in ms after the rule was added; None is no end."""
        start = 0 if self.start is None else _ms("start", self.start)
        return start, None if self.end is None else _ms("end", self.end)

    def predicates(self) -> list[Predicate]:
        """Return tests of everything but operation, phase and time, the cheapest first."""
        found: list[Predicate] = []
        for name, value in self.given():
            if name in _SINGLE:
                found.append(_single(_SINGLE[name], value))
            elif name in _SEVERAL:
                found.append(_several(_SEVERAL[name], value))
        if self.concerns_messages():
            found.append(lambda facts: any(self.matches_message(message) for message in facts.messages))
        if self.where is not None:
            where = self.where
            found.append(lambda facts: not isinstance(facts.subject, RawRequest) and bool(where(facts.subject)))
        return found

    def concerns_messages(self) -> bool:
        """True if a criterion is about single messages."""
        return any(getattr(self, name) is not None for name in ("tag", "key", "property", "body_matches"))

    def matches_message(self, message: MessageFacts) -> bool:
        """True if a message satisfies the criteria about messages."""
        return (
            (self.tag is None or (message.tag is not None and _is_one(message.tag, self.tag)))
            and (self.key is None or any(_is_one(key, self.key) for key in message.keys))
            and (self.property is None or self.property.items() <= dict(message.properties).items())
            and (self.body_matches is None or _body_matches(self.body_matches, message.readable_body))
        )


_SINGLE: Mapping[str, Callable[[Facts], str]] = {
    "protocol": lambda facts: facts.protocol,
    "address": lambda facts: facts.address,
    "language": lambda facts: facts.language,
    "version": lambda facts: facts.version,
}
_SEVERAL: Mapping[str, Callable[[Facts], Sequence[str]]] = {
    "broker": lambda facts: facts.brokers,
    "topic": lambda facts: facts.topics,
    "group": lambda facts: facts.groups,
    "client": lambda facts: facts.clients,
}


def unknown_criterion(name: str) -> FaultError:
    """Return the error for a keyword that is no criterion."""
    known = [each.name for each in fields(Criteria)]
    nearest = nearest_of(name, known)
    hint = f"did you mean {nearest}?" if nearest else listed(known)
    return FaultError(f"{name}: there is no such criterion; {hint}", nearest=nearest)


def is_one(text: str, wanted: Names) -> bool:
    """True if a text equals a wanted name, matches its pattern, or does so for one of several."""
    return wanted is None or _is_one(text, wanted)


def _is_one(text: str, wanted: str | Sequence[str]) -> bool:
    if isinstance(wanted, str):
        return fnmatchcase(text, wanted) if "*" in wanted else text == wanted
    return any(_is_one(text, each) for each in wanted)


def _single(read: Callable[[Facts], str], wanted: str | Sequence[str]) -> Predicate:
    return lambda facts: _is_one(read(facts), wanted)


def _several(read: Callable[[Facts], Sequence[str]], wanted: str | Sequence[str]) -> Predicate:
    return lambda facts: any(_is_one(each, wanted) for each in read(facts))


def _body_matches(wanted: str, body: bytes) -> bool:
    if wanted.startswith(BASE64):
        return b64decode(wanted.removeprefix(BASE64)) in body
    return re.search(wanted, body[:BODY_BYTES_MAX].decode(errors="replace")) is not None


def _ms(name: str, value: object) -> int:
    try:
        return milliseconds(value, name)
    except DurationError as wrong:
        raise duration_error(name, value, wrong) from None


def _check_names(name: str, value: object) -> None:
    several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    texts = list(value) if several else [value]  # type: ignore[call-overload]  # mypy does not follow the condition
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise FaultError(f"{name}={value!r}: neither a name nor a list of names; use a text such as 'orders'")


def _check_protocol(name: str, value: object) -> None:
    if value not in PROTOCOLS:
        nearest = nearest_of(value, PROTOCOLS)
        hint = f"did you mean {nearest}?" if nearest else f"there are {' and '.join(PROTOCOLS)}"
        raise FaultError(f"{name}={value!r}: there is no such protocol; {hint}")


def _check_phase(name: str, value: object) -> None:
    known = [phase.value for phase in Phase if phase is not Phase.STANDING]
    if value not in known:
        nearest = nearest_of(value, known)
        hint = f"did you mean {nearest}?" if nearest else f"there are {', '.join(known)}"
        raise FaultError(f"{name}={value!r}: there is no such phase; {hint}")


def _check_properties(name: str, value: object) -> None:
    if not isinstance(value, Mapping) or not all(
        isinstance(each, str) and isinstance(text, str) for each, text in value.items()
    ):
        raise FaultError(f"{name}={value!r}: not a mapping of names to texts; use {{'color': 'red'}}")


def _check_body(name: str, value: object) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= PATTERN_CHARACTERS_MAX:
        raise FaultError(
            f"{name}={str(value)[:80]!r}: not a regular expression of at most {PATTERN_CHARACTERS_MAX} characters; "
            f"use 'order-42', or '{BASE64}' and the bytes"
        )
    try:
        if value.startswith(BASE64):
            b64decode(value.removeprefix(BASE64), validate=True)
        else:
            re.compile(value)
    except (ValueError, re.error) as wrong:
        raise FaultError(f"{name}={value!r}: {wrong}; use 'order-42', or '{BASE64}' and the bytes") from None


def _check_where(name: str, value: object) -> None:
    if not callable(value):
        raise FaultError(f"{name}={value!r}: not a function of the operation; use lambda operation: True")


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "protocol": _check_protocol,
    "phase": _check_phase,
    "property": _check_properties,
    "body_matches": _check_body,
    "where": _check_where,
    "start": lambda name, value: _ignore(_ms(name, value)),
    "end": lambda name, value: _ignore(_ms(name, value)),
}


def _ignore(_value: object) -> None:
    """Drop a value that was only computed to check it."""
