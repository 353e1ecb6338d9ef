"""Heartbeat and NotifyClientTermination: register clients and unregister them.

The producer group of a producer is named like its topic. Source: ClientActivity (5.3.3).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rocketmq_testkit.emulator.client.client_versions import version_number
from rocketmq_testkit.emulator.filter.message_filter import SQL92, TAG, build_subscription
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.kernel.upstream_version import VERSION_NUMBER
from rocketmq_testkit.emulator.operations.clients import (
    ACTIVELY,
    PASSIVELY,
    ChannelClosed,
    ConsumerData,
    DropInactiveRequests,
    Heartbeat,
    SubscriptionData,
    UnregisterClient,
)
from rocketmq_testkit.emulator.operations.consume import ChangeInvisibleTime

from ..config.pools import ProxyPool
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.fire_and_forget import FireAndForget
from ..proxy.required_rights import to_send_heartbeat, to_terminate
from ..proxy.routes import Routes
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import Rpc
from ..proxy.session_end import SessionEnd
from ..proxy.sessions import Session, SessionRegistry
from ..rules.proxy_rules import check_language, group_name
from ..rules.status import OK, Refusal

CLIENT_VERSION = VERSION_NUMBER
"""The proxy's own version: upstream registers it for clients whose version is no name such as `V5_3_0`."""
_CONSUME_TYPES = {pb.PUSH_CONSUMER: PASSIVELY, pb.SIMPLE_CONSUMER: ACTIVELY}


def consume_type(client_type: int) -> str | None:
    """Return upstream's consume type for a client type. None for a type that 5.3.3 does not treat as a consumer."""
    return _CONSUME_TYPES.get(client_type)  # type: ignore[call-overload,no-any-return]  # open enum: a number


def subscriptions(entries: Iterable[pb.SubscriptionEntry], now_ms: int) -> list[SubscriptionData]:
    """Convert the subscriptions of settings.

    Topic names are not validated. Raises ValueError for an invalid expression.
    """
    found = []
    for entry in entries:
        expression = entry.expression
        kind = SQL92 if expression.type == pb.SQL else TAG
        data = build_subscription(entry.topic.name, expression.expression, kind)
        data.sub_version = now_ms
        found.append(data)
    return found


def client_version(name: str) -> int:
    """Return the number of the version in x-mq-client-version if it is a name such as `V5_3_0`, else CLIENT_VERSION."""
    number = version_number(name)
    return CLIENT_VERSION if number is None else number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClientRegistration:
    """Registers clients with the brokers, as their heartbeats and settings demand."""

    routes: Routes
    fire_and_forget: FireAndForget
    scheduler: Scheduler

    def register(self, call: RpcCall, session: Session, heartbeat: Heartbeat | None) -> None:
        """Send a heartbeat of the client to every broker. None: there is nothing to register."""
        if heartbeat is not None:
            self.fire_and_forget.submit_to_masters(session.channel, call.rpc.name, heartbeat)

    def heartbeat(
        self, call: RpcCall, settings: pb.Settings, language: str, group: str | None, *, subscribe: bool = True
    ) -> Heartbeat | None:
        """Return the heartbeat of a client with settings, None if there is nothing to register.

        `group` is a consumer's group, None for a producer. With `subscribe`, its subscriptions become those of its
        group: after new settings, and in a heartbeat if a broker has dropped the client. Raises ValueError for an
        invalid expression in them.
        """
        producers: list[str] = []
        consumers: list[ConsumerData] = []
        if group is None:
            producers = list(dict.fromkeys(topic.name for topic in settings.publishing.topics))
        else:
            kind = consume_type(settings.client_type) or PASSIVELY
            entries = subscriptions(settings.subscription.subscriptions, self.scheduler.now_ms)
            consumers = [ConsumerData(group, kind, subscriptions=entries)]
        if not producers and not consumers:
            return None
        return Heartbeat(
            call.client_id,
            producers,
            consumers,
            without_sub=not subscribe,
            language=language,
            version=client_version(call.server_call.metadata.get("x-mq-client-version", "")),
            through_proxy=True,
        )

    def is_unregistered(self, session: Session, group: str) -> bool:
        """True if a broker has dropped the client, whose session may live on: it lives longer here than in upstream."""
        return not all(broker.clients.is_consumer(group, session.client_id) for broker in self.routes.masters)


