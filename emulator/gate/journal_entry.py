"""Entries of the journal."""

from typing import NamedTuple

from ..kernel.errors import EngineError
from ..operations.base import Operation, Result
from .effects import Effect
from .fired_rule import FiredRule
from .raw_request import RawRequest, Rejection

EVENTS = ("responded", "parked", "refused", "pushed", "faulted")
"""The values of `JournalEntry.event`."""


class JournalEntry(NamedTuple):
    """One entry: at `now_ms`, on `node`, `event` happened to `subject`.

    `event` is `"responded"`, `"parked"`, `"refused"`, `"pushed"` or `"faulted"`. A refused request got its response, or
    its connection was closed, before any service carried it out. Its subject is the operation, or a RawRequest if there
    is none. `"faulted"`: a rule acted on the subject or on a new connection, or a fault with a duration began or ended.
    `client` is the id of the client's channel. `label` is the name of the request in its protocol, or of an effect its
    class. `outcome` is set for responded and refused requests, and names the rule of a fault. `request` is the number
    of the request on its connection, as in `Call`: the entries of one request, parked and responded, have the same.
    None for effects, and for requests that no client sent.
    """

    now_ms: int
    node: str
    event: str
    client: str
    label: str
    subject: Operation | Effect | RawRequest
    outcome: Result | EngineError | Rejection | FiredRule | None
    request: int | None = None
