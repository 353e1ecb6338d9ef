"""Messages that are seen only when their transaction is committed."""

from rocketmq_testkit.emulator.message.names import TRANS_CHECK_MAX_TIME_TOPIC

from ..actors import Consumer, Producer, text
from ..scenario import scenario
from ..stage import Stage

CHECK_SECONDS = 100.0
"""The broker looks every 30 s, and asks about what is older than 6 s."""
SHORT = {"transactionCheckInterval": "1000", "transactionOpBatchInterval": "100"}
"""It looks every second, and asks about what is older than 6 s."""
CHECKS = 15
"""So often it asks."""
GONE_SECONDS = 9
"""It would have asked twice or three times."""
ANSWERED_SECONDS = 5
"""So long may an answer take; where it does not count, it is asked for again and again meanwhile."""
IMMUNE_SECONDS = 9
SHORTER = {**SHORT, "transactionTimeOut": "3000"}
"""It asks about what is older than 3 s. No scenario of another sort has this: the age of a message is what its
producer's clock makes of it, so time may not have been jumped over before."""


@scenario("EndTransactionProcessor.processRequest", verbs={"send_tx"})
def a_committed_one_comes_and_one_rolled_back_does_not(s: Stage) -> None:
    """A message whose transaction is rolled back does not come; the next one, whose transaction is committed, does."""
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    producer = s.producer(topic, check="COMMIT")
    consumer = s.consumer(group, topic)
    producer.send(topic, "rolled back", verb="send_tx", outcome="ROLLBACK")
    reply = producer.send(topic, "committed", verb="send_tx", outcome="COMMIT")
    [message] = s.wait_for(1, consumer, stem="committed")
    s.see("received", consumer.bodies)
    s.see("id as sent", message["id"] == reply["id"])
    s.see("transaction told", bool(reply.get("transaction")))
    s.see("attempt", message["attempt"])


def _checked(s: Stage, answer: str) -> None:
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    producer = s.producer(topic, check=answer)
    consumer = s.consumer(group, topic)
    producer.send(topic, "unknown", verb="send_tx", outcome="UNKNOWN")
    s.wait_until(producer.checks, "a check", seconds=CHECK_SECONDS, passing=10)
    if answer == "COMMIT":
        s.wait_for(1, consumer, stem="unknown")
    producer.send(topic, "committed", verb="send_tx", outcome="COMMIT")
    s.wait_for(1, consumer, stem="committed")
    s.see("checks", [[check["answer"], text(check["msg"])] for check in producer.checks()])
    s.see("received", sorted(consumer.bodies))


@scenario("TransactionalMessageServiceImpl.check", verbs={"send_tx"}, passes=True)
def an_open_one_is_asked_about_and_committed(s: Stage) -> None:
    """A producer is asked about a transaction that it left open, and its message comes when it answers commit."""
    _checked(s, "COMMIT")


@scenario("TransactionalMessageServiceImpl.check", verbs={"send_tx"}, passes=True)
def an_open_one_is_asked_about_and_rolled_back(s: Stage) -> None:
    """A producer is asked about a transaction that it left open; its message never comes if it answers rollback."""
    _checked(s, "ROLLBACK")


def _until_asked(s: Stage, producer: Producer, topic: str) -> None:
    """Let a producer send, and wait until checks reach it."""
    producer.send(topic, "first", verb="send_tx", outcome="COMMIT")
    s.until_asked(producer, topic)


def _left_open(s: Stage, check: object) -> tuple[Producer, Consumer, str]:
    """A producer that the broker knows and that has left a transaction open, a consumer of its topic, and the topic."""
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    producer = s.producer(topic, check=check)
    consumer = s.consumer(group, topic)
    _until_asked(s, producer, topic)
    producer.send(topic, "open", verb="send_tx", outcome="UNKNOWN")
    return producer, consumer, topic


