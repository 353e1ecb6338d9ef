"""Masters and slaves: waiting for replication, requests that a slave serves, and the state while either is stopped."""

import pytest
from grpc_texts import PROXY_EXCEPTION
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from protocol_values import Answer, Route, Sent

A = "broker-a"
COMMIT, ROLLBACK = 8, 12
SLAVE_TIMEOUT_MS = 3_000
TABLES_MS = 63_000
"""Time in ms after which a slave has fetched the tables of its master."""
LATE_SLAVE = {"engine": 12, "remoting": 12, "grpc": 50402}
LATE_DISK = {"engine": 10, "remoting": 10, "grpc": 50401}
WAITS = {"broker_role": "SYNC_MASTER", "in_sync_replicas": 2}
"""Configuration of a master that waits until each message is stored on one slave."""
TRANSACTION_DATA_GONE = PROXY_EXCEPTION + "cannot found transaction data"


def late(e: ProtocolClient, sent: Sent | None) -> bool:
    """Return True if the send ended with FLUSH_SLAVE_TIMEOUT."""
    return sent is not None and not sent.ok and sent.code == LATE_SLAVE[e.name]


# Sends.


@through(*ALL, **WAITS)
def test_a_send_without_a_running_slave_returns_flush_slave_timeout(e: ProtocolClient) -> None:
    """A send without a running slave ends with FLUSH_SLAVE_TIMEOUT, but its message is stored and visible at once."""
    e.topic()
    waiting = e.start_send(b"0")
    assert e.bodies() == [b"0"]
    e.advance(SLAVE_TIMEOUT_MS - 1)
    assert waiting.sent is None
    e.advance(1)
    assert late(e, waiting.sent)


@through(*ALL, slaves=1, **WAITS)
def test_a_send_succeeds_as_soon_as_its_slave_has_the_message(e: ProtocolClient) -> None:
    """A send succeeds at once if its slave runs, or as soon as the slave is back and has caught up."""
    e.fill_topic(1)
    e.at(A, 1).stop_broker()
    waiting = e.start_send(b"1")
    e.advance(1_000)
    assert waiting.sent is None
    e.at(A, 1).start_broker()
    assert waiting.sent is not None
    assert waiting.sent.ok
    assert [record.body for record in e.at(A, 1).records("T")] == [b"0", b"1"]


@through(*ALL, slaves=2, broker_role="SYNC_MASTER", in_sync_replicas=3)
def test_a_send_waits_until_in_sync_replicas_brokers_have_the_message(e: ProtocolClient) -> None:
    """A send waits until inSyncReplicas brokers have the message, the master included."""
    e.topic()
    for slave in (1, 2):
        e.at(A, slave).stop_broker()
    waiting = e.start_send()
    e.at(A, 1).start_broker()
    assert waiting.sent is None
    e.at(A, 2).start_broker()
    assert waiting.sent is not None
    assert waiting.sent.ok


@through(*ALL, broker_role="SYNC_MASTER")
def test_a_synchronous_master_does_not_wait_for_slaves_by_default(e: ProtocolClient) -> None:
    """A synchronous master does not wait by default, because inSyncReplicas is 1 and counts the master."""
    e.fill_topic(1)
    assert e.bodies() == [b"0"]


@through(*ALL, slaves=1)
def test_an_asynchronous_master_does_not_wait_for_its_slave(e: ProtocolClient) -> None:
    """An asynchronous master does not wait for its slave, which catches up when it is back."""
    e.topic()
    e.at(A, 1).stop_broker()
    e.send(b"0", b"1")
    assert e.at(A, 1).records("T") == []
    e.at(A, 1).start_broker()
    assert [record.body for record in e.at(A, 1).records("T")] == [b"0", b"1"]


@through(*BROKER, **WAITS)
def test_a_send_with_wait_false_does_not_wait_for_slaves(e: BrokerProtocolClient) -> None:
    """A send with WAIT=false waits neither for slaves nor for earlier sends that do."""
    e.topic()
    waiting = e.start_send(b"0")
    assert e.put(b"1", WAIT="false").ok
    assert waiting.sent is None


@through(*ALL, **WAITS)
def test_each_send_has_its_own_slave_timeout(e: ProtocolClient) -> None:
    """Each send has its own timeout; sends end in the order in which they arrived."""
    e.topic()
    first = e.start_send(b"0")
    e.advance(1_000)
    second = e.start_send(b"1")
    e.advance(2_000)
    assert late(e, first.sent)
    assert second.sent is None
    e.advance(1_000)
    assert late(e, second.sent)
    assert e.bodies() == [b"0", b"1"]


