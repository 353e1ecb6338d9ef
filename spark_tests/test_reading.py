"""Tests of range reads from a broker, without Spark: windows, short responses, filters, losses, restarts."""

import hmac
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping

import pytest
from listener import Listener
from many_messages import fill
from pyspark_rocketmq.cluster.cluster import Cluster
from pyspark_rocketmq.errors import ClusterError, DataLossError, OptionError
from pyspark_rocketmq.options.offsets import MessageQueue, Range
from pyspark_rocketmq.options.options import source_options
from pyspark_rocketmq.reading.planning import RangePartition
from pyspark_rocketmq.reading.range_reader import RangeReader
from pyspark_rocketmq.reading.scan import find_ends, find_queues, find_starts
from pyspark_rocketmq.reading.task import read_ranges
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.wire.ext_fields import Header

WANTED = (("queueOffset", "bigint"), ("body", "binary"))


def read(emulator: Emulator, start: int, end: int, queue: int = 0, **options: str) -> list[tuple[int, bytes]]:
    """Return the messages of a range of the topic `orders`: offset and body."""
    return [row for batch in batches(emulator, start, end, queue, **options) for row in batch]


def batches(
    emulator: Emulator, start: int, end: int, queue: int = 0, **options: str
) -> Iterator[list[tuple[int, bytes]]]:
    """Yield the messages of a range batch by batch."""
    given = {"nameServer": emulator.namesrv, "topic": "orders", "fetchOffset.retryIntervalMs": "20", **options}
    wanted = Range(MessageQueue("orders", "broker-a", queue), start, end)
    partition = RangePartition((wanted,), {"broker-a": emulator.broker})
    for batch in read_ranges(partition, source_options(given), WANTED):
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


@pytest.mark.parametrize("window", ["1", "2", "8", "64"])
@pytest.mark.parametrize("size", ["1", "7", "32", "1000"])
def test_any_window_gives_every_message_once_in_order(rocketmq: Emulator, window: str, size: str) -> None:
    """Any number of pulls in flight and any pull size return every message once and in order."""
    rocketmq.topic("orders", queues=1)
    bodies = [b"%d" % at for at in range(700)]
    fill(rocketmq, "orders", bodies)

    found = read(rocketmq, 5, 693, pullWindow=window, pullBatchSize=size)

    assert found == [(at, bodies[at]) for at in range(5, 693)]


class Noting(RemotingClient):
    """A client that records the number of requests in each submission."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.sent: list[int] = []

    def submit_many(
        self, code: int, requests: Iterable[tuple[Header | Mapping[str, object] | None, bytes]]
    ) -> list[int]:
        made = list(requests)
        self.sent.append(len(made))
        return super().submit_many(code, made)


@pytest.mark.rocketmq(config={"maxTransferCountOnMessageInMemory": 1024})
@pytest.mark.parametrize(("size", "later"), [(7, 32), (32, 32), (256, 4), (1024, 4)])
def test_small_pulls_have_more_in_flight_than_large_ones(rocketmq: Emulator, size: int, later: int) -> None:
    """Small pulls have 64 in flight, once the first responses are known to be small; large pulls have eight."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"%d" % at for at in range(80_000)])

    sent, read_offsets = _sent(rocketmq, 80_000, size)

    assert read_offsets == 80_000
    # The window is refilled when half of it has arrived; real brokers sometimes return less, which is compensated.
    assert sent[0] == 8
    assert later in sent
    assert max(sent) < 64


def test_few_pulls_of_large_bodies_are_in_flight(rocketmq: Emulator) -> None:
    """Few pulls of large bodies are in flight, since each response would hold megabytes."""
    rocketmq.topic("orders", queues=1)
    for body in [b"x" * (3 << 20)] * 30:
        fill(rocketmq, "orders", [body])

    assert _sent(rocketmq, 30, 1) == ([8, 4, 4, 4, 4, 4, 2], 30)


