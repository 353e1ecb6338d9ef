"""The half and op topics of transactions, as administrators see them."""

from typing import Any

from rocketmq_testkit.emulator.message.names import HALF_TOPIC, OP_HALF_TOPIC, TRANSACTION_GROUP
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.transactions import COMMIT, ROLLBACK, transacting

PATIENT = {"transactionCheckInterval": "3000", "transactionTimeOut": "20000"}
"""Check rounds run every 3 s, and no half message is old enough for a check during a case."""


def _extents(t: RemotingContext) -> dict[str, Any]:
    topics = (HALF_TOPIC, OP_HALF_TOPIC)
    return {each: t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": each}).json["offsetTable"] for each in topics}


def _positions(t: RemotingContext) -> list[str | None]:
    return [t.committed(topic, TRANSACTION_GROUP).fields.get("offset") for topic in (HALF_TOPIC, OP_HALF_TOPIC)]


@remoting_case("AdminBrokerProcessor.getTopicStatsInfo", settings=PATIENT, alone=True)
def half_and_op_topics_have_statistics_and_consumer_offsets(t: RemotingContext) -> None:
    """Topic statistics count half messages and op messages; the group's offsets count the decided ones."""
    producers = transacting(t)
    t.note("at first", _extents(t))
    sent = [producers.half() for _ in range(3)]
    t.until(lambda: t.max_offset(HALF_TOPIC) == 3, 5)
    t.note("three half messages", _extents(t))
    for each, value in zip(sent, (COMMIT, ROLLBACK, COMMIT), strict=True):
        producers.end(each, value)
    t.until(lambda: _positions(t) == ["3", "1"], 20)
    t.note("all decided", _extents(t))
    t.note("positions", _positions(t))
    stats = t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": TRANSACTION_GROUP})
    t.note("progress", stats.json["offsetTable"] if stats.code == 0 else stats)


@remoting_case(
    "TransactionalMessageServiceImpl.deletePrepareMessage",
    settings={"transactionOpMsgMaxSize": "7", "transactionOpBatchInterval": "60000"},
)
def op_messages_beyond_transaction_op_msg_max_size_are_stored_early(t: RemotingContext) -> None:
    """Op messages longer than transactionOpMsgMaxSize are stored before the batch interval ends.

    Later ends wait for it.
    """
    producers = transacting(t)
    for number in range(5):
        producers.end(producers.half(), COMMIT)
        if number == 3:
            t.note("written", t.stored(OP_HALF_TOPIC, seconds=5).bodies)
    t.wait(2)
    t.note("op messages", t.max_offset(OP_HALF_TOPIC))
