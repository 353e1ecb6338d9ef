"""Messages with delayed delivery."""

from collections.abc import Callable
from typing import Any

from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, Producer, text

DAY_MS = 24 * 3600 * 1000


def _delayed(s: ScenarioContext, kind: str = "DELAY") -> tuple[str, Producer, Consumer]:
    """Create a topic for delayed messages, its producer, and its consumer."""
    topic, group = s.topic(kind=kind), s.group()
    return topic, s.producer(topic), s.consumer(group, topic)


@scenario("ScheduleMessageService.DeliverDelayedMessageTimerTask.executeOnTimeUp", verbs={"send"}, protocol="remoting")
def a_message_of_delay_level_2_arrives_after_5_seconds(s: ScenarioContext) -> None:
    """A message of delay level 2 arrives five seconds after it was sent."""
    topic, producer, consumer = _delayed(s)
    watch = s.stopwatch()
    producer.send(topic, "later", delay_level=2)
    producer.send(topic, "now")
    s.wait_for(2, consumer)
    s.note("received", consumer.bodies)
    s.note("after", watch.between(4.9, 9))


@scenario("TimerMessageStore.dequeue", verbs={"send"})
def a_message_with_a_delivery_time_arrives_at_that_time(s: ScenarioContext) -> None:
    """A message with a delivery time arrives at that time."""
    topic, producer, consumer = _delayed(s)
    watch = s.stopwatch()
    reply = producer.send(topic, "later", deliver_at=s.deployment.now_ms() + 3000)
    [message] = s.wait_for(1, consumer)
    s.note("after", watch.between(2.9, 8))
    s.note("has a recall handle", bool(reply.get("recall")))
    s.note("attempt", message["attempt"])
    s.note("shows its delivery time", message["deliver_at"] is not None)


@scenario("RecallMessageProcessor.processRequest", verbs={"recall"})
def a_recalled_message_does_not_arrive(s: ScenarioContext) -> None:
    """A message that is recalled before its delivery time does not arrive; another one of about that time does."""
    topic, producer, consumer = _delayed(s)
    at = s.deployment.now_ms() + 5000
    recalled = producer.send(topic, "recalled", deliver_at=at)
    producer.send(topic, "kept", deliver_at=at + 1000)
    reply = producer.recall(topic, recalled["recall"])
    s.note("the recall tells the id", reply["id"] == recalled["id"])
    s.wait_for(1, consumer, prefix="kept")
    s.note("received", consumer.bodies)


@scenario("RecallMessageProcessor.processRequest", verbs={"recall"})
def a_second_recall_returns_the_message_id_again(s: ScenarioContext) -> None:
    """Two recalls of the same message both return its id, and the message does not arrive."""
    topic, producer, consumer = _delayed(s)
    at = s.deployment.now_ms() + 5000
    recalled = producer.send(topic, "recalled", deliver_at=at)
    producer.send(topic, "kept", deliver_at=at + 1000)
    for label in ("first", "second"):
        reply = producer.recall(topic, recalled["recall"])
        s.note(f"the {label} recall tells the id", reply["id"] == recalled["id"])
    s.wait_for(1, consumer, prefix="kept")
    s.note("received", consumer.bodies)


@scenario("RecallMessageProcessor.processRequest", verbs={"recall"})
def a_recall_after_delivery_is_refused(s: ScenarioContext) -> None:
    """A recall of a message that was already delivered is rejected."""
    topic, producer, consumer = _delayed(s)
    sent = producer.send(topic, "delivered", deliver_at=s.deployment.now_ms() + 1500)
    s.wait_for(1, consumer)
    s.refusal("recall", lambda: producer.recall(topic, sent["recall"]))