def _sent(emulator: Emulator, end: int, size: int) -> tuple[list[int], int]:
    """Return the numbers of pulls per submission, and the number of offsets that were read."""
    with Noting(emulator.broker) as client:
        given = {"nameServer": emulator.namesrv, "topic": "orders", "pullBatchSize": str(size)}
        wanted = Range(MessageQueue("orders", "broker-a", 0), 0, end)
        reader = RangeReader(wanted, source_options(given), lambda: client, lambda: None)
        read_offsets = sum(piece.high - piece.low for piece in reader.pieces())
        return client.sent, read_offsets


@pytest.mark.rocketmq(config={"maxTransferBytesOnMessageInMemory": 2000, "maxTransferCountOnMessageInMemory": 5})
def test_messages_missing_from_a_short_response_are_requested_again(rocketmq: Emulator) -> None:
    """Messages missing from a short response, limited by number or by size, are requested again."""
    rocketmq.topic("orders", queues=1)
    bodies = [b"x" * (1 + at * 37 % 1500) for at in range(300)]
    fill(rocketmq, "orders", bodies)

    assert read(rocketmq, 0, 300) == list(enumerate(bodies))


def test_a_filtered_read_returns_matching_messages_once_in_order(rocketmq: Emulator) -> None:
    """A filtered read returns matching messages once and in order, although responses extend past the requested end."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"%d" % at for at in range(5000)], tags=["a", "b", "", "", ""])

    found = read(rocketmq, 100, 4900, subExpression="a || b")

    assert [at for at, _ in found] == [at for at in range(100, 4900) if at % 5 < 2]


def test_a_filtered_read_without_matches_reaches_its_end(rocketmq: Emulator) -> None:
    """A filtered read without matches returns nothing, and reaches its end."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 3000, tags=["a"])

    assert read(rocketmq, 0, 3000, subExpression="z") == []


@pytest.mark.rocketmq(config={"enablePropertyFilter": True})
def test_an_sql92_expression_is_evaluated_by_the_broker(rocketmq: Emulator) -> None:
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"%d" % at for at in range(100)], tags=["a", "b"])

    found = read(rocketmq, 0, 100, subExpression="TAGS = 'b'", expressionType="SQL92")

    assert [at for at, _ in found] == list(range(1, 100, 2))


SEE = r" \(check the options subExpression and expressionType\)"


def test_a_rejected_expression_fails_with_topic_queue_and_reason(rocketmq: Emulator) -> None:
    """A rejected expression raises an error with topic, queue, options and the broker's reason: SQL92 is disabled."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"])

    with pytest.raises(ClusterError, match=rf"queue 0 of topic orders on broker-a.*does not support.*SQL92{SEE}"):
        read(rocketmq, 0, 1, subExpression="a = b", expressionType="SQL92")


def planned(emulator: Emulator, expression: str) -> int:
    """Return the number of queues that a planner finds in a topic with an SQL92 filter."""
    given = {"nameServer": emulator.namesrv, "topic": "orders", "subExpression": expression, "expressionType": "SQL92"}
    options = source_options(given)
    with Cluster(options) as cluster:
        return len(find_queues(cluster, options))


REFUSED = r"option subExpression: broker broker-a does not accept it"


def test_an_unsupported_sql92_expression_is_refused_before_the_read(rocketmq: Emulator) -> None:
    """An SQL92 expression is rejected before the read starts if brokers do not support it."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"])

    with pytest.raises(ClusterError, match=rf"{REFUSED}: SYSTEM_ERROR \(1\): .*does not support.*SQL92"):
        planned(rocketmq, "a = b")


