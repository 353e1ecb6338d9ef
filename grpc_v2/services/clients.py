"""Heartbeat and NotifyClientTermination: clients that are there and clients that leave.

A producer belongs to the group that is named like its topic. Source: ClientActivity (5.3.3).
"""

from collections.abc import Iterable

from rocketmq_testkit.emulator.client.client_versions import version_number
from rocketmq_testkit.emulator.filter.message_filter import SQL92, TAG, build_subscription
from rocketmq_testkit.emulator.operations.clients import (
    ChannelClosed,
    ConsumerData,
    ForgetWaiting,
    Heartbeat,
    SubscriptionData,
    UnregisterClient,
)
from rocketmq_testkit.emulator.operations.consume import ChangeInvisibleTime

from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.proxy import Proxy
from ..proxy.receive_polls import nothing_new
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import Rpc
from ..proxy.sessions import Session
from ..rules.proxy_rules import check_language
from ..rules.status import OK, Refusal

CLIENT_VERSION = 479
"""What upstream registers gRPC clients as that do not call their version as it would: the proxy's own, V5_3_3."""
_CONSUME_TYPES = {pb.PUSH_CONSUMER: "CONSUME_PASSIVELY", pb.SIMPLE_CONSUMER: "CONSUME_ACTIVELY"}


def consume_type(client_type: int) -> str | None:
    """Upstream's name for how a consumer gets messages; None for types that are no consumer to 5.3.3."""
    return _CONSUME_TYPES.get(client_type)  # type: ignore[call-overload,no-any-return]  # open enum: a number


def subscriptions(entries: Iterable[pb.SubscriptionEntry], now_ms: int) -> list[SubscriptionData]:
    """Subscriptions of settings. Raises ValueError for an expression that does not build; names are not checked."""
    found = []
    for entry in entries:
        expression = entry.expression
        kind = SQL92 if expression.type == pb.SQL else TAG
        data = build_subscription(entry.topic.name, expression.expression, kind)
        data.sub_version = now_ms
        found.append(data)
    return found


def client_version(name: str) -> int:
    """The number of what a client says in x-mq-client-version, where that is a name such as `V5_3_0`."""
    number = version_number(name)
    return CLIENT_VERSION if number is None else number


def register(call: RpcCall, session: Session, language: str, group: str | None, *, subscribe: bool = True) -> None:
    """Tell every broker that the client lives; `group` is a consumer's group, None for a producer.

    With `subscribe`, which only settings do, its subscriptions become those of its group. Raises ValueError when an
    expression of them does not build.
    """
    proxy, settings = call.proxy, session.settings
    producers: list[str] = []
    consumers: list[ConsumerData] = []
    if group is None:
        producers = list(dict.fromkeys(topic.name for topic in settings.publishing.topics))
    else:
        kind = consume_type(settings.client_type) or "CONSUME_PASSIVELY"
        entries = subscriptions(settings.subscription.subscriptions, proxy.now_ms)
        consumers = [ConsumerData(group, kind, subscriptions=entries)]
    if producers or consumers:
        client_id = session.client_id
        proxy.tell_brokers(
            session.channel,
            call.rpc.name,
            Heartbeat(
                client_id,
                producers,
                consumers,
                without_sub=not subscribe,
                language=language,
                version=client_version(call.server_call.metadata.get("x-mq-client-version", "")),
                through_proxy=True,
            ),
        )


def end_session(proxy: Proxy, session: Session, label: str) -> None:
    """Give back what the client took with auto_renew, take it out of its groups, end its polls if configured so."""
    channel = session.channel
    proxy.renewals.give_back(session, label)
    if proxy.config.end_polls_on_client_termination:
        for poll in list(session.polls):
            poll.end(nothing_new())
    proxy.tell_brokers(channel, label, ChannelClosed())


def _known(call: RpcCall) -> Session:
    if call.session is None:
        raise Refusal(pb.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client")
    return call.session


def _is_forgotten(proxy: Proxy, session: Session, group: str) -> bool:
    """Whether a broker has forgotten the client, whose settings are remembered for longer here than upstream does."""
    return not all(broker.clients.is_consumer(group, session.client_id) for broker in proxy.routes.masters)


def _language(call: RpcCall) -> str:
    return check_language(call.server_call.metadata.get("x-mq-language", ""))


def heartbeat(call: RpcCall, request: sv.HeartbeatRequest) -> None:
    """The client lives; what it is follows from its settings, not from the request."""
    session = _known(call)
    if not session.is_producer:
        group = call.proxy.group_name(request.group)
        forgotten = group == session.settings.subscription.group.name and _is_forgotten(call.proxy, session, group)
        register(call, session, _language(call), group, subscribe=forgotten)
    elif session.settings.publishing.topics:
        register(call, session, _language(call), None)
    else:
        call.journal_success()
    call.proxy.sessions.seen(session)
    call.reply(sv.HeartbeatResponse(status=OK))


def notify_client_termination(call: RpcCall, request: sv.NotifyClientTerminationRequest) -> None:
    """The client leaves its groups, and messages that it took with auto_renew come back."""
    _language(call)  # before the client is looked for, other than a heartbeat's
    session = _known(call)
    proxy = call.proxy
    name = call.rpc.name
    # Gone even if the group is refused below, as upstream has it.
    proxy.sessions.end(call.client_id)
    if session.is_producer:
        for topic in session.settings.publishing.topics:
            proxy.tell_brokers(session.channel, name, UnregisterClient(call.client_id, producer_group=topic.name))
    else:
        group = proxy.group_name(request.group)
        proxy.tell_brokers(session.channel, name, UnregisterClient(call.client_id, consumer_group=group))
    end_session(proxy, session, name)
    call.reply(sv.NotifyClientTerminationResponse(status=OK))


_CODES = (
    pb.CLIENT_ID_REQUIRED,
    pb.UNRECOGNIZED_CLIENT_TYPE,
    pb.ILLEGAL_CONSUMER_GROUP,
    pb.INTERNAL_SERVER_ERROR,
)
HEARTBEAT = Rpc("Heartbeat", sv.HeartbeatRequest, sv.HeartbeatResponse, heartbeat, (Heartbeat,), _CODES)
NOTIFY_CLIENT_TERMINATION = Rpc(
    "NotifyClientTermination",
    sv.NotifyClientTerminationRequest,
    sv.NotifyClientTerminationResponse,
    notify_client_termination,
    (ChangeInvisibleTime, ForgetWaiting, UnregisterClient, ChannelClosed),
    _CODES,
)
