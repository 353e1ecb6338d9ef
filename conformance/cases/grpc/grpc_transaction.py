"""EndTransaction of the gRPC proxy, and checks of half messages."""

from collections.abc import Iterable
from typing import Any

from google.protobuf.duration_pb2 import Duration
from rocketmq_testkit.emulator.message.names import TRANS_CHECK_MAX_TIME_TOPIC
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import ReceivedMessage

from ...case import grpc_case
from ...clients.grpc_response import message_shown
from ...clients.telemetry_stream import TelemetryStream
from ...context.grpc import BAD_TOPICS, CHECKING, GrpcContext
from ...helpers.consumer import consuming
from ...helpers.transactions import TWO_CHECKS, shown


@grpc_case("SendMessageActivity.sendMessage")
def a_half_messages_transaction_id_is_its_message_id(t: GrpcContext) -> None:
    """The transaction id of a half message is its message id."""
    topic = t.topic(kind="TRANSACTION", queues=1)
    entry = t.send(_half(t, topic)).entries[0]
    t.note("ids", [entry.message_id, entry.transaction_id, entry.status])


@grpc_case("EndTransactionActivity.endTransaction")
def a_half_message_is_received_only_after_its_commit(t: GrpcContext) -> None:
    """A half message is received only after its commit."""
    consumer = consuming(t, kind="TRANSACTION")
    topic = consumer.topic
    entry = t.send(_half(t, topic)).entries[0]
    t.note("before", consumer.receive_nothing(), pb.MESSAGE_NOT_FOUND)
    t.note("committed", t.end_transaction(topic, entry.transaction_id), pb.OK)
    t.note("after", consumer.receive(), pb.OK)


@grpc_case("EndTransactionActivity.endTransaction")
def a_message_that_is_rolled_back_is_not_received(t: GrpcContext) -> None:
    """A half message that is rolled back is never received."""
    consumer = consuming(t, kind="TRANSACTION")
    topic = consumer.topic
    entry = t.send(_half(t, topic)).entries[0]
    t.note("rolled back", t.end_transaction(topic, entry.transaction_id, pb.ROLLBACK), pb.OK)
    t.note("after", consumer.receive_nothing(), pb.MESSAGE_NOT_FOUND)


@grpc_case("EndTransactionActivity.endTransaction")
def a_transaction_cannot_be_ended_twice(t: GrpcContext) -> None:
    """A transaction that was ended in any way cannot be ended again."""
    consumer = consuming(t, kind="TRANSACTION")
    topic = consumer.topic
    for what, resolution in (("commit", pb.COMMIT), ("rollback", pb.ROLLBACK), ("0", 0), ("9", 9)):
        entry = t.send(_half(t, topic, what)).entries[0]
        t.note(what, t.end_transaction(topic, entry.transaction_id, resolution), pb.OK)
        t.note(f"commit after {what}", t.end_transaction(topic, entry.transaction_id), pb.INTERNAL_SERVER_ERROR)
    t.note("received", consumer.receive().bodies)


@grpc_case("TransactionService.genEndTransactionRequestHeader")
def ending_an_unknown_transaction_is_an_internal_error(t: GrpcContext) -> None:
    """EndTransaction with an unknown id, or a known one with another topic, returns INTERNAL_SERVER_ERROR."""
    topic = t.topic(kind="TRANSACTION")
    entry = t.send(_half(t, topic)).entries[0]
    t.note("unknown id", t.end_transaction(topic, "unknown"), pb.INTERNAL_SERVER_ERROR)
    t.note(
        "another topic", t.end_transaction(t.topic(kind="TRANSACTION"), entry.transaction_id), pb.INTERNAL_SERVER_ERROR
    )
    t.note("unknown topic", t.end_transaction(t.new(), entry.transaction_id), pb.INTERNAL_SERVER_ERROR)
    t.note("of a normal message", t.end_transaction(topic, t.send(t.message(t.topic())).entries[0].transaction_id))


@grpc_case("EndTransactionActivity.endTransaction")
def end_transaction_ignores_message_id_source_and_client(t: GrpcContext) -> None:
    """EndTransaction ignores the message id, source and client of the request."""
    consumer = consuming(t, kind="TRANSACTION")
    topic = consumer.topic
    odd: list[dict[str, Any]] = [
        {"message_id": "wrong"},
        {"message_id": ""},
        {"source": 0},
        {"source": pb.SOURCE_SERVER_CHECK},
        {"client": t.new("client")},
    ]
    for number, more in enumerate(odd):
        entry = t.send(_half(t, topic, f"m{number}")).entries[0]
        t.note(f"request {number}", t.end_transaction(topic, entry.transaction_id, **more), pb.OK)
    t.note("received", consumer.receive().bodies)


