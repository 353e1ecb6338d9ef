"""Topics with cleanup.policy=COMPACTION: messages have a key and are read from a separate log."""

from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.remoting_response import DecodedResponse
from ...clients.remoting_sends import short_names
from ...clients.remoting_topics import topic_request
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext
from ...helpers.consumer import consumer_of
from ..topic.topics import create

SMALL_FILES = {
    "compactionCqMappedFileSize": "460",
    "compactionMappedFileSize": "1048576",
    "compactionScheduleInternal": "3000",
}
"""Settings of a broker that compacts often, with log files of nine messages."""
IN_A_FILE = 9
ROUND_SECONDS = 25
"""Three times the longest time in seconds until a compaction."""


def compacted(t: RemotingContext, queues: int = 1) -> str:
    """Create a compacted topic."""
    topic = t.new()
    policy = "+cleanup.policy=COMPACTION"
    response = create(t, topic, readQueueNums=queues, writeQueueNums=queues, attributes=policy)
    t.require(response.code == 0, f"the topic was not created: {response}")
    return topic


@remoting_case("SendMessageProcessor.sendMessage")
def a_compacted_topic_rejects_single_messages_without_keys(t: RemotingContext) -> None:
    """A message without keys is rejected by a compacted topic; one within a batch is accepted."""
    topic = compacted(t)
    t.note("no key", t.send(topic), 13)
    t.note("blank keys", t.send(topic, keys="  "), 13)
    t.note("a tag is no key", t.send(topic, tag="k"), 13)
    t.note("key", t.send(topic, keys="k"), 0)
    t.note("half message without key", t.send(topic, properties={"TRAN_MSG": "true", "PGROUP": "PG"}), 13)
    t.note("delayed message without key", t.send(topic, properties={"DELAY": "1"}), 13)
    t.note("batch without keys", send_batch(t, topic, {}, b"b"), 0)
    t.note("bad queue", t.send(topic, queue=7), 29)


@remoting_case("CompactionLog.getMessage")
def the_broker_applies_no_filter_to_a_compacted_topic(t: RemotingContext) -> None:
    """The broker does not filter a compacted topic: consumers get all messages and filter them."""
    topic = compacted(t)
    t.readable(topic, *(t.send(topic, body, keys="k", tag=body) for body in ("a", "b", "c")))
    t.until(lambda: len(t.pull(topic, t.group()).messages) == 3, 10)
    for expression in ("*", "b", "nothing"):
        t.note(f"tag {expression}", t.pull(topic, t.group(), expression=expression).found)
    t.note("SQL92", t.pull(topic, t.group(), expression="TAGS = 'b'", type="SQL92").found)
    t.note("popped", t.pop(topic, t.group(), expression="b").found)


@remoting_case("CompactionLog.getMessage")
def a_pull_beyond_the_end_of_a_compacted_topic_restarts_at_its_beginning(t: RemotingContext) -> None:
    """A pull beyond the end of a compacted topic is moved to its beginning; one at the end waits as usual."""
    topic = compacted(t)
    t.readable(topic, *(t.send(topic, f"m{number}", keys="k") for number in range(3)))
    t.until(lambda: len(t.pull(topic, t.group()).messages) == 3, 10)
    for offset in (0, 2, 3, 4, 9, -1):
        t.note(f"from {offset}", t.pull(topic, t.group(), offset=offset).without("suggestWhichBrokerId"))
    waiting = t.start_pull(topic, t.group(), offset=3, suspend_ms=15_000)
    t.settle()
    t.readable(topic, t.send(topic, "m3", keys="k"))
    t.note("waited", t.arrival(waiting).bodies)


@remoting_case("CompactionStore.getMessage")
def a_pull_from_an_empty_compacted_topic_finds_no_message(t: RemotingContext) -> None:
    """A pull from an empty queue of a compacted topic finds nothing."""
    topic = compacted(t)
    t.note("from 0", t.pull(topic, t.group()).code)
    t.note("from 5", t.pull(topic, t.group(), offset=5).code)
    t.note("popped", t.pop(topic, t.group()).code)


@remoting_case("CompactionLog.compactAndReplace")
def messages_with_the_same_key_remain_until_compaction(t: RemotingContext) -> None:
    """Messages with the same key remain until their file is full, and can be queried and viewed."""
    topic = compacted(t)
    sends = t.readable(topic, *(t.send(topic, f"m{number}", keys="same") for number in range(3)))
    t.until(lambda: len(t.pull(topic, t.group()).messages) == 3, 10)
    t.note("pulled", t.pull(topic, t.group()).found)
    t.until(lambda: len(t.query(topic, "same").messages) == 3)
    t.note("queried", t.query(topic, "same").found)
    t.note("viewed", t.view(sends[0].place, topic=topic).bodies)


@grpc_case("SendMessageActivity.sendMessage")
def a_grpc_send_without_keys_to_a_compacted_topic_is_rejected(t: GrpcContext) -> None:
    """A gRPC client's message for a compacted topic also requires a key. With one it is received with any tag."""
    topic = t.new()
    attributes = "+cleanup.policy=COMPACTION,+message.type=NORMAL"
    t.note("made", t.request(*topic_request(topic, queues=1, attributes=attributes)), 0)
    t.note("no key", t.send(t.message(topic)).status)
    t.note("key", t.send(t.message(topic, "keyed", tag="A", keys=["k"])).status.code)
    consumer = consumer_of(t, topic, t.group())
    t.note("received", consumer.received_at_last().bodies)


