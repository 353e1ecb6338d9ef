"""Thirty broken applications, each with one mistake, which its docstring states.

Every application uses unmodified SDKs. Its scene is a topic, a group and the clients that it creates.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any

from acl_keys import ACL_KEYS
from explained_sdks import Scene
from rocketmq_testkit.conformance.drivers.process import DriverError
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.fixtures import Emulator, Message
from rocketmq_testkit.fixtures.warnings.warnings import WarningKind
from rocketmq_testkit.remoting.client import Credentials
from shared_drivers import EVERYTHING, SharedDrivers

IDLE = "idle"
"""The verdict of an application whose author asks why a client is idle."""
HISTORY = "history"
"""The verdict of an application whose author reads the history of a message."""
SECONDS = 1000
FIRST: dict[str, Any] = {"from": "first"}


@dataclass(frozen=True)
class Clue:
    """The verdict and the sentence of the emulator."""

    verdict: str
    sentence: str


Run = Callable[[Scene], Message | str | Clue | None]
"""Runs an application.

Returns the message that its author misses (or the id of this message), the id of the idle client, the clue itself, or
None if the emulator's only warning about the group names the mistake.
"""


@dataclass(frozen=True)
class Application:
    """An application and the expected clue.

    `verdict` is that of the clue. `values` are parts of its sentence, in which `{name}` is the name of topic and group.
    """

    name: str
    mistake: str
    run: Run
    verdict: str
    _: KW_ONLY
    values: tuple[str, ...]

    def investigate(self, scene: Scene) -> Clue:
        """Run the application, and return the verdict and sentence of the emulator about it."""
        found = self.run(scene)
        if isinstance(found, Clue):
            return found
        if self.verdict == IDLE:
            assert isinstance(found, str)
            return Clue(IDLE, scene.emulator.clients[found].explain().sentence)
        if found is None:
            warnings = [each for each in scene.emulator.warnings if each.group == scene.name]
            assert len(warnings) == 1, warnings
            return Clue(warnings[0].kind.value, warnings[0].text)
        explained = scene.emulator.explain(found, scene.name)
        return Clue(explained.reason.value, explained.sentence)


APPLICATIONS: dict[str, Application] = {}


def broken(verdict: Reason | WarningKind | str, *values: str) -> Callable[[Run], Run]:
    """Add an application with the verdict that names its mistake, and parts of the sentence."""

    def add(run: Run) -> Run:
        name = getattr(run, "__name__", "")
        APPLICATIONS[name] = Application(name, (run.__doc__ or "").strip(), run, str(verdict), values=values)
        return run

    return add


def _passed(scene: Scene, **sent: Any) -> Message:
    """Send a message, and return it once the group has no lag."""
    message = scene.send(**sent)
    scene.emulator.clock.advance_until(lambda: scene.emulator.groups[scene.name].lag == 0, limit="1m", wait="30s")
    return message


def _push(scene: Scene, sdk: str = "go-remoting", name: str = "c1", **fields: Any) -> Any:
    driver = scene.push(sdk, name, **fields)
    scene.emulator.wait_for_consumer(scene.name, assigned=True, timeout="30s")
    return driver


# subscriptions


@broken(Reason.FILTERED_BY_TAG, "`TAG = coffee`", "tag `tea`")
def wrong_tag(scene: Scene) -> Message:
    """The consumer subscribes to tag `coffee`, and the producer sends tag `tea`."""
    scene.topic()
    _push(scene, expression="coffee")
    return _passed(scene, tag="tea")


@broken(Reason.FILTERED_BY_TAG, "`TAG = tea || coffee`", "tag `tea `")
def tag_with_a_blank(scene: Scene) -> Message:
    """The producer sends the tag `tea ` with a blank at its end, which consumers do not remove."""
    scene.topic()
    _push(scene, expression="tea || coffee")
    return _passed(scene, tag="tea ")


@broken(Reason.FILTERED_BY_SQL, "`region = north`", "north is not set")
def sql_without_quotes(scene: Scene) -> Message:
    """The SQL expression `region = north` compares two properties, because the text has no quotes."""
    scene.topic()
    _push(scene, "java-remoting", sub=scene.subscription("region = north", "SQL92"))
    return _passed(scene, properties={"region": "north"})


@broken(Reason.FILTERED_BY_SQL, "`price > 10`", "price is `cheap`")
def sql_of_text_and_number(scene: Scene) -> Message:
    """The SQL expression `price > 10` compares a number with the property `price`, which is the text `cheap`."""
    scene.topic()
    _push(scene, "java-remoting", sub=scene.subscription("price > 10", "SQL92"))
    return _passed(scene, properties={"price": "cheap"})


@broken(Reason.FILTERED_BY_SQL, "`price > 10`", "price is not set")
def property_missing(scene: Scene) -> Message:
    """The SQL expression needs the property `price`, and the producer sets `prize`."""
    scene.topic()
    _push(scene, "java-remoting", sub=scene.subscription("price > 10", "SQL92"))
    return _passed(scene, properties={"prize": "11"})


@broken(WarningKind.SUBSCRIPTIONS, "to 'tea'", "to 'coffee'")
def members_with_other_tags(scene: Scene) -> None:
    """Two instances of the application use one group for the tags `tea` and `coffee`."""
    scene.topic(queues=2)
    scene.push("java-remoting", "c1", expression="tea")
    scene.push("java-remoting", "c2", expression="coffee")


@broken(WarningKind.SHARED_GROUP, "'{name}'", "'{name}-refunds'")
def members_with_other_topics(scene: Scene) -> None:
    """Two listeners of different topics got the same group from a copied configuration."""
    topic = scene.topic()
    scene.emulator.topic(f"{topic}-refunds")
    scene.push("go-remoting", "c1")
    scene.push("go-remoting", "c2", sub={f"{topic}-refunds": EVERYTHING})


# names


@broken(Reason.NO_SUCH_GROUP, "there is no group {name}", "the nearest is {name}s")
def wrong_group(scene: Scene) -> Message:
    """The name of the consumer's group has an `s` at its end, and the test names the group without it."""
    scene.topic()
    scene.simple("python", group=f"{scene.name}s")
    scene.emulator.wait_for_consumer(f"{scene.name}s", timeout="30s")
    return scene.send()


