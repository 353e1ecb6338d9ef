"""Several brokers: routes, distribution of sends, consumption, and stop and restart of one broker."""

import pytest
from grpc_texts import PROXY_EXCEPTION
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from protocol_values import Route

A, B = "broker-a", "broker-b"
OFFSETS_FIRST_WRITTEN_MS, OFFSETS_WRITTEN_MS = 10_000, 5_000
"""Time from the start until group offsets are first written, and the interval of writes from then on."""


@pytest.fixture
def two(e: ProtocolClient) -> ProtocolClient:
    """Return a protocol client of two brokers with a topic of two queues on each."""
    e.topic(queues=2)
    return e


# Routes.


@through(*ALL, brokers=3)
def test_a_route_names_the_brokers_that_have_the_topic(e: ProtocolClient) -> None:
    """A route names the brokers that have the topic, each with its own number of queues."""
    e.topic("T", 2, on=[A])
    e.topic("T", 4, on=[B])
    e.topic("U", 1, on=["broker-c"])
    assert e.route("T") == {A: Route(2, 2), B: Route(4, 4)}
    assert e.route("U") == {"broker-c": Route(1, 1)}
    assert e.route("nowhere") == {}


@through(*ALL, brokers=2)
def test_a_route_shows_the_permissions_of_the_topic_on_each_broker(e: ProtocolClient) -> None:
    """A route shows the permissions of the topic on each broker; sends avoid the broker where it is not writable."""
    e.topic(perm=4, on=[A])
    e.topic(perm=2, on=[B])
    assert e.route() == {A: Route(1, 0), B: Route(0, 1)}
    assert len(e.publish(b"0", b"1")) == 2
    assert e.message_counts() == {A: 0, B: 2}


@through(*BROKER, brokers=2)
def test_a_topic_that_a_send_creates_is_on_one_broker(e: BrokerProtocolClient) -> None:
    """A send to an unknown topic creates it only on the broker that receives the send."""
    e.at(B).send(b"0", topic="new")
    assert e.route("new") == {B: Route(4, 4)}
    e.at(A).send(b"1", topic="new")
    assert e.route("new") == {A: Route(4, 4), B: Route(4, 4)}


@through(*ALL, brokers=2)
def test_a_stopped_broker_disappears_from_all_routes(two: ProtocolClient) -> None:
    """A stopped broker disappears from all routes at once, and reappears with its topics when it restarts.

    A topic that only this broker has is without route meanwhile.
    """
    two.topic("only", on=[B])
    two.at(B).stop_broker()
    assert (two.route(), two.route("only")) == ({A: Route(2, 2)}, {})
    two.at(B).start_broker()
    assert (two.route(), two.route("only")) == ({A: Route(2, 2), B: Route(2, 2)}, {B: Route(1, 1)})


@through(*ALL, brokers=2)
def test_a_broker_without_write_permission_is_read_only(two: ProtocolClient) -> None:
    """A broker without write permission has no writable queue in routes until the permission is restored."""
    two.at(B).wipe_write_permission()
    assert two.route() == {A: Route(2, 2), B: Route(2, 0)}
    two.at(B).wipe_write_permission(restore=True)
    assert two.route() == {A: Route(2, 2), B: Route(2, 2)}


@through(*ALL, brokers=2)
@pytest.mark.parametrize("kill", [False, True], ids=("in order", "killed"))
def test_a_restarted_broker_is_writable_again(two: ProtocolClient, kill: bool) -> None:
    """A restarted broker is writable because its registration restores the permission; others stay read-only."""
    for name in (A, B):
        two.at(name).wipe_write_permission()
    two.at(B).stop_broker(kill=kill)
    two.at(B).start_broker()
    assert two.route() == {A: Route(2, 0), B: Route(2, 2)}


@through(*ALL, brokers=2)
def test_a_topic_created_or_changed_after_a_permission_wipe_is_writable(two: ProtocolClient) -> None:
    """A topic that is created or changed after write permission was removed is writable.

    Other topics stay read-only.
    """
    two.topic("U")
    two.at(B).wipe_write_permission()
    two.topic("T", 3)
    two.topic("V")
    assert [two.route(topic)[B] for topic in "TUV"] == [Route(3, 3), Route(1, 0), Route(1, 1)]


# Sends.


@through(*ALL, brokers=2)
def test_sends_are_distributed_evenly_over_all_queues_of_all_brokers(two: ProtocolClient) -> None:
    two.publish(*(b"%d" % number for number in range(8)))
    assert two.message_counts() == {A: 4, B: 4}
    assert [len(two.at(name).records("T", queue)) for name in (A, B) for queue in (0, 1)] == [2, 2, 2, 2]


