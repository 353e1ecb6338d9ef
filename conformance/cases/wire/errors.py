"""Invalid requests and their responses."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting, fate, reply_to

NOBODY = {"consumerGroup": "nobody"}


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def an_unknown_code_is_refused(t: Remoting) -> None:
    """Brokers and name servers reject unknown request codes as not supported."""
    for code in (9999, 0, -5, 1, 199, 100_000, 2_147_483_647):
        t.see(f"broker, {code}", t.ask(code, {}), 3)
        t.see(f"name server, {code}", t.ask(code, {}, to=t.namesrv), 3)


@remoting_case("BrokerController.registerProcessor")
def codes_without_a_handler_are_refused(t: Remoting) -> None:
    """Request codes with a name but without a handler are rejected like unknown ones."""
    for code in (13, 22, 23, 27, 47, 209, 210, 211, 212, 213, 214, 217, 301, 302):
        t.see(f"{code}", t.ask(code, {}), 3)


@remoting_case("BrokerController.registerProcessor")
def codes_for_clients_are_refused(t: Remoting) -> None:
    """A broker does not support the request codes that brokers send to clients."""
    for code in (39, 40, 220, 221, 326):
        t.see(f"{code}", t.ask(code, {}), 3)


@remoting_case("DefaultRequestProcessor.processRequest")
def brokers_and_name_servers_have_codes_of_their_own(t: Remoting) -> None:
    """A name server does not support brokers' request codes, and a broker not those of name servers."""
    topic = t.topic(queues=1)
    for code in (RequestCode.SEND_MESSAGE_V2, RequestCode.PULL_MESSAGE, RequestCode.HEART_BEAT):
        t.see(f"name server, {code}", t.ask(code, {"topic": topic}, b"{}", to=t.namesrv), 3)
    for code in (RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.GET_TOPIC_CONFIG, RequestCode.GET_BROKER_CONFIG):
        t.see(f"name server, {code}", t.ask(code, {"topic": topic}, to=t.namesrv), 3)
    for code in (
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.PUT_KV_CONFIG,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.REGISTER_BROKER,
    ):
        t.see(f"broker, {code}", t.ask(code, {"topic": topic}), 3)


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_missing_number_fails(t: Remoting) -> None:
    """A request without a required number fails, and a malformed number counts as missing."""
    topic = t.topic(queues=1)
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_EARLIEST_MSG_STORETIME):
        t.see(f"{code} without queue", t.ask(code, {"topic": topic}), 1)
        t.see(f"{code}, queue x", t.ask(code, {"topic": topic, "queueId": "x"}), 1)
        t.see(f"{code}, queue 0.5", t.ask(code, {"topic": topic, "queueId": "0.5"}), 1)
        t.see(f"{code}, empty queue", t.ask(code, {"topic": topic, "queueId": ""}), 1)
        t.see(f"{code}, queue with a blank", t.ask(code, {"topic": topic, "queueId": " 0"}), 1)
        t.see(f"{code}, queue with an underscore", t.ask(code, {"topic": topic, "queueId": "0_0"}), 1)
    t.see("first offset without queue", t.ask(RequestCode.GET_MIN_OFFSET, {"topic": topic}).code)
    t.see("search without time", t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {"topic": topic, "queueId": 0}), 1)
    t.see("view without offset", t.ask(RequestCode.VIEW_MESSAGE_BY_ID, {}), 1)


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def numbers_have_signs_and_zeros(t: Remoting) -> None:
    """A number may have a sign and leading zeros, as in Java."""
    topic = t.topic(queues=1)
    for text in ("+0", "-0", "000", "0x0", "0L", "٠"):
        t.see(text, t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": text}))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_missing_name_fails(t: Remoting) -> None:
    """A request without a required topic or group fails, with different errors."""
    t.see("max offset", t.ask(RequestCode.GET_MAX_OFFSET, {"queueId": 0}))
    t.see("topic config", t.ask(RequestCode.GET_TOPIC_CONFIG, {}))
    t.see("topic statistics", t.ask(RequestCode.GET_TOPIC_STATS_INFO, {}))
    t.see("members of a group", t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {}))
    t.see("committed offset", t.ask(RequestCode.QUERY_CONSUMER_OFFSET, {"topic": "x", "queueId": 0}))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def fields_that_nobody_knows_are_ignored(t: Remoting) -> None:
    """Additional fields of a request are ignored."""
    topic = t.topic(queues=1)
    ext = {"topic": topic, "queueId": 0, "later": "version", "": "no name", "Topic": "other"}
    t.see("answer", t.ask(RequestCode.GET_MAX_OFFSET, ext), 0)


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def a_refused_request_harms_nobody(t: Remoting) -> None:
    """After a rejected request the connection can still be used."""
    connection = t.connect()
    for code, ext in ((9999, {}), (RequestCode.SEND_MESSAGE_V2, None), (RequestCode.GET_MAX_OFFSET, {})):
        t.see(f"{code}", t.ask(code, ext, b"x", to=connection).code)
    t.see("connection", fate(connection))


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def oneway_requests_are_not_answered(t: Remoting) -> None:
    """A oneway request gets no response, whether it is served, rejected or unknown."""
    connection = t.connect()
    connection.oneway(RequestCode.GET_CONSUMER_LIST_BY_GROUP, NOBODY)
    connection.oneway(9999, {})
    connection.oneway(RequestCode.SEND_MESSAGE_V2, {}, b"x")
    t.see("connection", fate(connection))
    t.see("answers", [reply_to(connection, opaque, 0.1) for opaque in (1, 2, 3)])


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def requests_may_follow_each_other_at_once(t: Remoting) -> None:
    """A connection may have many pending requests; each response has its request's opaque."""
    topic = t.topic(queues=1)
    connection = t.connect()
    ends = [t.start(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}, to=connection) for _ in range(50)]
    unknown = t.start(9999, {}, to=connection)
    t.see("offsets", {each()["offset"] for each in ends})
    t.see("unknown", unknown())
