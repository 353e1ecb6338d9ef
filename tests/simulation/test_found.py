"""What the simulation has found once, as short as it can be told: each was wrong in the broker and is right now."""

import pytest
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from session import Session
from simulated_client import Client
from simulation import Action, Setup, failure

CHANGED_TWICE_THEN_CRASHED = [
    Action("send"),
    Action("pop"),
    Action("hide", fate="lost"),
    Action("advance", a=10),
    Action("crash", a=1),
]
"""Two changes with one handle in one millisecond make two check points with one key. The first was taken, the second
passed over, and the position of the revive queue stood before the second: a crash an hour later brought it again."""


@pytest.mark.parametrize("actions", [CHANGED_TWICE_THEN_CRASHED], ids=["changed twice, then crashed"])
def test_what_was_found_stays_repaired(actions: list[Action]) -> None:
    """The oracle has nothing to say any more."""
    assert failure(Setup(0, retry_first=0), actions) == ""


def test_a_gone_client_leaves_nothing_waiting() -> None:
    """Closing a connection forgets its pops, notifications and pulls, and nobody else's."""
    session = Session(BrokerConfig(), EmulationConfig(), 0, lambda seen: None)
    session.create_topic("A", 1)
    leaving, staying = Client("leaving", "G"), Client("staying", "G")
    for client in (leaving, staying):
        session.pop(client, "A", -1, 1, 10_000, 15_000)
        session.notify(client, "A", 15_000)
        session.pull(client, "A", 0, 0, 1, 15_000)

    session.leave(leaving, close=True)

    broker = session.broker
    assert (broker.pops.polling.total, broker.notifications.polling.total, len(broker.pulls.hold)) == (1, 1, 1)
