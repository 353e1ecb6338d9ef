"""Snapshots in memory, and engines started from them."""

from copy import deepcopy
from io import BytesIO

from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.snapshot.snapshot_file import read_snapshot, write_snapshot


def saved(engine: Engine) -> bytes:
    """Return a snapshot of an engine."""
    out = BytesIO()
    write_snapshot(engine.state(), out)
    return out.getvalue()


def begun(snapshot: bytes, now_ms: int | None = None) -> Engine:
    """Start an engine from a snapshot, by default at the snapshot's time."""
    return Engine(state=read_snapshot(BytesIO(snapshot)), now_ms=now_ms)


def copied(engine: Engine) -> Engine:
    """Start an engine from a snapshot of another engine."""
    return begun(saved(engine))


def copied_with_memories(engine: Engine) -> Engine:
    """Start an engine from a snapshot of another engine, plus copies of the state that only forks keep."""
    state = read_snapshot(BytesIO(saved(engine)))
    for forked, left in zip(engine.fork_state().brokers, state.brokers, strict=True):
        left.memories, left.common_end, left.skew_ms = deepcopy(forked.memories), forked.common_end, forked.skew_ms
    return Engine(state=state)