@scenario("TransactionalMessageServiceImpl.needDiscard", verbs={"send_tx"}, settings=SHORT, passes=True)
def an_open_one_is_put_aside_after_fifteen_checks(s: Stage) -> None:
    """A transaction that its producer leaves open at each of fifteen checks is put aside; its message never comes."""
    producer, consumer, topic = _left_open(s, "UNKNOWN")

    def put_aside() -> list[str]:
        found = s.stored(TRANS_CHECK_MAX_TIME_TOPIC)
        return [each.body.decode() for each in found if each.properties["REAL_TOPIC"] == topic]

    s.wait_until(put_aside, "put aside", consumers=[consumer], seconds=CHECK_SECONDS, passing=1)
    s.see("checks", [[check["answer"], text(check["msg"])] for check in producer.checks()])
    s.see("put aside", put_aside())
    producer.send(topic, "last", verb="send_tx", outcome="COMMIT")
    s.wait_for(1, consumer, stem="last")
    s.see("received", consumer.bodies)


@scenario("TransactionalMessageServiceImpl.needDiscard", verbs={"send_tx"}, settings=SHORT, passes=True)
def an_open_one_is_committed_by_the_last_check(s: Stage) -> None:
    """A transaction that its producer leaves open at fourteen checks and commits at the fifteenth comes."""
    producer, consumer, _ = _left_open(s, [*["UNKNOWN"] * (CHECKS - 1), "COMMIT"])
    s.wait_for(1, consumer, stem="open", seconds=CHECK_SECONDS, passing=1)
    s.see("checks", [check["answer"] for check in producer.checks()])
    s.see("received", consumer.bodies)


@scenario("ProducerManager.getAvailableChannel", verbs={"send_tx"}, passes=True)
def an_open_one_is_committed_by_another_producer(s: Stage) -> None:
    """A transaction whose producer is gone is committed by another of its group when that one is asked."""
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    gone = s.producer(topic, check="ROLLBACK")
    consumer = s.consumer(group, topic)
    gone.send(topic, "open", verb="send_tx", outcome="UNKNOWN")
    gone.close()
    other = s.producer(topic, group=gone.group, check="COMMIT")
    _until_asked(s, other, topic)
    s.wait_for(1, consumer, stem="open", seconds=CHECK_SECONDS, passing=10)
    s.see("asked of the first", len(gone.checks()))
    s.see("asked of the other", [[check["answer"], text(check["msg"])] for check in other.checks()])
    s.see("received", sorted(consumer.bodies))


@scenario("ProducerManager.getAvailableChannel", verbs={"send_tx"}, settings=SHORT, passes=True)
def an_open_one_waits_for_its_producer(s: Stage) -> None:
    """A transaction whose producer is gone while the broker looks again and again is committed when it is back."""
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    before = s.producer(topic, check="ROLLBACK")
    consumer = s.consumer(group, topic)
    before.send(topic, "open", verb="send_tx", outcome="UNKNOWN")
    before.close()
    s.world.wait(GONE_SECONDS)
    after = s.producer(topic, group=before.group, check="COMMIT")
    _until_asked(s, after, topic)
    # No time is passed: a second that goes by while the producer answers is a second question.
    s.wait_for(1, consumer, stem="open", seconds=CHECK_SECONDS)
    s.see("asked before", len(before.checks()))
    s.see("asked after", [[check["answer"], text(check["msg"])] for check in after.checks()])
    s.see("received", sorted(consumer.bodies))


@scenario("TransactionalMessageUtil.getImmunityTime", verbs={"send_tx"}, settings=SHORTER)
def an_open_one_asks_to_be_left_alone(s: Stage) -> None:
    """A producer is asked later about a message with CHECK_IMMUNITY_TIME_IN_SECONDS than about others.

    Its answer counts only where its SDK says that it answers a check: by itself it would come too late.
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
    s.see("asked first", sorted(set(asked())))
    s.wait_until(lambda: "patient" in asked(), "a check of the other", consumers=[consumer])
    # From the time of birth on, of which some SDKs tell whole seconds only.
    s.see("asked about the other after", watch.between(IMMUNE_SECONDS - 1, IMMUNE_SECONDS + 6))
    s.comes(lambda: consumer.of("patient"), consumers=[consumer], seconds=ANSWERED_SECONDS)
    # What is asked for while its answer is on the way is committed twice.
    s.see("received", sorted(set(consumer.bodies)))
