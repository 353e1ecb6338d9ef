"""Assembly of a proxy: first the parts that services share, then each service with the parts that it needs."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.auth.access_control import AccessControl
from rocketmq_testkit.emulator.engine import EngineListeners

from .config.config_checks import check
from .config.proxy_config import ProxyConfig
from .messaging_service import MessagingService
from .proxy.auto_renewal import Renewals
from .proxy.client_state import ClientState
from .proxy.delayed_calls import CallLater, DelayedCalls
from .proxy.fire_and_forget import FireAndForget
from .proxy.proxy import Proxy
from .proxy.proxy_node import ProxyNode
from .proxy.receive_polls import ReceivePolls
from .proxy.request_pools import ProxyRequestPools
from .proxy.route_cache import RouteCache
from .proxy.routes import Endpoint, Routes
from .proxy.rpc_table import Rpc
from .proxy.session_end import SessionEnd
from .proxy.sessions import SessionRegistry
from .proxy.telemetry_requests import PendingRequests
from .proxy.transaction_cache import TransactionCache
from .rules.request_size import decoder
from .services import RPCS
from .services.ack import ACK_MESSAGE, AckMessageService
from .services.clients import HEARTBEAT, NOTIFY_CLIENT_TERMINATION, ClientRegistration, ClientService
from .services.dead_letter import FORWARD_MESSAGE_TO_DEAD_LETTER_QUEUE, DeadLetterService
from .services.direct_consumption import DirectConsumption
from .services.invisible import CHANGE_INVISIBLE_DURATION, InvisibleDurationService
from .services.recall import RECALL_MESSAGE, RecallMessageService
from .services.receive import RECEIVE_MESSAGE, ReceiveMessageService
from .services.route import QUERY_ASSIGNMENT, QUERY_ROUTE, RouteService
from .services.send import SEND_MESSAGE, SendMessageService
from .services.server_commands import ServerCommands
from .services.telemetry import TELEMETRY, TelemetryService
from .services.transaction import END_TRANSACTION, EndTransactionService
from .services.transaction_check import TransactionCheckSender
from .services.unimplemented import GET_OFFSET, PULL_MESSAGE, QUERY_OFFSET, UPDATE_OFFSET, UnimplementedRpcs
from .transport import GrpcMethod

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker
    from rocketmq_testkit.emulator.engine import Engine


def create_messaging_service(
    *,
    engine: "Engine",
    endpoint: Endpoint,
    config: ProxyConfig,
    log: Callable[[str], None],
    brokers: "Sequence[Broker] | None" = None,
    tick: Callable[[], None] | None = None,
    call_later: CallLater | None = None,
) -> MessagingService:
    """Create a proxy for brokers of an engine (default: all of them).

    - `endpoint` returns the address at which the client of a call reaches a broker.
    - `log` takes one line, or a line followed by a traceback.
    - `tick` runs before each request and advances the engine's time to now.
    - `call_later` schedules by the wall clock (a reactor's `callLater`). Without it the engine's time is used, which
      does not advance while it is frozen.

    Raises ConfigError if the value of a key is a list and invalid.
    """
    check(config)
    parts = _Parts(
        engine=engine,
        brokers=engine.brokers if brokers is None else brokers,
        endpoint=endpoint,
        config=config,
        tick=tick or _no_tick,
        call_later=call_later,
    )
    engine.listen(
        EngineListeners(
            pools_changed=parts.pools.update,
            leases_extended=parts.sessions.postpone_expiry,
            broker_stopped=parts.polls.broker_stopped,
            run_ended=parts.pools.release_lost,
        )
    )
    node = ProxyNode(parts.routes, parts.scheduler)
    rpcs = {
        rpc.name: rpc.served_by(service, engine.gate, node, log)
        for service, served in _services(parts)
        for rpc in served
    }
    serve = Proxy(sessions=parts.sessions, access=parts.access, pools=parts.pools, tick=parts.tick).serve
    return MessagingService(
        [GrpcMethod(rpc.path, rpc.kind, decoder(rpc.request), partial(serve, rpcs[rpc.name])) for rpc in RPCS],
        config=config,
        clients=parts.clients,
        route_cache=parts.route_cache,
        node=node,
        pools=parts.pools,
        gate=engine.gate,
        tick=parts.tick,
    )


class _Parts:
    """The parts of a proxy below the services. Only this module sees them together."""

    def __init__(
        self,
        *,
        engine: "Engine",
        brokers: "Sequence[Broker]",
        endpoint: Endpoint,
        config: ProxyConfig,
        tick: Callable[[], None],
        call_later: CallLater | None,
    ) -> None:
        self.config = config
        self.tick = tick
        name_server = engine.name_server
        self.defects = defects = engine.defects
        self.scheduler = scheduler = engine.scheduler
        self.route_cache = RouteCache(name_server, scheduler, defects)
        self.message_ids = engine.random_streams.stream("grpc_v2 message ids")
        self.routes = routes = Routes(
            brokers,
            perm=name_server.perm,
            order_conf=name_server.order_conf,
            chance=engine.random_streams.stream("grpc_v2 first queue"),
            endpoint=endpoint,
        )
        self.fire_and_forget = fire_and_forget = FireAndForget(engine.gate, routes)
        self.deliveries = engine.deliveries
        self.transactions = TransactionCache(config)
        self.polls = ReceivePolls(scheduler=scheduler, config=config, fire_and_forget=fire_and_forget, tick=tick)
        self.pools = ProxyRequestPools(scheduler, config, brokers)
        self.access = AccessControl(config, scheduler, routes.user_table)
        self.renewals = Renewals(
            scheduler=scheduler,
            config=config,
            gate=engine.gate,
            fire_and_forget=fire_and_forget,
            routes=routes,
            defects=defects,
        )
        pending_requests = PendingRequests(scheduler, config)
        self.direct_consumption = DirectConsumption(
            routes=routes, pending_requests=pending_requests, fire_and_forget=fire_and_forget, scheduler=scheduler
        )
        server_commands = ServerCommands(
            transaction_check_sender=TransactionCheckSender(transactions=self.transactions, scheduler=scheduler),
            direct_consumption=self.direct_consumption,
        )
        self.session_end = SessionEnd(
            config=config,
            renewals=self.renewals,
            polls=self.polls,
            fire_and_forget=fire_and_forget,
            defects=defects,
        )
        self.sessions = SessionRegistry(
            scheduler,
            server_commands.send_effect,
            self.session_end.expired,
            defects=defects,
            on_settings=lambda session: engine.history.clients.note(session.channel.channel_id, session.seen),
        )
        self.delayed_calls = DelayedCalls(scheduler, call_later, tick)
        self.clients = ClientState(
            sessions=self.sessions,
            session_end=self.session_end,
            polls=self.polls,
            renewals=self.renewals,
            pending_requests=pending_requests,
            delayed_calls=self.delayed_calls,
        )


def _services(parts: _Parts) -> Iterator[tuple[object, Sequence[Rpc]]]:
    """Yield each service with the RPCs that it serves."""
    registration = ClientRegistration(
        routes=parts.routes, fire_and_forget=parts.fire_and_forget, scheduler=parts.scheduler
    )
    yield RouteService(routes=parts.routes, name_server=parts.route_cache), (QUERY_ROUTE, QUERY_ASSIGNMENT)
    yield (
        SendMessageService(
            routes=parts.routes,
            transactions=parts.transactions,
            config=parts.config,
            scheduler=parts.scheduler,
            message_ids=parts.message_ids,
        ),
        (SEND_MESSAGE,),
    )
    yield (
        ReceiveMessageService(
            routes=parts.routes,
            polls=parts.polls,
            renewals=parts.renewals,
            sessions=parts.sessions,
            fire_and_forget=parts.fire_and_forget,
            config=parts.config,
            scheduler=parts.scheduler,
            defects=parts.defects,
            deliveries=parts.deliveries,
        ),
        (RECEIVE_MESSAGE,),
    )
    yield (
        AckMessageService(
            routes=parts.routes, renewals=parts.renewals, scheduler=parts.scheduler, deliveries=parts.deliveries
        ),
        (ACK_MESSAGE,),
    )
    yield (
        InvisibleDurationService(
            routes=parts.routes,
            renewals=parts.renewals,
            config=parts.config,
            scheduler=parts.scheduler,
            defects=parts.defects,
        ),
        (CHANGE_INVISIBLE_DURATION,),
    )
    yield (
        DeadLetterService(routes=parts.routes, renewals=parts.renewals),
        (FORWARD_MESSAGE_TO_DEAD_LETTER_QUEUE,),
    )
    yield (
        EndTransactionService(routes=parts.routes, transactions=parts.transactions, scheduler=parts.scheduler),
        (END_TRANSACTION,),
    )
    yield RecallMessageService(routes=parts.routes), (RECALL_MESSAGE,)
    yield (
        ClientService(
            registration=registration,
            sessions=parts.sessions,
            session_end=parts.session_end,
            fire_and_forget=parts.fire_and_forget,
        ),
        (HEARTBEAT, NOTIFY_CLIENT_TERMINATION),
    )
    yield (
        TelemetryService(
            routes=parts.routes,
            sessions=parts.sessions,
            registration=registration,
            direct_consumption=parts.direct_consumption,
            access=parts.access,
            config=parts.config,
            delayed_calls=parts.delayed_calls,
            tick=parts.tick,
        ),
        (TELEMETRY,),
    )
    yield UnimplementedRpcs(), (PULL_MESSAGE, UPDATE_OFFSET, GET_OFFSET, QUERY_OFFSET)


def _no_tick() -> None:
    """Do nothing: another component advances the engine's time."""