@grpc_case("EndTransactionActivity.endTransaction")
def a_blank_transaction_id_is_rejected(t: GrpcContext) -> None:
    """EndTransaction with a blank transaction id returns INVALID_TRANSACTION_ID. The topic is checked first."""
    topic = t.topic(kind="TRANSACTION")
    t.note("empty", t.end_transaction(topic, "", message_id="x"), pb.INVALID_TRANSACTION_ID)
    t.note("blanks", t.end_transaction(topic, "  "), pb.INVALID_TRANSACTION_ID)
    t.note("bad topic", t.end_transaction("a b", ""), pb.ILLEGAL_TOPIC)


@grpc_case("GrpcValidator.validateTopic")
def end_transaction_with_an_illegal_topic_is_rejected(t: GrpcContext) -> None:
    """EndTransaction with an illegal topic name or without a client id is rejected."""
    for what, name in BAD_TOPICS.items():
        t.note(what, t.end_transaction(name, "x"), pb.ILLEGAL_TOPIC)
    t.note("nothing", t.call("EndTransaction", sv.EndTransactionRequest()), pb.ILLEGAL_TOPIC)
    t.note("no client id", t.end_transaction("a b", "", client=None), pb.CLIENT_ID_REQUIRED)


@grpc_case("TransactionDataManager.pollNoExpireTransactionData")
def an_unchecked_transaction_can_be_ended_for_30_seconds(t: GrpcContext) -> None:
    """A transaction can be ended for 30 s after its send if it is not checked."""
    topic = t.topic(kind="TRANSACTION", queues=1)
    early, late = (t.send(_half(t, topic, each)).entries[0].transaction_id for each in ("early", "late"))
    t.wait(28)
    t.note("after 28 s", t.end_transaction(topic, early), pb.OK)
    t.wait(5)
    t.note("after 33 s", t.end_transaction(topic, late), pb.INTERNAL_SERVER_ERROR)


@grpc_case("GrpcClientChannel.processCheckTransaction", settings=CHECKING)
def a_producer_gets_a_check_with_the_half_message(t: GrpcContext) -> None:
    """A producer of the topic gets a check with the half message as it was sent."""
    topic = consuming(t, kind="TRANSACTION").topic
    stream = _producer(t, topic)
    half = t.message(topic, "half", message_type=pb.TRANSACTION, tag="A", keys=["k"], properties={"a": "1"})
    entry = t.send(half, client=stream.client).entries[0]
    command = first_checks(t, stream)[0]
    t.note("transaction id", command.transaction_id)
    message = command.message
    shown = message_shown(message)
    shown["system_properties"].ClearField("queue_offset")
    t.note("message", shown)
    t.note("has a queue offset", message.system_properties.HasField("queue_offset"))
    t.note("that of a half message stored anew", message.system_properties.queue_offset > entry.offset)


@grpc_case("EndTransactionActivity.endTransaction", settings=CHECKING)
def a_half_message_can_be_committed_or_rolled_back_after_a_check(t: GrpcContext) -> None:
    """A commit in response to a check delivers the message, and a rollback discards it."""
    for what, resolution in (("commit", pb.COMMIT), ("rollback", pb.ROLLBACK)):
        consumer = consuming(t, kind="TRANSACTION")
        topic = consumer.topic
        stream = _producer(t, topic)
        t.send(_half(t, topic), client=stream.client)
        asked = first_checks(t, stream)
        ended = t.end_transaction(
            topic, asked[-1].transaction_id, resolution, source=pb.SOURCE_SERVER_CHECK, client=stream.client
        )
        t.note(what, ended, pb.OK)
        response = consumer.received_within()
        t.note(f"received after {what}", [[each.body, sorted(each.user_properties)] for each in response.messages])


@grpc_case("EndTransactionProcessor.processRequest", settings=CHECKING)
def an_end_without_commit_or_rollback_leaves_the_message_to_a_check(t: GrpcContext) -> None:
    """EndTransaction with neither commit nor rollback returns OK, and the producer is checked later."""
    topic = consuming(t, kind="TRANSACTION").topic
    for resolution in (0, 9):
        stream = _producer(t, topic)
        body = f"resolution {resolution}"
        entry = t.send(_half(t, topic, body), client=stream.client).entries[0]
        ended = t.end_transaction(topic, entry.transaction_id, resolution, client=stream.client)
        t.note(body, ended, pb.OK)
        # A check round that started before the previous rollback may send that check first.
        t.note("asked", is_checked(t, stream, body))
        asked = t.end_transaction(topic, entry.transaction_id, pb.ROLLBACK, client=stream.client)
        t.note("rolled back", asked, pb.OK)
        t.leave(stream.client)


