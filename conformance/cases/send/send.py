"""SEND_MESSAGE: validation, storage and response of a send."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_sends import short_names
from ...clients.remoting_topics import topic_request
from ...context.remoting import RemotingContext, reply_to

NON_DEFAULT_SETTINGS = {"regionId": "Otherland", "traceOn": "false", "maxMessageSize": "1024", "brokerPermission": "4"}


@remoting_case("SendMessageProcessor.sendMessage")
def a_message_is_stored(t: RemotingContext) -> None:
    """A sent message gets the next offset of its queue, and the response has the client's id as transaction id."""
    topic = t.topic()
    t.note("first", t.send(topic, tag="A", keys="k1 k2"), 0)
    t.note("second", t.send(topic), 0)
    t.note("stored", t.stored(topic, 2), 0)


@remoting_case("TopicValidator.validateTopic")
def a_blank_topic_is_refused(t: RemotingContext) -> None:
    """A send without a topic name is rejected as an invalid parameter."""
    t.note("blank", t.send(""), 29)
    t.note("white space", t.send("  "), 29)


@remoting_case("SendMessageRequestHeaderV2.createSendMessageRequestHeaderV1")
def long_and_short_field_names_store_the_same_message(t: RemotingContext) -> None:
    """SEND_MESSAGE with long field names and SEND_MESSAGE_V2 with short ones store the same message."""
    topic = t.topic()
    fields: dict[str, Any] = {"tag": "A", "flag": 7, "sysFlag": 0, "reconsumeTimes": 2, "queue": 1}
    t.note("long", t.send_v1(topic, "long", **fields), 0)
    t.note("short", t.send(topic, "short", **fields), 0)
    t.note("stored", t.stored(topic, 2, 1), 0)


@remoting_case("SendMessageRequestHeader.parseRequestHeader")
def a_send_with_the_field_names_of_the_other_code_is_refused(t: RemotingContext) -> None:
    """A send with the field names of the other request code fails like one without fields."""
    topic = t.topic()
    t.note("long names, V2", t.request(RequestCode.SEND_MESSAGE_V2, t.send_fields(topic), b"x"), 1)
    t.note("short names, V1", t.request(RequestCode.SEND_MESSAGE, {"a": "PG", "b": topic, "e": 0}, b"x"), 1)
    t.note("no field", t.request(RequestCode.SEND_MESSAGE_V2, {}, b"x"), 1)
    t.note("no fields at all", t.request(RequestCode.SEND_MESSAGE_V2, None, b"x"), 1)


@remoting_case("SendMessageRequestHeaderV2.decode")
def a_send_requires_queue_id_sys_flag_born_timestamp_and_flag(t: RemotingContext) -> None:
    """A send without queueId, sysFlag, bornTimestamp or flag returns an error; the other fields are optional."""
    topic = t.topic(queues=1)
    for field in (
        "producerGroup",
        "defaultTopic",
        "defaultTopicQueueNums",
        "queueId",
        "sysFlag",
        "bornTimestamp",
        "flag",
        "properties",
        "reconsumeTimes",
        "unitMode",
        "batch",
    ):
        left_out: dict[str, Any] = {"queue" if field == "queueId" else field: None}
        t.note(f"without {field}", t.send(topic, **left_out).without("msgId"))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_send_with_a_malformed_number_is_refused(t: RemotingContext) -> None:
    """A send with a malformed number fails like one without that field."""
    topic = t.topic(queues=1)
    t.note("queue", t.send(topic, queue="x"))
    t.note("time", t.send(topic, bornTimestamp="soon"))
    t.note("flag", t.send(topic, flag="1.5"))
    t.note("too large for an int", t.send(topic, queue="2147483648"))


@remoting_case("AbstractSendMessageProcessor.buildMsgContext")
def a_send_without_body_fails(t: RemotingContext) -> None:
    """A send without a body returns an error."""
    t.note("no body", t.send(t.topic(), b""), 1)


