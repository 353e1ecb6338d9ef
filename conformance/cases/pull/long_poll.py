"""Long polling of pulls: wake-up and timeout."""

from typing import Any, Unpack

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.pending import Pending
from ...clients.remoting_consumption import LITE, SUBSCRIPTION, SUSPEND, pull_fields
from ...clients.send_fields import SendFields
from ...context.remoting import RemotingContext

IMMEDIATE_SECONDS = 2.0
"""Seconds that suffice for an immediate response and exclude the broker's check of waiting pulls every 5 s."""


def start_held_pull(t: RemotingContext, topic: str, group: str, **more: Any) -> Pending:
    """Start a pull that may be held for 15 s, and return while it is held. `more`: see `pull_fields`."""
    pull = t.start_pull(topic, group, suspend_ms=15_000, **more)
    t.wait(0.3)
    return pull


def wait_for_hold_check(t: RemotingContext) -> None:
    """Return just after the broker has checked waiting pulls, by waiting for a pull whose time is over."""
    pull = t.start_pull(t.topic(queues=1), t.group(), suspend_ms=1, to=t.connect())
    t.require(t.until(pull.arrived, 15), "a waiting pull did not end")


def note_woken(t: RemotingContext, pull: Pending, topic: str, body: str, **more: Unpack[SendFields]) -> None:
    """Send a message, and record the waiting pull's response and whether it came at once."""
    watch = t.stopwatch()
    t.send(topic, body, **more)
    t.note_arrival(pull, watch, 0, IMMEDIATE_SECONDS, code=0)


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def a_new_message_wakes_a_held_pull(t: RemotingContext) -> None:
    """A pull at the end of its queue waits and returns as soon as a message is stored."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1)
    pull = start_held_pull(t, topic, group, offset=1)
    t.note("held", pull.arrived())
    note_woken(t, pull, topic, "new", tag="A")


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def the_first_message_of_a_queue_wakes_a_held_pull(t: RemotingContext) -> None:
    """A pull of an empty queue at offset 0 waits until the first message is stored."""
    topic, group = t.topic(queues=1), t.group()
    pull = start_held_pull(t, topic, group)
    note_woken(t, pull, topic, "first")


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def one_message_wakes_all_pulls_of_its_queue(t: RemotingContext) -> None:
    """A message completes every pull waiting on its queue, of the same group and of others."""
    topic, first, second = t.topic(queues=1), t.group(), t.group()
    pulls = [t.start_pull(topic, group, suspend_ms=15_000, to=t.connect()) for group in (first, first, second)]
    t.wait(0.3)
    watch = t.stopwatch()
    t.send(topic, "new")
    for number, pull in enumerate(pulls):
        response = t.until(pull.arrived, 15)
        t.note(f"response {number}", None if response is None else response.messages)
    t.note("after", watch.between(0, IMMEDIATE_SECONDS))


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def a_message_in_another_queue_wakes_no_held_pull(t: RemotingContext) -> None:
    """A message in another queue does not wake a waiting pull, which returns PULL_NOT_FOUND after its time."""
    topic, group = t.topic(queues=2), t.group()
    t.sent(topic)
    watch = t.stopwatch()
    pull = t.start_pull(topic, group, offset=1, suspend_ms=2000)
    t.wait(0.2)
    t.send(topic, queue=1)
    t.note_arrival(pull, watch, 2, 9, code=19)


@remoting_case("PullRequestHoldService.checkHoldRequest")
def a_held_pull_times_out_at_the_first_scan_after_its_suspend_time(t: RemotingContext) -> None:
    """A waiting pull without a message ends at the broker's first check after its time. The check runs every 5 s."""
    topic, group = t.topic(queues=1), t.group()
    for suspend_ms in (0, 1000):
        watch = t.stopwatch()
        fields = pull_fields(topic, group, suspend_ms=suspend_ms, sysFlag=SUSPEND | SUBSCRIPTION)
        pull = t.start(RequestCode.PULL_MESSAGE, fields)
        t.note(f"{suspend_ms} ms", t.until(pull.arrived, 15), 19)
        t.note(f"{suspend_ms} ms: after", watch.between(suspend_ms / 1000, suspend_ms / 1000 + 6.5))


@remoting_case("PullRequestHoldService.run")
def held_pulls_are_scanned_for_timeouts_every_5_seconds(t: RemotingContext) -> None:
    """The suspend time of a waiting pull is rounded up to the next check, because checks run every 5 s."""
    topic, group = t.topic(queues=1), t.group()
    wait_for_hold_check(t)
    watch = t.stopwatch()
    pulls = {ms: t.start_pull(topic, group, suspend_ms=ms, to=t.connect()) for ms in (500, 3000, 7000)}
    for ms, pull in pulls.items():
        low = 4.3 if ms < 5000 else 9.3
        t.note(f"{ms} ms", t.arrival(pull).code)
        t.note("after", watch.between(low, low + 2.4))


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_without_the_suspend_bit_is_not_held(t: RemotingContext) -> None:
    """A pull without the suspend bit in its sysFlag returns at once, even with a suspend time."""
    topic, group = t.topic(queues=1), t.group()
    watch = t.stopwatch()
    t.note("response", t.pull(topic, group, suspendTimeoutMillis=15_000), 19)
    t.note("after", watch.between(0, IMMEDIATE_SECONDS))


