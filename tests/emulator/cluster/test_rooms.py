"""The rooms of a broker together handle every operation and store every state of a snapshot."""

import gc
import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import fields

from engine_harness import EngineHarness
from pull_operation import pull_of
from rocketmq_testkit.emulator import operations
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.snapshot.durable_state import ServiceState
from rocketmq_testkit.emulator.stats.broker_metrics import BROKER


def subclasses(kind: type[Operation]) -> Iterator[type[Operation]]:
    """Yield all subclasses, direct and indirect."""
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def test_every_operation_has_a_handler(harness: EngineHarness) -> None:
    """Each operation of the package is handled by a broker or by the name server."""
    for module in pkgutil.iter_modules(operations.__path__):
        importlib.import_module(f"{operations.__name__}.{module.name}")
    gc.collect()  # deletes the classes that the decorator of slotted dataclasses has replaced
    package = operations.__name__
    declared = {each for each in subclasses(Operation) if each.__module__.startswith(package)}
    assert declared == harness.broker.handlers.keys() | harness.engine.name_server.handlers.keys()


def test_a_snapshot_has_the_state_of_every_durable_service(harness: EngineHarness) -> None:
    """Each field of the services' state in a snapshot belongs to one durable service, and no service is left out."""
    state = harness.broker.state().services
    assert {field.name for field in fields(ServiceState)} == set(harness.broker.durables)
    assert all(getattr(state, name) == each.dump_on_stop() for name, each in harness.broker.durables.items())


def test_broker_metrics_count_messages_and_waiting_requests(harness: EngineHarness) -> None:
    """Metrics of a broker have the number of messages since its start and of its waiting requests."""
    harness.topic("A", 1)
    harness.send("A", b"one")
    harness.engine.submit(harness.broker, pull_of("G", "A", offset=1, suspend_ms=15_000))
    metrics = harness.broker.metrics()[BROKER]
    assert (metrics.messages_stored, metrics.messages_delivered, metrics.waiting_pulls) == (1, 0, 1)
    assert metrics.log_bytes == harness.broker.store.log.stored_bytes > 0
    harness.engine.restart()
    assert harness.broker.metrics()[BROKER].messages_stored == 0
