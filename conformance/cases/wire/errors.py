"""Invalid requests and their responses."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext, connection_state, reply_to

NOBODY = {"consumerGroup": "nobody"}


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def an_unknown_request_code_is_rejected(t: RemotingContext) -> None:
    """Brokers and name servers reject unknown request codes as not supported."""
    for code in (9999, 0, -5, 1, 199, 100_000, 2_147_483_647):
        t.note(f"broker, {code}", t.request(code, {}), 3)
        t.note(f"name server, {code}", t.request(code, {}, to=t.namesrv), 3)


@remoting_case("BrokerController.registerProcessor")
def request_codes_without_a_handler_are_rejected(t: RemotingContext) -> None:
    """Request codes with a name but without a handler are rejected like unknown ones."""
    for code in (13, 22, 23, 27, 47, 209, 210, 211, 212, 213, 214, 217, 301, 302):
        t.note(f"{code}", t.request(code, {}), 3)


@remoting_case("BrokerController.registerProcessor")
def a_broker_rejects_request_codes_for_clients(t: RemotingContext) -> None:
    """A broker does not support the request codes that brokers send to clients."""
    for code in (39, 40, 220, 221, 326):
        t.note(f"{code}", t.request(code, {}), 3)


@remoting_case("DefaultRequestProcessor.processRequest")
def name_servers_reject_broker_codes_and_brokers_name_server_codes(t: RemotingContext) -> None:
    """A name server does not support brokers' request codes, and a broker not those of name servers."""
    topic = t.topic(queues=1)
    for code in (RequestCode.SEND_MESSAGE_V2, RequestCode.PULL_MESSAGE, RequestCode.HEART_BEAT):
        t.note(f"name server, {code}", t.request(code, {"topic": topic}, b"{}", to=t.namesrv), 3)
    for code in (RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.GET_TOPIC_CONFIG, RequestCode.GET_BROKER_CONFIG):
        t.note(f"name server, {code}", t.request(code, {"topic": topic}, to=t.namesrv), 3)
    for code in (
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.PUT_KV_CONFIG,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.REGISTER_BROKER,
    ):
        t.note(f"broker, {code}", t.request(code, {"topic": topic}), 3)


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_request_without_a_required_number_is_rejected(t: RemotingContext) -> None:
    """A request without a required number fails, and a malformed number counts as missing."""
    topic = t.topic(queues=1)
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_EARLIEST_MSG_STORETIME):
        t.note(f"{code} without queue", t.request(code, {"topic": topic}), 1)
        t.note(f"{code}, queue x", t.request(code, {"topic": topic, "queueId": "x"}), 1)
        t.note(f"{code}, queue 0.5", t.request(code, {"topic": topic, "queueId": "0.5"}), 1)
        t.note(f"{code}, empty queue", t.request(code, {"topic": topic, "queueId": ""}), 1)
        t.note(f"{code}, queue with a blank", t.request(code, {"topic": topic, "queueId": " 0"}), 1)
        t.note(f"{code}, queue with an underscore", t.request(code, {"topic": topic, "queueId": "0_0"}), 1)
    t.note("first offset without queue", t.request(RequestCode.GET_MIN_OFFSET, {"topic": topic}).code)
    t.note("search without time", t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {"topic": topic, "queueId": 0}), 1)
    t.note("view without offset", t.request(RequestCode.VIEW_MESSAGE_BY_ID, {}), 1)


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def request_numbers_may_have_a_sign_and_leading_zeros(t: RemotingContext) -> None:
    """A number may have a sign and leading zeros, as in Java."""
    topic = t.topic(queues=1)
    for text in ("+0", "-0", "000", "0x0", "0L", "٠"):
        t.note(text, t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": text}))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_request_without_a_required_topic_or_group_is_rejected(t: RemotingContext) -> None:
    """A request without a required topic or group fails, with different errors."""
    t.note("max offset", t.request(RequestCode.GET_MAX_OFFSET, {"queueId": 0}))
    t.note("topic config", t.request(RequestCode.GET_TOPIC_CONFIG, {}))
    t.note("topic statistics", t.request(RequestCode.GET_TOPIC_STATS_INFO, {}))
    t.note("members of a group", t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {}))
    t.note("committed offset", t.request(RequestCode.QUERY_CONSUMER_OFFSET, {"topic": "x", "queueId": 0}))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def unknown_request_fields_are_ignored(t: RemotingContext) -> None:
    """Additional fields of a request are ignored."""
    topic = t.topic(queues=1)
    ext = {"topic": topic, "queueId": 0, "later": "version", "": "no name", "Topic": "other"}
    t.note("response", t.request(RequestCode.GET_MAX_OFFSET, ext), 0)


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def a_rejected_request_keeps_the_connection_open(t: RemotingContext) -> None:
    """After a rejected request the connection can still be used."""
    connection = t.connect()
    for code, ext in ((9999, {}), (RequestCode.SEND_MESSAGE_V2, None), (RequestCode.GET_MAX_OFFSET, {})):
        t.note(f"{code}", t.request(code, ext, b"x", to=connection).code)
    t.note("connection", connection_state(connection))


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def oneway_requests_are_not_answered(t: RemotingContext) -> None:
    """A oneway request gets no response, whether it is served, rejected or unknown."""
    connection = t.connect()
    connection.oneway(RequestCode.GET_CONSUMER_LIST_BY_GROUP, NOBODY)
    connection.oneway(9999, {})
    connection.oneway(RequestCode.SEND_MESSAGE_V2, {}, b"x")
    t.note("connection", connection_state(connection))
    t.note("responses", [reply_to(connection, opaque, 0.1) for opaque in (1, 2, 3)])


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def pending_requests_of_a_connection_are_matched_by_opaque(t: RemotingContext) -> None:
    """A connection may have many pending requests; each response has its request's opaque."""
    topic = t.topic(queues=1)
    connection = t.connect()
    ends = [t.start(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}, to=connection) for _ in range(50)]
    unknown = t.start(9999, {}, to=connection)
    t.note("offsets", {each()["offset"] for each in ends})
    t.note("unknown", unknown())
