"""Long polling of pulls: wake-up and timeout."""

from typing import Any, Unpack

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting
from ...worlds.send_fields import SendFields
from ...worlds.world import Pending

SOON = 2.0
"""Seconds that suffice for an immediate response and exclude the broker's check of held pulls every 5 s."""


def held(t: Remoting, topic: str, group: str, **more: Any) -> Pending:
    """Start a pull that may be held for 15 s, and return while it is held. `more`: see `Remoting.pull_fields`."""
    pull = t.start_pull(topic, group, suspend_ms=15_000, **more)
    t.wait(0.3)
    return pull


def after_a_look(t: Remoting) -> None:
    """Return just after the broker has checked held pulls, by waiting for a pull whose time is over."""
    pull = t.start_pull(t.topic(queues=1), t.group(), suspend_ms=1, to=t.connect())
    t.require(t.until(pull.arrived, 15), "a held pull did not end")


def see_woken(t: Remoting, pull: Pending, topic: str, body: str, **more: Unpack[SendFields]) -> None:
    """Send a message, and record the held pull's response and whether it came at once."""
    watch = t.stopwatch()
    t.send(topic, body, **more)
    t.see_arrival(pull, watch, 0, SOON, 0)


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def a_new_message_wakes_a_held_pull(t: Remoting) -> None:
    """A pull at the end of its queue is held and returns as soon as a message is stored."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1)
    pull = held(t, topic, group, offset=1)
    t.see("held", pull.arrived())
    see_woken(t, pull, topic, "new", tag="A")


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def the_first_message_of_a_queue_wakes_a_held_pull(t: Remoting) -> None:
    """A pull of an empty queue at offset 0 is held until the first message is stored."""
    topic, group = t.topic(queues=1), t.group()
    pull = held(t, topic, group)
    see_woken(t, pull, topic, "first")


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def one_message_wakes_all_pulls_of_its_queue(t: Remoting) -> None:
    """A message completes every pull held on its queue, of the same group and of others."""
    topic, first, second = t.topic(queues=1), t.group(), t.group()
    pulls = [t.start_pull(topic, group, suspend_ms=15_000, to=t.connect()) for group in (first, first, second)]
    t.wait(0.3)
    watch = t.stopwatch()
    t.send(topic, "new")
    for number, pull in enumerate(pulls):
        answer = t.until(pull.arrived, 15)
        t.see(f"answer {number}", None if answer is None else answer.messages)
    t.see("after", watch.between(0, SOON))


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def a_message_of_another_queue_wakes_nothing(t: Remoting) -> None:
    """A message in another queue does not wake a held pull, which returns PULL_NOT_FOUND after its time."""
    topic, group = t.topic(queues=2), t.group()
    t.sent(topic)
    watch = t.stopwatch()
    pull = t.start_pull(topic, group, offset=1, suspend_ms=2000)
    t.wait(0.2)
    t.send(topic, queue=1)
    t.see_arrival(pull, watch, 2, 9, 19)


@remoting_case("PullRequestHoldService.checkHoldRequest")
def a_held_pull_ends_at_a_look_after_its_time(t: Remoting) -> None:
    """A held pull without a message ends at the broker's first check after its time. The check runs every 5 s."""
    topic, group = t.topic(queues=1), t.group()
    for suspend_ms in (0, 1000):
        watch = t.stopwatch()
        fields = t.pull_fields(topic, group, suspend_ms=suspend_ms, sysFlag=6)
        pull = t.start(RequestCode.PULL_MESSAGE, fields)
        t.see(f"{suspend_ms} ms", t.until(pull.arrived, 15), 19)
        t.see(f"{suspend_ms} ms: after", watch.between(suspend_ms / 1000, suspend_ms / 1000 + 6.5))


@remoting_case("PullRequestHoldService.run")
def looks_at_held_pulls_are_five_seconds_apart(t: Remoting) -> None:
    """The suspend time of a held pull is rounded up to the next check, because checks run every 5 s."""
    topic, group = t.topic(queues=1), t.group()
    after_a_look(t)
    watch = t.stopwatch()
    pulls = {ms: t.start_pull(topic, group, suspend_ms=ms, to=t.connect()) for ms in (500, 3000, 7000)}
    for ms, pull in pulls.items():
        low = 4.3 if ms < 5000 else 9.3
        t.see(f"{ms} ms", t.arrival(pull).code)
        t.see("after", watch.between(low, low + 2.4))


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_without_the_suspend_bit_is_not_held(t: Remoting) -> None:
    """A pull without the suspend bit in its sysFlag returns at once, even with a suspend time."""
    topic, group = t.topic(queues=1), t.group()
    watch = t.stopwatch()
    t.see("answer", t.pull(topic, group, suspendTimeoutMillis=15_000), 19)
    t.see("after", watch.between(0, SOON))


