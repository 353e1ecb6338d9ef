"""The assignment of queues as an inspection derives it: from requests, and by the one strategy that explains these."""

import pytest
from engine_harness import EngineHarness
from inspected import look
from pull_operation import pull_of
from rocketmq_testkit.emulator.inspection.strategies import STRATEGIES, agreeing, owners
from rocketmq_testkit.emulator.operations.clients import MessageQueue
from rocketmq_testkit.emulator.operations.consume import PopMessage

QUEUES = [MessageQueue("A", "broker-a", queue_id) for queue_id in range(8)]
CLIENTS = ["c1", "c2", "c3"]


def pull(harness: EngineHarness, client: str, queue_id: int) -> None:
    operation = pull_of("G", "A", queue=queue_id)
    harness.engine.submit(harness.broker, operation, harness.channels[client])


def join(harness: EngineHarness, *clients: str, queues: int = 4) -> None:
    harness.topic("A", queues=queues)
    for client in clients:
        harness.heartbeat(client, topics={"A": "*"})


def test_each_strategy_divides_queues_among_clients_like_the_sdk() -> None:
    assert [owners("AVG", QUEUES, CLIENTS)[queue] for queue in QUEUES] == ["c1"] * 3 + ["c2"] * 3 + ["c3"] * 2
    assert [owners("AVG_BY_CIRCLE", QUEUES, CLIENTS)[queue] for queue in QUEUES] == (CLIENTS * 3)[:8]
    assert owners("CONSISTENT_HASH", QUEUES, []) == {}
    assert len({*owners("CONSISTENT_HASH", QUEUES, CLIENTS).values()}) > 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategy_is_recognized_by_its_requests(strategy: str) -> None:
    assert agreeing(QUEUES, CLIENTS, owners(strategy, QUEUES, CLIENTS)) == [strategy]
    assert agreeing(QUEUES, CLIENTS, {}) == []


def test_assignments_are_unknown_before_the_first_request(harness: EngineHarness) -> None:
    join(harness, "c1", "c2")
    found = look(harness).assignments("G", "A")
    assert [(view.queue_id, view.client, view.strategy, view.requested_ms) for view in found] == [
        (queue_id, None, "not known", None) for queue_id in range(4)
    ]
    assert look(harness).assignments("G", "missing") == []
    assert look(harness).assignments("missing", "A") == []


def test_queues_without_a_request_are_assigned_by_the_strategy_that_explains_the_requests(
    harness: EngineHarness,
) -> None:
    join(harness, "c1", "c2")
    pull(harness, "c1", 0)
    pull(harness, "c1", 1)
    found = {view.queue_id: view for view in look(harness).assignments("G", "A")}
    assert [found[queue_id].client for queue_id in range(4)] == ["c1", "c1", "c2", "c2"]
    assert {view.strategy for view in found.values()} == {"AVG"}
    assert [found[queue_id].requested_ms for queue_id in range(4)] == [harness.now_ms, harness.now_ms, None, None]


def test_queue_is_assigned_to_the_client_of_the_newest_request(harness: EngineHarness) -> None:
    join(harness, "c1", "c2", queues=1)
    pull(harness, "c1", 0)
    harness.advance(10)
    pull(harness, "c2", 0)
    (view,) = look(harness).assignments("G", "A")
    assert (view.client, view.requested_ms) == ("c2", harness.now_ms)


def test_newest_request_of_each_queue_determines_its_client(harness: EngineHarness) -> None:
    """A newer request of the same client for another queue does not matter."""
    join(harness, "c1", "c2", queues=2)
    pull(harness, "c2", 0)
    pull(harness, "c1", 0)
    harness.advance(10)
    pull(harness, "c2", 0)
    harness.advance(10)
    pull(harness, "c1", 1)
    found = {view.queue_id: (view.client, view.requested_ms) for view in look(harness).assignments("G", "A")}
    assert found == {0: ("c2", harness.now_ms - 10), 1: ("c1", harness.now_ms)}
    pull(harness, "c1", 0)
    assert look(harness).assignments("G", "A")[0].client == "c1"


def test_queue_is_not_assigned_to_a_client_that_pops_from_any_queue(harness: EngineHarness) -> None:
    """The client's earlier pull of the queue no longer counts."""
    join(harness, "c1", "c2", queues=1)
    pull(harness, "c2", 0)
    harness.advance(10)
    pull(harness, "c1", 0)
    pop = PopMessage(
        "G", "A", queue_id=-1, max_msg_nums=32, invisible_ms=10_000, born_ms=harness.now_ms, exp_type="TAG", exp="*"
    )
    harness.engine.submit(harness.broker, pop, harness.channels["c1"])
    found = [(view.queue_id, view.client) for view in look(harness).assignments("G", "A")]
    assert found == [(-1, "c1"), (0, "c2")]


def test_members_of_a_popping_group_may_pop_any_queue(harness: EngineHarness) -> None:
    join(harness, "c1", "c2")
    pop = PopMessage(
        "G", "A", queue_id=-1, max_msg_nums=32, invisible_ms=10_000, born_ms=harness.now_ms, exp_type="TAG", exp="*"
    )
    for client in ("c1", "c2"):
        harness.engine.submit(harness.broker, pop, harness.channels[client])
    found = look(harness).assignments("G", "A")
    assert [(view.queue_id, view.client, view.strategy) for view in found] == [(-1, "c1", "POP"), (-1, "c2", "POP")]


def test_each_member_of_a_broadcasting_group_has_each_queue(harness: EngineHarness) -> None:
    harness.topic("A", queues=2)
    for client in ("c1", "c2"):
        harness.heartbeat(client, topics={"A": "*"}, model="BROADCASTING")
    found = look(harness).assignments("G", "A")
    assert [(view.queue_id, view.client) for view in found] == [(0, "c1"), (0, "c2"), (1, "c1"), (1, "c2")]
    assert {view.strategy for view in found} == {"BROADCASTING"}
