"""Queue assignment by the broker, and an even spread of messages over consumers where no consumer owns a queue."""

from collections import Counter

import pytest
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from protocol_values import Waiting


@through(*BROKER)
@pytest.mark.parametrize(
    ("strategy", "shares"),
    [
        ("AVG", {"a": [0, 1, 2], "b": [3, 4], "c": [5, 6]}),
        ("AVG_BY_CIRCLE", {"a": [0, 3, 6], "b": [1, 4], "c": [2, 5]}),
    ],
)
def test_queues_are_divided_by_the_strategy_over_sorted_client_ids(
    e: BrokerProtocolClient, strategy: str, shares: dict[str, list[int]]
) -> None:
    """The broker divides queues by the requested strategy over the client ids in sorted order.

    Each queue has one reader.
    """
    e.topic(queues=7)
    for client in ("c", "a", "b"):
        e.heartbeat(client)
    assert {client: [queue for queue, _ in e.assigned(client, strategy) or []] for client in "abc"} == shares
    assert {mode for client in "abc" for _, mode in e.assigned(client, strategy) or []} == {"PULL"}


@through(*BROKER)
@pytest.mark.parametrize("strategy", ["AVG", "AVG_BY_CIRCLE"])
def test_with_more_clients_than_queues_the_last_clients_get_no_queue(e: BrokerProtocolClient, strategy: str) -> None:
    e.topic(queues=2)
    for client in "abc":
        e.heartbeat(client)
    assert [e.assigned(client, strategy) for client in "abc"] == [[(0, "PULL")], [(1, "PULL")], []]


@through(*BROKER)
@pytest.mark.parametrize("strategy", ["CONSISTENT_HASH", "MACHINE_ROOM", "avg", ""])
def test_the_broker_assigns_nothing_for_an_unknown_strategy(e: BrokerProtocolClient, strategy: str) -> None:
    """The broker assigns nothing for another strategy, such as CONSISTENT_HASH: clients divide queues themselves."""
    e.topic()
    e.heartbeat("a")
    assert e.assigned("a", strategy) is None


@through(*BROKER)
def test_a_client_that_joins_or_leaves_changes_the_assignment_at_once(e: BrokerProtocolClient) -> None:
    """A client that joins or leaves changes the assignment at once; a client outside the group is assigned nothing."""
    e.topic(queues=4)
    assert e.assigned("a") is None
    e.heartbeat("a")
    assert [queue for queue, _ in e.assigned("a") or []] == [0, 1, 2, 3]
    e.heartbeat("b")
    assert [queue for queue, _ in e.assigned("a") or []] == [0, 1]
    e.unregister_consumer("a")
    assert [queue for queue, _ in e.assigned("b") or []] == [0, 1, 2, 3]
    assert e.assigned("a") == []


@through(*BROKER)
def test_a_broadcasting_client_is_assigned_every_queue(e: BrokerProtocolClient) -> None:
    """A broadcasting client is assigned every queue, even if it is not a member of the group."""
    e.topic(queues=3)
    assert e.assigned("anybody", model="BROADCASTING") == [(0, "PULL"), (1, "PULL"), (2, "PULL")]


@through(*BROKER)
@pytest.mark.parametrize(
    ("share", "shares"),
    [
        (-1, {client: [-1] for client in "abcd"}),
        (0, {client: [-1] for client in "abcd"}),
        (1, {"a": [0, 1, 2, 3], "b": [2, 3, 4, 5], "c": [4, 5, 6, 7], "d": [0, 1, 6, 7]}),
        (2, {"a": [*range(6)], "b": [*range(2, 8)], "c": [0, 1, *range(4, 8)], "d": [0, 1, 2, 3, 6, 7]}),
        (3, {client: [-1] for client in "abcd"}),
    ],
)
def test_popping_clients_share_queues_with_the_next_ones(
    e: BrokerProtocolClient, share: int, shares: dict[str, list[int]]
) -> None:
    """Popping clients share queues: each gets its own queues and those of the next `share` clients.

    If `share` is not positive or spans all other clients, the assignment is queue -1, which stands for every queue.
    """
    e.topic(queues=8)
    for client in "abcd":
        e.heartbeat(client)
    e.request_mode("POP", share)
    found = {client: e.assigned(client) or [] for client in "abcd"}
    assert {client: sorted(queue for queue, _ in assigned) for client, assigned in found.items()} == shares
    assert {mode for assigned in found.values() for _, mode in assigned} == {"POP"}


@through(*BROKER)
def test_with_more_popping_clients_than_queues_several_share_a_queue(e: BrokerProtocolClient) -> None:
    """If more clients pop than there are queues, each is assigned one queue, and several clients share a queue."""
    e.topic(queues=2)
    for client in "abcde":
        e.heartbeat(client)
    e.request_mode("POP", 1)
    assert [e.assigned(client) for client in "abcde"] == [[(number % 2, "POP")] for number in range(5)]


