"""Notifications of changed members: changes in one turn of an event loop share a notification."""

from collections.abc import Callable

from engine_world import World, make_world
from rocketmq_testkit.emulator.gate.effects import NotifyConsumerIdsChanged
from rocketmq_testkit.emulator.operations.clients import ChannelClosed, UnregisterClient


class Turn:
    """A turn of an event loop, which keeps the actions that the engine defers to its end."""

    def __init__(self, world: World) -> None:
        self._actions: list[Callable[[], object]] = []
        world.engine.gate.use_turns(self._actions.append)

    def end(self) -> None:
        """Run the deferred actions."""
        actions, self._actions[:] = self._actions[:], []
        for action in actions:
            action()


def notices(world: World, clients: str) -> list[list[str]]:
    """Return, for each client, the groups of the notifications that it got since the last call."""
    found = []
    for client in clients:
        effects = world.channels[client].effects
        found.append([each.consumer_group for each in effects if isinstance(each, NotifyConsumerIdsChanged)])
        effects.clear()
    return found


def test_joins_of_one_turn_share_a_notification(world: World) -> None:
    """Each member gets one notification of each changed group, after the last change of the turn."""
    turn = Turn(world)
    for client in "abc":
        world.heartbeat(client)
    world.heartbeat("b", group="H")
    assert notices(world, "abc") == [[], [], []]
    turn.end()
    assert notices(world, "abc") == [["G"], ["G", "H"], ["G"]]
    turn.end()
    assert notices(world, "abc") == [[], [], []]


def test_a_change_in_a_later_turn_is_notified_at_the_end_of_that_turn() -> None:
    world = make_world()
    turn = Turn(world)
    world.heartbeat("a")
    turn.end()
    world.heartbeat("b")
    turn.end()
    assert notices(world, "ab") == [["G", "G"], ["G"]]


def test_members_that_left_in_the_turn_are_not_notified(world: World) -> None:
    """The remaining member gets one notification for a leave, a lost connection and a join."""
    turn = Turn(world)
    for client in "abc":
        world.heartbeat(client)
    turn.end()
    notices(world, "abc")
    world.engine.submit(world.broker, UnregisterClient("b", None, "G"), world.channels["b"])
    world.channels["c"].active = False
    world.engine.submit(world.broker, ChannelClosed(), world.channels["c"])
    world.heartbeat("d")
    turn.end()
    assert notices(world, "abcd") == [["G"], [], [], ["G"]]


def test_each_shared_notification_is_journaled_once_for_each_member(world: World) -> None:
    turn = Turn(world)
    for client in "ab":
        world.heartbeat(client)
    turn.end()
    pushed = [entry.client for entry in world.engine.journal if entry.event == "pushed"]
    assert pushed == [world.channels[client].channel_id for client in "ab"]
