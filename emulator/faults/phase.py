"""The phases in which a rule can match, and the criteria that each phase knows."""

from collections.abc import Mapping
from enum import Enum


class Phase(Enum):
    """A moment in the exchange between a client and a server."""

    CONNECT = "connect"
    """A client opens a connection. No request is known yet."""
    REQUEST = "request"
    """A request has arrived and is not carried out yet."""
    RESPONSE = "response"
    """A request has its outcome, and the response is not sent yet."""
    PUSH = "push"
    """A broker sends a notification or a request to a client."""
    STANDING = "standing"
    """No moment: the fault holds from the time at which the rule is added until it is removed."""


_CONNECTION = frozenset({"protocol", "broker", "address"})
_CLIENT = _CONNECTION | {"operation", "topic", "group", "client", "language", "version"}
_MESSAGE = frozenset({"tag", "key", "property", "body_matches"})

KNOWN_CRITERIA: Mapping[Phase, frozenset[str]] = {
    Phase.CONNECT: _CONNECTION,
    Phase.REQUEST: _CLIENT | _MESSAGE | {"where"},
    Phase.RESPONSE: _CLIENT | _MESSAGE | {"where"},
    # The language and version of the client of a push are not known here.
    Phase.PUSH: _CLIENT - {"language", "version"} | _MESSAGE | {"where"},
    Phase.STANDING: frozenset(),
}
"""Criteria about the request or connection, by phase. `start` and `end` are known in every phase."""
