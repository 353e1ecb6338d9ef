"""Cases that the simulation found, each reduced to the fewest actions, with the bug of the broker or the oracle."""

import json
from collections.abc import Callable
from typing import Any

import broker_faults
import cluster
import cluster_forks
import pytest
from accepted_messages import REFUSALS
from broker_faults import TroubleSetup
from cluster import ClusterSetup
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from session import Session
from simulated_client import Client
from simulation import Action, Setup, failure, journal_lines, run

CHANGED_TWICE_THEN_CRASHED = [
    Action("send"),
    Action("pop"),
    Action("hide", fate="lost"),
    Action("advance", a=10),
    Action("crash", a=1),
]
"""Two changes with one handle in one millisecond created two check points with one key.

Only the first was processed, and the offset of the revive queue stayed before the second, so that a crash an hour later
redelivered it.
"""

PASSED_OVER_THEN_RESET_THEN_CRASHED = [
    Action("send"),
    Action("send"),
    Action("send", c=40),
    Action("pop", client=54, c=26),
    Action("advance", a=40),
    Action("reset", client=13),
    Action("crash"),
]
"""The group had skipped an unwanted message, and that offset was in the file when a reset moved it back.

A crash then lost the reset. The oracle had forgotten the skipped message.
"""
RESET_WHILE_HIDDEN = [
    Action("pop", 2, 37, 0, 31),
    Action("send", a=10),
    Action("hide", b=46),
    Action("advance"),
    Action("reset", client=32, a=46),
    Action("advance", a=57),
    Action("pop", client=15, a=40),
    Action("ack many", client=6, a=4),
    Action("advance", a=57),
]
"""A record in memory matches acknowledgements by offset alone.

After a reset, an acknowledgement of an earlier delivery, whose record is stored, therefore acknowledges a later
delivery, and the earlier one is redelivered. The oracle considered the earlier one acknowledged.
"""

FORGED_BY_A_MILLISECOND = [
    Action("send", a=28),
    Action("pop", a=58),
    Action("advance"),
    Action("hide", b=43, fate="abandoned"),
    Action("crash"),
    Action("hide", b=58),
    Action("ack forged"),
]
"""A forged handle happened to have the key of a check point, but a shorter invisible duration.

The timer wheel delivered its acknowledgement before the check point, so the broker dropped it. The oracle considered
the message acknowledged.
"""
BACK_TO_THE_BEGINNING_THEN_CRASHED = [
    Action("send", a=13),
    Action("pop", a=16),
    Action("send", a=22),
    Action("pop", a=52),
    Action("advance"),
    Action("send", a=22, d=34),
    Action("pop", a=40, c=58),
    Action("advance", a=6),
    Action("advance", a=46),
    Action("reset", a=13),
    Action("pop", a=58),
    Action("advance", a=29),
    Action("crash"),
]
"""With records the committed offset is the start of the last read; after a reset it is the start of the queue.

The oracle considered only old reads.
"""

POPPED_IN_ORDER_TWO_DAYS_AGO = [
    Action("send timed", a=1, d=7),
    Action("send"),
    Action("pop in order", d=3),
]
"""A batch in flight for more than a day is deleted, and its messages do not count as redelivered.

The oracle counted them, after it had waited for a timed message of two days later.
"""

RESET_OF_ANOTHER_QUEUE = [Action("burst"), Action("pop", d=54), Action("pop", c=54), Action("reset", b=53)]
"""With records a reset of one queue moves the others back to the records in memory.

Until the next read their offsets follow these records. The oracle expected all messages to be read again.
"""

RESET_OF_ANOTHER_QUEUE_LATER = [
    Action("burst", b=20),
    Action("pop", fate="doubled"),
    Action("pop", b=39),
    Action("advance", a=8),
    Action("reset"),
]
"""The committed offset stays at the first message whose record was in memory, even if no record is left there.

The oracle knew that for a crash, but not for the reset of another queue.
"""

WOKEN_BY_ONE_THAT_WAS_WOKEN = [
    Action("pop in order", client=15, a=10, b=1, c=28, fate="doubled"),
    Action("pop in order", client=39, a=31, b=50, c=10),
    Action("send", a=40, fate="lost"),
    Action("ack", fate="doubled"),
    Action("ack"),
]
"""A waiting pop that left messages woke the next one, which got its response first although it came later."""

CHANGED_WITH_AN_OLD_HANDLE_WHILE_POPPED = [
    Action("send", a=41),
    Action("pop"),
    Action("pop", a=50),
    Action("crash"),
    Action("pop", a=17),
    Action("hide", b=36, fate="doubled"),
]
"""In the millisecond in which a message was popped again after a crash, its old handle was changed twice.

The buffer had one key for both check points, so it applied the acknowledgement of the first change to the pop. The
oracle considered the first change acknowledged.
"""

