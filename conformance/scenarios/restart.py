"""Consumers that are closed and created again, and continue where they stopped."""

from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Style, comparison

SECONDS = 150.0
"""Timeout: messages delivered to an abandoned long poll of the proxy are redelivered after a minute."""


def _continues(s: ScenarioContext, style: Style, *, process: int = 0) -> None:
    topic, group = s.pair(style, queues=4)
    producer = s.producer(topic)
    before = s.consumer(group, topic, style)
    ordered = {"group": "one"} if style == "orderly" else {}
    producer.send_numbered(topic, 8, "before", **ordered)
    s.wait_for(8, before, prefix="before")
    if style != "pop":  # the broker itself keeps the offsets of these
        s.until_committed(topic, group, ordered=style == "orderly")
    s.leave(before)
    missed = producer.send_numbered(topic, 8, "missed", **ordered)
    after = s.consumer(group, topic, style, process=process)
    s.wait_for(8, after, prefix="missed", seconds=SECONDS, jump_s=s.poll_step)
    seen = comparison(missed, [after.messages])
    # Messages first delivered to an abandoned poll arrive with attempt 2.
    s.note("after it came back", {name: value for name, value in seen.items() if name != "attempts"})


@scenario("ConsumerOffsetManager.commitOffset", verbs={"simple"})
def a_restarted_simple_consumer_receives_only_missed_messages(s: ScenarioContext) -> None:
    """A simple consumer that is closed and created again receives the messages that it missed, none twice."""
    _continues(s, "simple")


@scenario("RemoteBrokerOffsetStore.persistAll", modes={"concurrent"})
def a_restarted_concurrent_consumer_receives_only_missed_messages(s: ScenarioContext) -> None:
    """A push consumer that is closed and created again elsewhere receives the messages that it missed, none twice."""
    _continues(s, "concurrent", process=1)


@scenario("ConsumeMessageOrderlyService.ConsumeRequest.run", modes={"orderly"})
def a_restarted_orderly_consumer_receives_only_missed_messages(s: ScenarioContext) -> None:
    """An orderly push consumer that is closed and created again receives the messages that it missed, none twice."""
    _continues(s, "orderly", process=1)


@scenario("PopMessageProcessor.processRequest", modes={"pop"})
def a_restarted_popping_consumer_receives_only_missed_messages(s: ScenarioContext) -> None:
    """A popping push consumer that is closed and created again receives the messages that it missed, none twice."""
    _continues(s, "pop", process=1)


@scenario(
    "LocalFileOffsetStore.persistAll",
    modes={"broadcast"},
    without={"cpp": "its broadcasting consumer, created again in the same process, receives no messages for a minute"},
)
def a_restarted_broadcast_consumer_continues_at_its_local_offsets(s: ScenarioContext) -> None:
    """A broadcasting consumer that is created again in the same home directory finds its offsets in a file there."""
    topic, group = s.pair("broadcast")
    producer = s.producer(topic)
    before = s.consumer(group, topic, "broadcast")
    producer.send_numbered(topic, 4, "before")
    s.wait_for(4, before, prefix="before")
    s.leave(before)
    missed = producer.send_numbered(topic, 4, "missed")
    after = s.consumer(group, topic, "broadcast")
    s.wait_for(4, after, prefix="missed")
    s.note("missed", comparison(missed, [after.with_prefix("missed")]))


@scenario("RemoteBrokerOffsetStore.updateConsumeOffsetToBroker", verbs={"lite", "poll", "commit"})
def a_restarted_lite_pull_consumer_continues_at_its_committed_offset(s: ScenarioContext) -> None:
    """A lite pull consumer that is closed and created again continues at the offset that it committed."""
    _continues(s, "lite", process=1)
