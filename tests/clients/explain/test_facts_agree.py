"""The facts of explanations agree with mqadmin, which sends its own requests to the same broker."""

from explained_sdks import Scene
from mqadmin_text import cells
from rocketmq_testkit.conformance.drivers.mqadmin import mqadmin
from rocketmq_testkit.fixtures import Explanation, Reason

HOUR_MS = 3_600_000


def fact(found: Explanation, name: str) -> dict[str, object]:
    """Return the values of a fact."""
    [values] = [dict(each.values) for each in found.facts if each.name == name]
    return values


def printed(scene: Scene, *arguments: str) -> str:
    return mqadmin(scene.emulator.namesrv, *arguments)


def progress(scene: Scene) -> tuple[int, int, int]:
    """Return (consumer offset, difference, in flight) of queue 0 of the topic of the test."""
    rows = cells(printed(scene, "consumerProgress", "-g", scene.name))
    [row] = [row for row in rows if row[:3] == [scene.name, "broker-a", "0"]]
    committed, difference, in_flight = row[4], row[-3], row[-2]
    return int(committed), int(difference), int(in_flight)


def ends(scene: Scene, topic: str) -> dict[int, int]:
    """Return the offset of the next message of each queue of a topic."""
    rows = [row for row in cells(printed(scene, "topicStatus", "-t", topic)) if row[0] == "broker-a"]
    return {int(row[1]): int(row[3]) for row in rows}


def test_mqadmin_shows_the_same_delay_level(scene: Scene) -> None:
    """mqadmin finds a delayed message in the queue of the schedule topic whose number is the level minus one."""
    scene.topic("DELAY")
    before = ends(scene, "SCHEDULE_TOPIC_XXXX")
    found = scene.explain(scene.produce(scene.producer("java-remoting"), delay_level=4)["id"], Reason.DELAYED)
    after = ends(scene, "SCHEDULE_TOPIC_XXXX")
    grown = [queue for queue, end in after.items() if end > before.get(queue, 0)]
    assert grown == [int(str(fact(found, "timer")["level"])) - 1]


def test_mqadmin_finds_a_timed_message_in_the_timer_topic(scene: Scene) -> None:
    """mqadmin finds a timed message in the topic of the timer wheel, and in its own topic after its time."""
    topic = scene.topic("DELAY")
    due_ms = int(scene.emulator.clock.now.timestamp() * 1000) + HOUR_MS
    before = ends(scene, "rmq_sys_wheel_timer").get(0, 0)
    message_id = scene.produce(scene.producer("java-remoting"), deliver_at=due_ms)["id"]
    scene.explain(message_id, Reason.TIMED)
    assert (ends(scene, "rmq_sys_wheel_timer")[0], ends(scene, topic).get(0, 0)) == (before + 1, 0)
    scene.emulator.clock.advance("61m")
    assert scene.emulator.explain(message_id).reason is Reason.AVAILABLE
    assert ends(scene, topic)[0] == 1


def test_mqadmin_shows_the_group_as_disabled(scene: Scene) -> None:
    """mqadmin prints that a disabled group may not consume."""
    scene.topic()
    scene.emulator.group(scene.name, consume_enable=False)
    found = scene.explain(scene.send(), Reason.CONSUME_DISABLED)
    assert fact(found, "group")["consume_enable"] is False
    config = printed(scene, "getConsumerConfig", "-g", scene.name)
    assert "consumeEnable=false" in config.replace(" ", "")


def test_mqadmin_finds_no_connection_of_the_group(scene: Scene) -> None:
    """mqadmin finds no connection of the group."""
    scene.topic()
    scene.emulator.group(scene.name)
    scene.explain(scene.send(), Reason.NO_MEMBERS)
    assert "not online" in printed(scene, "consumerConnection", "-g", scene.name)


def test_mqadmin_shows_the_expression_that_filtered(scene: Scene) -> None:
    """mqadmin prints the expression that the sentence has, and a lag of 0, although the message was not delivered."""
    scene.topic()
    driver = scene.push("java-remoting", expression="b")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.send(tag="a")
    scene.send(b"accepted", tag="b")
    scene.wait_for(driver, b"accepted")
    found = scene.explain(message, Reason.FILTERED_BY_TAG)
    rows = [line.split() for line in printed(scene, "consumerConnection", "-g", scene.name).splitlines()]
    assert [scene.name, fact(found, "tag_filter")["expression"]] in rows


def test_mqadmin_counts_a_message_in_flight(scene: Scene) -> None:
    """mqadmin counts a pulled message whose offset is not committed in the lag (difference) and as in flight."""
    scene.topic()
    first = scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.send(b"first")
    scene.wait_for(first, b"first")
    scene.close(first)  # commits its offset
    driver = scene.push("java-remoting", "c2", hang_ms={"slow": HOUR_MS}, begin=True)
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.send(b"slow")
    driver.wait_for_event(lambda event: event["ev"] == "begin" and event.get("of") == f"{scene.name}-c2")
    found = scene.explain(message, Reason.IN_FLIGHT)
    assert fact(found, "pulled")["offset"] == 1
    assert progress(scene) == (1, 1, 1)


def test_mqadmin_shows_the_offset_after_a_reset(scene: Scene) -> None:
    """mqadmin prints the offset to which the reset moved the group, beyond the message."""
    topic = scene.topic()
    driver = scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.close(driver)
    message = scene.send()
    scene.emulator.reset_offset(scene.name, topic, to="latest")
    found = scene.explain(message, Reason.RESET_PAST)
    committed, difference, _ = progress(scene)
    assert committed == fact(found, "offset_move")["after"] == 1
    assert difference == 0


def test_mqadmin_shows_the_place_of_the_dead_letter(scene: Scene) -> None:
    """The offset of the dead letter in the facts is the last one that mqadmin prints for the dead letter queue."""
    scene.topic()
    driver = scene.push("java-remoting", fail={"*": 9}, max_reconsume=0)
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.send()
    scene.wait_for(driver, message.body)
    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(message, scene.name).reason is Reason.DEAD, limit="5m"
    )
    dead = fact(scene.explain(message, Reason.DEAD), "dead_letter")
    assert ends(scene, str(dead["topic"])) == {dead["queue_id"]: int(str(dead["offset"])) + 1}


def test_mqadmin_shows_the_committed_offset(scene: Scene) -> None:
    """mqadmin prints the committed offset that the facts have."""
    scene.topic()
    driver = scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.send()
    scene.wait_for(driver, message.body)
    scene.close(driver)
    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(message, scene.name).reason is Reason.ACKNOWLEDGED, limit="10s"
    )
    found = scene.explain(message, Reason.ACKNOWLEDGED)
    assert progress(scene)[:2] == (fact(found, "progress")["committed"], 0) == (1, 0)