@pytest.mark.rocketmq(config={"enablePropertyFilter": True})
def test_an_invalid_expression_is_refused_before_the_read(rocketmq: Emulator) -> None:
    """An invalid expression is rejected before the read starts, since a pull with it would return all messages."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"])

    assert planned(rocketmq, "a = 'b'") == 1
    with pytest.raises(ClusterError, match=rf"{REFUSED}: SUBSCRIPTION_PARSE_FAILED \(23\): .*"):
        planned(rocketmq, "a = = b")


def test_offsets_that_the_broker_does_not_have_raise_data_loss_error(rocketmq: Emulator) -> None:
    """Offsets that the broker does not have raise DataLossError, or are skipped with failOnDataLoss=false."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 10)

    with pytest.raises(DataLossError, match=r"queue 0 of topic orders on broker-a.*offset 10 is gone.*0 to 10"):
        read(rocketmq, 0, 15)
    assert len(read(rocketmq, 0, 15, failOnDataLoss="false")) == 10
    with pytest.raises(DataLossError, match="offset 20 is gone"):
        read(rocketmq, 20, 30)
    assert read(rocketmq, 20, 30, failOnDataLoss="false") == []


@pytest.mark.recovery
def test_a_read_continues_after_a_restart_of_the_broker(rocketmq: Emulator) -> None:
    """A read continues after a restart of the broker, and returns every message once."""
    rocketmq.topic("orders", queues=1)
    bodies = [b"x" * 1000 for _ in range(40000)]
    fill(rocketmq, "orders", bodies)

    found = []
    for number, batch in enumerate(batches(rocketmq, 0, 40000)):
        found += [at for at, _ in batch]
        if number in (0, 2):
            rocketmq.restart()

    assert found == list(range(40000))


def test_a_read_from_a_stopped_broker_names_it_after_all_retries(rocketmq: Emulator) -> None:
    """A stopped broker raises an error that names it, after all retries."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 10)
    rocketmq.stop_broker("broker-a")

    with pytest.raises(ClusterError, match=r"queue 0 of topic orders on broker-a.*does not answer.*4 times"):
        read(rocketmq, 0, 10, failOnDataLoss="false")


def test_batches_are_yielded_as_they_fill_for_any_length_of_a_range(rocketmq: Emulator) -> None:
    """Batches are yielded as they fill, so that a task holds one at a time, regardless of the range's length."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x" * 100] * 40000)

    sizes = [len(batch) for batch in batches(rocketmq, 0, 40000)]

    assert sum(sizes) == 40000
    assert max(sizes) < 9000


READER = """
import sys, tracemalloc
import pyarrow as pa
from pyspark_rocketmq.reading.batch_reader import RocketMQBatchReader
from pyspark_rocketmq.options.options import source_options
from pyspark_rocketmq.options.schema import COLUMNS

columns = tuple((column.name, column.types[0]) for column in COLUMNS.values())
given = {"nameServer": sys.argv[1], "topic": "orders", "maxPartitions": "1"}
given["endingOffsets"] = '{"orders":{"broker-a":{"0":%s}}}' % sys.argv[2]
reader = RocketMQBatchReader(source_options(given).of_batch(), columns)
[partition] = reader.partitions()
tracemalloc.start()
print(sum(batch.num_rows for batch in reader.read(partition)))
print(tracemalloc.get_traced_memory()[1], pa.default_memory_pool().max_memory())
"""
BODY_BYTES = 300
KIB = 1 << 10