@remoting_case("PullMessageProcessor.processRequest")
def a_lite_pull_is_held_too(t: RemotingContext) -> None:
    """LITE_PULL_MESSAGE waits and is woken like PULL_MESSAGE."""
    topic, group = t.topic(queues=1), t.group()
    fields = pull_fields(topic, group, suspend_ms=15_000, sysFlag=LITE | SUSPEND | SUBSCRIPTION)
    pull = t.start(RequestCode.LITE_PULL_MESSAGE, fields)
    t.wait(0.3)
    note_woken(t, pull, topic, "new")


@remoting_case("ManyPullRequest.cloneListAndClear")
def a_matching_tag_wakes_a_held_pull(t: RemotingContext) -> None:
    """A message with a tag of the waiting pull's expression wakes it."""
    topic, group = t.topic(queues=1), t.group()
    pull = start_held_pull(t, topic, group, expression="A||T")
    note_woken(t, pull, topic, "matches", tag="T")


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def a_message_with_another_tag_completes_a_held_pull_only_at_the_next_scan(t: RemotingContext) -> None:
    """A message with another tag does not wake a waiting pull; the next check moves the pull's offset past it."""
    topic, group = t.topic(queues=1), t.group()
    wait_for_hold_check(t)
    watch = t.stopwatch()
    pull = start_held_pull(t, topic, group, expression="T")
    t.send(topic, "does not match", tag="U")
    t.wait(1)
    t.note("a second later", pull.arrived())
    t.note_arrival(pull, watch, 4.3, 7, code=20)


@remoting_case("ExpressionMessageFilter.isMatchedByCommitLog")
def a_held_pull_wakes_by_its_sql_expression(t: RemotingContext) -> None:
    """Only a message that matches the SQL92 expression wakes a waiting pull, which skips the others."""
    topic, group = t.topic(queues=1), t.group()
    wait_for_hold_check(t)
    pull = start_held_pull(t, topic, group, expression="a = 1", type="SQL92")
    t.send(topic, "does not match", properties={"a": "2"})
    t.wait(1)
    t.note("a second later", pull.arrived())
    note_woken(t, pull, topic, "matches", properties={"a": "1"})


@remoting_case("PullMessageProcessor.processRequest")
def a_held_pull_commits_at_once(t: RemotingContext) -> None:
    """A pull's commit offset is stored at once, even while the pull is held."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    pull = start_held_pull(t, topic, group, offset=2, commit=2)
    t.note("committed", t.committed(topic, group), 0)
    t.note("held", pull.arrived())


@remoting_case("AdminBrokerProcessor.resetOffset")
def a_reset_does_not_wake_a_held_pull(t: RemotingContext) -> None:
    """An offset reset does not wake a waiting pull. The pull returns PULL_OFFSET_MOVED after its time."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    t.commit(topic, group, 2)
    watch = t.stopwatch()
    pull = t.start_pull(topic, group, offset=2, suspend_ms=2000)
    t.wait(0.2)
    fields = {"topic": topic, "group": group, "timestamp": 0, "isForce": True}
    t.note("reset", t.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, fields), 0)
    t.note_arrival(pull, watch, 2, 9, code=21)


@remoting_case("ConsumerManager.registerConsumer, ConsumerManager.unregisterConsumer")
def a_rebalance_wakes_no_held_pull(t: RemotingContext) -> None:
    """A waiting pull does not end when consumers of its group register or unregister. A message still wakes it."""
    topic, group = t.topic(queues=1), t.group()
    first, second = t.new("client"), t.new("client")
    t.heartbeat(first, groups={group: {topic: "*"}})
    pull = start_held_pull(t, topic, group)
    connection = t.connect()
    t.heartbeat(second, groups={group: {topic: "*"}}, to=connection)
    t.wait(1)
    t.note("when one has joined", pull.arrived())
    t.request(RequestCode.UNREGISTER_CLIENT, {"clientID": second, "consumerGroup": group}, to=connection)
    t.disconnect(connection)
    t.wait(1)
    t.note("when it has left", pull.arrived())
    t.request(RequestCode.UNREGISTER_CLIENT, {"clientID": first, "consumerGroup": group})
    t.wait(1)
    t.note("when the one that pulls has left", pull.arrived())
    note_woken(t, pull, topic, "new")


@remoting_case("PullMessageProcessor.processRequest", settings={"longPollingEnable": "false"})
def pulls_are_held_one_second_where_long_polling_is_off(t: RemotingContext) -> None:
    """With longPollingEnable=false a pull waits for shortPollingTimeMills, regardless of its suspend time."""
    topic, group = t.topic(queues=1), t.group()
    watch = t.stopwatch()
    pull = t.start_pull(topic, group, suspend_ms=15_000)
    t.note_arrival(pull, watch, 0.9, 4, code=19)


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def a_delayed_message_wakes_a_held_pull_on_delivery(t: RemotingContext) -> None:
    """A message with delay level 1 wakes a waiting pull when its delay of 1 s ends."""
    topic, group = t.topic(queues=1), t.group()
    pull = start_held_pull(t, topic, group)
    watch = t.stopwatch()
    t.send(topic, "later", properties={"DELAY": "1"})
    t.note_arrival(pull, watch, 0.9, 3, code=0)
