"""Requests that wait are listed with their end."""

from engine_world import World
from inspected import look


def test_waiting_pull_and_pop_are_listed(world: World) -> None:
    world.topic("A")
    start_ms = world.now_ms
    pull = world.pull("A", suspend_ms=15_000)
    world.advance(1_000)
    pop = world.pop("A", group="P", poll_ms=20_000)
    found = {view.kind: view for view in look(world).polls()}
    assert [view.kind for view in look(world).polls()] == ["pull", "pop"]
    assert (found["pull"].group, found["pull"].queue_id, found["pull"].since_ms) == ("G", 0, start_ms)
    assert (found["pop"].group, found["pop"].queue_id, found["pop"].since_ms) == ("P", None, start_ms + 1_000)
    for call, until_ms in ((pull, found["pull"].until_ms), (pop, found["pop"].until_ms)):
        world.advance(until_ms - world.now_ms - 1)
        assert call.outcome is None
        world.advance(1)
        assert call.outcome is not None
    assert look(world).polls() == []
