"""A master and its slave: routes, rejections, suggested broker ids, replication, and a stopped master."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.sends import back
from ...helpers.transactions import COMMIT, transacting
from .replicas import see_sent_at_once
from .several_brokers import RESTART, by_broker

SLAVE = {"slaveReadEnable": "true", "beside.brokerId": "1", "beside.brokerRole": "SLAVE"}
WAITED_FOR = {**SLAVE, "brokerRole": "SYNC_MASTER", "inSyncReplicas": "2", "accessMessageInMemoryMaxRatio": "0"}
"""Settings by which sends wait for the slave, and every group before the end of the log is far behind."""
TABLES_SECONDS = 100.0
"""Seconds within which a slave copies its master's tables at least once."""


def followed(t: Remoting) -> None:
    """Return when the slave is connected to its master, so that no later send waits in vain."""
    topic = t.topic(queues=1)
    # # The repeated sends use one unique key, so that the numbering of later messages in the records is stable.
    name = {"UNIQ_KEY": t.message_id()}
    t.require(t.until(lambda: t.send(topic, properties=name).code == 0, 90), "the slave does not follow")


def known_to_slave(t: Remoting, topic: str, group: str) -> Answer:
    """Return the result of a pull from the slave as soon as it knows the topic."""

    def found() -> Answer | None:
        answer = t.pull(topic, group, to=t.beside)
        return None if answer.code == 17 else answer

    answer = t.until(found, TABLES_SECONDS)
    t.require(answer is not None, "the slave does not know the topic")
    assert answer is not None
    return answer


def committed_at_slave(t: Remoting, topic: str, group: str) -> Answer:
    """Return the slave's committed offset."""
    asked = {"consumerGroup": group, "topic": topic, "queueId": 0, "setZeroIfNotFound": "false"}
    return t.ask(RequestCode.QUERY_CONSUMER_OFFSET, asked, to=t.beside)


@remoting_case("RouteInfoManager.registerBroker", settings=WAITED_FOR)
def a_slave_is_an_address_of_its_masters_name(t: Remoting) -> None:
    """Routes and the cluster info list a slave by its broker id; it has no queues of its own."""
    t.see("route", by_broker(t.route(t.topic(queues=1))))
    t.see("brokers", t.ask(RequestCode.GET_BROKER_CLUSTER_INFO, to=t.namesrv).json["brokerAddrTable"])


@remoting_case("SendMessageProcessor.rejectRequest", settings=WAITED_FOR)
def a_slave_takes_nothing(t: Remoting) -> None:
    """A slave rejects sends and messages sent back as SYSTEM_BUSY, and transaction ends as SLAVE_NOT_AVAILABLE."""
    followed(t)
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic, 1)
    t.see("sent", t.send(topic, to=t.beside), 2)
    t.see("sent back", back(t, group, sent.place, 1, to=t.beside), 2)
    producers = transacting(t)
    half = producers.half()
    t.see("end", t.ask(RequestCode.END_TRANSACTION, producers.end_fields(half, COMMIT), to=t.beside), 11)


@remoting_case("SlaveSynchronize.syncAll", settings=WAITED_FOR)
def a_slave_has_messages_at_once_and_tables_later(t: Remoting) -> None:
    """A slave serves pulls once it knows the topic. A pull beyond its end gets PULL_RETRY_IMMEDIATELY."""
    followed(t)
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.commit(topic, group, 2)
    ends = {"topic": topic, "queueId": 0}
    t.until(lambda: t.ask(RequestCode.GET_MAX_OFFSET, ends, to=t.beside)["offset"] == "3")
    t.see("end", t.ask(RequestCode.GET_MAX_OFFSET, ends, to=t.beside), 0)
    found = known_to_slave(t, topic, group)
    t.see("pulled", found, 0)
    t.see("bodies", found.bodies)
    t.until(lambda: committed_at_slave(t, topic, group).code == 0, TABLES_SECONDS)
    t.see("committed", committed_at_slave(t, topic, group), 0)
    t.see("at the end", t.pull(topic, group, offset=3, to=t.beside), 19)
    t.see("beyond the end", t.pull(topic, group, offset=30, to=t.beside), 20)
    t.see("nothing that matches", t.pull(topic, group, expression="none", to=t.beside), 20)