@through(*ALL, brokers=2)
@pytest.mark.parametrize("kill", [False, True], ids=("in order", "killed"))
def test_sends_go_only_to_running_brokers(two: ProtocolClient, kill: bool) -> None:
    """Sends go to running brokers only, and to a restarted broker again."""
    two.at(B).stop_broker(kill=kill)
    two.publish(b"0", b"1", b"2", b"3")
    two.at(B).start_broker()
    assert two.message_counts() == {A: 4, B: 0}
    two.publish(b"4", b"5", b"6", b"7")
    assert two.message_counts() == {A: 6, B: 2}


@through(*ALL, brokers=2)
def test_sends_avoid_a_broker_without_write_permission(two: ProtocolClient) -> None:
    """Sends avoid a broker without write permission; its stored messages can still be consumed."""
    two.publish(b"0", b"1", b"2", b"3")
    two.at(A).wipe_write_permission()
    two.publish(b"4", b"5", b"6", b"7")
    assert two.message_counts() == {A: 2, B: 6}
    assert len(two.at(A).bodies()) == 2


@through(*BROKER, brokers=2)
def test_a_broker_without_write_permission_stores_received_messages(two: BrokerProtocolClient) -> None:
    """A broker without write permission stores a message that it receives: only routes reflect the permission."""
    two.at(B).wipe_write_permission()
    two.at(B).send(b"0")
    assert two.message_counts() == {A: 0, B: 1}


@through("grpc", brokers=2)
def test_the_proxy_rejects_a_send_if_no_broker_is_writable(two: ProtocolClient) -> None:
    for name in (A, B):
        two.at(name).wipe_write_permission()
    sent = two.put()
    assert (sent.ok, sent.code, sent.remark) == (False, 40300, PROXY_EXCEPTION + "no writable queue")
    assert two.message_counts() == {A: 0, B: 0}


@through(*ALL, brokers=2)
def test_sends_to_an_order_topic_use_the_configured_brokers_and_queues(two: ProtocolClient) -> None:
    """Sends to an order topic use the configured brokers and queues, even without write permission."""
    two.set_order_configuration("broker-b:1")
    two.at(B).wipe_write_permission()
    two.publish(b"0", b"1", b"2")
    assert two.message_counts() == {A: 0, B: 3}
    assert [record.body for record in two.at(B).records("T", 0)] == [b"0", b"1", b"2"]


@through(*BROKER, brokers=2)
def test_the_order_configuration_of_a_topic_stays_while_its_broker_is_stopped(two: BrokerProtocolClient) -> None:
    assert two.order_configuration() is None
    two.set_order_configuration("broker-b:2")
    two.at(B).stop_broker()
    assert two.order_configuration() == "broker-b:2"


@through("grpc", brokers=2)
def test_the_proxy_rejects_a_send_to_an_order_topic_of_a_stopped_broker(two: ProtocolClient) -> None:
    """The proxy rejects a send to an order topic whose broker is stopped; it does not choose another broker."""
    two.set_order_configuration("broker-b:1")
    two.at(B).stop_broker()
    sent = two.put()
    assert (sent.code, sent.remark) == (40300, PROXY_EXCEPTION + "no writable queue")
    assert two.message_counts()[A] == 0


# Consumers.


@through(*ALL, brokers=2)
def test_a_pop_returns_messages_of_the_requested_broker_only(two: ProtocolClient) -> None:
    """A pop returns messages of the requested broker only and does not hide those of another."""
    two.at(A).store(b"of a")
    two.at(B).store(b"of b")
    assert two.at(B).bodies() == [b"of b"]
    assert two.at(B).bodies() == []
    assert two.at(A).bodies() == [b"of a"]


@through(*ALL, brokers=2)
def test_a_waiting_pop_is_woken_by_messages_of_its_own_broker_only(two: ProtocolClient) -> None:
    waits = two.at(B).pop(poll_ms=10_000)
    two.at(A).store(b"of a")
    assert waits.response is None
    two.at(B).store(b"of b")
    assert waits.response is not None
    assert waits.response.bodies == [b"of b"]


