"""Reactions of real SDKs to one kind of fault of each layer, compared with the record of `make fault-matrix`."""

import pytest
from rocketmq_testkit.conformance.faults.matrix import SdkRun, differences, sdks
from rocketmq_testkit.conformance.faults.record import Record
from rocketmq_testkit.conformance.faults.situations import situation
from rocketmq_testkit.emulator.faults.fault import KINDS

OF_LAYERS = {
    "responses": "respond",
    "effects": "duplicate_request",
    "bytes": "truncate_frame",
    "connections": "reset_connection",
    "cluster": "refuse_append",
    "upstream": "upstream_defect",
}
"""One kind of each layer that takes less than four seconds with every SDK."""


def test_every_layer_has_a_kind_that_is_observed_here() -> None:
    assert {name: KINDS[kind].KIND.layer for name, kind in OF_LAYERS.items()} == {name: name for name in OF_LAYERS}
    assert set(OF_LAYERS) == {cls.KIND.layer for cls in KINDS.values()}


@pytest.mark.parametrize("sdk", sdks())
def test_an_sdk_reacts_to_a_fault_of_each_layer_as_recorded(sdk: str) -> None:
    """Error, time, retries, stored messages and deliveries are those of the record."""
    assert differences(sdk, [situation(kind) for kind in OF_LAYERS.values()], Record()) == []


@pytest.mark.parametrize("sdk", ["rust", "go-remoting"])
def test_an_observed_crash_changes_no_later_observation(sdk: str) -> None:
    """A crash fails the receive in flight of one SDK, and leaves the other one with offsets beyond the queues' end."""
    with SdkRun(sdk) as run:
        seen = [run.observe(situation("lose_flush")) for _ in range(2)]
    assert seen == [Record().cell(sdk, "lose_flush")] * 2
