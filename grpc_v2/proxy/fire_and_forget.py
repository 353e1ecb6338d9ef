"""Operations that the proxy submits on its own for a client, such as heartbeats, and whose outcome it ignores."""

from rocketmq_testkit.emulator.gate.call import Channel, Node, Outcome
from rocketmq_testkit.emulator.gate.gate import Gate
from rocketmq_testkit.emulator.operations.base import Operation

from .routes import Routes


class FireAndForget:
    """Submits operations to brokers and ignores their outcomes, errors included, as upstream's proxy does."""

    def __init__(self, gate: Gate, routes: Routes) -> None:
        self._gate = gate
        self._routes = routes

    def submit(self, node: Node, channel: Channel, label: str, operation: Operation) -> None:
        """Submit an operation for the client of `channel` to a node. `label` is its name in the journal."""
        self._gate.submit(node, FireAndForgetCall(channel, label), operation)

    def submit_to_masters(self, channel: Channel, label: str, operation: Operation) -> None:
        """Submit an operation for the client of `channel` to every running master."""
        for broker in self._routes.masters:
            self.submit(broker, channel, label, operation)


class FireAndForgetCall:
    """The gate's view (`Call`) of one operation: always active, and without a number, since no client sent it."""

    __slots__ = ("channel", "label")
    active = True
    number = None

    def __init__(self, channel: Channel, label: str) -> None:
        self.channel = channel
        self.label = label

    def reply(self, outcome: Outcome) -> None:
        """Ignore the outcome."""
