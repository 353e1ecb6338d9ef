"""Messages that are delivered later."""

from ..actors import text
from ..scenario import scenario
from ..stage import Stage


@scenario("ScheduleMessageService.DeliverDelayedMessageTimerTask.executeOnTimeUp", verbs={"send"}, protocol="remoting")
def a_delay_level(s: Stage) -> None:
    """A message of delay level 2 comes five seconds after it was sent."""
    topic, group = s.topic(kind="DELAY"), s.group()
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    watch = s.stopwatch()
    producer.send(topic, "later", delay_level=2)
    producer.send(topic, "now")
    s.wait_for(2, consumer)
    s.see("received", consumer.bodies)
    s.see("after", watch.between(4.9, 9))


@scenario("TimerMessageStore.dequeue", verbs={"send"})
def a_delivery_time(s: Stage) -> None:
    """A message with a delivery time comes then."""
    topic, group = s.topic(kind="DELAY"), s.group()
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    watch = s.stopwatch()
    reply = producer.send(topic, "later", deliver_at=s.place.now_ms() + 3000)
    [message] = s.wait_for(1, consumer)
    s.see("after", watch.between(2.9, 8))
    s.see("has a recall handle", bool(reply.get("recall")))
    s.see("attempt", message["attempt"])
    s.see("shows its delivery time", message["deliver_at"] is not None)


@scenario("RecallMessageProcessor.processRequest", verbs={"recall"})
def a_recalled_message(s: Stage) -> None:
    """A message that is recalled before its delivery time does not come; one of the same time does."""
    topic, group = s.topic(kind="DELAY"), s.group()
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    at = s.place.now_ms() + 5000
    recalled = producer.send(topic, "recalled", deliver_at=at)
    producer.send(topic, "kept", deliver_at=at + 1000)
    reply = producer.driver.call("recall", on=producer.name, topic=topic, handle=recalled["recall"])
    s.see("the recall tells the id", reply["id"] == recalled["id"])
    s.wait_for(1, consumer, stem="kept")
    s.see("received", [text(message) for message in consumer.messages])