@through(*ALL, brokers=2)
def test_an_ack_or_change_affects_only_the_broker_of_its_handle(two: ProtocolClient) -> None:
    for name in (A, B):
        two.at(name).store(b"done", b"hidden", b"left")
    for name in (A, B):
        done, hidden, _ = two.at(name).take()
        assert two.at(name).ack(done.handle).ok
        if name == B:
            assert two.at(name).change(hidden.handle, 60_000).ok
    two.advance(20_000)
    assert sorted(two.at(A).bodies(invisible_ms=600_000)) == [b"hidden", b"left"]
    assert two.at(B).bodies(invisible_ms=600_000) == [b"left"]
    two.advance(50_000)
    assert (two.at(A).bodies(), two.at(B).bodies()) == ([], [b"hidden"])


@through(*ALL, brokers=2)
def test_a_popped_message_stays_with_its_broker(two: ProtocolClient) -> None:
    """A popped message cannot be acknowledged while its broker is stopped, and is redelivered by the same broker."""
    two.at(B).store(b"0")
    (message,) = two.at(B).take()
    two.at(B).stop_broker()
    assert not two.at(B).ack(message.handle).ok
    two.advance(60_000)
    assert two.at(A).bodies() == []
    two.at(B).start_broker()
    two.advance(10_000)
    (again,) = two.at(B).take()
    assert (again.body, again.attempt) == (b"0", 1)
    assert two.at(B).ack(again.handle).ok
    two.advance(60_000)
    assert (two.at(A).bodies(), two.at(B).bodies()) == ([], [])


@through(*ALL, brokers=2)
def test_an_acknowledgement_survives_a_kill_of_its_broker(two: ProtocolClient) -> None:
    """A message that was acknowledged before its broker was killed is not redelivered after the restart."""
    two.advance(OFFSETS_FIRST_WRITTEN_MS)
    two.at(B).store(b"done", b"left")
    done, _ = two.at(B).take()
    assert two.at(B).ack(done.handle).ok
    two.advance(OFFSETS_WRITTEN_MS)
    two.at(B).stop_broker(kill=True)
    two.advance(60_000)
    two.at(B).start_broker()
    two.advance(20_000)
    assert two.at(B).bodies() == [b"left"]


@through(*ALL, brokers=2)
def test_a_timed_message_due_during_a_stop_is_delivered_after_the_restart(e: ProtocolClient) -> None:
    """A timed message whose time passes while its broker is stopped is delivered by that broker after the restart."""
    e.topic(kind="DELAY")
    e.at(A).wipe_write_permission()
    e.publish(b"timed", deliver_ms=e.now_ms + 30_000)
    e.advance(2_000)
    e.at(B).stop_broker()
    e.advance(60_000)
    assert e.at(A).bodies() == []
    e.at(B).start_broker()
    e.advance(10_000)
    assert e.at(B).bodies() == [b"timed"]


@through(*BROKER, brokers=2)
def test_a_pop_that_waits_at_a_broker_that_stops_gets_no_response(two: BrokerProtocolClient) -> None:
    """A pop that waits at a broker gets no response if the broker stops; a pop at another broker keeps waiting."""
    gone, waits = two.at(B).pop(poll_ms=20_000), two.at(A).pop(poll_ms=20_000)
    two.at(B).stop_broker()
    two.at(A).store(b"0")
    two.advance(60_000)
    assert gone.response is None
    assert waits.response is not None
    assert waits.response.bodies == [b"0"]


@through("grpc", brokers=2)
def test_the_proxy_fails_a_waiting_receive_when_its_broker_stops(two: ProtocolClient) -> None:
    """The proxy fails a waiting receive when its broker stops; a repeated receive is served by another broker."""
    gone, waits = two.at(B).pop(poll_ms=20_000), two.at(A).pop(poll_ms=20_000, client="other")
    two.at(B).stop_broker()
    assert gone.response is not None
    assert (gone.response.code, gone.response.remark) == (50001, PROXY_EXCEPTION + "the broker[broker-b] has stopped")
    assert waits.response is None
    again = two.at(B).pop(poll_ms=20_000)
    two.at(A).store(b"0", b"1")
    served = [each.response.bodies for each in (waits, again) if each.response is not None]
    assert sorted(body for bodies in served for body in bodies) == [b"0", b"1"]


@through(*BROKER, brokers=2)
def test_a_group_has_offsets_of_its_own_on_each_broker(two: BrokerProtocolClient) -> None:
    two.at(A).store(b"0", b"1")
    two.at(B).store(b"2")
    for message in two.at(A).take():
        assert two.at(A).ack(message.handle).ok
    two.advance(20_000)
    assert two.at(A).committed() == 2
    assert two.at(B).committed() == -1
    assert two.at(A).consume_statistics()[0] == (2, 2)
    assert two.at(B).bodies() == [b"2"]