@scenario("RecallMessageProcessor.processRequest", verbs={"recall"})
def a_recall_with_another_topic_fails_and_the_message_arrives(s: ScenarioContext) -> None:
    """A recall with another topic than that of its handle is rejected, and the message arrives."""
    topic, producer, consumer = _delayed(s)
    other = s.topic(kind="DELAY")
    sent = producer.send(topic, "kept", deliver_at=s.deployment.now_ms() + 3000)
    s.refusal("recall", lambda: producer.recall(other, sent["recall"]))
    s.wait_for(1, consumer)
    s.note("received", consumer.bodies)


@scenario("HookUtils.transformTimerMessage", verbs={"send"})
def a_message_with_a_past_delivery_time_arrives_at_once(s: ScenarioContext) -> None:
    """A message with a delivery time one minute in the past arrives at once."""
    topic, producer, consumer = _delayed(s)
    watch = s.stopwatch()
    producer.send(topic, "late", deliver_at=s.deployment.now_ms() - 60_000)
    [message] = s.wait_for(1, consumer)
    s.note("after", watch.between(0, 3))
    s.note("attempt", message["attempt"])


@scenario("HookUtils.transformTimerMessage", verbs={"send"})
def a_delivery_time_in_40_days_is_refused(s: ScenarioContext) -> None:
    """A message with a delivery time in forty days is rejected, and the next message is accepted."""
    topic, producer, consumer = _delayed(s)
    far = s.deployment.now_ms() + 40 * DAY_MS
    s.refusal("forty days", lambda: producer.send(topic, "never", deliver_at=far))
    producer.send(topic, "next", deliver_at=s.deployment.now_ms() + 1000)
    s.wait_for(1, consumer)
    s.note("received", consumer.bodies)


@scenario("TopicMessageType.parseFromMessageProperty", verbs={"send"})
def a_timed_message_with_a_message_group_arrives_on_time_or_fails_to_send(s: ScenarioContext) -> None:
    """A message with a delivery time and a message group arrives at its time, if the SDK allows both."""
    topic, producer, consumer = _delayed(s)
    watch = s.stopwatch()
    at = s.deployment.now_ms() + 3000
    if _is_refused(s, lambda: producer.send(topic, "both", deliver_at=at, group="one")):
        return
    [message] = s.wait_for(1, consumer)
    s.note("after", watch.between(2.9, 8))
    s.note("message group", message["group"])


def _is_refused(s: ScenarioContext, action: Callable[[], object]) -> bool:
    s.refusal("sent", action)
    return bool(s.notes[-1][1] != "not refused")


@scenario("HookUtils.handleScheduleMessage", verbs={"send"}, protocol="remoting")
def a_delayed_message_does_not_block_its_message_group(s: ScenarioContext) -> None:
    """A message with a delay level and a message group arrives late with its group; others do not wait for it."""
    topic, producer, consumer = _delayed(s)
    watch = s.stopwatch()
    producer.send(topic, "later", delay_level=2, group="one")
    producer.send(topic, "now", group="one")
    s.wait_for(2, consumer)
    s.note("received", [[text(message), message["group"]] for message in consumer.messages])
    s.note("after", watch.between(4.9, 9))


def _note_transaction(s: ScenarioContext, seconds: float, delay: Callable[[], dict[str, Any]]) -> None:
    """Commit a transactional message with a delay, and note if it arrives, at once or later."""
    topic, group = s.topic(kind="TRANSACTION"), s.group()
    producer = s.producer(topic, check="UNKNOWN")
    consumer = s.consumer(group, topic)
    s.refusal("sent", lambda: producer.send(topic, "both", verb="send_tx", outcome="COMMIT", **delay()))
    for body in ("first", "last"):
        producer.send(topic, body, verb="send_tx", outcome="COMMIT")
        s.wait_for(1, consumer, prefix=body)
        s.admin.wait(seconds)
    s.wait_until_idle(consumer)
    # Remoting SDKs do not wait for the response to a commit, so the first two arrive in any order.
    s.note("received", sorted(consumer.bodies))


