"""The facts of one event, as the criteria of rules read them."""

from collections.abc import Callable, Sequence
from functools import cached_property

from ..gate.call import Channel, Node, Outcome
from ..gate.effects import Effect
from ..gate.gate import Request
from ..gate.proxy_only_request import ProxyOnlyRequest
from ..gate.raw_request import RawRequest
from ..message.properties import REAL_TOPIC
from ..operations.base import Operation
from ..operations.send import EndTransaction
from .client_call import ClientCall
from .message_facts import MessageFacts, messages_of
from .subject_names import groups_of, topics_of

Find = Callable[[Node, Channel], Sequence[str]]
"""Returns the client ids that registered on a channel."""


class EventFacts:
    """The facts of a request, response or push. Facts that take time are computed when they are first read."""

    def __init__(  # noqa: PLR0917  # made for each event of an operation with rules
        self,
        node: Node,
        channel: Channel,
        subject: Request | Effect,
        call: ClientCall | None,
        outcome: Outcome | None,
        find_clients: Find,
    ) -> None:
        self.node, self.channel, self.call = node, channel, call
        self._outcome = outcome
        self._find_clients = find_clients
        self._request = subject

    @property
    def subject(self) -> Operation | Effect | RawRequest:
        """The operation or effect; of a request that the proxy refuses, the request itself."""
        request = self._request
        return (request.operation or request.request) if isinstance(request, ProxyOnlyRequest) else request

    @property
    def operation(self) -> str:
        if self._request.__class__ is ProxyOnlyRequest:
            return self.label
        return self._request.__class__.__name__

    @property
    def names(self) -> Sequence[str]:
        """The names that a rule may use for the event."""
        request = self._request
        if isinstance(request, ProxyOnlyRequest):
            return self.label, *request.names
        return self.operation, self.label

    @property
    def label(self) -> str:
        return self._request.__class__.__name__ if self.call is None else self.call.label

    @property
    def protocol(self) -> str:
        if self.call is not None:
            return self.call.protocol
        return "grpc" if self.channel.channel_id.startswith("grpc:") else "remoting"

    @property
    def brokers(self) -> Sequence[str]:
        names: Sequence[str] | None = getattr(self.node, "broker_names", None)
        return (self.node.name,) if names is None else names

    @property
    def address(self) -> str:
        return self.channel.remote_address[0]

    @property
    def channel_id(self) -> str:
        return self.channel.channel_id

    @cached_property
    def topics(self) -> Sequence[str]:
        named = topics_of(self._request)
        if self._request.__class__ is EndTransaction:  # clients before 5.0 do not name the topic
            real = (message.properties.get(REAL_TOPIC) for message in self.messages)
            return (*named, *(topic for topic in real if topic))
        return named

    @cached_property
    def groups(self) -> Sequence[str]:
        return groups_of(self._request)

    @cached_property
    def clients(self) -> Sequence[str]:
        named = None if self.call is None else self.call.client_id
        named = named or getattr(self.subject, "client_id", None)
        return [named] if named else self._find_clients(self.node, self.channel)

    @property
    def language(self) -> str:
        return "" if self.call is None else self.call.client_language

    @property
    def version(self) -> str:
        return "" if self.call is None else self.call.client_version

    @cached_property
    def messages(self) -> Sequence[MessageFacts]:
        return messages_of(self._request, self._outcome, getattr(self.node, "store", None))


class NewConnectionFacts:
    """The facts of a new connection."""

    def __init__(self, protocol: str, broker: str, address: str) -> None:
        self.protocol, self.address = protocol, address
        self.brokers = (broker,)
        self.clients: Sequence[str] = ()
        self.channel_id = ""
