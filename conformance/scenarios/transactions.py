"""Transactional messages, which consumers receive only after the commit."""

from rocketmq_testkit.emulator.message.names import TRANS_CHECK_MAX_TIME_TOPIC

from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, Producer, text

CHECK_SECONDS = 100.0
"""Timeout for a check: the broker scans every 30 s, and checks half messages older than 6 s."""
SHORT = {"transactionCheckInterval": "1000", "transactionOpBatchInterval": "100"}
"""The broker scans every second, and checks half messages older than 6 s."""
CHECKS = 15
"""Maximum number of transaction checks."""
GONE_SECONDS = 9
"""Time in which the broker would have checked two or three times."""
ANSWERED_SECONDS = 5
"""Longest wait for a message to arrive after the producer's commit in a check, which the broker may have rejected."""
IMMUNE_SECONDS = 9
SHORTER = {**SHORT, "transactionTimeOut": "3000"}
"""The broker checks half messages older than 3 s.

Only one scenario uses it: a message's age depends on its producer's clock, so no clock jump may have happened before.
"""


@scenario("EndTransactionProcessor.processRequest", verbs={"send_tx"})
def only_committed_transactional_messages_arrive(s: ScenarioContext) -> None:
    """A message whose transaction is rolled back does not arrive; the next one, which is committed, does."""
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    producer = s.producer(topic, check="COMMIT")
    consumer = s.consumer(group, topic)
    producer.send(topic, "rolled back", verb="send_tx", outcome="ROLLBACK")
    reply = producer.send(topic, "committed", verb="send_tx", outcome="COMMIT")
    [message] = s.wait_for(1, consumer, prefix="committed")
    s.note("received", consumer.bodies)
    s.note("id as sent", message["id"] == reply["id"])
    s.note("transaction id returned", bool(reply.get("transaction")))
    s.note("attempt", message["attempt"])


def _checked(s: ScenarioContext, response: str) -> None:
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    producer = s.producer(topic, check=response)
    consumer = s.consumer(group, topic)
    producer.send(topic, "unknown", verb="send_tx", outcome="UNKNOWN")
    s.wait_until(producer.checks, "a check", seconds=CHECK_SECONDS, jump_s=10)
    if response == "COMMIT":
        s.wait_for(1, consumer, prefix="unknown")
    producer.send(topic, "committed", verb="send_tx", outcome="COMMIT")
    s.wait_for(1, consumer, prefix="committed")
    s.note("checks", [[check["answer"], text(check["msg"])] for check in producer.checks()])
    s.note("received", sorted(consumer.bodies))


@scenario("TransactionalMessageServiceImpl.check", verbs={"send_tx"}, time_passes=True)
def a_half_message_committed_in_a_check_arrives(s: ScenarioContext) -> None:
    """A producer receives a check of a transaction that it left open; its message arrives after a commit."""
    _checked(s, "COMMIT")


@scenario("TransactionalMessageServiceImpl.check", verbs={"send_tx"}, time_passes=True)
def a_half_message_rolled_back_in_a_check_never_arrives(s: ScenarioContext) -> None:
    """A producer receives a check of a transaction that it left open; its message never arrives after a rollback."""
    _checked(s, "ROLLBACK")


def _until_asked(s: ScenarioContext, producer: Producer, topic: str) -> None:
    """Make a producer send, and wait until the broker knows it, so that transaction checks can reach it."""
    producer.send(topic, "first", verb="send_tx", outcome="COMMIT")
    s.wait_until_producer_known(producer, topic)


def _left_open(s: ScenarioContext, check: object) -> tuple[Producer, Consumer, str]:
    """Return a known producer that has left a transaction open, a consumer of its topic, and the topic."""
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    producer = s.producer(topic, check=check)
    consumer = s.consumer(group, topic)
    _until_asked(s, producer, topic)
    producer.send(topic, "open", verb="send_tx", outcome="UNKNOWN")
    return producer, consumer, topic


@scenario("TransactionalMessageServiceImpl.needDiscard", verbs={"send_tx"}, settings=SHORT, time_passes=True)
def a_half_message_is_discarded_after_15_checks(s: ScenarioContext) -> None:
    """A transaction left open at each of fifteen checks is discarded, and its message never arrives."""
    producer, consumer, topic = _left_open(s, "UNKNOWN")

    def discarded() -> list[str]:
        found = s.stored(TRANS_CHECK_MAX_TIME_TOPIC)
        return [each.body.decode() for each in found if each.properties["REAL_TOPIC"] == topic]

    s.wait_until(discarded, "discarded", consumers=[consumer], seconds=CHECK_SECONDS, jump_s=1)
    s.note("checks", [[check["answer"], text(check["msg"])] for check in producer.checks()])
    s.note("discarded", discarded())
    producer.send(topic, "last", verb="send_tx", outcome="COMMIT")
    s.wait_for(1, consumer, prefix="last")
    s.note("received", consumer.bodies)