# Distribution of queues over consumers.


@through(*BROKER, brokers=2)
def test_queues_of_all_brokers_are_spread_over_a_group(two: BrokerProtocolClient) -> None:
    """Queues of all brokers are distributed over the group, and those of a leaving client go to the other clients."""
    every = [(A, 0), (A, 1), (B, 0), (B, 1)]
    for name in (A, B):
        for client in ("one", "two"):
            two.at(name).heartbeat(client)
    for name in (A, B):
        shares = [two.at(name).assigned_queues(client) for client in ("one", "two")]
        assert [len(share) for share in shares] == [2, 2]
        assert sorted(shares[0] + shares[1]) == every
    for name in (A, B):
        two.at(name).unregister_consumer("one")
    assert two.assigned_queues("two") == every


@through("grpc", brokers=2)
def test_behind_the_proxy_each_member_reads_every_broker(two: ProtocolClient) -> None:
    """Behind the proxy, each member reads every broker, however many members there are, because pops share queues."""
    for client in ("one", "two"):
        two.heartbeat(client)
        assert two.assigned_queues(client) == [(A, -1), (B, -1)]
    two.unregister_consumer("one")
    assert two.assigned_queues("two") == [(A, -1), (B, -1)]


@through(*ALL, brokers=2)
def test_queues_of_a_stopped_broker_are_assigned_to_no_client(two: ProtocolClient) -> None:
    """Queues of a stopped broker are assigned to no client, and are assigned again after its restart."""
    two.heartbeat("one")
    before = two.assigned_queues("one")
    two.at(B).stop_broker()
    assert {name for name, _ in two.assigned_queues("one")} == {A}
    two.at(B).start_broker()
    assert two.assigned_queues("one") == before


@through(*ALL, brokers=2)
def test_a_broker_without_write_permission_keeps_its_readers(two: ProtocolClient) -> None:
    two.heartbeat("one")
    before = two.assigned_queues("one")
    two.at(B).wipe_write_permission()
    assert two.assigned_queues("one") == before


# Transactions.


UNKNOWN, COMMIT = 0, 8
QUICK = {"transaction_check_interval": 3_000, "transaction_time_out": 1_000}


@pytest.fixture
def half_at_b(e: ProtocolClient) -> ProtocolClient:
    """Return a protocol client whose half messages go to the second broker."""
    e.topic(kind="TRANSACTION")
    e.at(A).wipe_write_permission()
    return e


@through(*ALL, brokers=2)
def test_a_transaction_is_committed_at_the_broker_of_its_half_message(half_at_b: ProtocolClient) -> None:
    t = half_at_b
    (sent,) = t.publish(b"0", half=True)
    response = t.at(B).end(sent, COMMIT)
    assert response is not None
    assert response.ok, response
    assert t.message_counts() == {A: 0, B: 1}
    assert t.at(B).bodies() == [b"0"]


@through(*ALL, brokers=2, **QUICK)
def test_only_the_broker_of_a_half_message_checks_its_transaction(half_at_b: ProtocolClient) -> None:
    """Only the broker of the half message checks a transaction, and not while it is stopped.

    The answer ends it there.
    """
    t = half_at_b
    for name in (A, B):
        t.at(name).register_producer("p")
    t.publish(b"0", half=True)
    t.at(B).stop_broker()
    t.advance(20_000)
    assert [t.at(name).transaction_checks("p") for name in (A, B)] == [[], []]
    t.at(B).start_broker()
    for name in (A, B):
        t.at(name).register_producer("p")
    t.advance(3_000)
    (question,) = t.at(B).transaction_checks("p")
    assert t.at(A).transaction_checks("p") == []
    response = t.at(B).end(question.sent, COMMIT, checked=True)
    assert response is not None
    assert response.ok, response
    assert t.at(B).bodies() == [b"0"]


@through(*BROKER, brokers=2)
def test_a_commit_at_another_broker_is_rejected(half_at_b: BrokerProtocolClient) -> None:
    """A commit at another broker is rejected and leaves the half message uncommitted."""
    t = half_at_b
    (sent,) = t.publish(b"0", half=True)
    response = t.at(A).end(sent, COMMIT)
    assert response is not None
    assert (response.ok, response.code) == (False, 1)
    assert t.message_counts() == {A: 0, B: 0}
    assert t.at(B).end(sent, COMMIT) is not None
    assert t.message_counts() == {A: 0, B: 1}
