"""The names that rules may use for requests, and the response codes of each: joined from engine and protocols."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..gate import effects
from ..gate.effects import Effect
from ..kernel.nearest_name import nearest_of
from ..kernel.response_code import ResponseCode
from ..kernel.value_class import parts
from ..operations.base import Operation
from ..operations.clients import ChannelClosed, DropInactiveRequests
from ..operations.send import ClientResponded
from .criteria import is_one
from .errors import FaultError, listed, shown, unknown_name
from .facts import PROTOCOLS

_NOT_SENT = (effects.ServerRequest, effects.CloseExpiredConnection)
"""Effects that a broker does not send: a base class, and the close of a connection."""
_FOLLOW_UPS = (ChannelClosed, DropInactiveRequests)
"""Operations that the servers carry out when a client leaves, which no client requests."""
_LABELS_MAX = 6
"""The most names of requests that an error lists."""


def all_subclasses(base: type) -> list[Any]:
    """Return all direct and indirect subclasses of a class, in the order of their depth."""
    found: list[Any] = list(base.__subclasses__())
    return found + [deeper for each in found for deeper in all_subclasses(each)]


@parts
class RequestName:
    """A name of a protocol for a request: a request code or an RPC.

    `operations` are the operations of the engine that carry it out. `codes` are the codes with which it can be
    refused, by name. `statuses` are the statuses of gRPC itself, by name; empty for remoting.
    """

    name: str
    protocol: str
    operations: tuple[type[Operation], ...]
    codes: Mapping[str, int]
    statuses: Mapping[str, int]


class Vocabulary:
    """The names of operations, effects, request codes, RPCs and languages of SDKs.

    `requests` are the names of both protocols. An operation and an RPC may have the same name, such as SendMessage:
    the name then means both.
    """

    def __init__(self, requests: Iterable[RequestName] = (), languages: Iterable[str] = ()) -> None:
        self.languages = tuple(languages)
        self.operations: Mapping[str, type[Operation]] = {
            each.__name__: each for each in all_subclasses(Operation) if each not in _FOLLOW_UPS
        }
        self.effects: Mapping[str, type[Effect]] = {
            each.__name__: each for each in all_subclasses(Effect) if each not in _NOT_SENT
        }
        self.requests: Mapping[tuple[str, str], RequestName] = {(each.protocol, each.name): each for each in requests}
        """By protocol and name."""
        self.codes = Codes(self.requests.values())
        self._by_name: dict[str, list[RequestName]] = {}
        for each in self.requests.values():
            self._by_name.setdefault(each.name, []).append(each)
        self._carried_out = [each for each in self.requests.values() if each.operations]
        self._meant: dict[str, list[RequestName]] = {}
        """The requests that each name of a request or operation means."""
        for each in self._carried_out:
            for name in {each.name, each.operations[0].__name__}:
                self._meant.setdefault(name, []).append(each)

    def check_language(self, name: str) -> None:
        """Raise FaultError if no SDK has a language of this name, or one that the pattern matches."""
        if not any(is_one(each, name.upper()) for each in self.languages):
            raise unknown_name("language", name, self.languages)

    def names(self) -> list[str]:
        """Return all names that the criterion `operation` accepts, sorted."""
        requests = (name for name, known in self._by_name.items() if any(each.operations for each in known))
        return sorted({*self.operations, *self.effects, *requests})

    def classes(self, name: str, *, responses: bool = False) -> tuple[type[Operation] | type[Effect], ...]:
        """Return the operations or the effect that a name means. Raises FaultError for an unknown name.

        Of a request that takes several operations, only the first one is returned. With `responses` all are returned,
        because the client may get its response after any of them.
        """
        found: dict[Any, None] = dict.fromkeys(
            operation
            for each in self._by_name.get(name, ())
            for operation in (each.operations if responses else each.operations[:1])
        )
        for known in (self.operations, self.effects):
            if name in known:
                found[known[name]] = None
        if not found and name in self._by_name:
            raise FaultError(
                f"operation={name!r}: the emulator never carries this request out; choose one that it carries out"
            )
        if not found and name in {each.__name__ for each in _FOLLOW_UPS}:
            raise FaultError(
                f"operation={name!r}: no client requests it, because the servers carry it out on their own; choose the "
                "operation of a request"
            )
        if not found:
            raise unknown_name("operation", name, self.names())
        return tuple(found)

    def requests_of(self, names: Sequence[str], protocol: str | None) -> list[RequestName]:
        """Return the requests of one protocol (None: of both) that one of the names means; without names, all.

        Requests that the emulator never carries out are left out.
        """
        found = (
            dict.fromkeys(each for name in names for each in self._meant.get(name, ())) if names else self._carried_out
        )
        return [each for each in found if protocol is None or each.protocol == protocol]

    def check_sent(self, names: Sequence[str], protocols: Collection[str], *, responses: bool) -> None:
        """Raise FaultError if clients of these protocols send no request that one of the names means.

        `responses`: the request must get a response.
        """
        sent = [each for each in self.requests.values() if each.protocol in protocols]
        meant = {self.operations[name] for name in names if name in self.operations}
        if not any(each.name in names or not meant.isdisjoint(each.operations) for each in sent if each.operations):
            raise FaultError(
                f"operation={_shown(names)}: clients of {' and '.join(sorted(protocols))} send no such request; "
                "choose another operation, or another protocol or fault"
            )
        if responses and meant == {ClientResponded} and len(meant) == len(names):
            raise FaultError(
                f"operation={_shown(names)}: the result of a client gets no response; choose a fault that acts in the "
                "phase 'request'"
            )

    def rpcs_of(self, names: Sequence[str]) -> list[str]:
        """Return the RPCs that one of the names means. The proxy may refuse them, or carry them out on its own."""
        return [each.name for each in self.requests_of(names, "grpc")] if names else []


def _shown(names: Sequence[str]) -> str:
    return shown(names[0] if len(names) == 1 else list(names))


def check_code(
    requests: Sequence[RequestName], code: str | int, noun: str = "code", words: Sequence[str] = ()
) -> Sequence[str]:
    """Return the protocols in which one of the requests can be refused with a code. Raises FaultError if none can.

    `noun` is the parameter's name, `words` are its further values, for the error.
    """
    return _usable(requests, noun, code, lambda request: request.codes, words=words)


def check_status(requests: Sequence[RequestName], status: str | int | None) -> Sequence[str]:
    """Return the protocols in which one of the requests can end with a gRPC status. Raises FaultError if none can."""
    return _usable(requests, "status", status, lambda request: request.statuses)


def _usable(
    requests: Sequence[RequestName],
    noun: str,
    given: str | int | None,
    known: Callable[[RequestName], Mapping[str, int]],
    *,
    words: Sequence[str] = (),
) -> Sequence[str]:
    """Return the protocols whose requests have a code or status among those that `known` returns for each request."""
    found = {each.protocol for each in requests if given in known(each) or given in known(each).values()}
    if found or not requests:
        return sorted(found) or PROTOCOLS
    names = {name for request in requests for name in known(request)}
    if not names:
        raise no_status(given)
    labels = sorted({request.name for request in requests})
    if len(labels) > _LABELS_MAX:
        wrong = f"no request ends with this {noun}"
    else:
        wrong = f"{', '.join(labels)} never {'ends' if len(labels) == 1 else 'end'} with this {noun}"
    nearest = nearest_of(given, [*words, *names]) if isinstance(given, str) else None
    hint = listed([*words, *names]) if nearest is None else f"did you mean {nearest}? {listed([*words, *names])}"
    remedy = "choose one of them, or let the rule accept any code (option strict: false)"
    raise FaultError(f"{noun}={shown(given)}: {wrong}; {hint}; {remedy}")


def no_status(status: object) -> FaultError:
    """Return the error for a gRPC status of requests that only remoting has."""
    return FaultError(
        f"status={shown(status)}: requests of remoting end with a response code, and have no gRPC status; use code= in "
        "place of status=, such as code='SYSTEM_BUSY'"
    )


class Codes:
    """The numbers of codes by protocol and name, and those of the statuses of gRPC."""

    def __init__(self, requests: Iterable[RequestName]) -> None:
        self._codes: dict[str, dict[str, int]] = {}
        """Numbers of codes by protocol and name."""
        self._statuses: dict[str, int] = {}
        """Numbers of gRPC statuses by name."""
        for each in requests:
            self._codes.setdefault(each.protocol, {}).update(each.codes)
            self._statuses.update(each.statuses)

    def number(self, protocol: str, code: str | int) -> int:
        """Return the number of a code in a protocol. A name that only another protocol has keeps its number there."""
        if isinstance(code, int):
            return code
        for known in (self._codes.get(protocol, {}), *self._codes.values(), ResponseCode.__members__):
            if code in known:
                return int(known[code])
        raise unknown_name("code", code, {name for known in self._codes.values() for name in known})

    def check(self, code: str | int) -> None:
        """Raise FaultError if no protocol has a code of this name. Any number is accepted."""
        self.number(PROTOCOLS[0], code)

    def status(self, status: str | int) -> int:
        """Return the number of a status of gRPC. Raises FaultError for an unknown name."""
        if isinstance(status, int):
            return status
        if status not in self._statuses:
            raise unknown_name("status", status, self._statuses)
        return self._statuses[status]
