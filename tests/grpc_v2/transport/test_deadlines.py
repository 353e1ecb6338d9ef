"""The heap of deadlines."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.grpc_v2.transport.grpc.deadlines import Deadlines


@dataclass
class Item:
    """An item with a deadline."""

    name: int
    ended: list[int] = field(default_factory=list)
    done: bool = False

    def expire(self) -> None:
        """Record the expiry."""
        self.ended.append(self.name)
        self.done = True


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=40), st.lists(st.integers(0, 10), max_size=12))
def test_deadlines_expire_in_order_and_never_early(dues: list[tuple[int, bool]], steps: list[int]) -> None:
    """Exactly the due items that are not done expire, ordered by due time and then by insertion."""
    deadlines, ended = Deadlines(), list[int]()
    for name, (due, done) in enumerate(dues):
        deadlines.add(due, Item(name, ended, done))
    now = 0
    for step in steps:
        now += step
        deadlines.expire(now)
        wanted = sorted((due, name) for name, (due, done) in enumerate(dues) if due <= now and not done)
        assert ended == [name for _, name in wanted]
        assert deadlines.next_due is None or deadlines.next_due > now


def test_finished_calls_do_not_accumulate_in_the_deadlines() -> None:
    """A hundred thousand calls that end long before their deadlines do not accumulate."""
    deadlines = Deadlines()
    waiting = Item(-1)
    deadlines.add(10_000, waiting)
    for name in range(100_000):
        item = Item(name)
        deadlines.add(1_000 + name, item)
        item.done = True
    assert len(deadlines) < 1_000
    deadlines.expire(10**9)
    assert waiting.ended == [-1]
