"""Requests of administrators that the broker forwards to connected clients."""

import contextlib
import itertools

from rocketmq_testkit.remoting.client import RemotingClient, RemotingTimeout
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext

PUSH_SECONDS = 5.0
_STATUS = '{{"messageQueueTable":{{{{"brokerName":"b","queueId":{queue},"topic":"{topic}"}}:{offset}}}}}'
"""Write a client's status response as the Java SDK does: a map with objects as keys."""


class _Client:
    """A connected consumer of a new group, simulated by a connection."""

    def __init__(self, t: RemotingContext, topic: str, group: str, version: int | None = None) -> None:
        self.id = t.new("client")
        self.connection: RemotingClient = t.connect() if version is None else t.connect(version=version)
        t.heartbeat(self.id, groups={group: {topic: "*"}}, to=self.connection)

    def asked(self, seconds: float = PUSH_SECONDS) -> RemotingCommand:
        """Return the next request from the broker, skipping notifications of group changes. Raises RemotingTimeout."""
        while True:
            push = self.connection.next_server_request(seconds)
            if push.code != RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
                return push


def first_client_with_request(clients: list[_Client]) -> tuple[_Client, RemotingCommand]:
    """Return which of several clients gets a request first, and the request."""
    for client in itertools.islice(itertools.cycle(clients), 200):
        with contextlib.suppress(RemotingTimeout):
            return client, client.asked(0.05)
    raise RemotingTimeout("no client received a request")


def _shown(push: RemotingCommand) -> dict[str, object]:
    return {"code": push.code, "ext": dict(sorted((push.ext_fields or {}).items()))}