def peaks(emulator: Emulator, count: int) -> tuple[int, int]:
    """Return the peak bytes of Python objects and of Arrow arrays in a process that reads `count` messages."""
    words = [sys.executable, "-c", READER, emulator.namesrv, str(count)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read, objects, arrays = map(int, done.stdout.split())
    assert read == count
    return objects, arrays


def test_memory_does_not_grow_with_the_range(rocketmq: Emulator) -> None:
    """Memory stays the same for four times the messages, 27 MB more: one batch, the next one, and responses in flight.

    The test counts allocations, since the size of the process depends on allocators, which `make bench-spark` measures.
    """
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x" * BODY_BYTES] * 120_000)

    small, large = peaks(rocketmq, 30_000), peaks(rocketmq, 120_000)

    # The responses that have arrived at one instant differ by a few, of 32 messages each.
    assert large[0] - small[0] < 512 * KIB, (small, large)
    assert large[1] - small[1] < 64 * KIB, (small, large)


def test_tls_needs_the_certificate_of_the_option_or_no_verification(rocketmq: Emulator) -> None:
    """TLS succeeds with the option's certificate or without verification; an untrusted certificate is an error."""
    rocketmq.topic("orders", queues=1)
    fill(rocketmq, "orders", [b"x"] * 100)

    assert len(read(rocketmq, 0, 100, tls="true", tlsCaFile=rocketmq.ca_file)) == 100
    assert len(read(rocketmq, 0, 100, tls="true", tlsVerify="false")) == 100
    with pytest.raises(ClusterError, match=r"the certificate of .* is not trusted"):
        read(rocketmq, 0, 100, tls="true")
    with pytest.raises(OptionError, match=r"option tlsCaFile: /nowhere.pem cannot be read"):
        read(rocketmq, 0, 100, tls="true", tlsCaFile="/nowhere.pem")


def test_requests_with_an_access_key_are_signed_by_hmac_sha1() -> None:
    """With an access key requests are signed by HMAC-SHA1 over all other field values, sorted by field name."""
    given = {"topic": "orders", "accessKey": "me", "secretKey": "secret", "securityToken": "token"}
    with Listener() as listener:
        with Cluster(source_options({"nameServer": listener.address, **given})) as cluster:
            assert cluster.route("orders") is None
        [request] = listener.requests

    fields = request.ext_fields or {}
    assert (fields["AccessKey"], fields["SecurityToken"]) == ("me", "token")
    text = "".join(value for name, value in sorted(fields.items()) if name != "Signature").encode()
    assert fields["Signature"] == b64encode(hmac.digest(b"secret", text, "sha1")).decode()


# --- positions


def positions(emulator: Emulator, side: str = "starting", **options: str) -> dict[int, int]:
    """Return the start or end of a read, by queue id."""
    given = source_options({"nameServer": emulator.namesrv, "topic": "orders", **options})
    with Cluster(given) as cluster:
        queues = find_queues(cluster, given)
        found = (
            find_starts(cluster, given, queues, "earliest") if side == "starting" else find_ends(cluster, given, queues)
        )
    return {queue.queue_id: offset for queue, offset in found.items()}


def test_starts_and_ends_are_found_by_name_number_and_group(rocketmq: Emulator) -> None:
    """Starts and ends are found by name, by number, and by a group's committed offset."""
    rocketmq.topic("orders", queues=2)
    fill(rocketmq, "orders", [b"x"] * 10)
    given = source_options({"nameServer": rocketmq.namesrv, "topic": "orders", "consumerGroup": "readers"})
    rocketmq.group("readers")
    with Cluster(given) as cluster:
        find_queues(cluster, given)
        cluster.commit("readers", {MessageQueue("orders", "broker-a", 0): 4})

    assert positions(rocketmq) == {0: 0, 1: 0}
    assert positions(rocketmq, startingOffsets="latest") == {0: 10, 1: 0}
    assert positions(rocketmq, startingOffsets='{"orders":{"broker-a":{"0":7}}}') == {0: 7, 1: 0}
    assert positions(rocketmq, startingOffsets="group", consumerGroup="readers") == {0: 4, 1: 0}
    assert positions(rocketmq, "ending") == {0: 10, 1: 0}
    assert positions(rocketmq, "ending", endingOffsets='{"orders":{"broker-a":{"0":7,"1":-1}}}') == {0: 7, 1: 0}


def test_a_start_time_between_two_direct_sends_separates_their_messages(rocketmq: Emulator) -> None:
    """A start time between two direct sends separates their messages, although the test does not move the clock."""
    orders = rocketmq.topic("orders", queues=1)
    for _ in range(20):
        orders.send(b"old")
    between_ms = rocketmq.clock.now_ms + 1
    deadline = time.monotonic() + 30
    while rocketmq.clock.now_ms < between_ms:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    for _ in range(20):
        orders.send(b"new")

    assert positions(rocketmq, startingTimestamp=str(between_ms)) == {0: 20}


def test_a_start_time_overrides_an_offset_and_past_the_end_is_the_end(rocketmq: Emulator) -> None:
    """A time for all overrides one by topic or queue, which overrides an offset; a time past the end is the end."""
    rocketmq.topic("orders", queues=2)
    fill(rocketmq, "orders", [b"x"] * 10)
    before = rocketmq.clock.now_ms
    rocketmq.clock.advance("1h")
    fill(rocketmq, "orders", [b"x"] * 5)
    later = str(before + 1000)

    assert positions(rocketmq, startingTimestamp=later) == {0: 10, 1: 0}
    assert positions(rocketmq, startingTimestamp=str(before + 10**8)) == {0: 15, 1: 0}
    assert positions(rocketmq, startingOffsetsByTimestamp=f'{{"orders":{later}}}', startingOffsets="latest") == {
        0: 10,
        1: 0,
    }
    by_queue = f'{{"orders":{{"broker-a":{{"1":{later}}}}}}}'
    assert positions(rocketmq, startingOffsetsByTimestamp=by_queue, startingOffsets="latest") == {0: 15, 1: 0}
    assert positions(rocketmq, "ending", endingTimestamp=later) == {0: 10, 1: 0}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic": "nowhere"}, "topic nowhere has no route"),
        ({"startingOffsets": '{"orders":{"broker-a":{"0":11}}}'}, "queue 0 of topic orders.*offsets 0 to 10, not 11"),
        ({"startingOffsets": '{"orders":{"broker-a":{"9":1}}}'}, "names queue 9 of topic orders.*has broker-a:0"),
        ({"nameServer": "127.0.0.1:1", "fetchOffset.numRetries": "0"}, "no name server of option nameServer answers"),
        ({"nameServer": "BROKER"}, "option nameServer: .* is no name server; it says REQUEST_CODE_NOT_SUPPORTED"),
    ],
)
def test_a_wrong_start_or_end_fails_with_option_topic_and_queue(
    rocketmq: Emulator, options: dict[str, str], said: str
) -> None:
    rocketmq.topic("orders", queues=2)
    fill(rocketmq, "orders", [b"x"] * 10)

    given = {name: rocketmq.broker if text == "BROKER" else text for name, text in options.items()}
    with pytest.raises(Exception, match=said):
        positions(rocketmq, **given)