@broken(Reason.NOBODY_SUBSCRIBES, "the only member of group {name} subscribes to {name}, and not to {name}s")
def wrong_topic(scene: Scene) -> str:
    """The producer sends to a topic with an `s` at the end of its name, and the consumer reads the topic without it."""
    topic = scene.topic()
    scene.emulator.topic(f"{topic}s", queues=1)
    scene.simple("python")
    producer = scene.client("producer", "python", "p1", topics=[f"{topic}s"])
    return str(scene.call(producer, "send", "p1", topic=f"{topic}s", body=b"tea")["id"])


@broken(
    Reason.NOBODY_SUBSCRIBES, "the only member of group {name} subscribes to {name}, and not to Topic-in-another-case"
)
def topic_in_another_case(scene: Scene) -> str:
    """The producer writes the topic's name with a capital letter, which makes it another topic."""
    scene.topic()
    scene.emulator.topic("Topic-in-another-case", queues=1)
    scene.simple("python")
    producer = scene.client("producer", "python", "p1", topics=["Topic-in-another-case"])
    return str(scene.call(producer, "send", "p1", topic="Topic-in-another-case", body=b"tea")["id"])


# offsets


@broken(Reason.STARTED_AT_END, "group {name} started at", "after this message")
def group_at_the_end(scene: Scene) -> Message:
    """The test sends before it starts a new group, and the first receive of a group begins at the end of the queue."""
    scene.topic()
    missed = scene.send(b"missed")
    scene.send(b"last")
    driver = scene.simple("python")
    scene.call(driver, "receive", max=1, invisible_ms=10 * SECONDS)
    return missed


