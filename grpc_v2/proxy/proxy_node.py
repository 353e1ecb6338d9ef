"""The proxy as a node of the gate, for requests that need no operation of one broker."""

from collections.abc import Sequence

from rocketmq_testkit.emulator.gate.call import Handlers
from rocketmq_testkit.emulator.kernel.scheduler import Lifetime, Scheduler

from .routes import Routes
from .rpc_call import NODE


class ProxyNode:
    """A node without operations of its own, in front of the brokers."""

    name = NODE

    def __init__(self, routes: Routes, scheduler: Scheduler) -> None:
        self._routes = routes
        self._scheduler = scheduler
        self._lifetime: Lifetime | None = None
        self.handlers: Handlers = {}

    @property
    def broker_names(self) -> Sequence[str]:
        """The names that select its requests: its own, and those of the running masters."""
        return self.name, *(broker.name for broker in self._routes.masters)

    @property
    def lifetime(self) -> Lifetime:
        """The scheduler of this run of the proxy: requests that a rule of faults delays are lost with it."""
        if self._lifetime is None:
            self._lifetime = self._scheduler.begin()
        return self._lifetime

    def end_run(self) -> None:
        """Lose the requests that rules delay, because the proxy stops."""
        if self._lifetime is not None:
            self._scheduler.end(self._lifetime)
            self._lifetime = None