POPPED_TWICE_IN_A_MILLISECOND = [
    Action("send", a=31),
    Action("pop", a=31),
    Action("reset", a=40),
    Action("pop", a=7, c=52),
]
"""A reset made a message readable again in the millisecond in which it was popped.

In the buffer its check point would have the same key as the first, so the second pop waits. The oracle expected it to
be woken.
"""


WOKEN_BY_ONE_WHOSE_TIME_WAS_OVER = [
    Action("send"),
    Action("send", a=26),
    Action("send", a=14),
    Action("pop in order", a=32),
    Action("pop in order", a=53, c=12),
    Action("pop in order", a=26, b=25, c=19),
    Action("hide", b=2),
]
"""A pop timed out at the time at which its queue became free: it took the first message and woke another pop.

That pop got its response first.
"""

CHECKED_THEN_CRASHED_THRICE = [
    Action("advance"),
    Action("prepare"),
    Action("advance", a=32),
    Action("crash"),
    Action("advance", a=44),
    Action("advance"),
    Action("advance", a=1),
    Action("crash"),
    Action("advance", a=33),
    Action("advance", a=51),
    Action("advance", a=56),
    Action("crash"),
    Action("advance", a=17),
    Action("advance", a=16),
]
"""Each crash after a round of the transaction check adds another copy of a half message.

The oracle confused a re-appended copy with one that may have been re-appended before the crash, and reported it as
forgotten.
"""

RESET_FORWARD_WHILE_IN_MEMORY = [
    Action("send", a=2, b=1),
    Action("pop", a=14),
    Action("send", a=2, b=1),
    Action("reset", a=2, c=2),
    Action("advance", a=46),
    Action("crash"),
]
"""A popped message was in memory when its group was reset forward, and was committed after that.

The crash lost the reset, which no read had taken. The oracle knew only offsets that the group had had since the reset.
"""
RESET_BACK_WHILE_IN_MEMORY = [
    Action("send", a=2, b=1),
    Action("pop", a=14),
    Action("reset", a=2),
    Action("advance", a=46),
    Action("crash"),
]
"""The case is that of `RESET_FORWARD_WHILE_IN_MEMORY` with a reset backward."""

FORWARDED_BY_AN_OLD_HANDLE = [Action("send"), Action("pop"), Action("hide", fate="abandoned"), Action("give up")]
"""A client never received the handle of its change, and moved the message to the dead letter queue by the old handle.

The message is therefore a dead letter and in flight. The oracle required each dead letter to be acknowledged.
"""


@pytest.mark.parametrize(
    ("setup", "actions"),
    [
        (Setup(0, retry_first=0), CHANGED_TWICE_THEN_CRASHED),
        (Setup(4083, retry_first=20), WOKEN_BY_ONE_THAT_WAS_WOKEN),
        (Setup(4016, retry_v2=True, mode="cached records"), WOKEN_BY_ONE_WHOSE_TIME_WAS_OVER),
    ],
    ids=["changed twice, then crashed", "woken by one that was woken", "woken by one whose time was over"],
)
def test_fixed_broker_bugs_stay_fixed(setup: Setup, actions: list[Action]) -> None:
    """A case in which the broker once had a bug has no violation."""
    assert failure(setup, actions) == ""


RESET_TAKEN_THEN_CRASHED = [
    Action("send", a=55),
    Action("send", a=49),
    Action("pop", a=22, c=22),
    Action("reset", a=31),
    Action("advance", a=10),
    Action("pop", a=19),
    Action("crash"),
]
"""A message in memory was committed despite a reset, and written; the crash then lost the read that took the reset.

The oracle assumed that a taken reset is safe.
"""


@pytest.mark.parametrize(
    ("setup", "actions"),
    [
        (Setup(857, retry_first=100), PASSED_OVER_THEN_RESET_THEN_CRASHED),
        (Setup(825, retry_v2=True, retry_first=0, mode="cached records"), RESET_WHILE_HIDDEN),
        (Setup(2272, retry_v2=True, mode="buffer"), FORGED_BY_A_MILLISECOND),
        (Setup(2354, retry_first=0, mode="cached records"), BACK_TO_THE_BEGINNING_THEN_CRASHED),
        (Setup(2798, mode="cached records"), RESET_OF_ANOTHER_QUEUE),
        (Setup(3783, retry_first=100, mode="cached records"), RESET_OF_ANOTHER_QUEUE_LATER),
        (Setup(4423, retry_v2=True, retry_first=100, mode="buffer"), CHANGED_WITH_AN_OLD_HANDLE_WHILE_POPPED),
        (Setup(6145, retry_first=0, mode="buffer"), POPPED_TWICE_IN_A_MILLISECOND),
        (Setup(13), POPPED_IN_ORDER_TWO_DAYS_AGO),
        (Setup(819), CHECKED_THEN_CRASHED_THRICE),
        (Setup(40101, retry_v2=True, retry_first=100, mode="buffer"), RESET_FORWARD_WHILE_IN_MEMORY),
        (Setup(40101, retry_v2=True, retry_first=100, mode="buffer"), RESET_BACK_WHILE_IN_MEMORY),
        (Setup(50841, retry_first=0, mode="buffer"), FORWARDED_BY_AN_OLD_HANDLE),
        (Setup(6028, mode="buffer", limits=(16, 0)), RESET_TAKEN_THEN_CRASHED),
    ],
    ids=[
        "passed over, then reset, then crashed",
        "reset while hidden",
        "forged by a millisecond",
        "back to the beginning, then crashed",
        "reset of another queue",
        "reset of another queue later",
        "changed with an old handle while popped",
        "popped twice in a millisecond",
        "popped in order two days ago",
        "checked, then crashed thrice",
        "reset forward while in memory",
        "reset back while in memory",
        "forwarded by an old handle",
        "reset taken, then crashed",
    ],
)
def test_upstream_behavior_that_the_oracle_once_reported_has_no_violation(setup: Setup, actions: list[Action]) -> None:
    """A case that the oracle once reported, although upstream behaves like this, has no violation."""
    assert failure(setup, actions) == ""