@through(*ALL, brokers=2, **WAITS)
def test_a_send_that_waits_for_slaves_fails_when_its_broker_stops(e: ProtocolClient) -> None:
    """A send that waits for slaves fails when its broker stops; its message is still stored after the restart."""
    e.topic()
    waiting = [e.start_send(b"0"), e.start_send(b"1")]
    for broker in e.masters:
        e.at(broker.name).stop_broker()
    assert [each.sent is not None and not each.sent.ok for each in waiting] == [True, True]
    for broker in e.masters:
        e.at(broker.name).start_broker()
    assert sum(e.message_counts().values()) == len(waiting)


@through(*ALL, slave_timeout=0, **WAITS)
def test_a_send_repeated_after_flush_slave_timeout_stores_the_message_twice(e: ProtocolClient) -> None:
    e.topic()
    waiting = [e.start_send(b"0"), e.start_send(b"0")]
    e.advance(0)
    assert [late(e, each.sent) for each in waiting] == [True, True]
    assert e.bodies() == [b"0", b"0"]


@through(*BROKER, **WAITS)
def test_flush_slave_timeout_returns_the_offsets_and_id_of_the_message(e: BrokerProtocolClient) -> None:
    """The response FLUSH_SLAVE_TIMEOUT holds the offsets and id of the message, as a success does."""
    e.topic()
    e.send(b"0", WAIT="false")
    waiting = e.start_send(b"1")
    e.advance(SLAVE_TIMEOUT_MS)
    record = e.records("T")[1]
    assert waiting.sent is not None
    assert (waiting.sent.offset, waiting.sent.place) == (1, record.physical_offset)
    assert waiting.sent.id == record.property_map()["UNIQ_KEY"]


@through(*ALL, flush_disk_type="SYNC_FLUSH", sync_flush_timeout=0, **WAITS)
def test_if_slave_and_disk_are_late_flush_slave_timeout_is_returned(e: ProtocolClient) -> None:
    """If both slave and disk are late, FLUSH_SLAVE_TIMEOUT is returned; FLUSH_DISK_TIMEOUT only if no slave is late."""
    e.topic()
    waiting = e.start_send()
    assert waiting.sent is None
    e.advance(SLAVE_TIMEOUT_MS)
    assert late(e, waiting.sent)
    e.configure(inSyncReplicas="1")
    assert e.put().code == LATE_DISK[e.name]


@through(*ALL, **WAITS)
def test_a_timed_message_waits_for_slaves_when_it_is_sent(e: ProtocolClient) -> None:
    """A timed message waits for slaves when it is sent, and not when it is delivered."""
    e.topic(kind="DELAY")
    waiting = e.start_send(b"0", deliver_ms=e.now_ms + 10_000)
    e.advance(SLAVE_TIMEOUT_MS)
    assert late(e, waiting.sent)
    e.advance(10_000)
    assert e.bodies() == [b"0"]


@through(*BROKER, **WAITS)
def test_send_backs_acks_and_changes_do_not_wait_for_slaves(e: BrokerProtocolClient) -> None:
    e.topic()
    e.send(b"0", b"1", WAIT="false")
    first, second = e.take()
    assert e.send_back(first.place).ok
    assert e.ack(first.handle).ok
    assert e.change(second.handle, 30_000).ok


# Transactions.


@pytest.fixture
def t(e: ProtocolClient) -> ProtocolClient:
    """Return a protocol client with a topic for half messages."""
    e.topic(kind="TRANSACTION")
    return e


def arrived(response: Answer | None) -> Answer:
    """Return a response that must have arrived."""
    assert response is not None
    return response


@through(*ALL, **WAITS)
def test_a_half_message_after_flush_slave_timeout_is_stored_and_checked(t: ProtocolClient) -> None:
    """A half message that ends with FLUSH_SLAVE_TIMEOUT is stored and is checked at the next round of checks."""
    t.register_producer("p")
    waiting = t.start_send(half=True)
    t.advance(SLAVE_TIMEOUT_MS)
    assert late(t, waiting.sent)
    t.advance(30_000)
    assert [each.body for each in t.transaction_checks("p")] == [b"0"]


@through(*BROKER, **WAITS)
@pytest.mark.parametrize(("how", "comes"), [(COMMIT, [b"0"]), (ROLLBACK, [])])
def test_a_half_message_after_flush_slave_timeout_can_be_ended(
    t: BrokerProtocolClient, how: int, comes: list[bytes]
) -> None:
    """A half message that ended with FLUSH_SLAVE_TIMEOUT can be committed or rolled back by the returned offsets."""
    waiting = t.start_send(half=True)
    t.advance(SLAVE_TIMEOUT_MS)
    assert waiting.sent is not None
    ending = t.start_end(waiting.sent, how)
    t.advance(SLAVE_TIMEOUT_MS)
    assert arrived(ending.response).ok
    assert t.bodies() == comes


