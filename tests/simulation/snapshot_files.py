"""Snapshots in memory, and engines that begin from one."""

from io import BytesIO

from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.snapshot.snapshot_file import read_snapshot, write_snapshot


def saved(engine: Engine) -> bytes:
    """A snapshot of an engine."""
    out = BytesIO()
    write_snapshot(engine.state(), out)
    return out.getvalue()


def begun(snapshot: bytes, now_ms: int | None = None) -> Engine:
    """An engine that begins from a snapshot, at its time if no other is given."""
    return Engine(state=read_snapshot(BytesIO(snapshot)), now_ms=now_ms)


def copied(engine: Engine) -> Engine:
    """An engine that begins from a snapshot of another."""
    return begun(saved(engine))
