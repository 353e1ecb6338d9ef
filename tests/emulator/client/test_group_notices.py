"""Notifications of changed members: changes in one turn of an event loop share a notification."""

from collections.abc import Callable

from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.gate.effects import NotifyConsumerIdsChanged
from rocketmq_testkit.emulator.operations.clients import ChannelClosed, UnregisterClient


class Turn:
    """A turn of an event loop, which keeps the actions that the engine defers to its end."""

    def __init__(self, harness: EngineHarness) -> None:
        self._actions: list[Callable[[], object]] = []
        harness.engine.gate.use_turns(self._actions.append)

    def end(self) -> None:
        """Run the deferred actions."""
        actions, self._actions[:] = self._actions[:], []
        for action in actions:
            action()


def notices(harness: EngineHarness, clients: str) -> list[list[str]]:
    """Return, for each client, the groups of the notifications that it got since the last call."""
    found = []
    for client in clients:
        effects = harness.channels[client].effects
        found.append([each.consumer_group for each in effects if isinstance(each, NotifyConsumerIdsChanged)])
        effects.clear()
    return found


def test_joins_of_one_turn_share_a_notification(harness: EngineHarness) -> None:
    """Each member gets one notification of each changed group, after the last change of the turn."""
    turn = Turn(harness)
    for client in "abc":
        harness.heartbeat(client)
    harness.heartbeat("b", group="H")
    assert notices(harness, "abc") == [[], [], []]
    turn.end()
    assert notices(harness, "abc") == [["G"], ["G", "H"], ["G"]]
    turn.end()
    assert notices(harness, "abc") == [[], [], []]


def test_a_change_in_a_later_turn_is_notified_at_the_end_of_that_turn() -> None:
    harness = make_harness()
    turn = Turn(harness)
    harness.heartbeat("a")
    turn.end()
    harness.heartbeat("b")
    turn.end()
    assert notices(harness, "ab") == [["G", "G"], ["G"]]


def test_members_that_left_in_the_turn_are_not_notified(harness: EngineHarness) -> None:
    """The remaining member gets one notification for a leave, a lost connection and a join."""
    turn = Turn(harness)
    for client in "abc":
        harness.heartbeat(client)
    turn.end()
    notices(harness, "abc")
    harness.engine.submit(harness.broker, UnregisterClient("b", None, "G"), harness.channels["b"])
    harness.channels["c"].active = False
    harness.engine.submit(harness.broker, ChannelClosed(), harness.channels["c"])
    harness.heartbeat("d")
    turn.end()
    assert notices(harness, "abcd") == [["G"], [], [], ["G"]]


def test_each_shared_notification_is_journaled_once_for_each_member(harness: EngineHarness) -> None:
    turn = Turn(harness)
    for client in "ab":
        harness.heartbeat(client)
    turn.end()
    pushed = [entry.client for entry in harness.engine.journal if entry.event == "pushed"]
    assert pushed == [harness.channels[client].channel_id for client in "ab"]
