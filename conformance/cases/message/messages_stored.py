"""Stored messages as consumers see them."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_sends import compressed
from ...context.remoting import RemotingContext


@remoting_case("SendMessageProcessor.sendMessage")
def the_broker_adds_properties(t: RemotingContext) -> None:
    """The broker sets cluster, region and trace switch, even if the client set them, and keeps other properties."""
    topic = t.topic(queues=1)
    t.note("sent", t.send(topic, tag="A", keys="k", properties={"user": "value"}), 0)
    claimed = {"CLUSTER": "mine", "MSG_REGION": "mine", "TRACE_ON": "false"}
    t.note("sent with false claims", t.send(topic, properties=claimed), 0)
    t.note("stored", t.stored(topic, 2), 0)


@remoting_case("MessageClientIDSetter.createUniqID")
def a_message_without_id_gets_one(t: RemotingContext) -> None:
    """The broker generates an id for a message without one, stores it and returns it as transaction id."""
    topic = t.topic(queues=1)
    ids = [send(topic, unique=False)["transactionId"] for send in (t.send, t.send, t.send_v1)]
    stored = [message.properties["UNIQ_KEY"] for message in t.stored(topic, 3).messages]
    t.note("returned id is the stored one", ids == stored)
    t.note("all different", len(set(ids)) == 3)
    t.note("hex digits", all(set(each) <= set("0123456789ABCDEF") for each in ids))


@remoting_case("SendMessageProcessor.sendMessage")
def an_id_may_be_any_text(t: RemotingContext) -> None:
    """A client's message id is not checked, and the same id may be used twice."""
    topic = t.topic(queues=1)
    for _ in range(2):
        t.note("sent", t.send(topic, properties={"UNIQ_KEY": "no id at all"}), 0)
    t.note("stored", t.stored(topic, 2), 0)


@remoting_case("MessageDecoder.createMessageId")
def the_message_id_is_the_broker_address_and_log_offset(t: RemotingContext) -> None:
    """The message id in a send's response is the broker's address and the log offset, by which the message is found."""
    topic = t.topic(queues=1)
    sent = t.send(topic, "look at me", tag="A")
    [message] = t.stored(topic).messages
    t.note("same id", message.offset_message_id == sent["msgId"])
    t.note("length", len(sent["msgId"]))
    t.note("by place", t.view(message.physical_offset, topic=topic), 0)


@remoting_case("QueryMessageProcessor.viewMessageById")
def a_view_beyond_the_end_of_the_log_fails(t: RemotingContext) -> None:
    """A view beyond the end of the log fails."""
    t.note("beyond", t.view(999_999_999_999, topic="any"), 1)


@remoting_case("MessageDecoder.decode")
def a_compressed_body_stays_compressed(t: RemotingContext) -> None:
    """A broker stores a body unchanged; the sysFlag tells consumers to decompress it."""
    topic = t.topic(queues=1)
    body = b"abc" * 1000
    t.note("sent", t.send(topic, compressed(body), sysFlag=0x301), 0)
    t.note("sent, without compression type", t.send(topic, compressed(body), sysFlag=0x1), 0)
    response = t.stored(topic, 2)
    t.note("flags", [hex(message.sys_flag) for message in response.messages])
    t.note("expanded", [message.body == body for message in response.messages])
    t.note("small on the wire", len(response.body) < 1000)


@remoting_case("MessageSysFlag.getTransactionValue")
def unknown_flags_are_kept(t: RemotingContext) -> None:
    """Unknown bits of the sysFlag are stored unchanged."""
    topic = t.topic(queues=1)
    for flag in (0x2, 0x40, 0x100, 0x800, 0x4000):
        t.note(f"sent {flag:#x}", t.send(topic, sysFlag=flag), 0)
    t.note("stored", [hex(message.sys_flag) for message in t.stored(topic, 5).messages])


@remoting_case("SendMessageProcessor.sendMessage")
def flag_born_time_and_reconsume_times_are_stored_as_sent(t: RemotingContext) -> None:
    """Flag, born time and reconsume times are stored as the client sent them."""
    topic = t.topic(queues=1)
    for flag, born, again in ((7, 5, 0), (-1, 0, 3), (2147483647, 1_000_000, 100)):
        t.note("sent", t.send(topic, flag=flag, bornTimestamp=born, reconsumeTimes=again), 0)
    messages = t.stored(topic, 3).messages
    t.note("stored", [(each.flag, each.born_timestamp, each.reconsume_times) for each in messages])


@remoting_case("SendMessageProcessor.sendMessage")
def the_born_host_is_the_client_end_of_the_connection(t: RemotingContext) -> None:
    """The born host of a message is its sender's end of the connection; the store host is the broker."""
    topic = t.topic(queues=1)
    t.sent(topic)
    [message] = t.stored(topic).messages
    t.note("birth host", message.born_host == t.broker.local_address)
    t.note("store host", ":".join(map(str, message.store_host)) == t.broker_address)
    t.note("stored after the send began", message.store_timestamp >= message.born_timestamp - 1000)


