"""SEND_MESSAGE: validation, storage and response of a send."""

from typing import Any

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting, reply_to, short_names

OTHERWISE = {"regionId": "Otherland", "traceOn": "false", "maxMessageSize": "1024", "brokerPermission": "4"}


@remoting_case("SendMessageProcessor.sendMessage")
def a_message_is_stored(t: Remoting) -> None:
    """A sent message gets the next offset of its queue, and the response has the client's id as transaction id."""
    topic = t.topic()
    t.see("first", t.send(topic, tag="A", keys="k1 k2"), 0)
    t.see("second", t.send(topic), 0)
    t.see("stored", t.stored(topic, 2), 0)


@remoting_case("TopicValidator.validateTopic")
def a_blank_topic_is_refused(t: Remoting) -> None:
    """A send without a topic name is rejected as an invalid parameter."""
    t.see("blank", t.send(""), 29)
    t.see("white space", t.send("  "), 29)


@remoting_case("SendMessageRequestHeaderV2.createSendMessageRequestHeaderV1")
def long_and_short_names_say_the_same(t: Remoting) -> None:
    """SEND_MESSAGE with long field names and SEND_MESSAGE_V2 with short ones store the same message."""
    topic = t.topic()
    fields: dict[str, Any] = {"tag": "A", "flag": 7, "sysFlag": 0, "reconsumeTimes": 2, "queue": 1}
    t.see("long", t.send_v1(topic, "long", **fields), 0)
    t.see("short", t.send(topic, "short", **fields), 0)
    t.see("stored", t.stored(topic, 2, 1), 0)


@remoting_case("SendMessageRequestHeader.parseRequestHeader")
def each_code_has_its_own_names(t: Remoting) -> None:
    """A send with the field names of the other request code fails like one without fields."""
    topic = t.topic()
    t.see("long names, V2", t.ask(RequestCode.SEND_MESSAGE_V2, t.send_fields(topic), b"x"), 1)
    t.see("short names, V1", t.ask(RequestCode.SEND_MESSAGE, {"a": "PG", "b": topic, "e": 0}, b"x"), 1)
    t.see("no field", t.ask(RequestCode.SEND_MESSAGE_V2, {}, b"x"), 1)
    t.see("no fields at all", t.ask(RequestCode.SEND_MESSAGE_V2, None, b"x"), 1)


@remoting_case("SendMessageRequestHeaderV2.decode")
def fields_of_a_send_may_be_missing(t: Remoting) -> None:
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
        t.see(f"without {field}", t.send(topic, **left_out).without("msgId"))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def numbers_of_a_send_may_be_none(t: Remoting) -> None:
    """A send with a malformed number fails like one without that field."""
    topic = t.topic(queues=1)
    t.see("queue", t.send(topic, queue="x"))
    t.see("time", t.send(topic, bornTimestamp="soon"))
    t.see("flag", t.send(topic, flag="1.5"))
    t.see("too large for an int", t.send(topic, queue="2147483648"))


@remoting_case("AbstractSendMessageProcessor.buildMsgContext")
def a_send_without_body_fails(t: Remoting) -> None:
    """A send without a body returns an error."""
    t.see("no body", t.send(t.topic(), b""), 1)


@remoting_case("SendMessageProcessor.sendMessage")
def a_negative_queue_means_any(t: Remoting) -> None:
    """A send with a negative queue id goes to a write queue that the broker chooses."""
    topic = t.topic(queues=1)
    t.see("-1", t.send(topic, queue=-1), 0)
    t.see("-5", t.send(topic, queue=-5), 0)
    wide = t.topic(read=8, write=2)
    chosen = {int(t.send(wide, queue=-1)["queueId"]) for _ in range(12)}
    t.see("of 2 write queues", chosen <= {0, 1})


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def a_queue_that_is_not_there_is_refused(t: Remoting) -> None:
    """A send is rejected if its queue id is not below the larger of the topic's read and write queue counts."""
    topic = t.topic(queues=4)
    t.see("4 of 4", t.send(topic, queue=4), 29)
    t.see("99 of 4", t.send(topic, queue=99), 29)
    fewer_to_write = t.topic(read=3, write=1)
    t.see("2 of 3 to read, 1 to write", t.send(fewer_to_write, queue=2), 0)
    t.see("3 of 3 to read, 1 to write", t.send(fewer_to_write, queue=3), 29)
    fewer_to_read = t.topic(read=1, write=3)
    t.see("2 of 1 to read, 3 to write", t.send(fewer_to_read, queue=2), 0)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def a_topic_without_queues_takes_nothing(t: Remoting) -> None:
    """A send to a topic without queues returns an error for every queue id."""
    topic = t.topic(queues=0)
    t.see("queue 0", t.send(topic), 29)
    t.see("any queue", t.send(topic, queue=-1))


