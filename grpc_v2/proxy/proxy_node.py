"""The proxy as a node of the gate, for requests that need no operation of one broker."""

from collections.abc import Sequence

from rocketmq_testkit.emulator.gate.gate import Handlers

from .routes import Routes
from .rpc_call import NODE


class ProxyNode:
    """A node without operations of its own, in front of the brokers."""

    name = NODE

    def __init__(self, routes: Routes) -> None:
        self._routes = routes
        self.handlers: Handlers = {}

    @property
    def broker_names(self) -> Sequence[str]:
        """The names that select its requests: its own, and those of the running masters."""
        return self.name, *(broker.name for broker in self._routes.masters)