@through("grpc", **WAITS)
def test_the_proxy_cannot_end_a_half_message_after_flush_slave_timeout(t: ProtocolClient) -> None:
    """The proxy cannot end a half message whose send returned FLUSH_SLAVE_TIMEOUT until the broker has checked it."""
    t.register_producer("p")
    waiting = t.start_send(half=True)
    t.advance(SLAVE_TIMEOUT_MS)
    assert waiting.sent is not None
    response = arrived(t.start_end(waiting.sent, COMMIT).response)
    assert (response.code, response.remark) == (50001, TRANSACTION_DATA_GONE)
    t.advance(30_000)
    (question,) = t.transaction_checks("p")
    ending = t.start_end(question.sent, COMMIT, checked=True)
    t.advance(SLAVE_TIMEOUT_MS)
    assert arrived(ending.response).ok
    assert t.bodies() == [b"0"]


@through("grpc", flush_disk_type="SYNC_FLUSH", sync_flush_timeout=0)
def test_the_proxy_cannot_end_a_half_message_after_flush_disk_timeout(t: ProtocolClient) -> None:
    sent = t.put(half=True)
    assert sent.code == LATE_DISK[t.name]
    response = arrived(t.end(sent, COMMIT))
    assert (response.code, response.remark) == (50001, TRANSACTION_DATA_GONE)


@through(*ALL)
def test_a_commit_waits_for_a_slave_until_the_timeout_and_succeeds(t: ProtocolClient) -> None:
    """A commit waits for a slave until the timeout and then succeeds; its message is visible at once."""
    sent = t.put(half=True)
    t.configure(brokerRole="SYNC_MASTER", inSyncReplicas="2")
    ending = t.start_end(sent, COMMIT)
    assert [record.body for record in t.records("T")] == [b"0"]
    t.advance(SLAVE_TIMEOUT_MS - 1)
    assert ending.response is None
    t.advance(1)
    assert arrived(ending.response).ok


@through(*ALL)
def test_a_rollback_does_not_wait_for_slaves(t: ProtocolClient) -> None:
    """A rollback does not wait for slaves because it stores no message."""
    sent = t.put(half=True)
    t.configure(brokerRole="SYNC_MASTER", inSyncReplicas="2")
    assert arrived(t.end(sent, ROLLBACK)).ok


@through(*BROKER)
def test_a_commit_of_a_half_message_with_wait_false_does_not_wait(t: BrokerProtocolClient) -> None:
    sent = t.put(half=True, WAIT="false")
    t.configure(brokerRole="SYNC_MASTER", inSyncReplicas="2")
    assert arrived(t.end(sent, COMMIT)).ok


@through(*BROKER, slaves=1, slave_read_enable=True)
def test_a_slave_rejects_the_end_of_a_transaction(t: BrokerProtocolClient) -> None:
    """A slave rejects the end of a transaction with SLAVE_NOT_AVAILABLE; its master accepts it."""
    sent = t.put(half=True)
    response = arrived(t.at(A, 1).end(sent, COMMIT))
    assert (response.ok, response.code) == (False, 11)
    assert arrived(t.end(sent, COMMIT)).ok
    assert [record.body for record in t.at(A, 1).records("T")] == [b"0"]


# Requests to slaves.


@through(*ALL, slaves=1)
def test_a_slave_is_in_the_route_of_its_master(e: ProtocolClient) -> None:
    """A slave is in the route with the queues of its master, which stay while either of them runs."""
    e.topic(queues=2)
    assert e.route() == {A: Route(2, 2, (0, 1))}
    e.stop_broker()
    assert e.route() == {A: Route(2, 2, (1,))}
    e.at(A, 1).stop_broker()
    assert e.route() == {}
    e.start_broker()
    assert e.route() == {A: Route(2, 2)}


@through(*BROKER, slaves=1)
def test_a_slave_rejects_every_send_as_busy(e: BrokerProtocolClient) -> None:
    e.topic()
    slave = e.at(A, 1)
    for sent in (slave.put(), slave.send_to_retry_topic(), slave.send_batch_with_properties((b"0", {}))):
        assert (sent.ok, sent.code) == (False, 2)
    assert slave.send_back(0).code == 2
    assert e.message_counts() == {A: 0}


@through("grpc", slaves=1)
def test_the_proxy_sends_to_masters_only(e: ProtocolClient) -> None:
    """The proxy sends to masters only, so that a send fails while the master is stopped."""
    e.fill_topic(1)
    e.stop_broker()
    assert not e.put().ok
    e.start_broker()
    e.send(b"1")
    assert [record.body for record in e.at(A, 1).records("T")] == [b"0", b"1"]