def fill(t: RemotingContext, topic: str, *messages: tuple[str, str]) -> None:
    """Send messages with these keys and bodies, empty ones in batches, and wait until they can be read."""
    for keys, body in messages:
        response = t.send(topic, body, keys=keys) if body else send_batch(t, topic, {"KEYS": keys})
        t.readable(topic, response)
    t.until(lambda: t.pull(topic, t.group(), offset=len(messages)).code == 19, 10)


def send_batch(t: RemotingContext, topic: str, properties: dict[str, str], body: bytes = b"") -> DecodedResponse:
    """Send a batch of one message."""
    fields = short_names(t.send_fields(topic, unique=False, batch=True))
    return t.request(RequestCode.SEND_BATCH_MESSAGE, fields, batch_body([(body, properties)]))


def messages_with_rotating_keys(messages: int, keys: int = 3) -> list[tuple[str, str]]:
    """Return messages whose keys repeat after `keys` messages."""
    return [(f"k{number % keys}", f"m{number}") for number in range(messages)]


def wait_for_compaction(t: RemotingContext, topic: str, bodies: list[str]) -> None:
    """Wait until the first pull returns other bodies than these."""
    t.until(lambda: t.pull(topic, t.group()).bodies != bodies, ROUND_SECONDS)


def all_pulled(t: RemotingContext, topic: str) -> list[list[str]]:
    """Return the bodies of successive pulls."""
    found, offset = [], 0
    while (response := t.pull(topic, t.group(), offset=offset)).code == 0:
        found.append(response.bodies)
        offset = int(response["nextBeginOffset"])
    return found


@remoting_case("CompactionLog.compactAndReplace", settings=SMALL_FILES)
def the_last_message_of_each_key_is_kept(t: RemotingContext) -> None:
    """Once files are full, only the last message of each key remains. A pull returns messages of one file."""
    topic = compacted(t)
    fill(t, topic, *messages_with_rotating_keys(20))
    t.note("all", all_pulled(t, topic))
    wait_for_compaction(t, topic, [f"m{number}" for number in range(IN_A_FILE)])
    t.note("kept", all_pulled(t, topic))
    for offset in (0, 14, 16, 17, 18, 20, 21):
        t.note(f"from {offset}", t.pull(topic, t.group(), offset=offset).without("suggestWhichBrokerId"))
    queue = {"topic": topic, "queueId": 0}
    codes = (RequestCode.GET_MIN_OFFSET, RequestCode.GET_MAX_OFFSET)
    t.note("offsets of the queue", [t.request(code, queue)["offset"] for code in codes])
    t.note("popped", t.pop(topic, t.group()).found)


@remoting_case("CompactionLog.shouldRetainMsg", settings=SMALL_FILES)
def a_message_without_body_deletes_its_key(t: RemotingContext) -> None:
    """A message without a body deletes its key and is deleted as well. Several keys in a message count as one key."""
    topic = compacted(t)
    fill(t, topic, ("a", "a0"), ("b", "b1"), ("a b", "ab2"), ("a", ""), *messages_with_rotating_keys(6, 1))
    wait_for_compaction(t, topic, ["a0", "b1", "ab2", "", "m0", "m1", "m2", "m3", "m4"])
    t.note("kept", all_pulled(t, topic))


@remoting_case("CompactionLog.compactAndReplace", settings=SMALL_FILES)
def a_later_compaction_drops_messages_kept_by_an_earlier_one(t: RemotingContext) -> None:
    """A later compaction drops a message that an earlier one kept if its key was sent again."""
    topic = compacted(t)
    fill(t, topic, *messages_with_rotating_keys(10))
    wait_for_compaction(t, topic, [f"m{number}" for number in range(IN_A_FILE)])
    t.note("first round", all_pulled(t, topic))
    before = t.pull(topic, t.group()).bodies
    t.readable(topic, *(t.send(topic, f"n{number}", keys="k0") for number in range(IN_A_FILE)))
    wait_for_compaction(t, topic, before)
    t.note("second round", all_pulled(t, topic))


@remoting_case("CompactionLog.putEndMessage", settings=SMALL_FILES)
def a_file_with_only_empty_bodies_is_not_compacted(t: RemotingContext) -> None:
    """A file whose messages all have no body is not compacted, because the compaction fails."""
    topic = compacted(t)
    fill(t, topic, *([("a", "")] * IN_A_FILE), ("b", "last"))
    t.wait(ROUND_SECONDS)
    t.note("nothing dropped", all_pulled(t, topic))


@remoting_case("CompactionLog.asyncPutMessage", settings=SMALL_FILES)
def log_offsets_of_compacted_messages_start_at_0_in_each_queue(t: RemotingContext) -> None:
    """Offsets of a compacted topic's messages are those in its queue's own log, from 0 on.

    A message without keys is in no such log.
    """
    topic = compacted(t, queues=2)
    fill(t, topic, ("a", "m0"))
    t.send(topic, "other queue", queue=1, keys="a")
    send_batch(t, topic, {}, b"without keys")
    t.readable(topic, t.send(topic, "m2", keys="a"))
    t.until(lambda: len(t.pull(topic, t.group()).messages) == 2, 10)
    t.until(lambda: t.pull(topic, t.group(), 1).code == 0, 10)
    response = t.pull(topic, t.group())
    first, second = response.messages
    t.note("bodies", response.bodies)
    t.note("first", first.physical_offset)
    t.note("second behind it", second.physical_offset == int.from_bytes(response.body[:4], "big"))
    t.note("first of the other queue", t.pull(topic, t.group(), 1).messages[0].physical_offset)