@scenario("TransactionalMessageServiceImpl.needDiscard", verbs={"send_tx"}, settings=SHORT, time_passes=True)
def a_half_message_committed_in_the_15th_check_arrives(s: ScenarioContext) -> None:
    """A transaction left open at fourteen checks and committed at the fifteenth delivers its message."""
    producer, consumer, _ = _left_open(s, [*["UNKNOWN"] * (CHECKS - 1), "COMMIT"])
    s.wait_for(1, consumer, prefix="open", seconds=CHECK_SECONDS, jump_s=1)
    s.note("checks", [check["answer"] for check in producer.checks()])
    s.note("received", consumer.bodies)


@scenario("ProducerManager.getAvailableChannel", verbs={"send_tx"}, time_passes=True)
def a_half_message_is_committed_by_another_producer_of_its_group(s: ScenarioContext) -> None:
    """A transaction whose producer has left is committed by another producer of its group that receives the check."""
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    gone = s.producer(topic, check="ROLLBACK")
    consumer = s.consumer(group, topic)
    gone.send(topic, "open", verb="send_tx", outcome="UNKNOWN")
    gone.close()
    other = s.producer(topic, group=gone.group, check="COMMIT")
    _until_asked(s, other, topic)
    s.wait_for(1, consumer, prefix="open", seconds=CHECK_SECONDS, jump_s=10)
    s.note("asked of the first", len(gone.checks()))
    s.note("asked of the other", [[check["answer"], text(check["msg"])] for check in other.checks()])
    s.note("received", sorted(consumer.bodies))


@scenario("ProducerManager.getAvailableChannel", verbs={"send_tx"}, settings=SHORT, time_passes=True)
def a_half_message_is_checked_once_a_producer_of_its_group_returns(s: ScenarioContext) -> None:
    """A transaction whose producer is away during several scans is committed when the producer is back."""
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    before = s.producer(topic, check="ROLLBACK")
    consumer = s.consumer(group, topic)
    before.send(topic, "open", verb="send_tx", outcome="UNKNOWN")
    before.close()
    s.admin.wait(GONE_SECONDS)
    after = s.producer(topic, group=before.group, check="COMMIT")
    _until_asked(s, after, topic)
    # No clock jump: a second that passes while the producer answers would cause a second check.
    s.wait_for(1, consumer, prefix="open", seconds=CHECK_SECONDS)
    s.note("asked before", len(before.checks()))
    s.note("asked after", [[check["answer"], text(check["msg"])] for check in after.checks()])
    s.note("received", sorted(consumer.bodies))


@scenario("TransactionalMessageUtil.getImmunityTime", verbs={"send_tx"}, settings=SHORTER)
def check_immunity_time_postpones_the_check_of_a_half_message(s: ScenarioContext) -> None:
    """A message with CHECK_IMMUNITY_TIME_IN_SECONDS is checked later than others.

    Its commit comes after the immunity time. The broker accepts a commit so late only if the SDK marks it as the
    response to a check (`fromTransactionCheck`).
    """
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    producer = s.producer(topic, check="COMMIT")
    consumer = s.consumer(group, topic)
    _until_asked(s, producer, topic)
    immune = {"CHECK_IMMUNITY_TIME_IN_SECONDS": str(IMMUNE_SECONDS)}
    watch = s.stopwatch()
    producer.send(topic, "patient", verb="send_tx", outcome="UNKNOWN", props=immune)
    producer.send(topic, "hasty", verb="send_tx", outcome="UNKNOWN")

    def asked() -> list[str]:
        return [text(check["msg"]) for check in producer.checks()]

    s.wait_until(asked, "a check", consumers=[consumer])
    s.note("asked first", sorted(set(asked())))
    s.wait_until(lambda: "patient" in asked(), "a check of the other", consumers=[consumer])
    # Measured from the born time, which some SDKs state in whole seconds.
    s.note("asked about the other after", watch.between(IMMUNE_SECONDS - 1, IMMUNE_SECONDS + 6))
    s.becomes_true(lambda: consumer.with_prefix("patient"), consumers=[consumer], seconds=ANSWERED_SECONDS)
    # A message that is checked while its answer is in flight is committed twice.
    s.note("received", sorted(set(consumer.bodies)))
