"""Situations of public bug reports: in each, an explanation or a warning names the cause that the reporter missed.

The name of a test has the repository and the number of the report. The test rebuilds its situation with an unmodified
SDK. The docstring states the observation of the report, and the cause.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from acl_keys import ACL_KEYS
from rocketmq_testkit.conformance.drivers.process import Driver
from rocketmq_testkit.emulator.explanation.explanation import Explanation
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.inspect.messages import Message
from rocketmq_testkit.fixtures.warnings.warnings import EmulatorWarning
from rocketmq_testkit.remoting.client import Credentials
from shared_drivers import EVERYTHING, SharedDrivers

WAIT = "30s"
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """One emulator for all reports that need no configuration of their own. The tests use distinct names."""
    with Emulator() as emulator:
        yield emulator


@pytest.fixture(scope="module")
def drivers(emulator: Emulator) -> Iterator[SharedDrivers]:
    with SharedDrivers(emulator, "java-remoting", "go-remoting", "python", "node") as drivers:
        yield drivers


def _of(emulator: Emulator, group: str) -> list[EmulatorWarning]:
    return [each for each in emulator.warnings if each.group == group]


def _subscribe(driver: Driver, name: str, group: str, topic: str, *, tags: str = "*", **fields: Any) -> None:
    subscribed = {topic: {"expr": tags, "type": "TAG"}}
    driver.call("push", as_=name, group=group, sub=subscribed, **{"from": "first", **fields})


def _has_rebalanced(emulator: Emulator, group: str) -> bool:
    """True if a heartbeat of the group's first member has followed its rebalance, which renews the subscription.

    The SDK gives the subscription a new version then (RebalancePushImpl.messageQueueChanged).
    """
    heartbeats = [entry.subject for entry in emulator.journal if isinstance(entry.subject, Heartbeat)]
    consumers = [each for heartbeat in heartbeats for each in heartbeat.consumers if each.group == group]
    retry_topic = f"%RETRY%{group}"
    versions = {sub.sub_version for each in consumers for sub in each.subscriptions if sub.topic != retry_topic}
    return len(versions) > 1


def _disagreement(
    emulator: Emulator, driver: Driver, topic: str, tags: tuple[str, str], *, sent: str
) -> tuple[Explanation, list[str]]:
    """Start a member and a second one with another tag, send a message with tag `sent`, and wait until it is passed.

    The first member has the only queue. The broker filters by the newest subscription, which is the second member's,
    because an SDK renews its subscription only when its queues change. Returns the explanation and the ids of members.
    """
    group = f"{topic}-readers"
    emulator.topic(topic, queues=1)
    _subscribe(driver, f"{topic}-1", group, topic, tags=tags[0])
    emulator.clock.advance_until(lambda: _has_rebalanced(emulator, group), limit="1m", wait=WAIT)
    _subscribe(driver, f"{topic}-2", group, topic, tags=tags[1])
    emulator.clock.advance_until(lambda: len(emulator.groups[group].members) == 2, limit="1m", wait=WAIT)
    driver.call("producer", as_=f"{topic}-p", topics=[topic], group="shop")
    message = driver.call("send", on=f"{topic}-p", topic=topic, body=b"hello", tag=sent)["id"]
    emulator.clock.advance_until(lambda: emulator.groups[group].lag == 0, limit="1m", wait=WAIT)
    return emulator.explain(message, group), [each.client for each in emulator.inspection.group(group).members]


def test_rocketmq_2836(emulator: Emulator, drivers: SharedDrivers) -> None:
    """Two members of a group subscribe to tag `a` and to `*`, and neither receives a message with tag `abc`.

    Cause: the broker filters the whole group by the tag of one member.
    """
    driver = drivers["java-remoting"]
    explained, [first, second] = _disagreement(emulator, driver, "events", ("*", "a"), sent="abc")
    assert explained.reason is Reason.FILTERED_BY_MEMBER
    assert explained.sentence.endswith(
        f" of events is stored (queue 0, offset 0), but the members of events-readers disagree: {first} subscribes "
        f"`TAG = *`, {second} subscribes `TAG = a`; queue 0 is read with the expression of {second}, which did not "
        "match tag `abc`"
    )
    [warning] = _of(emulator, "events-readers")
    assert warning.kind == "subscriptions"


def test_rocketmq_2954(emulator: Emulator, drivers: SharedDrivers) -> None:
    """Two members of a group subscribe to `tag1` and `tag2`, and neither receives the messages with these tags.

    Cause: the queue of a message belongs to the member with the other tag, whose SDK drops the message.
    """
    driver = drivers["java-remoting"]
    explained, [first, second] = _disagreement(emulator, driver, "testtopic", ("tag1", "tag2"), sent="tag2")
    assert explained.reason is Reason.FILTERED_BY_MEMBER
    assert f" of testtopic was delivered to {first} at " in explained.sentence
    assert explained.sentence.endswith(
        ", whose own subscription `TAG = tag1` does not match tag `tag2`, so its SDK drops it and commits the offset; "
        f"the members of testtopic-readers disagree: {second} subscribes `TAG = tag2`"
    )
    [warning] = _of(emulator, "testtopic-readers")
    assert "to 'tag1'" in warning.text
    assert "to 'tag2'" in warning.text


def _old_message_of_a_new_group(emulator: Emulator, driver: Driver, name: str) -> str:
    """Send a message, start a new group from the last offset, and return the explanation of the old message."""
    emulator.topic(name, queues=1)
    message = emulator.topic(name).send(b"old")
    _subscribe(driver, name, name, name, **{"from": "last"})
    driver.wait_for_event(lambda event: event["ev"] == "msg" and event["of"] == name, PATIENCE_S)
    explained = emulator.explain(message, name)
    assert explained.reason in (Reason.IN_FLIGHT, Reason.ACKNOWLEDGED)
    assert [each for each in _of(emulator, name) if each.kind == "starts at end"] == []
    return " ".join(repr(explained).split())


STARTED_AT_FIRST = (
    "group_start offset=0 consume_from=CONSUME_FROM_LAST_OFFSET because=queue 0 still has its first message, so a new "
    "group starts there"
)


def test_rocketmq_9083(emulator: Emulator, drivers: SharedDrivers) -> None:
    """A new group with CONSUME_FROM_LAST_OFFSET reads messages that were sent before it to a new topic.

    Cause: a broker starts a new group at the first message of a queue that still has it.
    """
    text = _old_message_of_a_new_group(emulator, drivers["java-remoting"], "issue-9083")
    assert STARTED_AT_FIRST in text


def test_rocketmq_4909(emulator: Emulator, drivers: SharedDrivers) -> None:
    """A push consumer with CONSUME_FROM_LAST_OFFSET pulls from offset 0 at its first start, and not at the second.

    Cause: as in 9083. The second start continues at the committed offset.
    """
    driver, name = drivers["java-remoting"], "issue-4909"
    assert STARTED_AT_FIRST in _old_message_of_a_new_group(emulator, driver, name)
    driver.call("close", on=name)
    message = emulator.topic(name).send(b"new")
    _subscribe(driver, f"{name}-again", name, name, **{"from": "last"})
    driver.wait_for_event(lambda event: event["ev"] == "msg" and event["of"] == f"{name}-again", PATIENCE_S)
    assert "group_start" not in repr(emulator.explain(message, name))


def test_client_go_937(emulator: Emulator, drivers: SharedDrivers) -> None:
    """A new group of the Go SDK with ConsumeFromLastOffset consumes old messages.

    Cause: as in rocketmq 9083, in the broker, whatever the SDK is.
    """
    assert STARTED_AT_FIRST in _old_message_of_a_new_group(emulator, drivers["go-remoting"], "issue-937")


def _fifo_readers(emulator: Emulator, driver: Driver, topic: str) -> tuple[list[Message], list[Any]]:
    """Let two simple consumers of a group that is not orderly receive one of two messages of a message group each."""
    emulator.topic(topic, type="FIFO", queues=1)
    for name in ("first", "second"):
        driver.call("simple", as_=f"{topic}-{name}", group=topic, sub={topic: EVERYTHING}, await_ms=20_000)
    messages = [emulator.topic(topic).send(body, message_group="g") for body in (b"1", b"2")]
    received = [
        driver.call("receive", on=f"{topic}-{name}", max=1, invisible_ms=30_000)["messages"]
        for name in ("first", "second")
    ]
    return messages, received


def test_rocketmq_8133(emulator: Emulator, drivers: SharedDrivers) -> None:
    """A simple consumer of the Node SDK does not receive the first message of a FIFO topic, as if it were lost.

    Cause: another receive of the group has it, and has not acknowledged it. The group is not orderly, so the second
    message does not wait for the first.
    """
    [first, second], [_, received] = _fifo_readers(emulator, drivers["node"], "issue-8133")
    assert len(received) == 1
    explained = emulator.explain(first, "issue-8133")
    assert explained.reason is Reason.IN_FLIGHT
    assert "its invisible duration ends at" in explained.sentence
    assert emulator.explain(second, "issue-8133").reason is Reason.IN_FLIGHT  # not BEHIND_IN_ORDER
    assert [each.kind for each in _of(emulator, "issue-8133")] == ["order"]


def test_rocketmq_8154(emulator: Emulator, drivers: SharedDrivers) -> None:
    """Simple consumers of a FIFO topic get messages of one message group out of order, though they were sent in order.

    Cause: the group was created without `consumeMessageOrderly`, which the warning says. With an orderly group the
    second message waits.
    """
    driver = drivers["python"]
    [_, second], [_, received] = _fifo_readers(emulator, driver, "issue-8154")
    assert len(received) == 1
    [warning] = _of(emulator, "issue-8154")
    assert warning.kind == "order"
    assert "rocketmq.group('issue-8154', orderly=True)" in warning.text

    emulator.group("issue-8154-orderly", orderly=True)
    driver.call("simple", as_="orderly", group="issue-8154-orderly", sub={"issue-8154": EVERYTHING}, await_ms=20_000)
    assert len(driver.call("receive", on="orderly", max=1, invisible_ms=30_000)["messages"]) == 1
    assert emulator.explain(second, "issue-8154-orderly").reason is Reason.BEHIND_IN_ORDER
    assert _of(emulator, "issue-8154-orderly") == []


@dataclass(frozen=True)
class Denied:
    """A failed message of an orderly consumer without the right to retry it, before and after the right is granted."""

    warning: EmulatorWarning
    stored_before: int
    stored_after: int


@pytest.fixture(scope="module")
def denied() -> Denied:
    """Let an orderly consumer with rights on its topic and group fail a message; then grant what the broker demands."""
    rights: dict[str, Any] = {"Topic:orders": ["Pub", "Sub"], "Group:kitchen": "Sub"}
    with Emulator(topics=["orders:NORMAL:1"], config=ACL_KEYS) as emulator:

        def stored() -> int:
            return len(emulator.dlq("kitchen")) + len(emulator.retry_messages("kitchen"))

        emulator.user("shop", "shop-secret", allow=rights)
        with SharedDrivers(emulator, "java-remoting", credentials=Credentials("shop", "shop-secret")) as drivers:
            fails: dict[str, Any] = {"mode": "orderly", "max_reconsume": 1, "fail": {"*": 9}, "suspend_ms": 10}
            _subscribe(drivers["java-remoting"], "c", "kitchen", "orders", **fails)
            emulator.topic("orders").send(b"two teas")
            emulator.clock.advance_until(lambda: emulator.warnings, limit="1h", wait=WAIT)
            [warning] = emulator.warnings
            before = stored()
            emulator.user("shop", "shop-secret", allow={**rights, "Group:CLIENT_INNER_PRODUCER": "Sub"})
            emulator.clock.advance_until(stored, limit="1h", wait=WAIT)
            return Denied(warning, before, stored())


def test_rocketmq_9072(denied: Denied) -> None:
    """With ACL 2.0, an orderly consumer with rights on its topic and group cannot use its retry topic.

    Cause: the retry topic is authorized like another resource. The SDK only logs the refusal; the warning names it.
    """
    warning = denied.warning
    assert (warning.kind, warning.topic) == ("hidden refusal", "%RETRY%kitchen")
    assert "was refused with NO_PERMISSION" in warning.text
    assert "the failed message is not redelivered" in warning.text


def test_rocketmq_9910(denied: Denied) -> None:
    """A consumer with rights on its group is denied the send of a failed message to its retry topic.

    Cause: 5.3.3 authorizes the producer group of SEND_MESSAGE_V2, which is the SDK's own CLIENT_INNER_PRODUCER, instead
    of the group of the retry topic. The warning names that resource; the right on it is the remedy.
    """
    assert "grant the right on Group:CLIENT_INNER_PRODUCER" in denied.warning.text
    assert (denied.stored_before, denied.stored_after) == (0, 1)


@pytest.mark.parametrize("delay", ["TIMER_DELAY_SEC", "TIMER_DELAY_MS"])
def test_rocketmq_10872(emulator: Emulator, drivers: SharedDrivers, delay: str) -> None:
    """A message with a delay of Long.MAX_VALUE is accepted, and delivered at once.

    Cause: the broker adds 64-bit numbers without a check, so the delivery time is an instant in the past. The
    explanation, the history and the failed assertion name the property.
    """
    driver, topic = drivers["go-remoting"], f"issue-10872-{delay}"
    emulator.topic(topic, "DELAY", queues=1)
    driver.call("producer", as_=topic, topics=[topic], group="shop")
    sent = driver.call("send", on=topic, topic=topic, body=b"far", props={delay: str(2**63 - 1)})
    cause = f"{delay}={2**63 - 1} overflows 64 bits as an instant in milliseconds"
    _subscribe(driver, f"{topic}-reader", topic, topic)
    driver.wait_for_event(lambda event: event["ev"] == "msg" and event["of"] == f"{topic}-reader", PATIENCE_S)
    explained = emulator.explain(sent["id"], topic)
    assert explained.reason in (Reason.IN_FLIGHT, Reason.ACKNOWLEDGED)
    assert explained.sentence.endswith(f"; its delay was ignored: {cause}")
    assert emulator.history(sent["id"]).steps[0].detail.endswith(f", not delayed: {cause}")
    with pytest.raises(AssertionError, match=re.escape(f"is not delayed ({cause}), expected ")):
        emulator.assert_delayed_until(sent["id"], instant=emulator.clock.now_ms + 60_000)


def test_rocketmq_clients_951(emulator: Emulator, drivers: SharedDrivers) -> None:
    """A simple consumer extends the invisible duration of a message, and finds it in the retry topic of its group.

    Cause: the broker stores the message for redelivery when a changed invisible duration ends, too. The acknowledgement
    has to arrive before that.
    """
    driver = drivers["python"]
    emulator.topic("tasks", queues=1)
    message = emulator.topic("tasks").send(b"long")
    driver.call("simple", as_="worker", group="workers", sub={"tasks": EVERYTHING}, await_ms=20_000)
    [received] = driver.call("receive", on="worker", max=1, invisible_ms=20_000)["messages"]
    driver.call("invisible", on="worker", h=received["h"], ms=30_000)
    explained = emulator.explain(message, "workers")
    assert explained.reason is Reason.INVISIBLE_AFTER_FAILURE
    assert "returned it at" in explained.sentence
    emulator.clock.advance_until(lambda: emulator.retry_messages("workers"), limit="2m", wait=None)
    text = repr(emulator.history(message))
    assert "returned" in text
    assert "redelivered" in text
    assert "%RETRY%workers_tasks queue 0 offset 0, retry 1" in text


def test_rocketmq_clients_1198() -> None:
    """A push consumer of the Python SDK sends no invisible duration and relies on the proxy's renewal.

    Cause: without renewal its receives have no valid duration, and the proxy refuses them. The SDK retries in silence;
    the warning, and the explanations of the message and of the group, name the refusal.
    """
    with Emulator(config={"enableProxyAutoRenew": False}) as emulator, SharedDrivers(emulator, "python") as drivers:
        emulator.topic("jobs", queues=1)
        emulator.group("builders")
        message = emulator.topic("jobs").send(b"build")
        drivers["python"].call("push", as_="b", group="builders", sub={"jobs": EVERYTHING})
        emulator.clock.advance_until(lambda: emulator.warnings, limit="1m", wait=WAIT)
        [warning] = emulator.warnings
        assert warning.kind == "hidden refusal"
        assert "ReceiveMessage of " in warning.text
        assert "ILLEGAL_INVISIBLE_TIME (the invisibleTime is too small. min is 10000)" in warning.text
        explained = emulator.explain(message, "builders")
        assert explained.reason is Reason.REQUESTS_REFUSED
        assert "ILLEGAL_INVISIBLE_TIME: the invisibleTime is too small. min is 10000" in str(explained)
        verdict = emulator.groups["builders"].explain()
        assert "got ReceiveMessage refused with ILLEGAL_INVISIBLE_TIME" in verdict.sentence


def test_client_go_1229(emulator: Emulator, drivers: SharedDrivers) -> None:
    """An orderly listener of the Go SDK returns ConsumeRetryLater, and the consumption of its queue stops for good.

    Cause: the SDK neither commits nor fails the message. To a broker this looks like a listener that never returns, as
    in this test: the message stays with the client, which the explanation names, and no offset beyond it is committed.
    """
    driver = drivers["go-remoting"]
    emulator.topic("steps", queues=1)
    blocked, _ = (emulator.topic("steps").send(body) for body in (b"1", b"2"))
    _subscribe(driver, "walker", "walkers", "steps", mode="orderly", begin=True, hang_ms={"*": 600_000})
    driver.wait_for_event(lambda event: event["ev"] == "begin" and event["of"] == "walker", PATIENCE_S)
    explained = emulator.explain(blocked, "walkers")
    assert explained.reason is Reason.IN_FLIGHT
    assert "#walker" in explained.sentence
    assert "no offset beyond it is committed yet" in explained.sentence
    assert "2 messages in flight" in emulator.groups["walkers"].explain().sentence