@through(*BROKER)
@pytest.mark.parametrize(("share", "found"), [(-1, [-1]), (0, [-1]), (1, []), (2, []), (3, [-1])])
def test_a_popping_client_outside_the_group_is_assigned_any_queue_or_none(
    e: BrokerProtocolClient, share: int, found: list[int]
) -> None:
    """A popping client outside the group is assigned queue -1 (every queue), or nothing if queues are shared."""
    e.topic(queues=4)
    for client in "abcd":
        e.heartbeat(client)
    e.request_mode("POP", share)
    assert e.assigned("z") == [(queue, "POP") for queue in found]


@through(*BROKER, server_load_balancer_enable=False)
def test_without_load_balancing_every_client_is_assigned_every_queue(e: BrokerProtocolClient) -> None:
    """Without load balancing, every client is assigned every queue, for any strategy and also outside the group.

    A popping client is assigned the queues one by one.
    """
    e.topic(queues=2)
    e.heartbeat("a")
    e.heartbeat("b")
    for client, strategy in (("a", "AVG"), ("b", "AVG"), ("z", "AVG"), ("a", "unknown")):
        assert e.assigned(client, strategy) == [(0, "PULL"), (1, "PULL")]
    e.request_mode("POP", 1)
    assert e.assigned("a") == [(0, "POP"), (1, "POP")]


@through(*BROKER, default_message_request_mode="POP")
def test_with_default_request_mode_pop_a_group_pops_until_set_to_pull(e: BrokerProtocolClient) -> None:
    """With defaultMessageRequestMode=POP, a group pops until a request sets its mode to PULL."""
    e.topic(queues=2)
    e.heartbeat("a")
    e.heartbeat("b")
    assert e.assigned("a") == e.assigned("b") == [(-1, "POP")]
    e.request_mode("PULL", 0)
    assert [e.assigned("a"), e.assigned("b")] == [[(0, "PULL")], [(1, "PULL")]]


@through(*BROKER, default_message_request_mode="POP", default_pop_share_queue_num=1)
def test_with_default_pop_share_queue_num_1_clients_share_the_next_queue(e: BrokerProtocolClient) -> None:
    """With defaultPopShareQueueNum=1, each popping client is assigned its own queue and the next one."""
    e.topic(queues=4)
    for client in "abcd":
        e.heartbeat(client)
    found = [sorted(e.assigned(client) or []) for client in "abcd"]
    pairs = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert found == [[(queue, "POP") for queue in pair] for pair in pairs]


@through(*BROKER)
def test_a_group_set_back_from_pop_to_pull_is_assigned_queues_to_pull(e: BrokerProtocolClient) -> None:
    e.topic(queues=2)
    e.heartbeat("a")
    e.request_mode("POP", 0)
    assert e.assigned("a") == [(-1, "POP")]
    e.request_mode("PULL", 0)
    assert e.assigned("a") == [(0, "PULL"), (1, "PULL")]


@through(*ALL)
def test_four_polling_consumers_receive_a_quarter_of_one_queue_each(e: ProtocolClient) -> None:
    """Four long-polling consumers of one queue receive a quarter of 400 messages each.

    The pop that has waited longest is served first.
    """
    e.topic()
    got: Counter[str] = Counter()
    waiting: dict[str, Waiting] = {}

    def collect() -> None:
        for client in "abcd":
            if client in waiting and (response := waiting[client].response) is not None:
                for message in response.messages:
                    assert e.ack(message.handle).ok
                    got[client] += 1
                del waiting[client]
        for client in "abcd":
            if client not in waiting:
                waiting[client] = e.pop(client=client, count=1, poll_ms=15_000)

    for number in range(400):
        collect()
        e.send(b"%d" % number)
        e.advance(10)
    collect()
    assert got == dict.fromkeys("abcd", 100)


@through(*ALL)
def test_consumers_that_pop_by_turns_share_a_backlog_evenly(e: ProtocolClient) -> None:
    """Four consumers that pop small batches of one queue by turns receive a quarter of its backlog each."""
    e.fill_topic(320)
    got: Counter[str] = Counter()
    for _ in range(10):
        for client in "abcd":
            got[client] += len(e.take(client=client, count=8))
    assert got == dict.fromkeys("abcd", 80)


@through(*BROKER)
def test_consume_statistics_count_popped_messages_as_consumed(e: BrokerProtocolClient) -> None:
    """Consume statistics show the end of each queue and the offset of the group.

    Popped messages in flight count as consumed.
    """
    e.topic(queues=2)
    e.store(b"a", b"b", b"c", queue=0)
    e.store(b"d", queue=1)
    e.heartbeat("a")
    e.pop_one_queue(0, count=2)
    e.pop_one_queue(1)
    assert e.consume_statistics() == {0: (3, 2), 1: (1, 1)}
