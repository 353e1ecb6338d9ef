"""Faults of brokers, name server and time, carried out on an engine: the `ClusterControl` of faults."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from .cluster.broker import Broker
from .cluster.replica import Replica
from .engine import Engine
from .faults.cluster_control import StandingFault, Undo
from .faults.criteria import is_one
from .faults.errors import FaultError, shown, unknown_name
from .gate.call import Node
from .kernel.errors import EngineError
from .kernel.scheduler import Lifetime, Timer
from .kernel.switch import Switch
from .kernel.timer_kind import TimerKind
from .operations.cluster import RouteResult
from .overload.request_pools import RefusalForm
from .topic.topic_table import UNSPECIFIED

PROXY = "proxy"
"""The name by which the criterion `broker` selects requests that the gRPC proxy answers on its own."""


class BrokerStop:
    """One rule's stop of a broker. `run` is the run of the broker that it ended, None before the broker has stopped."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.run: Lifetime | None = None


class EngineClusterControl:
    """Control of the cluster of one engine without ports. A host overrides the methods that close and open ports."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stops: list[BrokerStop] = []
        """The stops of all rules that have not ended."""
        self._lost_flushes: Counter[Broker] = Counter()
        """By broker, the number of rules that lose its flushes."""

    # ports, which an engine does not have

    def close_ports(self, broker: Broker) -> None:
        """Close the ports of a broker that has stopped."""

    def open_ports(self, broker: Broker) -> None:
        """Open the ports of a broker that is about to start."""

    def break_connections(self, broker: Broker) -> None:
        """Break the connections of a broker that has restarted, and those of the proxy."""

    def close_name_server(self) -> None:
        """Close the port of the name server."""

    def open_name_server(self) -> None:
        """Open the port of the name server."""

    # brokers

    def check_broker(self, name: str) -> None:
        """Raise FaultError if there is no broker with this name."""
        self._broker(name)

    def check_node(self, name: str) -> None:
        """Raise FaultError if no server has the name or matches the pattern: a broker, the name server, the proxy."""
        known = dict.fromkeys((*(broker.name for broker in self._engine.brokers), self._engine.name_server.name, PROXY))
        if not any(is_one(each, name) for each in known):
            raise unknown_name("broker", name, known)

    def check_slave(self, name: str | None) -> None:
        """Raise FaultError if there is no slave, or if the named broker is neither a slave nor a master with one."""
        if not any(self._concerns(replica, name) for replica in self._engine.replicas):
            wrong = "there is no slave" if name is None else f"broker={shown(name)}: it has no slave"
            raise FaultError(f"slave_lag: {wrong}, so that nothing would lag; start the emulator with slaves=1")

    def later(self, ms: int, action: Callable[[], None]) -> Timer:
        """Run an action after some ms of the emulator's time."""
        return self._engine.scheduler.call_later(ms, action, TimerKind.FAULT)

    def stop_broker(self, name: str, *, kill: bool) -> StandingFault:
        """Stop a broker until the fault ends. Several rules may stop one broker: it starts when the last of them ends.

        A broker that was stopped before the rule stays stopped. If it is started during the fault, it keeps running.
        """
        broker = self._broker(name)
        stop = BrokerStop(broker)
        if broker.running:
            self._stops.append(stop)
            self._engine.stop(broker, kill=kill, on_stopped=lambda: self._stopped(broker))
        elif any(self._is_in_force(other) for other in self._stops if other.broker is broker):
            stop.run = broker.lifetime
            self._stops.append(stop)
        return Undo(lambda: self._end_stop(stop))

    def _stopped(self, broker: Broker) -> None:
        self.close_ports(broker)
        waiting = [stop for stop in self._stops if stop.broker is broker]
        for stop in waiting:
            stop.run = broker.lifetime
        if not waiting:  # the rule ended during the graceful shutdown
            self._start(broker)

    def _end_stop(self, stop: BrokerStop) -> None:
        if stop not in self._stops:
            return
        self._stops.remove(stop)
        broker = stop.broker
        others = any(self._is_in_force(other) for other in self._stops if other.broker is broker)
        if self._is_in_force(stop) and not others:
            self._start(broker)

    def _start(self, broker: Broker) -> None:
        self.open_ports(broker)
        self._engine.start(broker)

    @staticmethod
    def _is_in_force(stop: BrokerStop) -> bool:
        """True if the broker has not run since the rule stopped it."""
        return not stop.broker.running and stop.run is stop.broker.lifetime

    def restart_broker(self, name: str | None, node: Node | None, *, kill: bool) -> None:
        """Restart the broker with a name, else the broker `node`, else all. A stopped broker stays stopped."""
        brokers = self._named(name) if name is not None or not isinstance(node, Broker) else [node]
        for broker in brokers:
            if broker.running:
                if kill:
                    self._engine.crash(broker, power_loss=False)
                else:
                    self._engine.restart(broker)
                self.break_connections(broker)

    def call(self, function: Callable[[], Any], timeout_ms: int, done: Callable[[BaseException | None], None]) -> None:
        """Call a function of the test at once: an engine alone has no other thread, and no real time."""
        try:
            function()
        except Exception as error:
            done(error)
        else:
            done(None)

    def stop_name_server(self) -> StandingFault:
        """Stop the name server for remoting clients."""
        name_server = self._engine.name_server
        if name_server.running:
            self.close_name_server()
        name_server.stop()

        def start() -> None:
            name_server.start()
            if name_server.running:
                self.open_name_server()

        return Undo(start)

    def enable_defect(self, name: str) -> StandingFault:
        """Switch a defect of upstream on until its last rule ends. At the end, blocked revive queues continue."""
        defects = self._engine.defects
        defects.enable(name)

        def end() -> None:
            defects.release(name)
            for broker in self._engine.brokers:
                if broker.running:
                    broker.revive.resume()

        return Undo(end)

    # services of brokers

    def stop_revive(self, name: str | None) -> StandingFault:
        """Stop the redelivery of popped messages."""
        return _switch_off([broker.interference.revive for broker in self._named(name)])

    def redeliver(self, node: Node, topic: str, group: str, queue_id: int, *, offset: int) -> None:
        """Redeliver a popped message whose invisible duration has been shortened, and wake waiting pops."""
        broker = _as_broker(node)
        if not broker.running:
            return
        records = broker.pop_kv_service
        is_stored = broker.revive.redeliver_now(topic, group, queue_id, offset) or (
            records is not None and records.redeliver_now(topic, group, queue_id, offset)
        )
        if is_stored:
            broker.pops.wake_ups.wake_for_redelivered(topic, group)

    def stop_transaction_checks(self, name: str | None) -> StandingFault:
        """Stop the checks of half messages."""
        return _switch_off([broker.interference.transaction_checks for broker in self._named(name)])

    def lose_flushes(self, name: str | None) -> StandingFault:
        """Lose the records that are flushed from now on if the power fails before the fault ends."""
        brokers = self._named(name)
        for broker in brokers:
            if not self._lost_flushes[broker]:
                broker.store.lose_flushes()
            self._lost_flushes[broker] += 1

        def keep() -> None:
            for broker in brokers:
                self._lost_flushes[broker] -= 1
                if not self._lost_flushes[broker]:
                    broker.store.keep_flushes()

        return Undo(keep)

    def lag_slaves(self, name: str | None, ms: int) -> StandingFault:
        """Replicate records `ms` later. `name` is a slave, or a master for all its slaves."""
        replicas = [replica for replica in self._engine.replicas if self._concerns(replica, name)]
        for replica in replicas:
            replica.add_lag(ms)

        def catch_up() -> None:
            for replica in replicas:
                replica.remove_lag(ms)

        return Undo(catch_up)

    def _concerns(self, replica: Replica, name: str | None) -> bool:
        return name is None or self._broker(name) in (replica.master, replica.slave)

    def skew_clock(self, name: str, ms: int) -> StandingFault:
        """Set the clock of a broker fast (negative: slow). Several rules add up."""
        broker = self._broker(name)

        def turn(by_ms: int) -> None:
            broker.interference.skew.ms += by_ms
            self._engine.scheduler.apply_skews()
            # Registrations and locks expire after a duration, which the jump of the broker's clock must not change.
            broker.clients.extend_leases(by_ms)
            broker.locks.extend_leases(by_ms, lambda group, client_id: True)

        turn(ms)
        return Undo(lambda: turn(-ms))

    def steal_queue_locks(self, group: str, topic: str) -> StandingFault:
        """Take the queue locks of a group on a topic away from its clients, on all brokers."""
        brokers = self._engine.brokers
        for broker in brokers:
            broker.interference.stolen_locks[group, topic] += 1
            broker.locks.drop(group, topic)

        def release() -> None:
            for broker in brokers:
                stolen = broker.interference.stolen_locks
                stolen[group, topic] -= 1
                if not stolen[group, topic]:
                    del stolen[group, topic]

        return Undo(release)

    # routes and requests

    def routes(self) -> Mapping[str, RouteResult]:
        """Return the routes of all topics as of now."""
        return self._engine.name_server.routes()

    def message_type(self, topic: str) -> str:
        """Return the type of a topic at the first broker that has it; UNSPECIFIED if none has it."""
        types = (broker.topics.message_type(topic) for broker in self._engine.brokers)
        return next((each for each in types if each != UNSPECIFIED), UNSPECIFIED)

    def full_disk(self, node: Node) -> AbstractContextManager[None]:
        """Treat the disk of a broker as full within a block."""
        return _as_broker(node).store.disk.filled()

    def page_cache_busy(self, *, through_proxy: bool) -> EngineError:
        """Return the error of a send while the page cache is busy.

        Upstream's processor of remoting requests has a check of its own, which requests through the proxy skip.
        """
        return (RefusalForm.PC_SYNCHRONIZED if through_proxy else RefusalForm.REJECTREQUEST).refusal()

    @contextmanager
    def failing_store(self, node: Node, error: EngineError) -> Iterator[None]:
        """Raise an error for each message that a broker stores within a block."""
        store = _as_broker(node).store

        def fail(_message: Any) -> None:
            raise error

        store.add_hook(fail)
        try:
            yield
        finally:
            store.remove_hook(fail)

    def flush_timeout_ms(self, node: Node) -> int:
        """Return the time (ms) for which a send to a broker waits for the flush to the disk."""
        return max(_as_broker(node).config.sync_flush_timeout, 0)

    def slave_timeout_ms(self, node: Node) -> int:
        """Return the time (ms) for which a send to a broker waits for its slaves."""
        return max(_as_broker(node).config.slave_timeout, 0)

    def _named(self, name: str | None) -> Sequence[Broker]:
        return self._engine.brokers if name is None else [self._broker(name)]

    def _broker(self, name: str) -> Broker:
        known = {_name_of(broker): broker for broker in self._engine.brokers}
        if name not in known:
            raise unknown_name("broker", name, known)
        return known[name]


def _switch_off(switches: Sequence[Switch]) -> StandingFault:
    for switch in switches:
        switch.stop()

    def resume() -> None:
        for switch in switches:
            switch.resume()

    return Undo(resume)


def _name_of(broker: Broker) -> str:
    return broker.name if broker.is_master else f"{broker.name}:{broker.broker_id}"


def _as_broker(node: Node) -> Broker:
    assert isinstance(node, Broker), "the fault acts on requests to brokers"
    return node
