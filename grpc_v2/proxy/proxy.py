"""The components of the proxy, and operations that all services share."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from google.protobuf.message import Message
from rocketmq_testkit.emulator.auth.authentication import Access
from rocketmq_testkit.emulator.auth.user_table import Accounts
from rocketmq_testkit.emulator.gate.effects import Effect
from rocketmq_testkit.emulator.gate.gate import Channel, Node
from rocketmq_testkit.emulator.operations import Operation

from ..config.proxy_config import ProxyConfig
from ..proto import definition_pb2 as pb
from ..rules.proxy_rules import check_group, check_topic, is_blank
from ..rules.status import Refusal
from .authorization import check as check_access
from .auto_renewal import Renewals
from .receive_polls import Polls
from .request_pools import RequestPools
from .routes import Endpoint, Routes
from .rpc_call import RpcCall, ServerCall, SilentCall
from .rpc_table import Rpc
from .sessions import Session, SessionChannel, SessionRegistry
from .telemetry_requests import Questions
from .transaction_cache import Transactions

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker
    from rocketmq_testkit.emulator.engine import Engine
    from rocketmq_testkit.emulator.operations import GroupConfig

CallLater = Callable[[float, Callable[[], None]], object]
"""(seconds of the wall clock, callback); a reactor's `callLater`."""

CLIENT_ID = "x-mq-client-id"
NO_CLIENT_ID = "client id cannot be empty"


class Proxy:
    """One gRPC proxy for brokers of an engine."""

    def __init__(
        self,
        engine: "Engine",
        brokers: "Sequence[Broker]",
        endpoint: Endpoint,
        config: ProxyConfig,
        log: Callable[[str], None],
        tick: Callable[[], None],
        call_later: CallLater | None,
        on_push: Callable[["Proxy", SessionChannel, Effect], None],
        on_expired: Callable[["Proxy", Session], None],
    ) -> None:
        self.engine = engine
        self.config = config
        self.log = log
        self.tick = tick
        self._call_later = call_later
        names, chance = engine.name_server, engine.chance.stream("grpc_v2 first queue")
        self.routes = Routes(brokers, names.perm, names.order_conf, chance, endpoint)
        self.transactions = Transactions(config)
        self.polls = Polls()
        self.pools = RequestPools(engine.scheduler, config, brokers)
        self.questions = Questions(engine.scheduler, config)
        self.renewals = Renewals(self)
        self.sessions = SessionRegistry(
            engine.scheduler,
            lambda channel, effect: on_push(self, channel, effect),
            lambda session: on_expired(self, session),
        )
        engine.excusing.append(self.sessions.excuse)
        engine.leaving.append(self.polls.left)
        self.access = Access(config, engine.scheduler, self._accounts)
        self._ids = engine.chance.stream("grpc_v2 message ids")

    @property
    def now_ms(self) -> int:
        """The engine's time, in ms since the epoch."""
        return self.engine.scheduler.now_ms

    def serve(self, rpc: Rpc, server_call: ServerCall, request: object) -> None:
        """Start a call, or refuse it: UNAUTHORIZED, or CLIENT_ID_REQUIRED for an absent or blank client id."""
        self.tick()
        client_id = server_call.metadata.get(CLIENT_ID, "")
        session = self.sessions.find(client_id)
        channel = SessionChannel(client_id, server_call.peer, None) if session is None else session.channel
        message = request if isinstance(request, Message) else None
        call = RpcCall(self, rpc, server_call, client_id, session, channel, message)
        if self.access.on and message is not None:  # messages of a request stream are checked when they arrive
            try:
                check_access(self.access, server_call, message)
            except Refusal as refusal:
                call.refuse(refusal)
                return
        if session is None and is_blank(client_id) and not rpc.anonymous:
            call.refuse(Refusal(pb.CLIENT_ID_REQUIRED, NO_CLIENT_ID))
            return
        if self.pools.on:
            self.pools.enter(call, request)
        else:
            call.guard(rpc.start, call, request)

    def forget(self) -> None:
        """Discard all clients and their pending calls, without responses and without making messages visible."""
        for session in self.sessions:
            self.renewals.forget(session)
        self.sessions.close()
        self.questions.forget()
        self.polls.forget()

    def topic_name(self, resource: pb.Resource) -> str:
        """Validate the name of a topic. The namespace is ignored. Raises ILLEGAL_TOPIC."""
        name = resource.name
        check_topic(name, self.routes.system_topics())
        return name

    def group_name(self, resource: pb.Resource) -> str:
        """Validate the name of a consumer group. Raises ILLEGAL_CONSUMER_GROUP."""
        name = resource.name
        check_group(name)
        return name

    def group_config(self, group: str) -> "GroupConfig | None":
        """Return a group's configuration on the first broker that has it, without creating it."""
        for broker in self.routes.masters:
            found = broker.groups.find(group)
            if found is not None:
                return found
        return None

    def later(self, delay_ms: int, action: Callable[[], None], kind: str, owner: str) -> None:
        """Run an action after a delay of the wall clock, or of the engine's time if the host passed no clock."""
        if self._call_later is None:
            self.engine.scheduler.call_later(delay_ms, action, kind, owner)
        else:
            self._call_later(delay_ms / 1000, partial(self._on_time, action))

    def _on_time(self, action: Callable[[], None]) -> None:
        self.tick()
        action()

    def tell(self, node: Node, channel: Channel, label: str, operation: Operation) -> None:
        """Submit an operation for a client and ignore its outcome."""
        self.engine.gate.submit(node, SilentCall(channel, label), operation)

    def tell_brokers(self, channel: Channel, label: str, operation: Operation) -> None:
        """Submit an operation to every running master and ignore the outcomes."""
        for broker in self.routes.masters:
            self.tell(broker, channel, label, operation)

    def _accounts(self) -> Accounts | None:
        """Return the users of the first running broker, None if no broker runs."""
        return next((broker.accounts for broker in self.routes.masters), None)

    def new_message_id(self) -> str:
        """Generate a message id in the form of a client's id (32 hex digits)."""
        return f"7F000001{self._ids.bits():016X}{self._ids.bits() & 0xFFFFFFFF:08X}"
