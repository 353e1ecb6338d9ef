"""Offset resets that the broker sends to connected consumers (useServerSideResetOffset=false)."""

from rocketmq_testkit.remoting.client import RemotingClient, RemotingTimeout
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext

BY_CLIENTS = {"useServerSideResetOffset": "false"}


def _reset(
    t: RemotingContext,
    topic: str,
    group: str,
    timestamp: int,
    *,
    force: bool,
    to: RemotingClient | None = None,
    **more: object,
) -> DecodedResponse:
    ext = {"topic": topic, "group": group, "timestamp": timestamp, "isForce": force, **more}
    return t.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext, to=to)


def _note_reset_request(t: RemotingContext, label: str, connection: RemotingClient) -> None:
    """Record the reset request that a consumer receives, skipping notifications of group changes."""
    try:
        push = connection.next_server_request(2)
        while push.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
            push = connection.next_server_request(2)
    except RemotingTimeout:
        t.note(label, "nothing")
        return
    ext = dict(sorted((push.ext_fields or {}).items()))
    t.note(label, {"code": push.code, "ext": ext, "body": DecodedResponse.of(push).json})


def _consumed(t: RemotingContext, queues: int = 2) -> tuple[str, str]:
    """Create a topic with three messages in each queue, and a group that has consumed two of each."""
    topic, group = t.topic(queues=queues), t.group()
    for queue in range(queues):
        t.sent(topic, 3, queue=queue)
        t.commit(topic, group, 2, queue)
    return topic, group


@remoting_case("Broker2Client.resetOffset", settings=BY_CLIENTS)
def an_offset_reset_is_sent_to_each_online_consumer(t: RemotingContext) -> None:
    """The broker sends each consumer of the group the new offset of each queue.

    The committed offset does not change.
    """
    topic, group = _consumed(t)
    connections = [t.connect(), t.connect()]
    for connection in connections:
        t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, to=connection)
    t.note("reset", _reset(t, topic, group, 0, force=True), 0)
    for number, connection in enumerate(connections):
        _note_reset_request(t, f"consumer {number}", connection)
    t.note("committed", t.committed(topic, group))
    t.note("pulled", t.pull(topic, group, offset=2).code)


@remoting_case("Broker2Client.resetOffset", settings=BY_CLIENTS)
def a_reset_moves_consumers_forward_only_by_force(t: RemotingContext) -> None:
    """Without force a reset moves no consumer forward; with force it does, even to the end."""
    topic, group = _consumed(t, queues=1)
    connection = t.connect()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, to=connection)
    for timestamp in (-1, 0):
        for force in (False, True):
            t.note(f"reset to {timestamp}, {force}", _reset(t, topic, group, timestamp, force=force), 0)
            _note_reset_request(t, "reset request", connection)
    t.note("of a queue", _reset(t, topic, group, 0, force=True, queueId=0, offset=1), 0)
    _note_reset_request(t, "reset request", connection)


@remoting_case("AdminBrokerProcessor.resetOffset", settings=BY_CLIENTS)
def a_reset_by_a_cpp_client_is_sent_as_a_list_of_queues(t: RemotingContext) -> None:
    """A reset requested by a C++ client sends consumers a list of queues instead of a map, even to Java clients."""
    topic, group = _consumed(t, queues=1)
    connection = t.connect()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, to=connection)
    t.note("reset", _reset(t, topic, group, 0, force=True, to=t.connect(language="CPP")), 0)
    _note_reset_request(t, "reset request", connection)


@remoting_case("Broker2Client.resetOffset", settings=BY_CLIENTS)
def a_reset_of_unknown_names_or_unreachable_consumers_is_rejected(t: RemotingContext) -> None:
    """A reset of an unknown topic, of a group without offset or online consumer, or of a too old client is rejected."""
    topic, group = _consumed(t, queues=1)
    t.note("unknown topic", _reset(t, t.new(), group, 0, force=True), 17)
    t.note("unknown group", _reset(t, topic, t.new("group"), 0, force=True), 1)
    t.note("nobody online", _reset(t, topic, group, 0, force=True), 206)
    connection = t.connect(version=27)
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, to=connection)
    t.note("too old", _reset(t, topic, group, 0, force=True), 1)
    _note_reset_request(t, "reset request", connection)
