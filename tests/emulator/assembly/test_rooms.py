"""Joining the parts that rooms build: durable services and watchers of topics."""

import re

import pytest
from engine_harness import EngineHarness
from rocketmq_testkit.emulator.assembly.durable import joined_durables
from rocketmq_testkit.emulator.assembly.listeners import Listeners
from rocketmq_testkit.emulator.assembly.room import Room, joined_timers
from rocketmq_testkit.emulator.message.names import TIMER_TOPIC
from rocketmq_testkit.emulator.topic.room import TopicRoom


class Offsets:
    """A durable service, and a watcher of a topic."""

    def dump_on_stop(self) -> int:
        """Return a state."""
        return 1

    def dump_on_crash(self) -> int:
        """Return a state."""
        return 1

    def restore(self, state: int) -> None:
        """Start from a state."""

    def arrived(self, _queue_id: int, _offset: int, _properties: dict[str, str], _born_ms: int) -> None:
        """Watch a message."""


class OtherOffsets(Offsets):
    """Another service with the same state."""


def test_durable_services_of_rooms_are_joined() -> None:
    """Services of different fields are joined in the order of the rooms."""
    first, second = Offsets(), OtherOffsets()
    assert list(joined_durables({"a": first}, {}, {"b": second}).items()) == [("a", first), ("b", second)]


def test_second_durable_service_of_a_field_is_rejected() -> None:
    """Two durable services for one field of a snapshot are an error that names both."""
    text = "timer: state of Offsets and OtherOffsets; a field of ServiceState has one durable service"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        joined_durables({"timer": Offsets()}, {"timer": OtherOffsets()})


def test_second_room_with_timers_of_a_kind_is_rejected() -> None:
    """Two rooms that declare one kind of timers are an error that names both."""
    first, second = Room(timer_kinds=["revive"]), TopicRoom(topics=None, timer_kinds=["timer", "revive"])  # type: ignore[arg-type]  # no topic is read
    assert joined_timers(first, Room()) == {"revive": first}
    text = "revive: timers of Room and TopicRoom; a kind of timers belongs to one room"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        joined_timers(first, second)


def test_second_watcher_of_a_topic_is_rejected(harness: EngineHarness) -> None:
    """A second watcher of a topic is an error that names both; the first watcher stays."""
    store = harness.broker.store
    text = f"{TIMER_TOPIC}: watched by TimerService.arrived and Offsets.arrived; a topic has one watcher"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        store.listen(Listeners(watchers={TIMER_TOPIC: Offsets().arrived}))
    assert store.watchers[TIMER_TOPIC] == harness.broker.timers.arrived
