"""Criteria of a rule: the facts that a request, response, push or connection must have."""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, field, fields
from typing import Any

from ..gate.raw_request import RawRequest
from ..kernel.durations import Duration
from ..kernel.nearest_name import nearest_of
from ..kernel.value_class import frozen_value
from .addresses import matches_address
from .criterion_checks import BASE64, CHECKS, check_names, ms_of_criterion
from .errors import FaultError, listed, shortened, shown
from .facts import Facts
from .message_facts import MessageFacts
from .patterns import matches
from .phase import KNOWN_CRITERIA, Phase
from .versions import matches_version

BODY_BYTES_MAX = 65_536
"""The part of a body in which a regular expression of `body_matches` searches, in bytes."""

Names = str | Sequence[str] | None
Predicate = Callable[[Facts], bool]


@frozen_value
class Criteria:
    """The criteria of a rule. An event matches the rule if it meets all that are given.

    A text must be equal, or match as a pattern with `*`. Of a list of texts, one must match.

    - `operation`: the class of an operation or effect of the engine, a request code or an RPC
    - `protocol`: `remoting` or `grpc`; `address`: IP address of the client, or `localhost` for both loopback addresses
    - `broker`: the name of the server's node. A request that the gRPC proxy handles itself has the name `proxy`, and
      those of all running masters.
    - `topic`, `group`, `client` (client id), `language` of the SDK (such as `JAVA`, in any case)
    - `version` of the SDK: `5.3.3`, or `5.3` for all versions 5.3.x
    - `tag`, `key`, `property` (values by name), `body_matches`: one message must meet them, among those that the
      request sends or acknowledges, or that the response delivers. `body_matches` is a regular expression for the first
      64 KiB of the body, or `base64:` and bytes that the body contains.
    - `where`: a function that gets the operation, or the effect of a push; from Python only. Requests that the gRPC
      proxy refuses on its own have no operation, and do not match.
    - `phase`: chooses among the phases in which a fault can act
    - `start`, `end`: durations of the emulator's time after the rule was added; the rule matches in between
    """

    operation: Names = None
    protocol: str | None = None
    broker: Names = None
    address: Names = None
    _: KW_ONLY
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
            CHECKS.get(name, check_names)(name, value)
        if (
            self.start is not None
            and self.end is not None
            and (ms_of_criterion("end", self.end) <= ms_of_criterion("start", self.start))
        ):
            raise FaultError(f"end={shown(self.end)}: not after start={shown(self.start)}; use a later end, or omit it")

    def given(self) -> list[tuple[str, Any]]:
        """Return the criteria that are set, as (name, value)."""
        return [(name, value) for name in CRITERIA if (value := getattr(self, name)) is not None]

    def check_phase(self, phase: Phase) -> None:
        """Raise FaultError for a criterion that is not known in a phase."""
        known = KNOWN_CRITERIA[phase] | OF_ALL_PHASES
        for name, value in self.given():
            if name not in known:
                raise FaultError(
                    f"{name}={shown(value)}: not known in the phase {phase.value!r}; {listed(known - {'phase'})}; "
                    f"remove it, or choose a fault of another phase"
                )

    def window_ms(self) -> tuple[int, int | None]:
        """Return start and end in ms after the rule was added; None is no end."""
        start = 0 if self.start is None else ms_of_criterion("start", self.start)
        return start, None if self.end is None else ms_of_criterion("end", self.end)

    def predicates(self) -> list[Predicate]:
        """Return tests of everything but operation, phase and time, the cheapest first."""
        found: list[Predicate] = []
        for name, value in self.given():
            if name in _PREDICATES:
                found.append(_PREDICATES[name](value))
        if self.concerns_messages():
            found.append(lambda facts: any(self.matches_message(message) for message in facts.messages))
        if self.where is not None:
            where = self.where
            found.append(lambda facts: not isinstance(facts.subject, RawRequest) and bool(where(facts.subject)))
        return found

    def concerns_messages(self) -> bool:
        """True if a criterion is about single messages."""
        return any(getattr(self, name) is not None for name in OF_MESSAGES)

    def matches_message(self, message: MessageFacts) -> bool:
        """True if a message satisfies the criteria about messages."""
        return (
            (self.tag is None or (message.tag is not None and matches(message.tag, self.tag)))
            and (self.key is None or any(matches(key, self.key) for key in message.keys))
            and (self.property is None or all(_has(message, name, text) for name, text in self.property.items()))
            and (self.body_matches is None or _body_matches(self.body_matches, message.readable_body))
        )


CRITERIA = tuple(each.name for each in fields(Criteria))
"""The names of all criteria."""
OF_MESSAGES = ("tag", "key", "property", "body_matches")
"""Criteria about single messages."""
OF_ALL_PHASES = frozenset({"phase", "start", "end"})
"""Criteria that are known in every phase. No request is compared with them: they choose the phase and the time."""


def unknown_criterion(name: str) -> FaultError:
    """Return the error for a keyword that is no criterion."""
    nearest = nearest_of(name, CRITERIA)
    hint = f"did you mean {nearest}?" if nearest else listed(CRITERIA)
    return FaultError(f"{shortened(name)}: there is no such criterion; {hint}", nearest=nearest)


def names_of(wanted: Names) -> Sequence[str]:
    """Return the names and patterns of a criterion."""
    return () if wanted is None else (wanted,) if isinstance(wanted, str) else wanted


def is_one(text: str, wanted: Names) -> bool:
    """True if a text equals one of the wanted names or matches one of the wanted patterns, or if `wanted` is None."""
    return wanted is None or matches(text, wanted)


def _has(message: MessageFacts, name: str, wanted: str) -> bool:
    found = message.properties.get(name)
    return found is not None and matches(found, wanted)


def _language(wanted: str | Sequence[str]) -> Predicate:
    upper = wanted.upper() if isinstance(wanted, str) else [each.upper() for each in wanted]
    return lambda facts: matches(facts.language.upper(), upper)


def _several(read: Callable[[Facts], Sequence[str]]) -> Callable[[str | Sequence[str]], Predicate]:
    return lambda wanted: lambda facts: any(matches(each, wanted) for each in read(facts))


def _body_matches(wanted: str, body: bytes) -> bool:
    if wanted.startswith(BASE64):
        return b64decode(wanted.removeprefix(BASE64)) in body
    return re.search(wanted, body[:BODY_BYTES_MAX].decode(errors="replace")) is not None


_PREDICATES: Mapping[str, Callable[[Any], Predicate]] = {
    "protocol": lambda wanted: lambda facts: facts.protocol == wanted,
    "address": lambda wanted: lambda facts: matches_address(facts.address, wanted),
    "language": _language,
    "version": lambda wanted: lambda facts: matches_version(facts.version, wanted),
    "broker": _several(lambda facts: facts.brokers),
    "topic": _several(lambda facts: facts.topics),
    "group": _several(lambda facts: facts.groups),
    "client": _several(lambda facts: facts.clients),
}
"""Functions that make the test of a criterion from its value, for criteria that are not about single messages."""