def _language(call: RpcCall) -> str:
    return check_language(call.server_call.metadata.get("x-mq-language", ""))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClientService:
    """Serves heartbeats and terminations of clients."""

    registration: ClientRegistration
    sessions: SessionRegistry
    session_end: SessionEnd
    fire_and_forget: FireAndForget

    def heartbeat(self, call: RpcCall, request: sv.HeartbeatRequest) -> None:
        """Keep a client registered: a consumer in the request's group, a producer for the topics of its settings."""
        if call.rpc.gate.rules is None:
            self._keep_registered(call)
            return
        from ..proxy.proxy_only_call import obey_rules

        operation = self._heartbeat_of(call, self._session_of(call), request)
        obey_rules(call, self._keep_registered, operation=operation, names=(Heartbeat.__name__,))

    def _keep_registered(self, call: RpcCall) -> None:
        session = self._session_of(call)
        assert isinstance(call.message, sv.HeartbeatRequest), "the transport decodes this type"
        heartbeat = self._heartbeat_of(call, session, call.message)
        self.registration.register(call, session, heartbeat)
        if heartbeat is None:
            call.journal_success()
        self.sessions.touch(session)
        call.reply(sv.HeartbeatResponse(status=OK))

    def _heartbeat_of(self, call: RpcCall, session: Session, request: sv.HeartbeatRequest) -> Heartbeat | None:
        registration, settings = self.registration, session.settings
        if not session.is_producer:
            group = group_name(request.group)
            is_own = group == settings.subscription.group.name
            unregistered = is_own and registration.is_unregistered(session, group)
            return registration.heartbeat(call, settings, _language(call), group, subscribe=unregistered)
        if settings.publishing.topics:
            return registration.heartbeat(call, settings, _language(call), None)
        return None

    def _session_of(self, call: RpcCall) -> Session:
        session = self.sessions.find(call.client_id)
        if session is None:
            raise Refusal(pb.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client")
        return session

    def notify_client_termination(self, call: RpcCall, request: sv.NotifyClientTerminationRequest) -> None:
        """Remove a client from its groups and make the messages that it received with auto_renew visible."""
        if call.rpc.gate.rules is None:
            self._terminate(call)
            return
        from ..proxy.proxy_only_call import obey_rules

        _language(call)
        topics = [topic.name for topic in self._session_of(call).settings.publishing.topics]
        operation = UnregisterClient(
            call.client_id,
            producer_group=topics[0] if topics else None,
            consumer_group=request.group.name or None,
        )
        obey_rules(call, self._terminate, operation=operation, names=(UnregisterClient.__name__,))

    def _terminate(self, call: RpcCall) -> None:
        _language(call)  # before the client is looked up, unlike in a heartbeat
        session = self._session_of(call)
        name = call.rpc.name
        submit = self.fire_and_forget.submit_to_masters
        # As in upstream, the session ends even if the group is rejected below.
        self.sessions.end(call.client_id)
        if session.is_producer:
            for topic in session.settings.publishing.topics:
                submit(session.channel, name, UnregisterClient(call.client_id, producer_group=topic.name))
        else:
            assert isinstance(call.message, sv.NotifyClientTerminationRequest), "the transport decodes this type"
            group = group_name(call.message.group)
            submit(session.channel, name, UnregisterClient(call.client_id, consumer_group=group))
        self.session_end.terminated(session, name)
        call.reply(sv.NotifyClientTerminationResponse(status=OK))


_CODES = (
    pb.CLIENT_ID_REQUIRED,
    pb.UNRECOGNIZED_CLIENT_TYPE,
    pb.ILLEGAL_CONSUMER_GROUP,
    pb.INTERNAL_SERVER_ERROR,
)
HEARTBEAT = Rpc(
    "Heartbeat",
    sv.HeartbeatRequest,
    sv.HeartbeatResponse,
    ClientService.heartbeat,
    operations=(Heartbeat,),
    codes=_CODES,
    rights=to_send_heartbeat,
    pool=ProxyPool.CLIENT_MANAGER,
)
NOTIFY_CLIENT_TERMINATION = Rpc(
    "NotifyClientTermination",
    sv.NotifyClientTerminationRequest,
    sv.NotifyClientTerminationResponse,
    ClientService.notify_client_termination,
    operations=(UnregisterClient, ChangeInvisibleTime, DropInactiveRequests, ChannelClosed),
    codes=_CODES,
    rights=to_terminate,
    pool=ProxyPool.CLIENT_MANAGER,
)
