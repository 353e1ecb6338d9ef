"""SendMessage of the gRPC proxy: validation, its order, and the response."""

from google.protobuf.duration_pb2 import Duration
from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, dlq_topic, retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...context.grpc import BAD_TOPICS, GrpcContext
from ...helpers.consumer import consuming
from ...helpers.settings import NO_AUTO_CREATE

_DAY_MS = 86_400_000


@grpc_case("SendMessageActivity.sendMessage")
def a_send_returns_the_message_id_and_queue_offset(t: GrpcContext) -> None:
    """A send returns the client's message id, also as transaction id, and the queue offset."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.note("first", t.send(t.message(topic, tag="A", keys=["k1", "k2"], properties={"a": "1"})), pb.OK)
    t.note("second", t.send(t.message(topic)), pb.OK)


@grpc_case("SendMessageActivity.sendMessage")
def a_send_requires_a_client_id_but_no_settings(t: GrpcContext) -> None:
    """A send requires a client id, but neither settings nor a language nor a version nor a deadline."""
    topic = t.topic(kind="NORMAL")
    t.note("no client id", t.send(t.message(topic), client=None), pb.CLIENT_ID_REQUIRED)
    t.note("blank client id, no message", t.send(client=" "), pb.CLIENT_ID_REQUIRED)
    t.note("no language", t.send(t.message(topic), x_mq_language=None).status, pb.OK)
    t.note("unknown language", t.send(t.message(topic), x_mq_language="KLINGON").status, pb.OK)
    t.note("no version", t.send(t.message(topic), x_mq_client_version=None).status, pb.OK)
    t.note("no deadline", t.send(t.message(topic), deadline=None).status, pb.OK)


@grpc_case("SendMessageActivity.sendMessage")
def a_send_needs_a_message(t: GrpcContext) -> None:
    """A send returns MESSAGE_CORRUPTED without messages, ILLEGAL_TOPIC without topic, ILLEGAL_MESSAGE_ID without id."""
    t.note("nothing", t.send(), pb.MESSAGE_CORRUPTED)
    t.note("empty message", t.send(pb.Message()), pb.ILLEGAL_TOPIC)
    t.note("only topic and body", t.send(pb.Message(topic=pb.Resource(name=t.new()), body=b"x")), pb.ILLEGAL_MESSAGE_ID)


@grpc_case("GrpcValidator.validateTopic")
def a_send_to_an_illegal_topic_is_rejected(t: GrpcContext) -> None:
    """A send to an illegal topic name returns ILLEGAL_TOPIC."""
    for what, name in BAD_TOPICS.items():
        t.note(what, t.send(t.message(name)), pb.ILLEGAL_TOPIC)
    for name in ("rmq_sys_x", t.cluster, t.broker_name, SCHEDULE_TOPIC):
        t.note(name, t.send(t.message(name)), pb.ILLEGAL_TOPIC)


@grpc_case("DefaultTopicMessageTypeValidator.validate")
def a_send_to_an_unknown_topic_is_rejected_and_creates_no_topic(t: GrpcContext) -> None:
    """A send to an unknown topic is rejected because of the type, and does not create the topic."""
    topic = t.new()
    t.note("first", t.send(t.message(topic)), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)
    t.note("again", t.send(t.message(topic)), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)
    t.note("route", t.route(topic), pb.TOPIC_NOT_FOUND)


@grpc_case("LocalTopicRouteService.toTopicRouteData")
def a_send_to_an_unknown_dlq_or_retry_topic_is_an_internal_error(t: GrpcContext) -> None:
    """The type of dead letter queues and retry topics is not checked: a send to an unknown one fails later."""
    t.note("dead letter queue", t.send(t.message(dlq_topic(t.new("group")))), pb.INTERNAL_SERVER_ERROR)
    t.note("retry topic", t.send(t.message(retry_topic(t.new("group")))), pb.INTERNAL_SERVER_ERROR)


@grpc_case("SendMessageActivity.validateMessageBodySize")
def a_body_may_have_1_byte_to_4_mib(t: GrpcContext) -> None:
    """A body may have 1 byte to 4 MiB."""
    topic = t.topic(kind="NORMAL")
    t.note("empty", t.send(t.message(topic, b"")), pb.MESSAGE_BODY_EMPTY)
    t.note("4 MiB", t.send(t.message(topic, bytes(4 << 20))).status, pb.OK)
    t.note("1 byte more", t.send(t.message(topic, bytes((4 << 20) + 1))), pb.MESSAGE_BODY_TOO_LARGE)


@grpc_case("SendMessageActivity.buildMessageProperty")
def user_properties_are_limited_in_number_and_total_size(t: GrpcContext) -> None:
    """A message may have 128 user properties with 16,384 bytes in total, including tag and keys."""
    topic = t.topic(kind="NORMAL")
    t.note("128", t.send(t.message(topic, properties={f"p{n}": "v" for n in range(128)})).status, pb.OK)
    t.note(
        "129", t.send(t.message(topic, properties={f"p{n}": "v" for n in range(129)})), pb.MESSAGE_PROPERTIES_TOO_LARGE
    )
    # key + value + tag + key of the message: 1 + n + 1 + 1
    for what, length in (("16384 bytes", 16381), ("16385 bytes", 16382)):
        t.note(what, t.send(t.message(topic, properties={"a": "v" * length}, tag="t", keys=["k"])).status)
    t.note("16384 bytes of UTF-8", t.send(t.message(topic, properties={"ab": "é" * 8191})).status, pb.OK)
    t.note(
        "16386 bytes of UTF-8", t.send(t.message(topic, properties={"ab": "é" * 8192})), pb.MESSAGE_PROPERTIES_TOO_LARGE
    )


@grpc_case("SendMessageActivity.buildMessageProperty")
def reserved_names_are_rejected_as_user_properties(t: GrpcContext) -> None:
    """A user property with a reserved name is rejected with ILLEGAL_MESSAGE_PROPERTY_KEY."""
    topic = t.topic(kind="NORMAL")
    for name in (
        "TAGS",
        "KEYS",
        "UNIQ_KEY",
        "DELAY",
        "TIMER_DELIVER_MS",
        "TIMER_DELAY_LEVEL",
        "POP_CK",
        "POP_CK_OFFSET",
        "__BORNHOST",
        "BORN_TIMESTAMP",
        "__CRC32#",
        "WAIT",
        "MSG_TYPE",
        "RETRY_TOPIC",
        "REAL_TOPIC",
        "RECONSUME_TIME",
        "ORIGIN_MESSAGE_ID",
        "DLQ_ORIGIN_TOPIC",
        "TRAN_MSG",
        "PGROUP",
        "MIN_OFFSET",
        "MAX_OFFSET",
        "BUYER_ID",
        "TRACE_ON",
        "MSG_REGION",
        "CLUSTER",
        "INSTANCE_ID",
        "CORRELATION_ID",
        "TTL",
    ):
        t.note(name, t.send(t.message(topic, properties={name: "1"})).status)


@grpc_case("SendMessageActivity.buildMessageProperty")
def some_names_used_by_the_broker_are_accepted_as_user_properties(t: GrpcContext) -> None:
    """Some names that the broker uses are not reserved: they are accepted as user properties.

    Two of them change the message. `__SHARDINGKEY` makes it a FIFO message, and `INNER_NUM` an inner batch.
    """
    topic = t.topic(kind="NORMAL")
    for name in (
        "TRACE_CONTEXT",
        "__transactionId__",
        "CHECK_IMMUNITY_TIME_IN_SECONDS",
        "INNER_BASE",
        "INNER_MULTI_DISPATCH",
        "TRANSACTION_CHECK_TIMES",
        "REDIRECT",
        "SHARDING_KEY",
        "PROPERTY_FORWARD_QUEUE_ID",
    ):
        t.note(name, t.send(t.message(topic, properties={name: "1"})).status, pb.OK)
    t.note(
        "__SHARDINGKEY",
        t.send(t.message(topic, properties={"__SHARDINGKEY": "1"})),
        pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
    )
    t.note("INNER_NUM", t.send(t.message(topic, properties={"INNER_NUM": "1"})), pb.INTERNAL_SERVER_ERROR)


@grpc_case("SendMessageActivity.buildMessageProperty")
def user_properties_with_control_characters_are_rejected(t: GrpcContext) -> None:
    """A control character in the name or value of a user property is rejected with ILLEGAL_MESSAGE_PROPERTY_KEY."""
    topic = t.topic(kind="NORMAL")
    for what, character in (("0x01", "\x01"), ("tab", "\t"), ("new line", "\n"), ("U+0085", "\x85")):
        t.note(
            f"{what} in the name",
            t.send(t.message(topic, properties={f"a{character}b": "1"})),
            pb.ILLEGAL_MESSAGE_PROPERTY_KEY,
        )
        t.note(
            f"{what} in the value",
            t.send(t.message(topic, properties={"a": f"1{character}2"})),
            pb.ILLEGAL_MESSAGE_PROPERTY_KEY,
        )


@grpc_case("SendMessageActivity.buildMessageProperty")
def empty_user_properties_are_accepted_but_not_received(t: GrpcContext) -> None:
    """User properties with an empty name or value are accepted but missing in the received message."""
    consumer = consuming(t)
    sent = consumer.message(properties={"": "no name", " ": "blank name", "no value": "", "blank value": " ", "a": "1"})
    t.note("sent", t.send(sent).status, pb.OK)
    t.note("received", dict(sorted(consumer.take().user_properties.items())))


@grpc_case("GrpcValidator.validateTag")
def tags_that_are_blank_or_have_a_bar_are_rejected(t: GrpcContext) -> None:
    """A tag that is blank, or has a bar or a control character, returns ILLEGAL_MESSAGE_TAG; others are accepted."""
    topic = t.topic(kind="NORMAL")
    for what, tag in (("blanks", "  "), ("a bar", "a|b"), ("control", "a\x01"), ("a new line", "a\n")):
        t.note(what, t.send(t.message(topic, tag=tag)), pb.ILLEGAL_MESSAGE_TAG)
    for what, tag in (
        ("empty", ""),
        ("star", "*"),
        ("blank before", " a"),
        ("blank inside", "a b"),
        ("long", "a" * 200),
    ):
        t.note(what, t.send(t.message(topic, tag=tag)).status, pb.OK)


@grpc_case("SendMessageActivity.validateMessageKey")
def blank_keys_and_keys_with_control_characters_are_rejected(t: GrpcContext) -> None:
    """A key that is blank or has a control character is rejected with ILLEGAL_MESSAGE_KEY."""
    topic = t.topic(kind="NORMAL")
    t.note("blanks", t.send(t.message(topic, keys=["  "])), pb.ILLEGAL_MESSAGE_KEY)
    t.note("control", t.send(t.message(topic, keys=["a\x01"])), pb.ILLEGAL_MESSAGE_KEY)
    t.note("the second", t.send(t.message(topic, keys=["a", " "])), pb.ILLEGAL_MESSAGE_KEY)
    t.note("empty", t.send(t.message(topic, keys=[""])).status, pb.OK)
    t.note("blank inside", t.send(t.message(topic, keys=["a b"])).status, pb.OK)


@grpc_case("SendMessageActivity.buildMessageProperty")
def any_message_id_that_is_not_blank_is_accepted(t: GrpcContext) -> None:
    """A message id must not be blank. Any other text is accepted, even twice."""
    topic = t.topic(kind="NORMAL")
    t.note("empty", t.send(t.message(topic, message_id="")), pb.ILLEGAL_MESSAGE_ID)
    t.note("blanks", t.send(t.message(topic, message_id="  ")), pb.ILLEGAL_MESSAGE_ID)
    for name in ("x", "a b", "é", "a|b", "x"):
        t.note(f"{name!r}", t.send(t.message(topic, message_id=name)).entries[0].message_id)
    for what, name in (("300 characters", "x" * 300), ("control", "a\x07b")):
        t.note(what, t.send(t.message(topic, message_id=name)).status, pb.OK)


@grpc_case("SendMessageActivity.validateMessageGroup")
def a_message_group_of_64_bytes_or_blanks_is_rejected(t: GrpcContext) -> None:
    """A message group must not be blank or have control characters, and has fewer than 64 bytes.

    An empty one means none.
    """
    topic = t.topic(kind="FIFO")
    t.note("blanks", t.send(t.message(topic, message_group="  ")), pb.ILLEGAL_MESSAGE_GROUP)
    t.note("control", t.send(t.message(topic, message_group="a\x01")), pb.ILLEGAL_MESSAGE_GROUP)
    t.note("64 bytes", t.send(t.message(topic, message_group="g" * 64)), pb.ILLEGAL_MESSAGE_GROUP)
    t.note("64 bytes in 32 characters", t.send(t.message(topic, message_group="é" * 32)), pb.ILLEGAL_MESSAGE_GROUP)
    t.note("63 bytes", t.send(t.message(topic, message_group="g" * 63)).status, pb.OK)
    t.note("63 bytes in 32 characters", t.send(t.message(topic, message_group="é" * 31 + "g")).status, pb.OK)
    t.note("empty", t.send(t.message(topic, message_group="")), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)


@grpc_case("SendMessageActivity.fillDelayMessageProperty")
def a_delivery_time_is_at_most_one_day_ahead(t: GrpcContext) -> None:
    """A delivery time may be at most one day ahead; a past one is accepted."""
    topic = t.topic(kind="DELAY")
    now = t.now_ms()
    t.note("a day and 2 s", t.send(t.message(topic, deliver_ms=now + _DAY_MS + 2000)), pb.ILLEGAL_DELIVERY_TIME)
    t.note("a day less 2 s", t.send(t.message(topic, deliver_ms=now + _DAY_MS - 2000)).status, pb.OK)
    for what, at in (("past", now - 5000), ("0", 0), ("negative", -5000)):
        response = t.send(t.message(topic, deliver_ms=at))
        t.note(what, response.status, pb.OK)
        t.note(f"{what}: can be recalled", bool(response.entries[0].recall_handle))


@grpc_case("HookUtils.handleScheduleMessage")
def a_zero_negative_or_past_delivery_time_delivers_at_once(t: GrpcContext) -> None:
    """A message with a delivery time of 0, negative or in the past is received at once."""
    consumer = consuming(t, kind="DELAY")
    for body, at in (("past", t.now_ms() - 5000), ("0", 0), ("negative", -5000)):
        t.note(body, t.send(consumer.message(body, deliver_ms=at)).status, pb.OK)
    t.note("received", consumer.receive().bodies)


@grpc_case("SendMessageActivity.validateTransactionRecoverySecond")
def a_recovery_duration_is_at_most_one_hour(t: GrpcContext) -> None:
    """A half message's recovery duration may be at most one hour; it is ignored in other messages."""
    topic, normal = t.topic(kind="TRANSACTION"), t.topic(kind="NORMAL")
    for what, wish in (
        ("an hour", Duration(seconds=3600)),
        ("0", Duration()),
        ("-1 s", Duration(seconds=-1)),
        ("0.5 s", Duration(nanos=500_000_000)),
        ("a second more", Duration(seconds=3601)),
    ):
        half = t.message(topic, message_type=pb.TRANSACTION, orphaned_transaction_recovery_duration=wish)
        t.note(what, t.send(half).status)
    plain = t.message(normal, orphaned_transaction_recovery_duration=Duration(seconds=3601))
    t.note("of a normal message", t.send(plain).status, pb.OK)


