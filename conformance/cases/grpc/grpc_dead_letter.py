"""ForwardMessageToDeadLetterQueue of the gRPC proxy, and messages that reach the DLQ automatically."""

from rocketmq_testkit.emulator.message.names import dlq_topic, pop_retry_topic
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...worlds.consumer import Consumer, attempts, consumer_of, consuming
from ...worlds.grpc import BAD_GROUPS, BAD_TOPICS, Grpc
from ...worlds.handles import forged


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_message_is_given_up(t: Grpc) -> None:
    """A forwarded message is stored in its group's dead letter topic and is not redelivered."""
    consumer = _with_a_message(t)
    handle = consumer.handle(invisible_s=10)
    t.see("forwarded", consumer.forward(handle), 20000)
    t.see("dead letters", _dead_letters(consumer))
    t.wait(11)
    t.see("again", consumer.receive_nothing(), 40401)


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_dead_letter_is_received(t: Grpc) -> None:
    """A dead letter is received from its topic like any message, and its properties name its origin."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    t.see("forwarded", consumer.forward(handle), 20000)
    t.see("received", _reader_of_dead_letters(consumer).receive(), 20000)


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_dead_letter_of_a_copy_names_the_retry_topic(t: Grpc) -> None:
    """A redelivered message that is forwarded names the retry topic as its origin and counts the attempt."""
    consumer = _with_a_message(t)
    consumer.change(consumer.handle(), 1)
    again = consumer.received_at_last(12)
    t.see("again", attempts(again))
    t.see("forwarded", consumer.forward(again.handles[0], attempts=2), 20000)
    t.see("dead letters", _dead_letters(consumer))
    t.see("received", _reader_of_dead_letters(consumer).receive(), 20000)


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_dead_letter_is_given_up_again(t: Grpc) -> None:
    """A dead letter forwarded by its reader goes to the dead letter topic of the reader's group."""
    consumer = _with_a_message(t)
    t.see("forwarded", consumer.forward(consumer.handle()), 20000)
    reader = _reader_of_dead_letters(consumer)
    t.see("forwarded again", reader.forward(reader.handle(), attempts=2), 20000)
    t.see("dead letters of the reader", _dead_letters(reader))
    t.see("dead letters of the consumer", len(_dead_letters(consumer)))
    t.see("left to the reader", reader.receive_nothing(), 40401)


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def a_dead_letter_that_fails_comes_again(t: Grpc) -> None:
    """A dead letter that its reader fails is redelivered under the dead letter topic's name, with one more attempt."""
    consumer = _with_a_message(t)
    t.see("forwarded", consumer.forward(consumer.handle()), 20000)
    reader = _reader_of_dead_letters(consumer)
    t.see("failed", reader.change(reader.handle(), 1).status, 20000)
    t.see("again", reader.received_at_last())