@pytest.fixture
def replicated(e: BrokerProtocolClient) -> BrokerProtocolClient:
    """Return a protocol client with three messages and a slave that has fetched the topic."""
    e.topic()
    e.group()
    e.store(b"0", b"1", b"2")
    e.advance(TABLES_MS + 10_000)
    return e


@through(*BROKER, slaves=1, slave_read_enable=True)
def test_a_slave_serves_the_same_pulls_as_its_master(replicated: BrokerProtocolClient) -> None:
    """A slave serves the same pull as its master and wakes a waiting pull when its master stores a message."""
    slave = replicated.at(A, 1)
    assert arrived(slave.pull(0).response) == arrived(replicated.pull(0).response)
    waits = slave.pull(3, suspend_ms=15_000)
    assert waits.response is None
    replicated.send(b"3")
    assert arrived(waits.response).bodies == [b"3"]


@through(*BROKER, slaves=1, slave_read_enable=True)
def test_a_slave_serves_pulls_while_its_master_is_stopped(replicated: BrokerProtocolClient) -> None:
    """A slave serves pulls of its replicated messages while its master is stopped."""
    replicated.stop_broker(kill=True)
    assert arrived(replicated.at(A, 1).pull(1).response).bodies == [b"1", b"2"]


@through(*BROKER, slaves=1)
def test_a_slave_rejects_pulls_unless_slave_read_enable_is_set(replicated: BrokerProtocolClient) -> None:
    """A slave rejects pulls as busy unless slaveReadEnable is set."""
    slave = replicated.at(A, 1)
    response = arrived(slave.pull(0).response)
    assert (response.ok, response.code) == (False, 2)
    slave.configure(slaveReadEnable="true")
    assert arrived(slave.pull(0).response).bodies == [b"0", b"1", b"2"]


@through(*BROKER, slaves=1, slave_read_enable=True, access_message_in_memory_max_ratio=0)
def test_a_pull_far_behind_the_end_gets_the_slave_as_suggested_broker(replicated: BrokerProtocolClient) -> None:
    """A pull far behind the end gets the id of the slave as suggested broker, one near the end that of the master.

    The ids of the group configuration take precedence, at master and slave alike.
    """
    for asked in (replicated, replicated.at(A, 1)):
        assert arrived(asked.pull(0).response).suggests == 1
        assert arrived(asked.pull(3).response).suggests == 0
        asked.group(broker_id=3, which_broker_when_consume_slowly=2)
    assert [arrived(replicated.pull(offset).response).suggests for offset in (0, 3)] == [2, 3]


@through(*BROKER, slaves=1, access_message_in_memory_max_ratio=0)
def test_a_slave_that_serves_no_reads_is_not_suggested(replicated: BrokerProtocolClient) -> None:
    """A pull far behind the end gets the master as suggested broker if slaves do not serve reads."""
    assert arrived(replicated.pull(0).response).suggests == 0


@through(*BROKER, slaves=1, slave_read_enable=True)
def test_a_pull_beyond_the_end_of_a_slave_returns_the_same_offset(replicated: BrokerProtocolClient) -> None:
    """A pull beyond the end returns the same offset with PULL_RETRY_IMMEDIATELY at a slave, a new offset at the master.

    The slave may lack messages that its master has.
    """
    for asked, code, next_offset in ((replicated, 21, 3), (replicated.at(A, 1), 20, 30)):
        response = arrived(asked.pull(30).response)
        assert (response.ok, response.code, response.number) == (False, code, next_offset)


@through(*ALL, slaves=1)
def test_a_slave_gets_the_offsets_of_groups_with_the_tables_of_its_master(e: ProtocolClient) -> None:
    """A slave gets the offsets of groups later, together with the other tables of its master."""
    e.fill_topic(3)
    for message in e.take():
        assert e.ack(message.handle).ok
    assert e.at(A, 1).committed() == -1
    e.advance(TABLES_MS + 10_000)
    assert e.at(A, 1).committed() == e.committed() == len(e.records("T"))


@through(*ALL, slaves=1)
def test_a_slave_redelivers_nothing_while_its_master_is_stopped(e: ProtocolClient) -> None:
    """A slave redelivers nothing while its master is stopped; the master does so after its restart."""
    e.fill_topic(1)
    assert e.bodies() == [b"0"]
    e.stop_broker()
    before = e.at(A, 1).broker.store.log.max_offset
    e.advance(120_000)
    assert e.at(A, 1).broker.store.log.max_offset == before
    e.start_broker()
    e.advance(10_000)
    assert e.bodies() == [b"0"]
    assert e.at(A, 1).broker.store.log.max_offset == e.broker.store.log.max_offset > before