@remoting_case("MessageDecoder.string2messageProperties")
def properties_without_name_or_value_are_dropped(t: RemotingContext) -> None:
    """Properties without a name or value are dropped; of a repeated name the last value is kept."""
    topic = t.topic(queues=1)
    for label, text in (
        ("no separators", "abc"),
        ("no value", "a\x01\x02b\x01x\x02"),
        ("no name", "\x01x\x02b\x01x\x02"),
        ("no end", "a\x01x\x02b\x01y"),
        ("twice", "a\x01x\x02a\x01y\x02"),
        ("two separators", "a\x01x\x01y\x02"),
        ("nothing between", "\x02\x02a\x01x\x02\x02"),
    ):
        response = t.send_fields(topic)
        response["properties"] = text
        t.note(
            label, t.request(RequestCode.SEND_MESSAGE, response, label.encode()).without("msgId", "transactionId"), 0
        )
    for message in t.stored(topic, 7).messages:
        mine = {name: value for name, value in message.properties.items() if len(name) == 1}
        t.note(f"stored: {message.body.decode()}", mine)


@remoting_case("MessageDecoder.string2messageProperties")
def bodies_may_be_any_bytes_and_properties_any_text(t: RemotingContext) -> None:
    """Bodies may contain any bytes, and properties any text except the separators."""
    topic = t.topic(queues=1)
    properties = {"name": "Zoë", "城市": "北京", "smile": "😀", "tab\t": 'a"b\\c\n'}
    t.note("text", t.send(topic, "Größe 北京 😀", tag="标签", keys="键一 键二", properties=properties), 0)
    t.note("bytes", t.send(topic, bytes(range(256))), 0)
    t.note("stored", t.stored(topic, 2), 0)
    t.note("by tag", t.pull(topic, t.group(), expression="标签"), 0)


@remoting_case("SendMessageProcessor.sendMessage")
def the_pop_ck_property_of_a_sent_message_is_removed(t: RemotingContext) -> None:
    """A sent message loses its pop handle and keeps its first pop time."""
    topic = t.topic(queues=1)
    t.note("sent", t.send(topic, properties={"POP_CK": "0 1 2 3 0 b 0 0", "1ST_POP_TIME": "17"}), 0)
    t.note("stored", t.stored(topic), 0)


@remoting_case("CommitLog.asyncPutMessage")
def wait_true_is_not_stored_but_wait_false_is(t: RemotingContext) -> None:
    """WAIT=true is evaluated but not stored; WAIT=false is stored."""
    topic = t.topic(queues=1)
    for value in ("true", "false", "maybe"):
        t.note(f"sent {value}", t.send(topic, value, properties={"WAIT": value}), 0)
    messages = t.stored(topic, 3).messages
    t.note("stored", [(each.body, each.properties.get("WAIT")) for each in messages])


@remoting_case("MessageDecoder.string2messageProperties")
def a_client_may_set_properties_of_retries_timers_and_transactions(t: RemotingContext) -> None:
    """Properties that retries, timers and transactions set are ordinary ones in a client's message."""
    topic = t.topic(queues=1)
    claims = {
        "REAL_TOPIC": "elsewhere",
        "REAL_QID": "3",
        "RETRY_TOPIC": "elsewhere",
        "ORIGIN_MESSAGE_ID": "x",
        "RECONSUME_TIME": "3",
        "MAX_RECONSUME_TIMES": "1",
        "INNER_BASE": "9",
        "TIMER_ENQUEUE_MS": "1",
        "__transactionId__": "mine",
    }
    t.note("sent", t.send(topic, properties=claims), 0)
    t.note("stored", t.stored(topic), 0)


@remoting_case("HookUtils.checkInnerBatch")
def a_message_that_claims_to_be_an_inner_batch_is_rejected(t: RemotingContext) -> None:
    """A message with INNER_NUM or the inner-batch flag is rejected."""
    topic = t.topic(queues=1)
    t.note("property", t.send(topic, properties={"INNER_NUM": "5"}), 13)
    t.note("flag", t.send(topic, sysFlag=0x80), 13)
    t.note("both", t.send(topic, properties={"INNER_NUM": "5"}, sysFlag=0x80), 13)


@remoting_case("ConsumeQueueExt.put")
def tags_are_stored_unchanged(t: RemotingContext) -> None:
    """A tag with blanks or bars is stored unchanged, so an expression may not match it."""
    topic = t.topic(queues=1)
    for tag in (" A ", "A||B", "*"):
        t.note(f"sent {tag!r}", t.send(topic, tag=tag), 0)
    t.stored(topic, 3)
    for expression in ("A", " A ", "A||B", "*"):
        response = t.pull(topic, t.group(), expression=expression)
        found = [message.tag for message in response.messages] if response.code == 0 else []
        t.note(f"expression {expression!r}", found)


@remoting_case("DefaultMessageStore.getMessage")
def all_readers_of_a_queue_get_identical_bytes(t: RemotingContext) -> None:
    """All readers of a queue get identical bytes."""
    topic = t.topic(queues=1)
    t.sent(topic, 3, tag="A")
    first, second = t.pull(topic, t.group()), t.pull(topic, t.group())
    t.note("same", first.body == second.body)
    t.note("from the middle", t.pull(topic, t.group(), 0, 1).messages == first.messages[1:])
