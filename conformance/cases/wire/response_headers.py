"""Headers of responses: language, version, and the presence of optional parts."""

from collections.abc import Mapping
from typing import Any

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_consumption import pull_fields
from ...clients.remoting_sends import short_names
from ...clients.remoting_topics import topic_fields
from ...context.remoting import RemotingContext
from ..send.request_reply import start


def _header(connection: RemotingClient, code: int, ext: Mapping[str, object], body: bytes = b"") -> dict[str, Any]:
    """Return the header of a response, with the names of its ext fields, without their values."""
    came = connection.request(code, ext, body, timeout=30)
    return {
        "code": came.code,
        "language": came.language,
        "version": came.version,
        "flag": came.flag,
        "serialize type": came.serialize_type,
        "ext": None if came.ext_fields is None else sorted(came.ext_fields),
        "remark": came.remark is not None,
    }


def _note_answers(t: RemotingContext, *, binary: bool) -> None:
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic, 1)
    place = sent.place
    beat = {"clientID": t.new("client"), "producerDataSet": [], "consumerDataSet": []}
    locks = dumps({"consumerGroup": group, "clientId": "client", "mqSet": []})
    queue = {"topic": topic, "queueId": 0}
    broker, namesrv = t.connect(binary=binary), t.connect(t.deployment.access.namesrv, binary=binary)
    asked: dict[str, tuple[RemotingClient, int, dict[str, object], bytes]] = {
        "send": (broker, RequestCode.SEND_MESSAGE_V2, short_names(t.send_fields(topic)), b"m"),
        "pull": (broker, RequestCode.PULL_MESSAGE, pull_fields(topic, group), b""),
        "nothing to pull": (broker, RequestCode.PULL_MESSAGE, pull_fields(topic, group, 0, 9), b""),
        "pop": (broker, RequestCode.POP_MESSAGE, t.pop_fields(topic, group), b""),
        "view": (broker, RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place}, b""),
        "send back": (
            broker,
            RequestCode.CONSUMER_SEND_MSG_BACK,
            {"offset": place, "group": group, "delayLevel": 3},
            b"",
        ),
        "topic": (
            broker,
            RequestCode.UPDATE_AND_CREATE_TOPIC,
            topic_fields(t.new(), queues=1),
            b"",
        ),
        "config": (broker, RequestCode.GET_TOPIC_CONFIG, {"topic": topic}, b""),
        "lock": (broker, RequestCode.LOCK_BATCH_MQ, {}, locks),
        "unlock": (broker, RequestCode.UNLOCK_BATCH_MQ, {}, locks),
        "heartbeat": (broker, RequestCode.HEART_BEAT, {}, dumps(beat)),
        "unregister": (broker, RequestCode.UNREGISTER_CLIENT, {"clientID": "nobody"}, b""),
        "consumers": (broker, RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}, b""),
        "commit": (
            broker,
            RequestCode.UPDATE_CONSUMER_OFFSET,
            {**queue, "consumerGroup": group, "commitOffset": 1},
            b"",
        ),
        "committed": (broker, RequestCode.QUERY_CONSUMER_OFFSET, {**queue, "consumerGroup": group}, b""),
        "end": (broker, RequestCode.GET_MAX_OFFSET, queue, b""),
        "earliest": (broker, RequestCode.GET_EARLIEST_MSG_STORETIME, queue, b""),
        "statistics": (broker, RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}, b""),
        "key": (broker, RequestCode.QUERY_MESSAGE, {"topic": topic, "key": "none", **_EVER}, b""),
        "settings": (broker, RequestCode.GET_BROKER_CONFIG, {}, b""),
        "state": (broker, RequestCode.GET_BROKER_RUNTIME_INFO, {}, b""),
        "all groups": (broker, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {}, b""),
        "unknown topic": (broker, RequestCode.GET_TOPIC_CONFIG, {"topic": t.new()}, b""),
        "without a field": (broker, RequestCode.GET_MAX_OFFSET, {}, b""),
        "unknown code": (broker, 9999, {}, b""),
        "route": (namesrv, RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, b""),
        "no route": (namesrv, RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": t.new()}, b""),
        "brokers": (namesrv, RequestCode.GET_BROKER_CLUSTER_INFO, {}, b""),
        "topics": (namesrv, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}, b""),
        "key and value": (namesrv, RequestCode.GET_KV_CONFIG, {"namespace": t.new(), "key": "k"}, b""),
        "unknown code of the name server": (namesrv, 9999, {}, b""),
    }
    for label, (connection, code, ext, body) in asked.items():
        t.note(label, _header(connection, code, ext, body))


_EVER = {"maxNum": 32, "beginTimestamp": 0, "endTimestamp": (1 << 62)}


@remoting_case("RemotingCommand.createResponseCommand")
def response_headers_have_language_version_and_optional_fields(t: RemotingContext) -> None:
    """A response has the language JAVA and the broker's version. Its ext fields may be present, empty or missing."""
    _note_answers(t, binary=False)


@remoting_case("RemotingCommand.createResponseCommand")
def responses_to_binary_requests_have_the_same_header_members(t: RemotingContext) -> None:
    """Responses to requests with a binary header have the same parts as those to requests with a JSON header."""
    _note_answers(t, binary=True)


@remoting_case("RemotingCommand.createRequestCommand")
def broker_requests_to_a_binary_client_have_json_headers(t: RemotingContext) -> None:
    """Requests of a broker to a client have a JSON header, even if the client sends binary ones."""
    topic, group, client = t.topic(queues=1), t.group(), t.new("client")
    t.sent(topic, 1)
    t.commit(topic, group, 1)
    connection = t.connect(binary=True)
    t.heartbeat(client, groups={group: {topic: "*"}}, producers=["PG"], to=connection)
    start(t, client, t.connect())
    t.start(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": group, "clientId": client}, to=t.connect())
    reset = {"topic": topic, "group": group, "timestamp": 0, "isForce": True}
    t.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, reset)
    asked = sorted((connection.next_server_request(10) for _ in range(3)), key=lambda push: push.code)
    for push in asked:
        t.note(
            f"{push.code}",
            {"serialize type": push.serialize_type, "language": push.language, "version": push.version},
        )
