"""The proxy's cache of routes, which is in use only while the defect `route_cache` is on.

Upstream loads a route when a topic is queried for the first time, and caches it also if no broker has the topic. A
query more than 20 s later gets the old route once more and causes a new load. An entry that nobody queries is dropped
after 300 s. Source: TopicRouteService, ProxyConfig (5.3.3).
"""

from dataclasses import dataclass

from rocketmq_testkit.emulator.assembly.handlers import handlers_of, handles
from rocketmq_testkit.emulator.faults.defects import Defects
from rocketmq_testkit.emulator.gate.call import Call, Handlers, Node, Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.base import Parked, Result
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo

REFRESH_MS = 20_000
EXPIRY_MS = 300_000
ROUTES_MAX = 20_000
"""The most cached routes; the one that was loaded first is dropped."""


@dataclass(slots=True)
class _Entry:
    outcome: Outcome
    loaded_ms: int
    read_ms: int


class RouteCache:
    """The name server as the proxy sees it: a node that returns routes, cached while the defect is on."""

    def __init__(self, name_server: Node, scheduler: Scheduler, defects: Defects) -> None:
        self.name = name_server.name
        self._name_server = name_server
        self._scheduler = scheduler
        self._defects = defects
        self._entries: dict[str | None, _Entry] = {}
        self.handlers: Handlers = handlers_of(self)

    @handles(GetRouteInfo)
    def route(self, call: Call, operation: GetRouteInfo) -> Result | Parked:
        """Return the route of a topic. Errors: TOPIC_NOT_EXIST."""
        if not self._defects.route_cache:
            self.clear()
            return self._load(call, operation)
        now = self._scheduler.now_ms
        entry = self._entries.get(operation.topic)
        if entry is None or now - entry.read_ms >= EXPIRY_MS:
            outcome = self._store(call, operation)
        else:
            outcome, entry.read_ms = entry.outcome, now
            if now - entry.loaded_ms >= REFRESH_MS:
                self._store(call, operation)
        if isinstance(outcome, EngineError):
            raise outcome
        return outcome

    def clear(self) -> None:
        """Drop all routes, as a restart of the proxy does."""
        self._entries.clear()

    def _load(self, call: Call, operation: GetRouteInfo) -> Result | Parked:
        return self._name_server.handlers[GetRouteInfo](call, operation)

    def _store(self, call: Call, operation: GetRouteInfo) -> Outcome:
        outcome: Outcome
        try:
            loaded = self._load(call, operation)
            assert not isinstance(loaded, Parked)  # a name server answers at once
            outcome = loaded
        except EngineError as refusal:
            if refusal.code is not ResponseCode.TOPIC_NOT_EXIST:
                raise
            outcome = refusal.with_traceback(None)
        self._entries.pop(operation.topic, None)
        if len(self._entries) >= ROUTES_MAX:
            del self._entries[next(iter(self._entries))]
        now = self._scheduler.now_ms
        self._entries[operation.topic] = _Entry(outcome, now, now)
        return outcome