@broken(Reason.RESET_PAST, "the offset of group {name} was reset from 1 to 2")
def reset_to_latest(scene: Scene) -> Message:
    """A clean-up between two tests resets the group to the latest offset, after the second test has sent."""
    topic = scene.topic()
    driver = scene.simple("python", await_ms=20 * SECONDS)
    scene.send(b"first")
    _acknowledge(scene, driver)
    skipped = scene.send(b"skipped")
    scene.emulator.clock.advance("1m", wait=None)
    scene.emulator.reset_offset(scene.name, topic, to="latest")
    return skipped


@broken(Reason.COMMITTED_PAST, "committed offset 3", "without a delivery")
def commit_beyond(scene: Scene) -> Message:
    """The application seeks to the end of the queue and commits there, although it has not read the message."""
    topic = scene.topic()
    driver = scene.client("lite", "java-remoting", sub=scene.subscription(), **FIRST)
    scene.emulator.wait_for_consumer(scene.name, assigned=True, timeout="30s")
    scene.call(driver, "pause", topic=topic)
    polled = scene.send(b"of the long poll")
    passed = scene.send(b"passed")
    emulator = scene.emulator
    emulator.clock.advance_until(
        lambda: emulator.explain(polled, scene.name).reason is Reason.IN_FLIGHT, limit="1s", wait="30s"
    )
    scene.call(driver, "seek", topic=topic, queue=0, to="last")
    scene.call(driver, "resume", topic=topic)
    after = scene.send(b"after")
    while not scene.call(driver, "poll", ms=5000)["messages"]:
        pass
    scene.call(driver, "commit")
    emulator.clock.advance_until(lambda: emulator.explain(after, scene.name).reason is Reason.ACKNOWLEDGED)
    return passed


# order


@broken(WarningKind.ORDER, "reads the FIFO topic '{name}' and is not orderly", "orderly=True")
def fifo_with_a_plain_group(scene: Scene) -> None:
    """The topic is FIFO, and the group was created without `orderly`."""
    scene.topic("FIFO")
    scene.simple("python")
    scene.emulator.clock.advance_until(
        lambda: [each for each in scene.emulator.warnings if each.group == scene.name], limit="30s"
    )


@broken(Reason.REFUSED_TYPE, "topic {name} has the type FIFO", "the message is NORMAL")
def no_message_group(scene: Scene) -> str:
    """The producer sends a message without a message group to a FIFO topic."""
    topic = scene.topic("FIFO")
    producer = scene.client("producer", "rust", "p1", topics=[topic])  # most SDKs check the type themselves
    with suppress(DriverError):
        scene.call(producer, "send", "p1", topic=topic, body=b"tea", keys=[f"{topic}-order"])
    return f"{topic}-order"


# members


@broken(IDLE, "has no queue of {name}")
def more_members_than_queues(scene: Scene) -> str:
    """The application runs twice to work faster, and its topic has one queue."""
    scene.topic(queues=1)
    _push(scene, "java-remoting", "c1")
    scene.push("java-remoting", "c2")
    scene.emulator.clock.advance_until(lambda: len(scene.emulator.groups[scene.name].members) == 2, limit="1m")
    [idle] = [each.id for each in scene.emulator.groups[scene.name].members if f"{scene.name}-c2" in each.id]
    return idle


@broken(Reason.BROADCAST, "{name}", "keep their own progress")
def broadcasting_by_mistake(scene: Scene) -> Message:
    """The consumers broadcast by mistake, so each of them gets every message, and the group has no progress."""
    scene.topic()
    driver = _push(scene, "java-remoting", mode="broadcast")
    message = scene.send()
    scene.wait_for(driver, b"tea")
    return message


