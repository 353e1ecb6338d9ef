"""Clients of a broker while rules are added and removed: SEED=n runs one seed, SEEDS=n that many (default 60)."""

import os
from collections import Counter
from typing import Any

import pytest
import ruled_requests
from rocketmq_testkit.emulator.store.message_store import MessageStore
from ruled_requests import KINDS, RuledRequests, failure, plan, report, run
from simulation import Action

SEEDS = [int(os.environ["SEED"])] if "SEED" in os.environ else range(int(os.environ.get("SEEDS", "60")))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_seed_violates_the_invariants_that_hold_under_all_rules(seed: int) -> None:
    assert report(seed) == ""


def test_rules_of_all_kinds_fire() -> None:
    """Each kind of fault occurs in the simulated seeds, so that they do test it."""
    fired: Counter[str] = Counter()
    for seed in range(60):
        fired.update({rule.spec.fault.KIND.name: rule.fired for rule in run(*plan(seed)).all_rules})
    kinds: list[Any] = [fault for fault, _, _ in KINDS]
    assert all(fired[fault.KIND.name] for fault in kinds), fired


def test_the_invariants_find_a_confirmed_message_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    sends = [Action("send"), Action("send", a=1), Action("send")]
    setup = plan(0)[0]
    assert failure(setup, sends) == ""
    record = MessageStore.record
    monkeypatch.setattr(
        MessageStore, "record", lambda self, topic, queue, offset: record(self, topic, queue, max(offset - 1, 0))
    )
    assert "Violation: m3 was confirmed at (0, 1)" in failure(setup, sends)


def test_the_invariants_find_a_second_response_without_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(self: RuledRequests) -> None:
        self._answers[1] += 1
        collect(self)

    collect = RuledRequests._collect
    monkeypatch.setattr(ruled_requests.RuledRequests, "_collect", doubled)
    assert failure(plan(0)[0], [Action("send")]) == "Violation: a request has 2 responses, rules allow 1"