@grpc_case("SendMessageActivity.buildMessage")
def a_send_checks_the_fields_of_a_message_in_a_fixed_order(t: GrpcContext) -> None:
    """Of several faults in one message the first one in upstream's order is reported."""
    topic = t.topic(kind="NORMAL", perm=4)
    system = pb.SystemProperties(
        tag="a|b",
        keys=[" "],
        message_id="",
        message_type=pb.TRANSACTION,
        message_group=" ",
        orphaned_transaction_recovery_duration=Duration(seconds=3601),
    )
    system.delivery_timestamp.FromMilliseconds(t.now_ms() + 2 * _DAY_MS)
    properties = {f"p{number}": "v" * 200 for number in range(129)}
    message = pb.Message(topic=pb.Resource(name="a b"), system_properties=system, user_properties=properties)
    t.note("topic", t.send(message), pb.ILLEGAL_TOPIC)
    message.topic.name = topic
    t.note("empty body", t.send(message), pb.MESSAGE_BODY_EMPTY)
    message.body = bytes((4 << 20) + 1)
    t.note("body too large", t.send(message), pb.MESSAGE_BODY_TOO_LARGE)
    message.body = b"x"
    t.note("too many properties", t.send(message), pb.MESSAGE_PROPERTIES_TOO_LARGE)
    for number in range(40):
        del message.user_properties[f"p{number}"]
    message.user_properties["TAGS"] = "1"
    t.note("reserved name", t.send(message), pb.ILLEGAL_MESSAGE_PROPERTY_KEY)
    del message.user_properties["TAGS"]
    t.note("tag", t.send(message), pb.ILLEGAL_MESSAGE_TAG)
    message.system_properties.tag = "t"
    t.note("keys", t.send(message), pb.ILLEGAL_MESSAGE_KEY)
    message.system_properties.keys[0] = "k"
    t.note("total of properties", t.send(message), pb.MESSAGE_PROPERTIES_TOO_LARGE)
    message.user_properties.clear()
    t.note("message id", t.send(message), pb.ILLEGAL_MESSAGE_ID)
    message.system_properties.message_id = t.message_id()
    t.note("recovery duration", t.send(message), pb.BAD_REQUEST)
    message.system_properties.orphaned_transaction_recovery_duration.seconds = 1
    t.note("delivery time", t.send(message), pb.ILLEGAL_DELIVERY_TIME)
    message.system_properties.delivery_timestamp.FromMilliseconds(t.now_ms() + 60_000)
    t.note("message group", t.send(message), pb.ILLEGAL_MESSAGE_GROUP)
    message.system_properties.message_group = "g"
    t.note("message type", t.send(message), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)
    message.system_properties.message_type = pb.NORMAL
    message.system_properties.ClearField("message_group")
    message.system_properties.ClearField("delivery_timestamp")
    t.note("no queue to write to", t.send(message), pb.FORBIDDEN)