@remoting_case("PullMessageProcessor.processRequest")
def a_lite_pull_is_held_too(t: Remoting) -> None:
    """LITE_PULL_MESSAGE is held and woken like PULL_MESSAGE."""
    topic, group = t.topic(queues=1), t.group()
    fields = t.pull_fields(topic, group, suspend_ms=15_000, sysFlag=22)
    pull = t.start(RequestCode.LITE_PULL_MESSAGE, fields)
    t.wait(0.3)
    see_woken(t, pull, topic, "new")


@remoting_case("ManyPullRequest.cloneListAndClear")
def a_matching_tag_wakes_a_held_pull(t: Remoting) -> None:
    """A message with a tag of the held pull's expression wakes it."""
    topic, group = t.topic(queues=1), t.group()
    pull = held(t, topic, group, expression="A||T")
    see_woken(t, pull, topic, "matches", tag="T")


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def another_tag_is_seen_at_the_next_look(t: Remoting) -> None:
    """A message with another tag does not wake a held pull; the next check moves the pull's offset past it."""
    topic, group = t.topic(queues=1), t.group()
    after_a_look(t)
    watch = t.stopwatch()
    pull = held(t, topic, group, expression="T")
    t.send(topic, "does not match", tag="U")
    t.wait(1)
    t.see("a second later", pull.arrived())
    t.see_arrival(pull, watch, 4.3, 7, 20)


@remoting_case("ExpressionMessageFilter.isMatchedByCommitLog")
def a_held_pull_wakes_by_its_sql_expression(t: Remoting) -> None:
    """Only a message that matches the SQL92 expression wakes a held pull, which skips the others."""
    topic, group = t.topic(queues=1), t.group()
    after_a_look(t)
    pull = held(t, topic, group, expression="a = 1", type="SQL92")
    t.send(topic, "does not match", properties={"a": "2"})
    t.wait(1)
    t.see("a second later", pull.arrived())
    see_woken(t, pull, topic, "matches", properties={"a": "1"})


@remoting_case("PullMessageProcessor.processRequest")
def a_held_pull_commits_at_once(t: Remoting) -> None:
    """A pull's commit offset is stored at once, even while the pull is held."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    pull = held(t, topic, group, offset=2, commit=2)
    t.see("committed", t.committed(topic, group), 0)
    t.see("held", pull.arrived())


@remoting_case("AdminBrokerProcessor.resetOffset")
def a_reset_does_not_wake_a_held_pull(t: Remoting) -> None:
    """An offset reset does not wake a held pull. The pull returns PULL_OFFSET_MOVED after its time."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    t.commit(topic, group, 2)
    watch = t.stopwatch()
    pull = t.start_pull(topic, group, offset=2, suspend_ms=2000)
    t.wait(0.2)
    fields = {"topic": topic, "group": group, "timestamp": 0, "isForce": True}
    t.see("reset", t.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, fields), 0)
    t.see_arrival(pull, watch, 2, 9, 21)


@remoting_case("ConsumerManager.registerConsumer, ConsumerManager.unregisterConsumer")
def a_rebalance_wakes_no_held_pull(t: Remoting) -> None:
    """A held pull is not completed when consumers of its group register or unregister, and a message still wakes it."""
    topic, group = t.topic(queues=1), t.group()
    first, second = t.new("client"), t.new("client")
    t.heartbeat(first, groups={group: {topic: "*"}})
    pull = held(t, topic, group)
    connection = t.connect()
    t.heartbeat(second, groups={group: {topic: "*"}}, to=connection)
    t.wait(1)
    t.see("when one has joined", pull.arrived())
    t.ask(RequestCode.UNREGISTER_CLIENT, {"clientID": second, "consumerGroup": group}, to=connection)
    t.disconnect(connection)
    t.wait(1)
    t.see("when it has left", pull.arrived())
    t.ask(RequestCode.UNREGISTER_CLIENT, {"clientID": first, "consumerGroup": group})
    t.wait(1)
    t.see("when the one that pulls has left", pull.arrived())
    see_woken(t, pull, topic, "new")


@remoting_case("PullMessageProcessor.processRequest", settings={"longPollingEnable": "false"})
def pulls_are_held_one_second_where_long_polling_is_off(t: Remoting) -> None:
    """With longPollingEnable=false a pull is held for shortPollingTimeMills, regardless of its suspend time."""
    topic, group = t.topic(queues=1), t.group()
    watch = t.stopwatch()
    pull = t.start_pull(topic, group, suspend_ms=15_000)
    t.see_arrival(pull, watch, 0.9, 4, 19)


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def a_delayed_message_wakes_when_it_is_delivered(t: Remoting) -> None:
    """A message with delay level 1 wakes a held pull when its delay of 1 s ends."""
    topic, group = t.topic(queues=1), t.group()
    pull = held(t, topic, group)
    watch = t.stopwatch()
    t.send(topic, "later", properties={"DELAY": "1"})
    t.see_arrival(pull, watch, 0.9, 3, 0)
