"""Verdicts agree with the reports of Apache's mqadmin about the same messages and groups."""

import re

from explained_sdks import Scene
from rocketmq_testkit.conformance.drivers.mqadmin import mqadmin
from rocketmq_testkit.fixtures import Reason

TRACKS = {
    Reason.ACKNOWLEDGED: "CONSUMED",
    Reason.AVAILABLE: "NOT_CONSUME_YET",
    Reason.FILTERED_BY_TAG: "CONSUMED_BUT_FILTERED",
    Reason.NO_MEMBERS: "NOT_ONLINE",
}
"""Verdict about a group of pulling consumers -> track type that mqadmin prints. Source: TrackType (5.3.3)."""


def test_tracks_of_a_message_agree_with_its_verdicts(scene: Scene) -> None:
    """For one message, four groups have four tracks: consumed, not read yet, filtered, without a connected member.

    A real broker printed the same four tracks in this situation (5.3.3, 2026-11-26).
    """
    topic = scene.topic(queues=1)
    consumers = dict.fromkeys(("consumed", "offline", "paused"), "*") | {"filtered": "b"}
    groups = {name: f"{scene.name}-{name}" for name in consumers}
    for name, expression in consumers.items():
        driver = scene.push("java-remoting", name, group=groups[name], expression=expression)
        scene.emulator.wait_for_consumer(groups[name], assigned=True)
    scene.send(b"first", tag="b")
    for name in consumers:
        scene.wait_for(driver, b"first", name)
    scene.emulator.clock.advance("1ms")  # waits until the offsets are committed
    scene.close(driver, "offline")
    scene.call(driver, "pause", "paused")
    scene.send(b"of the long poll", tag="b")
    scene.wait_for(driver, b"of the long poll", "paused")
    message = scene.send(b"second", tag="a")
    scene.send(b"last", tag="b")
    scene.wait_for(driver, b"last", "filtered")
    scene.wait_for(driver, b"last", "consumed")
    scene.emulator.clock.advance("1ms")

    verdicts = {name: scene.emulator.explain(message, group).reason for name, group in groups.items()}
    printed = mqadmin(scene.emulator.namesrv, "queryMsgById", "-t", topic, "-i", message.offset_message_id)

    assert verdicts == {
        "consumed": Reason.ACKNOWLEDGED,
        "offline": Reason.NO_MEMBERS,
        "paused": Reason.AVAILABLE,
        "filtered": Reason.FILTERED_BY_TAG,
    }
    tracks = dict(re.findall(r"consumerGroup=(\S+?), trackType=(\w+)", printed))
    assert tracks == {groups[name]: TRACKS[reason] for name, reason in verdicts.items()}, printed


def test_progress_agrees_with_the_facts(scene: Scene) -> None:
    """consumerProgress counts messages in flight and unread ones as the verdicts do, before and after a reset."""
    topic = scene.topic(queues=1)
    driver = scene.push("java-remoting", hang_ms={"hangs": 3_600_000})
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.send(b"first")
    scene.wait_for(driver, b"first")
    scene.emulator.clock.advance("1ms")
    hanging = scene.send(b"hangs")
    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(hanging, scene.name).reason is Reason.IN_FLIGHT, wait="10s"
    )
    assert _progress(scene) == (2, 1)
    scene.close(driver)
    skipped = scene.send(b"skipped")
    scene.explain(skipped, Reason.NO_MEMBERS)
    scene.emulator.reset_offset(scene.name, topic, to="latest")
    for passed in (hanging, skipped):
        scene.explain(passed, Reason.RESET_PAST)
    assert _progress(scene) == (3, 3)


def _progress(scene: Scene) -> tuple[int, int]:
    """Return the end and the committed offset of the queue, as mqadmin prints them."""
    printed = mqadmin(scene.emulator.namesrv, "consumerProgress", "-g", scene.name)
    [found] = re.findall(rf"^{scene.name}\s+broker-a\s+0\s+(\d+)\s+(\d+)", printed, re.MULTILINE)
    return int(found[0]), int(found[1])