@broken(Reason.NO_MEMBERS, "group {name} has no connected member")
def closed_too_early(scene: Scene) -> Message:
    """The test closes its consumer before it sends a message."""
    scene.topic()
    scene.emulator.group(scene.name)
    scene.close(scene.simple("python"))
    return scene.send()


# failures


@broken(Reason.WAITING_FOR_RETRY, "retry 1 of 16")
def listener_always_fails(scene: Scene) -> Message:
    """The listener fails each time, because it parses a body that is not there."""
    scene.topic()
    driver = _push(scene, fail={"*": 99})
    message = scene.send()
    scene.wait_for(driver, b"tea")
    emulator = scene.emulator
    emulator.clock.advance_until(
        lambda: emulator.explain(message, scene.name).reason is not Reason.IN_FLIGHT, limit="1s", wait="30s"
    )
    return message


@broken(Reason.DEAD, "after 1 retr", 'rocketmq.dlq("{name}")')
def dead_after_one_retry(scene: Scene) -> Message:
    """The consumer allows one retry only, and the second failure makes the message a dead letter."""
    scene.topic()
    _push(scene, "java-remoting", fail={"*": 99}, max_reconsume=1)
    message = scene.send()
    emulator = scene.emulator
    emulator.clock.advance_until(lambda: emulator.dlq(scene.name), limit="10m", wait="30s")
    return message


@broken(WarningKind.SLOW_LISTENER, "12", "its invisible duration of 10 s had ended")
def slower_than_the_invisible_duration(scene: Scene) -> None:
    """The application works 12 s on a message that it received for 10 s."""
    scene.topic()
    driver = scene.simple("python", await_ms=20 * SECONDS)
    scene.send()
    [received] = scene.call(driver, "receive", max=1, invisible_ms=10 * SECONDS)["messages"]
    scene.emulator.clock.advance("12s", wait=None)
    with suppress(DriverError):
        scene.call(driver, "ack", h=received["h"])


@broken(Reason.IN_FLIGHT, "of group {name}", "its invisible duration ends at")
def acknowledgement_forgotten(scene: Scene) -> Message:
    """The application returns early on an error and forgets to acknowledge the message."""
    scene.topic()
    driver = scene.simple("python", await_ms=20 * SECONDS)
    message = scene.send()
    assert scene.call(driver, "receive", max=1, invisible_ms=30 * SECONDS)["messages"]
    return message


@broken(HISTORY, "AckMessage: INVALID_RECEIPT_HANDLE", "receipt handle is expired")
def expired_handle_acknowledged(scene: Scene) -> Clue:
    """The application acknowledges with a handle that has expired, ignores the error, and gets the message twice."""
    scene.topic()
    driver = scene.simple("python", await_ms=20 * SECONDS)
    message = scene.send()
    [received] = scene.call(driver, "receive", max=1, invisible_ms=10 * SECONDS)["messages"]
    scene.emulator.clock.advance_until(lambda: scene.emulator.retry_messages(scene.name), limit="1m", wait=None)
    with suppress(DriverError):
        scene.call(driver, "ack", h=received["h"])
    steps = scene.emulator.history(message).steps
    return Clue(HISTORY, "; ".join(f"{step.kind.value} {step.detail}".strip() for step in steps[-2:]))


# transactions and times


@broken(Reason.HALF_UNCHECKED, "is a half message", "neither committed nor rolled back")
def transaction_never_decided(scene: Scene) -> str:
    """The application ends neither of its two branches with a commit or a rollback."""
    topic = scene.topic("TRANSACTION")
    producer = scene.client("producer", "python", "p1", topics=[topic], check="UNKNOWN")
    return str(scene.call(producer, "send_tx", "p1", topic=topic, body=b"tea", outcome="UNKNOWN")["id"])