@remoting_case("SendMessageProcessor.sendMessage")
def a_negative_queue_id_lets_the_broker_choose_the_queue(t: RemotingContext) -> None:
    """A send with a negative queue id goes to a write queue that the broker chooses."""
    topic = t.topic(queues=1)
    t.note("-1", t.send(topic, queue=-1), 0)
    t.note("-5", t.send(topic, queue=-5), 0)
    wide = t.topic(read=8, write=2)
    chosen = {int(t.send(wide, queue=-1)["queueId"]) for _ in range(12)}
    t.note("of 2 write queues", chosen <= {0, 1})


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def a_queue_id_beyond_read_and_write_queues_is_refused(t: RemotingContext) -> None:
    """A send is rejected if its queue id is not below the larger of the topic's read and write queue counts."""
    topic = t.topic(queues=4)
    t.note("4 of 4", t.send(topic, queue=4), 29)
    t.note("99 of 4", t.send(topic, queue=99), 29)
    fewer_to_write = t.topic(read=3, write=1)
    t.note("2 of 3 to read, 1 to write", t.send(fewer_to_write, queue=2), 0)
    t.note("3 of 3 to read, 1 to write", t.send(fewer_to_write, queue=3), 29)
    fewer_to_read = t.topic(read=1, write=3)
    t.note("2 of 1 to read, 3 to write", t.send(fewer_to_read, queue=2), 0)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def a_send_to_a_topic_without_queues_is_refused(t: RemotingContext) -> None:
    """A send to a topic without queues returns an error for every queue id."""
    topic = t.topic(queues=0)
    t.note("queue 0", t.send(topic), 29)
    t.note("any queue", t.send(topic, queue=-1))


@remoting_case("ConsumeQueue.putMessagePositionInfo")
def offsets_are_counted_separately_in_each_queue(t: RemotingContext) -> None:
    """Offsets are counted separately in each queue."""
    topic = t.topic(queues=3)
    places = [t.send(topic, queue=queue) for queue in (0, 1, 0, 2, 1, 0)]
    t.note("places", [(place["queueId"], place["queueOffset"]) for place in places])
    t.stored(topic, 3, 0)
    ends = [t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": queue})["offset"] for queue in range(3)]
    t.note("ends", ends)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def a_send_to_a_topic_without_write_permission_is_accepted(t: RemotingContext) -> None:
    """A send to a topic without write permission is accepted."""
    for perm in (4, 2, 0):
        t.note(f"perm {perm}", t.send(t.topic(queues=1, perm=perm)), 0)


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def a_oneway_send_gets_no_response(t: RemotingContext) -> None:
    """A oneway send is stored, and neither an accepted nor a rejected one gets a response."""
    topic = t.topic(queues=1)
    fields = short_names(t.send_fields(topic, unique=False))
    connection = t.connect()
    connection.oneway(RequestCode.SEND_MESSAGE_V2, {**fields, "k": False, "m": False}, b"quiet")
    connection.oneway(RequestCode.SEND_MESSAGE_V2, {**fields, "b": "bad name!", "k": False, "m": False}, b"x")
    t.note("stored", t.stored(topic).bodies)
    t.note("first", reply_to(connection, 1, 0.3))
    t.note("second", reply_to(connection, 2, 0.1))


@remoting_case("SendMessageProcessor.sendMessage")
def remoting_sends_are_not_bound_to_the_message_type_of_a_topic(t: RemotingContext) -> None:
    """A remoting client may send any message to a topic of any message type.

    Only gRPC clients are bound to the type.
    """
    for kind in ("FIFO", "DELAY", "TRANSACTION"):
        t.note(f"plain message to {kind}", t.send(t.topic(queues=1, kind=kind)), 0)
    topic = t.topic(queues=1, kind="NORMAL")
    t.note("with sharding key", t.send(topic, properties={"__SHARDINGKEY": "s"}), 0)
    t.note("stored", t.stored(topic), 0)


@remoting_case("SendMessageProcessor.sendMessage", settings=NON_DEFAULT_SETTINGS)
def send_responses_and_messages_have_region_and_trace_switch(t: RemotingContext) -> None:
    """Responses to sends, including rejections, and stored messages have the broker's region and trace switch."""
    topic = t.topic(queues=1)
    t.note("sent", t.send(topic), 0)
    t.note("refused", t.send(topic, queue=4), 29)
    t.note("stored", t.stored(topic), 0)


@remoting_case("AbstractSendMessageProcessor.msgCheck", settings=NON_DEFAULT_SETTINGS)
def a_read_only_broker_refuses_only_sends_to_ordered_topics(t: RemotingContext) -> None:
    """A broker without write permission rejects only messages to topics that are marked as ordered."""
    topic = t.topic(queues=1)
    t.note("plain topic", t.send(topic), 0)
    ordered = t.new()
    t.note("created", t.request(*topic_request(ordered, queues=1, order=True)), 0)
    t.note("ordered topic", t.send(ordered), 16)
    t.note("route of the plain topic", t.route(topic), 0)


@remoting_case("HookUtils.checkBeforePutMessage", settings=NON_DEFAULT_SETTINGS)
def a_body_above_max_message_size_is_refused(t: RemotingContext) -> None:
    """A body above maxMessageSize is rejected, and the remark names the limit."""
    topic = t.topic(queues=1)
    t.note("at the limit", t.send(topic, b"x" * 1024), 0)
    t.note("above", t.send(topic, b"x" * 1025), 13)