@grpc_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_group_without_retry_queues_has_no_dead_letters(t: Grpc) -> None:
    """In a group without retry queues, forwarding returns OK but drops the message.

    A failed message is still redelivered.
    """
    consumer = consuming(t, 2, retryQueueNums=0)
    first, second = consumer.receive().handles
    t.see("forwarded", consumer.forward(first), 20000)
    t.see("failed", consumer.change(second, 1).status, 20000)
    t.see("again", attempts(consumer.received_at_last()))
    t.see("its dead letter topic", t.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": dlq_topic(consumer.group)}), 17)


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_message_is_given_up_again(t: Grpc) -> None:
    """Each forwarding of a message stores another dead letter."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    for what in ("first", "second"):
        t.see(what, consumer.forward(handle), 20000)
    t.see("dead letters", len(_dead_letters(consumer)))


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def forwardings_that_are_taken_though_wrong(t: Grpc) -> None:
    """Forwarding accepts an expired handle, another broker's handle, an unknown topic or group, and 0 attempts."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    expired = forged(handle, popped=t.now_ms() - 100_000)
    t.see("expired handle", consumer.forward(expired), 20000)
    t.see("unknown broker", consumer.forward(forged(handle, broker="nobody")), 20000)
    t.see("unknown topic", consumer.at(t.new()).forward(handle), 20000)
    unknown = t.new("group")
    t.see("unknown group", consumer.among(unknown).forward(handle), 20000)
    t.see("made", unknown in t.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json["subscriptionGroupTable"])
    t.see("no attempts", consumer.forward(handle, attempts=0, most=0), 20000)
    t.see("no message id", consumer.forward(handle, message_id=""), 20000)


@grpc_case("ReceiptHandle.decode")
def handles_that_are_none(t: Grpc) -> None:
    """A malformed handle is INTERNAL_SERVER_ERROR; one without the log offset is INVALID_RECEIPT_HANDLE."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    for text in ("", "garbage"):
        t.see(repr(text), consumer.forward(text), 50001)
    t.see("8 fields", consumer.forward(handle.rpartition(" ")[0]), 40013)
    t.see("no message there", consumer.forward(forged(handle, log=7 << 50)), 50001)
    t.see("inside a message", consumer.forward(forged(handle, log=int(handle.split(" ")[-1]) + 4)), 50001)


@grpc_case("ReceiptHandleGroupKey.getChannelId")
def a_client_without_a_stream(t: Grpc) -> None:
    """Forwarding by a client without a telemetry stream fails inside upstream's proxy."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    t.see("answer", consumer.by(t.new("client")).forward(handle))


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def bad_names_are_refused(t: Grpc) -> None:
    """Forwarding with an illegal topic or group name is rejected. The topic is checked first."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    for what, name in BAD_TOPICS.items():
        t.see(f"topic {what}", consumer.at(name).forward(handle), 40002)
    for what, name in BAD_GROUPS.items():
        t.see(f"group {what}", consumer.among(name).forward(handle), 40003)
    empty = sv.ForwardMessageToDeadLetterQueueRequest()
    t.see("nothing", t.call("ForwardMessageToDeadLetterQueue", empty, client=consumer.client), 40002)
    t.see("no client id", t.forward("a b", "a b", handle, client=None), 40017)


@grpc_case("PopReviveService.reviveRetry")
def a_message_that_came_too_often_is_given_up(t: Grpc) -> None:
    """A message that exceeds its group's retries is stored in the dead letter topic instead of being delivered."""
    consumer = consuming(t, 1, retryMaxTimes=1)
    for what in ("first", "second"):
        received = consumer.received_at_last(12)
        t.see(what, attempts(received))
        for handle in received.handles:
            consumer.change(handle, 1)
    t.see("third", consumer.received_within(6.2, await_s=6, deadline=12))
    t.see("dead letters", t.until(lambda: _dead_letters(consumer), 5))


@grpc_case("PopMessageResultFilterImpl.filterMessage")
def a_message_without_retries_is_given_up_when_it_comes_again(t: Grpc) -> None:
    """With retryMaxTimes=0 an unacknowledged message becomes a dead letter of its retry topic at the next receive."""
    consumer = consuming(t, 1, retryMaxTimes=0)
    t.see("first", attempts(consumer.receive(invisible_s=10)))
    retry = pop_retry_topic(consumer.topic, consumer.group, v2=False)
    t.require(t.until(lambda: t.max_offset(retry), step=0.5), "it did not come back")
    t.see("again", consumer.received_within(6.2, await_s=6, deadline=12))
    t.see("dead letters", t.until(lambda: _dead_letters(consumer), 5))
    t.see("received", _reader_of_dead_letters(consumer).receive(), 20000)


def _with_a_message(t: Grpc) -> Consumer:
    """Create a consumer whose topic has one message."""
    consumer = consuming(t)
    t.see("sent", t.send(consumer.message("m0", tag="A", keys=["k"], properties={"a": "1"})).status, 20000)
    return consumer


def _reader_of_dead_letters(consumer: Consumer) -> Consumer:
    """Create a client of a new group that reads the dead letters of the consumer's group."""
    t = consumer.t
    reader = t.group()
    return consumer_of(t, t.topic(name=dlq_topic(consumer.group), queues=1), reader)


def _dead_letters(consumer: Consumer) -> list[ReceivedMessage]:
    t = consumer.t
    return t.messages_of(dlq_topic(consumer.group), t.new("reader"))