@remoting_case("ConsumeQueue.putMessagePositionInfo")
def every_queue_counts_for_itself(t: Remoting) -> None:
    """Offsets are counted separately in each queue."""
    topic = t.topic(queues=3)
    places = [t.send(topic, queue=queue) for queue in (0, 1, 0, 2, 1, 0)]
    t.see("places", [(place["queueId"], place["queueOffset"]) for place in places])
    t.stored(topic, 3, 0)
    ends = [t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": queue})["offset"] for queue in range(3)]
    t.see("ends", ends)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def write_permission_of_a_topic_is_not_looked_at(t: Remoting) -> None:
    """A send to a topic without write permission is accepted."""
    for perm in (4, 2, 0):
        t.see(f"perm {perm}", t.send(t.topic(queues=1, perm=perm)), 0)


@remoting_case("NettyRemotingAbstract.processRequestCommand")
def a_oneway_send_is_not_answered(t: Remoting) -> None:
    """A oneway send is stored, and neither an accepted nor a rejected one gets a response."""
    topic = t.topic(queues=1)
    fields = short_names(t.send_fields(topic, unique=False))
    connection = t.connect()
    connection.oneway(RequestCode.SEND_MESSAGE_V2, {**fields, "k": False, "m": False}, b"quiet")
    connection.oneway(RequestCode.SEND_MESSAGE_V2, {**fields, "b": "bad name!", "k": False, "m": False}, b"x")
    t.see("stored", t.stored(topic).bodies)
    t.see("first", reply_to(connection, 1, 0.3))
    t.see("second", reply_to(connection, 2, 0.1))


@remoting_case("SendMessageProcessor.sendMessage")
def messages_of_a_fifo_topic_need_no_group(t: Remoting) -> None:
    """A remoting client may send any message to a topic of any message type.

    Only gRPC clients are bound to the type.
    """
    for kind in ("FIFO", "DELAY", "TRANSACTION"):
        t.see(f"plain message to {kind}", t.send(t.topic(queues=1, kind=kind)), 0)
    topic = t.topic(queues=1, kind="NORMAL")
    t.see("with sharding key", t.send(topic, properties={"__SHARDINGKEY": "s"}), 0)
    t.see("stored", t.stored(topic), 0)


@remoting_case("SendMessageProcessor.sendMessage", settings=OTHERWISE)
def region_and_trace_switch_are_told(t: Remoting) -> None:
    """Responses to sends, including rejections, and stored messages have the broker's region and trace switch."""
    topic = t.topic(queues=1)
    t.see("sent", t.send(topic), 0)
    t.see("refused", t.send(topic, queue=4), 29)
    t.see("stored", t.stored(topic), 0)


@remoting_case("AbstractSendMessageProcessor.msgCheck", settings=OTHERWISE)
def a_read_only_broker_takes_what_is_not_ordered(t: Remoting) -> None:
    """A broker without write permission rejects only messages to topics that are marked as ordered."""
    topic = t.topic(queues=1)
    t.see("plain topic", t.send(topic), 0)
    ordered = t.new()
    fields = {"topic": ordered, "defaultTopic": AUTO_CREATE_TOPIC, "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
    fields |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": True}
    t.see("created", t.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, fields), 0)
    t.see("ordered topic", t.send(ordered), 16)
    t.see("route of the plain topic", t.route(topic), 0)


@remoting_case("HookUtils.checkBeforePutMessage", settings=OTHERWISE)
def the_largest_body_is_a_setting(t: Remoting) -> None:
    """A body above maxMessageSize is rejected, and the remark names the limit."""
    topic = t.topic(queues=1)
    t.see("at the limit", t.send(topic, b"x" * 1024), 0)
    t.see("above", t.send(topic, b"x" * 1025), 13)
