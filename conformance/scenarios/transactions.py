"""Messages that are seen only when their transaction is committed."""

from ..actors import text
from ..scenario import scenario
from ..stage import Stage

CHECK_SECONDS = 100.0
"""The broker looks every 30 s, and asks about what is older than 6 s."""


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