@grpc_case("SendMessageQueueSelector.select")
def a_send_to_an_unwritable_topic_is_forbidden(t: GrpcContext) -> None:
    """A send to a topic without writable queues returns FORBIDDEN; read permission is not required."""
    for perm in (4, 1, 0):
        t.note(f"perm {perm}", t.send(t.message(t.topic(kind="NORMAL", perm=perm))), pb.FORBIDDEN)
    t.note("perm 2", t.send(t.message(t.topic(kind="NORMAL", perm=2))).status, pb.OK)


@grpc_case("SendMessageActivity.buildMessage")
def a_send_does_not_check_digest_encoding_and_consumer_fields(t: GrpcContext) -> None:
    """A send accepts a wrong digest or encoding, fields that only consumers set, and a missing born time."""
    topic = t.topic(kind="NORMAL")
    digest = pb.Digest(type=pb.MD5, checksum="0" * 32)
    t.note("wrong digest", t.send(t.message(topic, body_digest=digest)).status, pb.OK)
    t.note("said to be GZIP", t.send(t.message(topic, body_encoding=pb.GZIP)).status, pb.OK)
    t.note("no encoding", t.send(t.message(topic, body_encoding=0)).status, pb.OK)
    t.note("delivery attempt", t.send(t.message(topic, delivery_attempt=5)).status, pb.OK)
    t.note("queue", t.send(t.message(topic, queue_id=77)).status, pb.OK)
    t.note("receipt handle", t.send(t.message(topic, receipt_handle="x")).status, pb.OK)
    timeless = t.message(topic)
    timeless.system_properties.ClearField("born_timestamp")
    t.note("no born time", t.send(timeless).status, pb.OK)


@grpc_case("ProducerProcessor.sendMessage", settings=NO_AUTO_CREATE)
def with_reject_transaction_message_half_messages_are_rejected(t: GrpcContext) -> None:
    """With rejectTransactionMessage the broker rejects half messages and accepts others."""
    topic = t.topic(kind="TRANSACTION")
    t.note("half message", t.send(t.message(topic, message_type=pb.TRANSACTION)), pb.INTERNAL_SERVER_ERROR)
    t.note("normal message", t.send(t.message(t.topic(kind="NORMAL"))).status, pb.OK)


@grpc_case("SendMessageActivity.buildMessageProperty")
def priority_and_lite_topic_are_ignored(t: GrpcContext) -> None:
    """A message with fields of a later version (priority, lite topic) is accepted as a normal one."""
    consumer = consuming(t)
    t.note("sent", t.send(consumer.message(lite_topic="lite", priority=3)).status, pb.OK)
    t.note("received", consumer.receive(), pb.OK)
