"""ForwardMessageToDeadLetterQueue of the gRPC proxy, and messages that go there by themselves."""

from typing import Any

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request_code import RequestCode

from ..case import grpc_case
from ..worlds.grpc import BAD_GROUPS, BAD_TOPICS, Grpc
from ..worlds.grpc_answer import forged


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_message_is_given_up(t: Grpc) -> None:
    """A forwarded message is in the dead letter topic of its group, and does not come back."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client, invisible_s=10).system_properties.receipt_handle
    t.see("forwarded", t.forward(topic, group, handle, client=client), 20000)
    t.see("dead letters", _dead_letters(t, group))
    t.wait(11)
    t.see("again", t.receive_nothing(topic, group, client=client), 40401)


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_dead_letter_is_received(t: Grpc) -> None:
    """A dead letter is received from its topic like any message, and says where it came from."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    t.see("forwarded", t.forward(topic, group, handle, client=client), 20000)
    reader = t.group()
    t.ask(
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        {
            "topic": f"%DLQ%{group}",
            "defaultTopic": "TBW102",
            "readQueueNums": 1,
            "writeQueueNums": 1,
            "perm": 6,
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": 0,
            "order": False,
        },
    )
    other = t.consumer(reader, {f"%DLQ%{group}": "*"})
    t.see("received", t.receive(f"%DLQ%{group}", reader, client=other, await_s=5, deadline=10), 20000)


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_message_is_given_up_again(t: Grpc) -> None:
    """Each forwarding of a message makes one more dead letter."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    for what in ("first", "second"):
        t.see(what, t.forward(topic, group, handle, client=client), 20000)
    t.see("dead letters", len(_dead_letters(t, group)))


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def forwardings_that_are_taken_though_wrong(t: Grpc) -> None:
    """An expired handle, one of another broker, an unknown topic or group, and no attempts are taken."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    expired = forged(handle, popped=t.now_ms() - 100_000)
    t.see("expired handle", t.forward(topic, group, expired, client=client), 20000)
    t.see("unknown broker", t.forward(topic, group, forged(handle, broker="nobody"), client=client), 20000)
    t.see("unknown topic", t.forward(t.new(), group, handle, client=client), 20000)
    t.see("unknown group", t.forward(topic, t.new("group"), handle, client=client), 20000)
    t.see("no attempts", t.forward(topic, group, handle, attempts=0, most=0, client=client), 20000)
    t.see("no message id", t.forward(topic, group, handle, message_id="", client=client), 20000)


@grpc_case("ReceiptHandle.decode")
def handles_that_are_none(t: Grpc) -> None:
    """A text that is no handle is INTERNAL_SERVER_ERROR, one without the place in the log INVALID_RECEIPT_HANDLE."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    for text in ("", "garbage"):
        t.see(repr(text), t.forward(topic, group, text, client=client), 50001)
    t.see("8 fields", t.forward(topic, group, handle.rpartition(" ")[0], client=client), 40013)
    t.see("no message there", t.forward(topic, group, forged(handle, log=7 << 50), client=client), 50001)


@grpc_case("ReceiptHandleGroupKey.getChannelId")
def a_client_without_a_stream(t: Grpc) -> None:
    """A forwarding by a client that has no telemetry stream: the real proxy fails."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    t.see("answer", t.forward(topic, group, handle, client=t.new("client")))


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def bad_names_are_refused(t: Grpc) -> None:
    """Names that no topic or group may have are refused, the topic's first."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    for what, name in BAD_TOPICS.items():
        t.see(f"topic {what}", t.forward(name, group, handle, client=client), 40002)
    for what, name in BAD_GROUPS.items():
        t.see(f"group {what}", t.forward(topic, name, handle, client=client), 40003)
    empty = sv.ForwardMessageToDeadLetterQueueRequest()
    t.see("nothing", t.call("ForwardMessageToDeadLetterQueue", empty, client=client), 40002)
    t.see("no client id", t.forward("a b", "a b", handle, client=None), 40017)


@grpc_case("PopReviveService.reviveRetry")
def a_message_that_came_too_often_is_given_up(t: Grpc) -> None:
    """A message that comes once more than its group allows is not handed out but put into the dead letter topic."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group(retryMaxTimes=1)
    client = t.consumer(group, {topic: "*"})
    t.sent(topic)
    for what in ("first", "second"):
        message = t.until(lambda: _there(t, topic, group, client), 12)
        t.see(what, [[each.body, each.system_properties.delivery_attempt] for each in message])
        for each in message:
            t.change(topic, group, each.system_properties.receipt_handle, 1, client=client)
    pending = t.start_receive(topic, group, client=client, await_s=6, deadline=12)
    t.wait(6.2)
    t.see("third", pending())
    t.see("dead letters", t.until(lambda: _dead_letters(t, group), 5))


def _there(t: Grpc, topic: str, group: str, client: str) -> list[pb.Message]:
    pending = t.start_receive(topic, group, client=client, await_s=5, deadline=10)
    t.wait(5.2)
    return pending().messages


def _ready(t: Grpc) -> tuple[str, str, str]:
    """Topic with a message, group, and a consumer."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"})
    t.see("sent", t.send(t.message(topic, "m0", tag="A", keys=["k"], properties={"a": "1"})).status, 20000)
    return topic, group, client


def _dead_letters(t: Grpc, group: str) -> list[Any]:
    fields = {
        "consumerGroup": t.new("reader"),
        "topic": f"%DLQ%{group}",
        "queueId": 0,
        "queueOffset": 0,
        "maxMsgNums": 32,
        "sysFlag": 4,
        "commitOffset": 0,
        "suspendTimeoutMillis": 0,
        "subscription": "*",
        "subVersion": 0,
        "expressionType": "TAG",
    }
    answer = t.ask(RequestCode.PULL_MESSAGE, fields)
    return answer.messages if answer.code == 0 else []