@scenario("TransactionalMessageBridge.parseHalfMessageInner", verbs={"send_tx"}, time_passes=True)
def a_transactional_message_with_a_delivery_time_never_arrives(s: ScenarioContext) -> None:
    """A transactional message with a delivery time never arrives although it is committed, if the SDK allows both."""
    _note_transaction(s, 6, lambda: {"deliver_at": s.deployment.now_ms() + 5000})


@scenario("TransactionalMessageBridge.parseHalfMessageInner", verbs={"send_tx"}, protocol="remoting", time_passes=True)
def a_delay_level_loses_a_transactional_message_or_is_removed_by_the_sdk(s: ScenarioContext) -> None:
    """A committed transactional message with a delay level never arrives, unless its SDK removes the level."""
    _note_transaction(s, 2, lambda: {"delay_level": 1})


@scenario("DefaultMessageStore.asyncPutMessages", verbs={"send_batch"})
def delivery_times_in_a_batch_are_ignored_except_over_grpc(s: ScenarioContext) -> None:
    """A remoting batch ignores delivery times; in a gRPC batch all messages wait for that of the first."""
    topic, producer, consumer = _delayed(s)
    at = s.deployment.now_ms() + 5000
    batch = [{"topic": topic, "body": f"m{number}".encode(), "deliver_at": at + number} for number in range(2)]
    watch = s.stopwatch()
    if s.refusal("sent", lambda: producer.driver.call("send_batch", on=producer.name, messages=batch)):
        return
    s.wait_for(1, consumer)
    s.note("the first after", watch.between(4.9, 9) if s.grpc else watch.between(0, 4))
    s.wait_until_idle(consumer)
    s.note("received", sorted(consumer.bodies))


@scenario("DefaultMessageStore.asyncPutMessages", verbs={"send_batch"}, protocol="remoting")
def delay_levels_in_a_batch_fail_in_the_sdk_or_are_ignored(s: ScenarioContext) -> None:
    """Delay levels of the messages in a batch are rejected by the SDK, or ignored."""
    topic, producer, consumer = _delayed(s)
    batch = [{"topic": topic, "body": f"m{number}".encode(), "delay_level": 18} for number in range(2)]
    s.refusal("sent", lambda: producer.driver.call("send_batch", on=producer.name, messages=batch))
    producer.send(topic, "end")
    s.wait_for(1, consumer, prefix="end")
    s.wait_until_idle(consumer)
    s.note("received", sorted(consumer.bodies))


@scenario("HookUtils.transformTimerMessage", verbs={"send"})
def a_timer_delay_sec_property_delays_the_message_or_fails_the_send(s: ScenarioContext) -> None:
    """A message with the property TIMER_DELAY_SEC arrives after that many seconds, if the SDK allows it."""
    topic, producer, consumer = _delayed(s, "NORMAL" if s.grpc else "DELAY")
    watch = s.stopwatch()
    if _is_refused(s, lambda: producer.send(topic, "later", props={"TIMER_DELAY_SEC": "3"})):
        return
    s.wait_for(1, consumer)
    s.note("after", watch.between(2.9, 8))


@scenario("TimerMessageStore.doEnqueue", verbs={"send"}, protocol="remoting")
def a_timer_del_uniqkey_message_never_arrives_and_may_delete_another(s: ScenarioContext) -> None:
    """A message with TIMER_DEL_UNIQKEY cancels the message that it names, and does not arrive itself.

    Other messages of that time arrive.
    """
    topic, producer, consumer = _delayed(s)
    at = s.deployment.now_ms() + 5000
    cancelled = producer.send(topic, "cancelled", deliver_at=at)
    mark = {"TIMER_DEL_UNIQKEY": f"{topic}+{cancelled['id']}"}
    if _is_refused(s, lambda: producer.send(topic, "mark", deliver_at=at, props=mark)):
        return
    producer.send(topic, "kept", deliver_at=at + 1000)
    s.wait_for(1, consumer, prefix="kept")
    s.note("received", consumer.bodies)
