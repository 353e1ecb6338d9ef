"""Brokers in virtual time with rules of faults, and clients of both protocols in memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine_harness import START_MS, EngineHarness
from remoting_harness import Peer
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.engine_cluster_control import EngineClusterControl
from rocketmq_testkit.emulator.faults.criteria import CRITERIA, Criteria
from rocketmq_testkit.emulator.faults.fault import Fault
from rocketmq_testkit.emulator.faults.occurrence import Occurrence
from rocketmq_testkit.emulator.faults.plan import FaultPlan
from rocketmq_testkit.emulator.faults.rule import RuleSpec, RunningRule
from rocketmq_testkit.emulator.snapshot.durable_state import EngineState
from rocketmq_testkit.fixtures.faults.running_rules import RunningRules
from rocketmq_testkit.remoting.server.dispatcher import RemotingDispatcher


class FaultHarness(EngineHarness):
    """One engine, its rules, and a remoting port of each broker, which serves the name server as well."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, engine.brokers[0])
        self.plan: FaultPlan = RunningRules(engine, EngineClusterControl(engine)).plan
        self._ports = iter(range(50001, 60000))

    def add(self, fault: Fault, **options: Any) -> RunningRule:
        """Add a rule."""
        criteria = {name: value for name, value in options.items() if name in CRITERIA}
        occurrence = {name: value for name, value in options.items() if name not in CRITERIA}
        spec = RuleSpec(fault=fault, criteria=Criteria(**criteria), occurrence=Occurrence(**occurrence))
        return self.plan.add([spec])[0]

    def peer(self, broker: Broker | None = None, address: str = "10.0.0.7") -> Peer:
        """Open a remoting connection to a broker, by default the first."""
        dispatcher = RemotingDispatcher(
            gate=self.engine.gate,
            broker=broker or self.broker,
            name_server=self.engine.name_server,
            broker_address=lambda name, broker_id, channel: f"{name}:{10911 + broker_id}",
            log=_fail,
        )
        return Peer(dispatcher, next(self._ports), address)

    def named(self, name: str, broker_id: int = 0) -> Broker:
        """Return a broker."""
        found = self.engine.broker(name, broker_id)
        assert found is not None
        return found

    def running(self) -> list[bool]:
        """Return True for each running broker and False for each stopped one, in the order of the engine."""
        return [broker.running for broker in self.engine.brokers]


def make_fault_harness(
    brokers: Sequence[str] = ("broker-a",), slaves: int = 0, state: EngineState | None = None, **keys: object
) -> FaultHarness:
    """Create masters, each with slaves. `keys` are attribute names of the configuration of all brokers."""
    if state is not None:
        return FaultHarness(Engine(state=state))
    configs = []
    for number in range(slaves + 1):
        for name in brokers:
            config = BrokerConfig(broker_name=name, broker_id=number)
            for key, value in keys.items():
                setattr(config, key, value)
            configs.append(replace(config, broker_role="SLAVE") if number else config)
    return FaultHarness(Engine(brokers=configs, seed=1, now_ms=START_MS))


def _fail(line: str) -> None:
    raise AssertionError(line)
