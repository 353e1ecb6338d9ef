"""Assignment of queues to the clients of a group, for any number of queues and clients."""

from engine_harness import EngineHarness, make_harness
from hypothesis import given, settings
from hypothesis import strategies as st
from rocketmq_testkit.emulator.operations.clients import MessageQueue, UnregisterClient
from rocketmq_testkit.emulator.operations.groups import AssignmentResult, QueryAssignment

STRATEGIES = st.sampled_from(("AVG", "AVG_BY_CIRCLE"))
NAMES = st.lists(st.text("abz09@#-", min_size=1, max_size=4), min_size=1, max_size=8, unique=True)
"""Client ids in the order in which clients join; brokers sort them as Java sorts strings."""


def joined(queues: int, clients: list[str]) -> EngineHarness:
    """Return a harness with a topic of `queues` queues, and a group that `clients` have joined in this order."""
    harness = make_harness()
    harness.topic("T", queues)
    for client in clients:
        harness.heartbeat(client, topics={"T": "*"})
    return harness


def assigned(harness: EngineHarness, asker: str, strategy: str) -> list[MessageQueue]:
    result = harness.ask(AssignmentResult, QueryAssignment("T", "G", asker, strategy, message_model="CLUSTERING"))
    assert result.assignments is not None
    assert {one.mode for one in result.assignments} <= {"PULL"}
    return [one.queue for one in result.assignments]


def shares(harness: EngineHarness, clients: list[str], strategy: str) -> dict[str, list[int]]:
    """Return the queues of each client, in the order of the response."""
    return {client: [queue.queue_id for queue in assigned(harness, client, strategy)] for client in clients}


@settings(max_examples=120, deadline=None, derandomize=True)
@given(queues=st.integers(1, 17), clients=NAMES, strategy=STRATEGIES)
def test_each_queue_is_assigned_to_exactly_one_client(queues: int, clients: list[str], strategy: str) -> None:
    """Every queue belongs to exactly one client, and numbers of queues differ by at most one."""
    owned = shares(joined(queues, clients), clients, strategy)

    assert sorted(queue for share in owned.values() for queue in share) == list(range(queues))
    sizes = [len(share) for share in owned.values()]
    assert max(sizes) - min(sizes) <= 1
    assert [len(owned[client]) for client in sorted(clients)] == sorted(sizes, reverse=True)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(queues=st.integers(1, 17), clients=NAMES)
def test_avg_shares_are_consecutive_and_avg_by_circle_shares_every_nth_queue(queues: int, clients: list[str]) -> None:
    harness = joined(queues, clients)

    blocks = shares(harness, clients, "AVG")
    in_order = [queue for client in sorted(clients) for queue in blocks[client]]
    assert in_order == list(range(queues))
    circle = shares(harness, clients, "AVG_BY_CIRCLE")
    for turn, client in enumerate(sorted(clients)):
        assert circle[client] == list(range(turn, queues, len(clients)))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(queues=st.integers(1, 17), clients=NAMES, strategy=STRATEGIES, data=st.data())
def test_assignments_do_not_depend_on_the_order_of_joining(
    queues: int, clients: list[str], strategy: str, data: st.DataObject
) -> None:
    """The same clients get the same queues for any order of joining, and for repeated queries in any order."""
    asking = data.draw(st.permutations(clients))
    later = joined(queues, data.draw(st.permutations(clients)))

    owned = shares(joined(queues, clients), clients, strategy)

    assert shares(later, asking, strategy) == owned
    assert shares(later, clients, strategy) == owned


@settings(max_examples=60, deadline=None, derandomize=True)
@given(queues=st.integers(1, 17), clients=NAMES, strategy=STRATEGIES, data=st.data())
def test_queues_of_a_client_that_left_are_assigned_to_the_others(
    queues: int, clients: list[str], strategy: str, data: st.DataObject
) -> None:
    """After a client leaves, the others have the queues they would have without it; an unknown client has none."""
    gone = data.draw(st.sampled_from(clients))
    staying = [client for client in clients if client != gone]
    harness = joined(queues, [*clients, "stays"])
    harness.engine.submit(harness.broker, UnregisterClient(gone, None, "G"), harness.channels[gone])

    owned = shares(harness, [*staying, "stays"], strategy)

    assert owned == shares(joined(queues, [*staying, "stays"]), [*staying, "stays"], strategy)
    assert assigned(harness, gone, strategy) == []
