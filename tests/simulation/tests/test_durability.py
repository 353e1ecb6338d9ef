"""Crashes lose no more than flush and replication allow, and the oracle reports any other loss.

SEEDS=n runs n seeds (default 50), FIRST_SEED=n begins with seed n, SEED=n runs only seed n.
"""

from collections.abc import Callable

import pytest
from durability import TOPICS, Disk, Durability, Master, plan, report, run
from rocketmq_testkit.emulator.operations.send import SendMessage
from simulation import Action
from stored_messages import Violation
from test_simulation import BLOCKS

SEND, POWER_LOSS = Action("send", d=0), Action("power loss")


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_flushed_messages_survive_every_crash_and_reach_every_group(seeds: range) -> None:
    """Flushed messages survive every crash in order, slaves have their masters' records, groups get every message."""
    reports = [found for seed in seeds if (found := report(seed))]

    assert not reports, "\n\n".join(reports)


def test_the_first_seeds_lose_some_messages_and_keep_others() -> None:
    ended = [run(*plan(seed)) for seed in range(30)]

    assert sum(master.kept.lost for one in ended for master in one.masters) > 50
    assert sum(one.engine.brokers[0].store.log.max_offset > 0 for one in ended) > 20


def _ended_at(disk: Disk, *actions: Action) -> Master:
    simulation = Durability((disk,))
    for action in actions:
        simulation.perform(action)
    return simulation.masters[0]


@pytest.mark.parametrize(
    ("disk", "actions", "lost"),
    [
        (Disk(), [SEND, POWER_LOSS], 1),
        (Disk(), [SEND, Action("kill")], 0),
        (Disk(), [SEND, Action("take down"), Action("bring back"), POWER_LOSS], 0),
        (Disk(), [SEND, Action("advance", a=6), SEND, POWER_LOSS], 1),
        (Disk(sync_flush=True), [SEND, POWER_LOSS], 0),
        (Disk(slaves=1), [SEND, POWER_LOSS], 1),
    ],
    ids=["power", "process", "stopped in between", "flushed in between", "synchronous", "with a slave"],
)
def test_only_a_power_loss_without_synchronous_flush_loses_messages(
    disk: Disk, actions: list[Action], lost: int
) -> None:
    """Only a power loss without synchronous flush loses messages, and only recently stored ones."""
    assert _ended_at(disk, *actions).kept.lost == lost


def test_a_send_that_waits_for_a_slave_ends_when_the_slave_starts_or_at_its_timeout() -> None:
    """A send that waits for a slave gets its response when the slave starts, and otherwise after three seconds."""
    master = _ended_at(Disk(slaves=1, sync_master=True), Action("slave down"), SEND)
    assert len(master.waiting) == 1

    simulation = Durability((Disk(slaves=1, sync_master=True),))
    for verb in ("slave down", "send", "slave up"):
        simulation.perform(Action(verb))
    assert simulation.masters[0].waiting == []


def _without_power_loss(master: Master) -> None:
    master.kept.died(master.now, power_loss=False)


def _long_after_the_send(master: Master) -> None:
    master.kept.died(master.now + 11_000, power_loss=True)


def _with_synchronous_flush(master: Master) -> None:
    master.broker.config.flush_disk_type = "SYNC_FLUSH"
    master.kept.died(master.now, power_loss=True)


@pytest.mark.parametrize("die", [_without_power_loss, _long_after_the_send, _with_synchronous_flush])
def test_an_unexplained_loss_of_a_message_is_reported(die: Callable[[Master], None]) -> None:
    """The oracle reports a lost message if the observed crash cannot have lost it."""
    master = _ended_at(Disk(), SEND)
    master.broker.crash()

    with pytest.raises(Violation, match="lost at"):
        die(master)


def test_wrong_offsets_queue_lengths_and_missed_messages_are_reported() -> None:
    """An offset beyond the end of a queue, a queue that is too long, and a missed message are reported."""
    master = _ended_at(Disk(), SEND)
    topic = next(iter(TOPICS))

    assert [kept.message_id for kept in master.kept.never_read("one")] == ["m1"]
    master.broker.offsets.commit("one", topic, 0, 2)
    with pytest.raises(Violation, match="never had so many messages"):
        master.judge()
    master.broker.offsets.commit("one", topic, 0, 1)
    master.engine.execute(master.broker, SendMessage("P", topic, 0, b"m2", {}, ("10.0.0.1", 1), master.now))
    with pytest.raises(Violation, match="ends at 2, not at 1"):
        master.judge()


@pytest.mark.parametrize(
    ("disk", "actions", "comes"),
    [
        (Disk(), [Action("kill")], True),
        (Disk(sync_flush=True), [POWER_LOSS], True),
        (Disk(), [POWER_LOSS], False),
        (Disk(), [Action("advance", a=6), POWER_LOSS], False),
        (Disk(), [Action("advance", a=7), POWER_LOSS], True),
        (Disk(), [Action("take down"), Action("advance", a=7), Action("bring back")], True),
    ],
    ids=[
        "crash of the process",
        "synchronous flush",
        "power loss",
        "power loss while the copy is made",
        "power loss after the copy was made",
        "graceful stop",
    ],
)
def test_an_unacknowledged_message_is_redelivered_unless_a_power_loss_lost_it(
    disk: Disk, actions: list[Action], comes: bool
) -> None:
    """An unacknowledged popped message is redelivered, unless a power loss may have lost its check point or copy.

    Before the redelivery the oracle lists it as missing, unless it may be lost.
    """
    simulation = Durability((disk,))
    (master,) = simulation.masters
    for action in (SEND, Action("advance", a=6), Action("pop"), *actions):
        simulation.perform(action)
    assert master.taken.missing() == (["m1"] if comes else [])

    simulation.finish()
    assert master.taken.missing() == []
