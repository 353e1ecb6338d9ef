"""Topics with cleanup.policy=COMPACTION: each message has a key, and they are read from a log of their own."""

from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.request_code import RequestCode

from ..case import grpc_case, remoting_case
from ..worlds.consumer import consumer_of
from ..worlds.grpc import Grpc
from ..worlds.remoting import Remoting, short_names
from .topics import create


def compacted(t: Remoting, queues: int = 1) -> str:
    """A new topic that is compacted."""
    topic = t.new()
    policy = "+cleanup.policy=COMPACTION"
    answer = create(t, topic, readQueueNums=queues, writeQueueNums=queues, attributes=policy)
    t.require(answer.code == 0, f"the topic was not made: {answer}")
    return topic


@remoting_case("SendMessageProcessor.sendMessage")
def a_message_needs_a_key(t: Remoting) -> None:
    """A message for a compacted topic is refused without keys; one in a batch is not."""
    topic = compacted(t)
    t.see("no key", t.send(topic), 13)
    t.see("blank keys", t.send(topic, keys="  "), 13)
    t.see("a tag is no key", t.send(topic, tag="k"), 13)
    t.see("key", t.send(topic, keys="k"), 0)
    t.see("half message without key", t.send(topic, properties={"TRAN_MSG": "true", "PGROUP": "PG"}), 13)
    t.see("delayed message without key", t.send(topic, properties={"DELAY": "1"}), 13)
    fields = short_names(t.send_fields(topic, unique=False, batch=True))
    t.see("batch without keys", t.ask(RequestCode.SEND_BATCH_MESSAGE, fields, batch_body([(b"b", {})])), 0)
    t.see("bad queue", t.send(topic, queue=7), 29)


@remoting_case("CompactionLog.getMessage")
def a_compacted_topic_is_read_without_a_filter(t: Remoting) -> None:
    """What consumers want of a compacted topic plays no part: they are given all, and filter by themselves."""
    topic = compacted(t)
    t.readable(topic, *(t.send(topic, body, keys="k", tag=body) for body in ("a", "b", "c")))
    t.until(lambda: len(t.pull(topic, t.group()).messages) == 3, 10)
    for expression in ("*", "b", "nothing"):
        t.see(f"tag {expression}", t.pull(topic, t.group(), expression=expression).found)
    t.see("SQL92", t.pull(topic, t.group(), expression="TAGS = 'b'", type="SQL92").found)
    t.see("popped", t.pop(topic, t.group(), expression="b").found)


@remoting_case("CompactionLog.getMessage")
def where_a_read_of_a_compacted_topic_may_begin(t: Remoting) -> None:
    """A read beyond the end is sent to the beginning; one at the end waits as ever."""
    topic = compacted(t)
    t.readable(topic, *(t.send(topic, f"m{number}", keys="k") for number in range(3)))
    t.until(lambda: len(t.pull(topic, t.group()).messages) == 3, 10)
    for offset in (0, 2, 3, 4, 9, -1):
        t.see(f"from {offset}", t.pull(topic, t.group(), offset=offset).without("suggestWhichBrokerId"))
    waiting = t.start_pull(topic, t.group(), offset=3, suspend_ms=15_000)
    t.settle()
    t.readable(topic, t.send(topic, "m3", keys="k"))
    t.see("waited", t.arrival(waiting).bodies)


@remoting_case("CompactionStore.getMessage")
def an_empty_compacted_topic_has_nothing(t: Remoting) -> None:
    """A pull from a queue to which nothing was sent finds nothing."""
    topic = compacted(t)
    t.see("from 0", t.pull(topic, t.group()).code)
    t.see("from 5", t.pull(topic, t.group(), offset=5).code)
    t.see("popped", t.pop(topic, t.group()).code)


@remoting_case("CompactionLog.compactAndReplace")
def the_same_key_may_come_again(t: Remoting) -> None:
    """Messages with the same key stay for as long as their file is not full, and can be queried and viewed."""
    topic = compacted(t)
    sends = t.readable(topic, *(t.send(topic, f"m{number}", keys="same") for number in range(3)))
    t.until(lambda: len(t.pull(topic, t.group()).messages) == 3, 10)
    t.see("pulled", t.pull(topic, t.group()).found)
    t.until(lambda: len(t.query(topic, "same").messages) == 3)
    t.see("queried", t.query(topic, "same").found)
    t.see("viewed", t.view(sends[0].place, topic=topic).bodies)


@grpc_case("SendMessageActivity.sendMessage")
def a_message_through_the_proxy_needs_a_key(t: Grpc) -> None:
    """A message of a gRPC client needs a key too; with one it is received, whatever its tag."""
    topic = t.new()
    fields = {"topic": topic, "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
    fields |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False}
    fields |= {"attributes": "+cleanup.policy=COMPACTION,+message.type=NORMAL"}
    t.see("made", t.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, fields), 0)
    t.see("no key", t.send(t.message(topic)).status)
    t.see("key", t.send(t.message(topic, "keyed", tag="A", keys=["k"])).status.code)
    consumer = consumer_of(t, topic, t.group())
    t.see("received", consumer.received_at_last().bodies)
