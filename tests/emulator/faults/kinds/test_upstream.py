"""Defects of upstream as faults: the emulator imitates a defect while one of its rules is active."""

import pytest
from fault_rules import Rules
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.faults.kinds.upstream import UpstreamDefectFault
from rocketmq_testkit.emulator.faults.upstream_defects import UPSTREAM_DEFECTS


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


@pytest.mark.parametrize("name", UPSTREAM_DEFECTS)
def test_a_defect_is_on_while_one_of_its_rules_holds(engine: Engine, name: str) -> None:
    """The end of the rule's duration switches it off as well. Other defects stay off."""
    rules = Rules(engine)
    lasting = rules.add(UpstreamDefectFault(name))
    rules.add(UpstreamDefectFault(name, duration="1s"))
    rules.remove(lasting)
    assert [each for each in UPSTREAM_DEFECTS if getattr(engine.defects, each)] == [name]
    engine.scheduler.advance_to(engine.scheduler.now_ms + 1_000)
    assert not getattr(engine.defects, name)
    rules.plan.clear()