@grpc_case("TransactionDataManager.pollNoExpireTransactionData", settings=CHECKING)
def each_check_allows_one_more_end_transaction(t: GrpcContext) -> None:
    """Each check allows one more EndTransaction, and each commit stores the message again."""
    consumer = consuming(t, kind="TRANSACTION")
    topic = consumer.topic
    stream = _producer(t, topic)
    entry = t.send(_half(t, topic), client=stream.client).entries[0]
    count = len(first_checks(t, stream))
    ends = [t.end_transaction(topic, entry.transaction_id, client=stream.client).status for _ in range(count + 1)]
    t.note("ends", [ends[0], ends[-1]])
    t.note("one more", t.end_transaction(topic, entry.transaction_id, client=stream.client), pb.INTERNAL_SERVER_ERROR)
    received = consumer.receive()
    t.note("all copies received", len(received.messages) == count + 1)


@grpc_case("TransactionalMessageServiceImpl.check", settings=CHECKING)
def a_half_message_is_not_checked_before_its_recovery_duration_ends(t: GrpcContext) -> None:
    """A half message with a recovery duration is not checked before it ends; others are."""
    topic = consuming(t, kind="TRANSACTION").topic
    stream = _producer(t, topic)
    wish = Duration(seconds=9)
    patient = t.message(topic, "patient", message_type=pb.TRANSACTION, orphaned_transaction_recovery_duration=wish)
    t.send(patient, client=stream.client)
    t.send(_half(t, topic, "plain"), client=stream.client)
    t.note("asked soon", _bodies(checks(t, stream, seconds=6)))
    t.note("asked later", _bodies(checks(t, stream, seconds=10)))


@grpc_case("EndTransactionProcessor.rejectCommitOrRollback")
def a_commit_after_the_recovery_duration_returns_ok_without_effect(t: GrpcContext) -> None:
    """After the recovery duration a commit returns OK but is effective only in response to a check."""
    consumer = consuming(t, kind="TRANSACTION")
    wish = Duration(seconds=9)
    sources = (("by the client", pb.SOURCE_CLIENT), ("by a check", pb.SOURCE_SERVER_CHECK))
    for moment, seconds in (("in time", 0), ("late", 12)):
        halves = [
            t.message(
                consumer.topic,
                f"{moment} {who}",
                message_type=pb.TRANSACTION,
                orphaned_transaction_recovery_duration=wish,
            )
            for who, _ in sources
        ]
        entries = [t.send(half).entries[0] for half in halves]
        t.wait(seconds)
        for (who, source), entry in zip(sources, entries, strict=True):
            t.note(f"{moment} {who}", t.end_transaction(consumer.topic, entry.transaction_id, source=source), pb.OK)
        t.note(f"received {moment}", sorted(consumer.received_within(seconds=4).bodies))


@grpc_case("ProducerManager.getAvailableChannel", settings=CHECKING)
def another_producer_of_the_topic_gets_the_check_after_the_senders_termination(t: GrpcContext) -> None:
    """When the sender of a half message has left, another producer of the topic gets the check."""
    topic = consuming(t, kind="TRANSACTION").topic
    other = _producer(t, topic)
    sender = t.producer(topic)
    t.send(_half(t, topic), client=sender)
    t.note("left", t.leave(sender), pb.OK)
    t.note("asked", _bodies(first_checks(t, other)))


@grpc_case("ProducerManager.registerProducer", settings=CHECKING)
def a_producer_gets_checks_on_its_new_stream(t: GrpcContext) -> None:
    """A producer that opens a new stream gets the checks there and can end the transaction."""
    consumer = consuming(t, kind="TRANSACTION")
    before = _producer(t, consumer.topic)
    t.send(_half(t, consumer.topic), client=before.client)
    first = first_checks(t, before)[0]
    before.cancel()
    t.wait(4)
    after = t.open(before.client, t.publishing(consumer.topic))
    after.next()
    again = first_checks(t, after)[0]
    t.note("the same transaction", again.transaction_id == first.transaction_id)
    t.note("asked again", check_count(again) > check_count(first))
    ended = t.end_transaction(consumer.topic, again.transaction_id, source=pb.SOURCE_SERVER_CHECK, client=after.client)
    t.note("committed", ended, pb.OK)
    t.note("received", consumer.receive().bodies)


@grpc_case("TransactionalMessageServiceImpl.needDiscard", settings=TWO_CHECKS)
def an_undecided_half_message_is_discarded_at_the_check_limit(t: GrpcContext) -> None:
    """After transactionCheckMax checks a half message is discarded, but a later commit is still accepted."""
    consumer = consuming(t, kind="TRANSACTION")
    stream = _producer(t, consumer.topic)
    entry = t.send(_half(t, consumer.topic), client=stream.client).entries[0]
    asked: list[sv.RecoverOrphanedTransactionCommand] = []

    def twice() -> bool:
        asked.extend(checks(t, stream, seconds=0.5))
        return len(asked) >= 2

    t.until(twice, 25)
    t.note("asked", [check_count(each) for each in asked])
    t.note("asked later", len(checks(t, stream, seconds=9)))
    t.note("received", consumer.receive_nothing(), pb.MESSAGE_NOT_FOUND)
    t.note("committed", t.end_transaction(consumer.topic, entry.transaction_id, client=stream.client), pb.OK)
    t.note("received after the commit", consumer.receive().bodies)


