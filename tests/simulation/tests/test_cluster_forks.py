"""Forks of masters with slaves, which are checked while parent and fork work: SEED=n runs one seed, SEEDS=n that many.

The default of SEEDS is 20.
"""

import os

import pytest
from cluster import Cluster, plan
from cluster_forks import ForkedCluster, failure, report, run
from rocketmq_testkit.emulator.cluster.broker import Broker

SEEDS = [int(os.environ["SEED"])] if "SEED" in os.environ else range(int(os.environ.get("SEEDS", "20")))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_seed_has_a_fork_that_disturbs_its_parent_or_loses_messages(seed: int) -> None:
    assert report(seed) == ""


def test_some_of_the_first_seeds_have_forks_with_slaves() -> None:
    assert any(run(*plan(seed)).slaves for seed in range(4))


def test_a_fork_that_stores_in_its_parent_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a fork stores in its parent, the oracle of the parent reports a message that no client sent to the parent."""
    parents: list[Cluster] = []
    begin, send = ForkedCluster.__init__, ForkedCluster._send

    def noted(self: ForkedCluster, parent: Cluster) -> None:
        parents.append(parent)
        begin(self, parent)

    def sent(self: ForkedCluster, master: Broker) -> None:
        theirs = [one.session.broker for one in parents[-1].masters]
        send(self, next((one for one in theirs if one.running), master))

    monkeypatch.setattr(ForkedCluster, "__init__", noted)
    assert failure(*plan(2)) == ""
    monkeypatch.setattr(ForkedCluster, "_send", sent)
    assert failure(*plan(2)) != ""