def _running_info(t: RemotingContext, group: str, client: str) -> DecodedResponse:
    return t.request(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": group, "clientId": client})


@remoting_case("AdminBrokerProcessor.callConsumer, Broker2Client.getConsumeStatus")
def forwarded_requests_to_an_offline_client_are_rejected(t: RemotingContext) -> None:
    """Forwarded requests are rejected if the client is not online."""
    topic, group = t.topic(queues=1), t.group()
    t.note("running info", _running_info(t, group, "nobody"), 1)
    sent = t.send(topic)
    direct = {"consumerGroup": group, "clientId": "nobody", "msgId": sent["msgId"], "topic": topic}
    t.note("consume directly", t.request(RequestCode.CONSUME_MESSAGE_DIRECTLY, direct), 1)
    status = {"topic": topic, "group": group}
    t.note("consumer status", t.request(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, status), 1)


@remoting_case("AdminBrokerProcessor.getConsumerRunningInfo")
def a_running_info_request_is_forwarded_to_the_client(t: RemotingContext) -> None:
    """A running info request is forwarded to the client with its fields, and the client's response is returned."""
    topic, group = t.topic(), t.group()
    client = _Client(t, topic, group)
    ext = {"consumerGroup": group, "clientId": client.id, "jstackEnable": "true"}
    asked = t.start(RequestCode.GET_CONSUMER_RUNNING_INFO, ext)
    push = client.asked()
    t.note("passed on", _shown(push))
    client.connection.respond(push, 0, dumps({"properties": {"key": "value"}}))
    t.note("response", asked(), 0)


@remoting_case("AdminBrokerProcessor.callConsumer")
def a_client_rejection_of_a_forwarded_request_is_returned(t: RemotingContext) -> None:
    """If the client rejects a forwarded request, its code and remark are returned."""
    topic, group = t.topic(), t.group()
    client = _Client(t, topic, group)
    asked = t.start(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": group, "clientId": client.id})
    client.connection.respond(client.asked(), 1, remark="The Consumer Group not exist in this consumer")
    t.note("response", asked(), 1)
    asked = t.start(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": group, "clientId": client.id})
    client.connection.respond(client.asked(), 0, b"{}", remark="not set any response code")
    t.note("response with a remark", asked(), 0)


@remoting_case("AdminBrokerProcessor.consumeMessageDirectly")
def a_stored_message_is_sent_to_a_client_for_direct_consumption(t: RemotingContext) -> None:
    """The broker sends a stored message to a client for consumption and returns the client's result."""
    topic, group = t.topic(queues=1), t.group()
    client = _Client(t, topic, group)
    sent = t.send(topic, "consume this", tag="A", keys="key")
    t.stored(topic)
    direct = {"consumerGroup": group, "clientId": client.id, "msgId": sent["msgId"], "topic": topic}
    asked = t.start(RequestCode.CONSUME_MESSAGE_DIRECTLY, direct)
    push = client.asked()
    t.note("passed on", _shown(push))
    [message] = DecodedResponse.of(push).messages
    t.note("message", {"body": message.body, "offset": message.queue_offset, "tag": message.properties.get("TAGS")})
    result = {"autoCommit": True, "consumeResult": "CR_SUCCESS", "order": False, "spentTimeMills": 3}
    client.connection.respond(push, 0, dumps(result))
    t.note("response", asked(), 0)
    t.note(
        "offset", t.request(RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": group, "topic": topic, "queueId": 0})
    )


@remoting_case("MessageDecoder.decodeMessageId")
def direct_consumption_of_an_invalid_message_id_is_rejected(t: RemotingContext) -> None:
    """CONSUME_MESSAGE_DIRECTLY without an id, with a too short one or with one of no message is not forwarded."""
    topic, group = t.topic(queues=1), t.group()
    client = _Client(t, topic, group)
    direct = {"consumerGroup": group, "clientId": client.id, "topic": topic}
    ids = {"none": {}, "short": {"msgId": "7F0000010000"}, "nowhere": {"msgId": "7F00000100002A9F00FFFFFFFFFFFFFF"}}
    for label, more in ids.items():
        t.note(label, t.request(RequestCode.CONSUME_MESSAGE_DIRECTLY, {**direct, **more}), 1)
    [sent] = t.sent(topic)
    inside = f"{sent['msgId'][:-16]}{sent.place + 4:016X}"
    t.note("inside a record", t.request(RequestCode.CONSUME_MESSAGE_DIRECTLY, {**direct, "msgId": inside}), 1)


@remoting_case("Broker2Client.getConsumeStatus")
def consumer_status_combines_the_responses_of_all_clients(t: RemotingContext) -> None:
    """A status request goes to each client of a group or to the named one, and the responses are combined."""
    topic, group = t.topic(queues=2), t.group()
    clients = [_Client(t, topic, group) for _ in range(2)]
    status = {"topic": topic, "group": group}
    asked = t.start(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, status)
    # The broker asks the clients one after the other, in no particular order.
    waiting = list(clients)
    while waiting:
        client, push = first_client_with_request(waiting)
        waiting.remove(client)
        t.note("passed on", _shown(push))
        queue = clients.index(client)
        client.connection.respond(push, 0, _STATUS.format(queue=queue, topic=topic, offset=7).encode())
    t.note("of all", asked(), 0)
    asked = t.start(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {**status, "clientAddr": clients[1].id})
    clients[1].connection.respond(clients[1].asked(), 0, _STATUS.format(queue=1, topic=topic, offset=9).encode())
    t.note("of one", asked(), 0)
    nobody = {**status, "clientAddr": "nobody"}
    t.note("of nobody", t.request(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, nobody), 0)


@remoting_case("AdminBrokerProcessor.callConsumer, Broker2Client.getConsumeStatus")
def status_and_running_info_requests_to_old_clients_are_rejected(t: RemotingContext) -> None:
    """Running info requests are not forwarded to clients below 3.1.8, and status requests not below 3.0.7."""
    for version in (0, 14, 27, 61):
        topic, group = t.topic(queues=1), t.group()
        client = _Client(t, topic, group, version)
        t.note(f"running info, {version}", _running_info(t, group, client.id), 1)
        if version <= 27:
            status = {"topic": topic, "group": group}
            t.note(f"status, {version}", t.request(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, status), 1)


@remoting_case("AdminBrokerProcessor.callConsumer")
def a_forwarded_request_times_out_after_10_seconds(t: RemotingContext) -> None:
    """The broker waits 10 s for a client's response."""
    topic, group = t.topic(queues=1), t.group()
    client = _Client(t, topic, group)
    watch = t.stopwatch()
    asked = t.start(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": group, "clientId": client.id})
    client.asked()
    t.wait(10.5)
    response = asked()
    t.note("code", response.code)
    t.note("remark", (response.remark or "").partition(" Timeout: ")[0])
    t.note("after ten seconds", watch.between(9.5, 14))