@grpc_case("TransactionalMessageBridge.parseHalfMessageInner", settings=TWO_CHECKS)
def a_half_message_with_a_delivery_time_is_discarded(t: GrpcContext) -> None:
    """A half message with a delivery time loses its topic: it is finally discarded and never received."""
    consumer = consuming(t, kind="TRANSACTION")
    topic = consumer.topic
    timed = t.message(topic, f"of {topic}", message_type=pb.TRANSACTION, deliver_ms=t.now_ms() + 3000)
    t.note("sent", t.send(timed).status, pb.OK)

    def discarded() -> list[ReceivedMessage]:
        found = t.messages_of(TRANS_CHECK_MAX_TIME_TOPIC, t.group(name="cases-given-up"))
        return [each for each in found if topic.encode() in each.body]

    t.note("discarded", [shown(each) for each in t.until(discarded, 90, step=1)])
    t.note("received", consumer.receive_nothing(), pb.MESSAGE_NOT_FOUND)


@grpc_case(
    "TransactionalMessageServiceImpl.getImmunityTime",
    settings={"transactionCheckInterval": "1000", "transactionTimeOut": "20000"},
)
def a_short_recovery_duration_overrides_the_transaction_timeout(t: GrpcContext) -> None:
    """A recovery duration below transactionTimeOut is effective: the message is checked before transactionTimeOut."""
    topic = consuming(t, kind="TRANSACTION").topic
    stream = _producer(t, topic)
    watch = t.stopwatch()
    wish = Duration(seconds=1)
    hasty = t.message(topic, "hasty", message_type=pb.TRANSACTION, orphaned_transaction_recovery_duration=wish)
    t.send(hasty, client=stream.client)
    t.note("asked first", _bodies(first_checks(t, stream)))
    t.note("after", watch.between(1, 19))


@grpc_case("ClientActivity.registerProducer, ProducerManager.getAvailableChannel", settings=CHECKING)
def a_producer_of_other_topics_gets_no_checks(t: GrpcContext) -> None:
    """A producer whose settings do not name the topic gets no checks, even for messages that it sent."""
    topic = consuming(t, kind="TRANSACTION").topic
    other = _producer(t, t.topic(kind="TRANSACTION"))
    t.send(_half(t, topic), client=other.client)
    t.note("asked", len(checks(t, other, seconds=7)))


def _half(t: GrpcContext, topic: str, body: str = "half") -> pb.Message:
    return t.message(topic, body, message_type=pb.TRANSACTION)


def _producer(t: GrpcContext, topic: str) -> TelemetryStream:
    stream = t.open(t.new("client"), t.publishing(topic))
    stream.next()
    return stream


def check_count(check: sv.RecoverOrphanedTransactionCommand) -> int:
    """Return the number of a message's check, as its property tells."""
    return int(check.message.user_properties["TRANSACTION_CHECK_TIMES"])


def first_checks(t: GrpcContext, stream: TelemetryStream) -> list[sv.RecoverOrphanedTransactionCommand]:
    """Return the checks in the first half second in which the stream has any."""
    found = t.until(lambda: checks(t, stream, seconds=0.5), 25)
    t.require(found, "no check came")
    return found


def is_checked(t: GrpcContext, stream: TelemetryStream, body: str) -> bool:
    """True if a check of the message with this body comes within 25 s, even after others."""
    return t.until(lambda: body in _bodies(checks(t, stream, seconds=0.5)), 25)


def _bodies(asked: Iterable[sv.RecoverOrphanedTransactionCommand]) -> list[str]:
    """Return the bodies of the checked messages, each once."""
    return sorted({each.message.body.decode() for each in asked})


def checks(t: GrpcContext, stream: TelemetryStream, *, seconds: float) -> list[sv.RecoverOrphanedTransactionCommand]:
    """Return the checks received on the stream within `seconds`."""
    t.wait(seconds)
    # The response to these settings, recognized by a number, comes after all earlier commands.
    number = int(t.new("number").rpartition("-")[2])
    marker = t.publishing()
    marker.request_timeout.seconds = 100 + number
    stream.settings(marker)
    found: list[Any] = []
    while True:
        command = stream.command()
        if command.settings.request_timeout.seconds == 100 + number:
            return found
        if command.HasField("recover_orphaned_transaction_command"):
            found.append(command.recover_orphaned_transaction_command)