@broken(Reason.ROLLED_BACK, "was rolled back by")
def rolled_back_by_a_check(scene: Scene) -> str:
    """The checker does not find the order yet, and answers ROLLBACK."""
    topic = scene.topic("TRANSACTION")
    producer = scene.client("producer", "python", "p1", topics=[topic], check="ROLLBACK")
    sent = str(scene.call(producer, "send_tx", "p1", topic=topic, body=b"tea", outcome="UNKNOWN")["id"])
    emulator = scene.emulator
    emulator.clock.advance_until(lambda: emulator.half_messages(topic) == [], limit="5m", wait="30s")
    return sent


@broken(Reason.DELAYED, "level 10 (6m)")
def seconds_as_delay_level(scene: Scene) -> str:
    """The producer means a delay of 10 s, and sets delay level 10, which is 6 minutes."""
    topic = scene.topic()
    producer = scene.client("producer", "java-remoting", "p1", topics=[topic])
    return str(scene.call(producer, "send", "p1", topic=topic, body=b"tea", delay_level=10)["id"])


@broken(Reason.RECALLED, "was recalled at")
def timed_message_recalled(scene: Scene) -> str:
    """A retry of the request recalls the timed message of its first attempt."""
    topic = scene.topic("DELAY")
    producer = scene.client("producer", "python", "p1", topics=[topic])
    at_ms = int(scene.emulator.clock.now.timestamp() * 1000) + 60 * SECONDS
    sent = scene.call(producer, "send", "p1", topic=topic, body=b"tea", deliver_at=at_ms)
    scene.call(producer, "recall", "p1", topic=topic, handle=sent["recall"])
    return str(sent["id"])


# rights and brokers


@broken(Reason.CONSUME_DISABLED, "group {name} has consumption disabled, so brokers deliver nothing to it")
def group_disabled(scene: Scene) -> Message:
    """An earlier test has disabled the group for an incident drill."""
    scene.topic()
    scene.emulator.group(scene.name, consume_enable=False)
    scene.simple("python")
    return scene.send()


@broken(WarningKind.HIDDEN_REFUSAL, "%RETRY%kitchen", "NO_PERMISSION", "the failed message is not redelivered")
def no_right_on_the_retry_topic(scene: Scene) -> Clue:
    """The user of an orderly consumer has rights on topic and group, and none to store failed messages for a retry."""
    with Emulator(topics=["orders:NORMAL:1"], config=ACL_KEYS) as emulator:
        emulator.user("shop", "shop-secret", allow={"Topic:orders": ["Pub", "Sub"], "Group:kitchen": "Sub"})
        with SharedDrivers(emulator, "java-remoting", credentials=Credentials("shop", "shop-secret")) as drivers:
            fields = {"mode": "orderly", "max_reconsume": 1, "fail": {"*": 9}, "suspend_ms": 10, **FIRST}
            drivers["java-remoting"].call("push", as_="c", group="kitchen", sub={"orders": EVERYTHING}, **fields)
            emulator.topic("orders").send(b"tea")
            emulator.clock.advance_until(lambda: emulator.warnings, limit="1m", wait="30s")
            [warning] = emulator.warnings
    return Clue(warning.kind.value, warning.text)


@broken(Reason.BROKER_STOPPED, "broker-a is stopped")
def broker_stopped_for_maintenance(scene: Scene) -> Clue:
    """An earlier test has stopped the broker and has not started it again."""
    scene.topic()
    scene.simple("python")
    message = scene.send()
    scene.emulator.stop_broker("broker-a")
    try:
        explained = scene.emulator.explain(message, scene.name)
    finally:
        scene.emulator.start_broker("broker-a")
    return Clue(explained.reason.value, explained.sentence)


def _acknowledge(scene: Scene, driver: Any) -> None:
    """Receive one message and acknowledge it."""
    [received] = scene.call(driver, "receive", max=1, invisible_ms=30 * SECONDS)["messages"]
    scene.call(driver, "ack", h=received["h"])