@remoting_case("SlaveSynchronize.syncTopicConfig", settings=SLAVE, alone=True)
def a_slave_does_not_hear_of_topics_with_attributes(t: Remoting) -> None:
    """A slave does not copy topics with attributes: it treats them as changes, and the copy of topics aborts.

    Other topics may be missing as well. Offsets are copied after topics.
    """
    topic, group = t.topic(queues=1, kind="NORMAL"), t.group()
    t.sent(topic, 1)
    t.commit(topic, group, 1)
    t.until(lambda: committed_at_slave(t, topic, group).code == 0, TABLES_SECONDS)
    t.see("committed", committed_at_slave(t, topic, group), 0)
    t.see("pulled", t.pull(topic, group, to=t.beside), 17)


@remoting_case("PullMessageProcessor.composeResponseHeader", settings=WAITED_FOR)
def a_slave_suggests_itself_to_who_is_far_behind(t: Remoting) -> None:
    """A slave suggests itself to groups that are far behind, and its master to others."""
    followed(t)
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.see("far behind", known_to_slave(t, topic, group)["suggestWhichBrokerId"])
    t.see("at the end", t.pull(topic, group, offset=3, to=t.beside)["suggestWhichBrokerId"])
    t.see("nothing that matches", t.pull(topic, group, expression="none", to=t.beside), 20)


@remoting_case("RouteInfoManager.unRegisterBroker", needs=RESTART, settings=SLAVE, alone=True)
def a_slave_serves_while_its_master_is_away(t: Remoting) -> None:
    """Without the master a route keeps its queues, and the slave serves pulls.

    Offsets committed at the slave are overwritten after the master's return.
    """
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.commit(topic, group, 1)
    known_to_slave(t, topic, group)
    with t.away():
        t.see("route", by_broker(t.route(topic)))
        t.see("pulled", t.pull(topic, group, to=t.beside).bodies)
        t.see("at the end", t.pull(topic, group, offset=3, to=t.beside), 19)
        committed = {"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": 3}
        t.see("committed", t.ask(RequestCode.UPDATE_CONSUMER_OFFSET, committed, to=t.beside), 0)
        t.see("committed at the slave", committed_at_slave(t, topic, group)["offset"])
    t.see("route, back", by_broker(t.route(topic)))
    t.until(lambda: committed_at_slave(t, topic, group)["offset"] == "1", TABLES_SECONDS)
    t.see("committed at the slave, later", committed_at_slave(t, topic, group)["offset"])


@remoting_case("GroupTransferService.doWaitTransfer", settings=WAITED_FOR)
def a_send_is_answered_when_the_slave_has_its_message(t: Remoting) -> None:
    """A synchronous master responds to a send as soon as the slave has its message."""
    followed(t)
    see_sent_at_once(t, t.topic(queues=1))


@remoting_case("DefaultHAService.getRuntimeInfo", settings=WAITED_FOR)
def how_far_a_slave_is_can_be_asked(t: Remoting) -> None:
    """GET_BROKER_HA_STATUS of a master returns its slaves and their progress, that of a slave its own progress."""
    followed(t)

    def even() -> Any:
        status = t.ask(RequestCode.GET_BROKER_HA_STATUS, to=t.broker).json
        return status if all(each["diff"] == 0 for each in status["haConnectionInfo"]) else None

    status = t.until(even)
    t.see("master", _without_numbers(status))
    t.see("its slaves", [_without_numbers(each) for each in status["haConnectionInfo"]])
    slave = t.ask(RequestCode.GET_BROKER_HA_STATUS, to=t.beside).json
    t.see("slave", _without_numbers(slave))
    t.see("its connection", _without_numbers(slave["haClientRuntimeInfo"]))


@remoting_case("DefaultHAService.getRuntimeInfo")
def a_master_without_slaves_tells_so(t: Remoting) -> None:
    """GET_BROKER_HA_STATUS of a master without slaves returns the end of its log and no connection."""
    topic = t.topic(queues=1)
    [sent] = t.sent(topic)
    status = t.ask(RequestCode.GET_BROKER_HA_STATUS).json
    t.see("master", _without_numbers(status))
    t.see("its slaves", status["haConnectionInfo"])
    t.see("as a slave", status["haClientRuntimeInfo"])
    t.see("behind the last message", status["masterCommitLogMaxOffset"] > sent.place)


def _without_numbers(status: dict[str, Any]) -> dict[str, Any]:
    """Replace offsets, times and addresses by True if they are set; omit rates and write times."""
    return {
        name: bool(value) if name in _ANY else value
        for name, value in status.items()
        if name not in _PASSING and not isinstance(value, list | dict)
    }


_PASSING = ("transferredByteInSecond", "lastWriteTimestamp", "masterFlushOffset")
_ANY = (
    "masterCommitLogMaxOffset",
    "maxOffset",
    "slaveAckOffset",
    "transferFromWhere",
    "lastReadTimestamp",
    "addr",
    "masterAddr",
)