def test_a_pattern_matches_whole_topic_names_without_system_topics(rocketmq: Emulator) -> None:
    for name in ("orders-a", "orders-b", "other"):
        rocketmq.topic(name, queues=1)
    rocketmq.group("readers")

    def found(pattern: str) -> set[str]:
        given = source_options({"nameServer": rocketmq.namesrv, "topicsPattern": pattern})
        with Cluster(given) as cluster:
            return {queue.topic for queue in find_queues(cluster, given)}

    assert found("orders-.") == {"orders-a", "orders-b"}
    assert found("orders") == set()
    assert found(".*") == {"orders-a", "orders-b", "other"}


def test_several_topics_are_read_by_name(rocketmq: Emulator) -> None:
    """Several topics are read by name, and a missing one is named in the error."""
    for name in ("orders", "refunds", "other"):
        rocketmq.topic(name, queues=1)

    def found(names: str) -> set[str]:
        given = source_options({"nameServer": rocketmq.namesrv, "topics": names})
        with Cluster(given) as cluster:
            return {queue.topic for queue in find_queues(cluster, given)}

    assert found("orders, refunds") == {"orders", "refunds"}
    with pytest.raises(ClusterError, match="topic nowhere has no route"):
        found("orders,nowhere")


def test_only_assigned_queues_are_read(rocketmq: Emulator) -> None:
    """Only assigned queues are read, and a missing one is named in the error."""
    rocketmq.topic("orders", queues=2)

    def found(assign: str) -> list[int]:
        given = source_options({"nameServer": rocketmq.namesrv, "assign": assign})
        with Cluster(given) as cluster:
            return [queue.queue_id for queue in find_queues(cluster, given)]

    assert found('{"orders":{"broker-a":[1]}}') == [1]
    with pytest.raises(ClusterError, match="there is no queue 7 of topic orders on broker-a; topic orders has"):
        found('{"orders":{"broker-a":[1,7]}}')
