"""Reactions of real SDKs to faults, compared with the record of `make fault-matrix`.

One kind of each layer with every SDK, and every other kind with one SDK.
"""

from collections.abc import Mapping

import pytest
from rocketmq_testkit.conformance.faults.matrix import SdkRun, differences, sdks
from rocketmq_testkit.conformance.faults.reaction import DIED, Reaction
from rocketmq_testkit.conformance.faults.record import ReactionRecord
from rocketmq_testkit.conformance.faults.situations import SITUATIONS, situation
from rocketmq_testkit.emulator.faults.fault import IN_PYTHON, KINDS

OF_LAYERS = {
    "responses": "respond",
    "effects": "duplicate_request",
    "bytes": "truncate_frame",
    "connections": "reset_connection",
    "cluster": "refuse_append",
    "upstream": "upstream_defect",
}
"""One kind of each layer that takes less than four seconds with every SDK."""


def shares() -> Mapping[str, list[str]]:
    """Share the other kinds among the SDKs, each to one that it acts on and that survives it."""
    record = ReactionRecord()
    found: dict[str, list[str]] = {sdk: [] for sdk in sdks()}
    for each in SITUATIONS:
        if each.kind in OF_LAYERS.values():
            continue
        cells = {sdk: record.cell(sdk, each.kind) for sdk in found}
        fit = [sdk for sdk, cell in cells.items() if isinstance(cell, Reaction) and cell.error != DIED]
        found[min(fit, key=lambda sdk: len(found[sdk]))].append(each.kind)
    return found


SHARES = shares()


def test_every_layer_has_a_kind_that_is_observed_here() -> None:
    assert {name: KINDS[kind].KIND.layer for name, kind in OF_LAYERS.items()} == {name: name for name in OF_LAYERS}
    assert set(OF_LAYERS) == {cls.KIND.layer for cls in KINDS.values()}


@pytest.mark.parametrize("sdk", sdks())
def test_an_sdk_reacts_to_a_fault_of_each_layer_as_recorded(sdk: str) -> None:
    """Error, time, retries, stored messages and deliveries are those of the record."""
    assert differences(sdk, [situation(kind) for kind in OF_LAYERS.values()], ReactionRecord()) == []


def test_every_kind_is_observed_here_with_a_real_sdk() -> None:
    """The kind for Python alone is observed in `test_called_functions.py`."""
    shared = [kind for kinds in SHARES.values() for kind in kinds]
    assert sorted([*shared, *OF_LAYERS.values()]) == sorted(each.kind for each in SITUATIONS)
    assert set(IN_PYTHON) == {"call"}


@pytest.mark.sampled
@pytest.mark.parametrize("sdk", sdks())
def test_an_sdk_reacts_to_its_share_of_the_other_kinds_as_recorded(sdk: str) -> None:
    """Each kind whose effect an SDK sees otherwise than in the record is named."""
    assert differences(sdk, [situation(kind) for kind in SHARES[sdk]], ReactionRecord()) == []


@pytest.mark.parametrize("sdk", ["rust", "go-remoting"])
def test_an_observed_crash_changes_no_later_observation(sdk: str) -> None:
    """A crash fails the receive in flight of one SDK, and leaves the other one with offsets beyond the queues' end."""
    with SdkRun(sdk) as run:
        seen = [run.observe(situation("lose_flush")) for _ in range(2)]
    assert seen == [ReactionRecord().cell(sdk, "lose_flush")] * 2