COMMITTED_BEHIND_DELETED_HALF_MESSAGES = [
    Action("prepare"),
    Action("delete"),
    Action("advance", a=56),
    Action("prepare"),
    Action("fill", a=33),
    Action("advance", a=56),
    Action("crash"),
    Action("prepare"),
    Action("end"),
    Action("advance", a=53),
    Action("take down"),
    Action("advance"),
]
"""A crash moved the position of the checks back to half messages whose file was deleted since.

The round corrected its position to a committed half message, and discarded it: it did not look for its op message, as
TransactionalMessageServiceImpl.check does.
"""
OFFSET_LOST_BEFORE_THE_FORK = [
    Action("advance", a=20),
    Action("advance"),
    Action("prepare"),
    Action("advance", a=44),
    Action("crash"),
    Action("hide"),
]
"""The slave had copied an offset before its master lost it in a crash, and kept it, as SlaveSynchronize does.

The simulation of the fork knew only the offsets of the master since the fork.
"""
REDELIVERED_TO_A_FULL_DISK = [
    Action("trouble", a=list(REFUSALS).index("busy with acknowledgements")),
    *[Action("advance", a=6)] * 2,
    Action("advance", a=5),
    Action("advance", a=3),
    Action("send"),
    Action("advance", a=7),
    Action("trouble", a=list(REFUSALS).index("disk full")),
    Action("advance", a=4),
]
"""All acknowledgements were rejected, and the disk was full when the message was due again.

The broker lost the message for the group, because PopReviveService.rePutCK ignores that its check point was not stored.
The oracle expected a redelivery.
"""
ONE_WITH_SLAVES = ClusterSetup((Setup(0, retry_first=100, mode="cached records"),), (2,))


@pytest.mark.parametrize(
    ("fails", "setup", "actions"),
    [
        (cluster.failure, ClusterSetup((Setup(0, retention="on request"),)), COMMITTED_BEHIND_DELETED_HALF_MESSAGES),
        (cluster_forks.failure, ONE_WITH_SLAVES, [*OFFSET_LOST_BEFORE_THE_FORK, *[Action("advance")] * 6]),
        (broker_faults.failure, TroubleSetup(1), REDELIVERED_TO_A_FULL_DISK),
    ],
    ids=["committed behind deleted half messages", "offset lost before the fork", "redelivered to a full disk"],
)
def test_found_cases_of_several_brokers_have_no_violation(
    fails: Callable[[Any, list[Action]], str], setup: object, actions: list[Action]
) -> None:
    """One fault of the broker and two of the simulations, found with clusters, their forks, and brokers in trouble."""
    assert fails(setup, actions) == ""


def test_an_end_with_unknown_state_has_an_empty_outcome_in_the_journal() -> None:
    """An end of a transaction with the state UNKNOWN has no response, and the journal has an empty outcome."""
    simulation = run(Setup(0), [Action("prepare"), Action("end", b=5)])

    ends = [line for line in journal_lines(simulation) if "EndTransaction" in line]
    assert '"event": "responded"' in ends[-1]
    assert json.loads(ends[-1])["outcome"] == {}


def test_closing_a_connection_removes_its_waiting_requests_and_no_others() -> None:
    """Closing a connection removes its waiting pops, notifications and pulls, and no others."""
    session = Session(BrokerConfig(), EmulationConfig(), 0, lambda seen: None)
    session.create_topic("A", 1)
    leaving, staying = Client("leaving", "G"), Client("staying", "G")
    for client in (leaving, staying):
        session.pop(client, "A", -1, 1, invisible_ms=10_000, poll_ms=15_000)
        session.notify(client, "A", 15_000)
        session.pull(client, "A", 0, 0, count=1, suspend_ms=15_000)

    session.leave(leaving, close=True)

    broker = session.broker
    assert (broker.pops.polling.total, broker.notifications.polling.total, len(broker.pulls.hold)) == (1, 1, 1)
