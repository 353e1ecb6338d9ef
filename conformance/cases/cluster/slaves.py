"""A master and its slave: routes, rejections, suggested broker ids, replication, and a stopped master."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.sends import send_back
from ...helpers.transactions import COMMIT, transacting
from .replicas import note_sent_at_once
from .several_brokers import RESTART, by_broker

SLAVE = {"slaveReadEnable": "true", "second-broker.brokerId": "1", "second-broker.brokerRole": "SLAVE"}
SYNC_MASTER_SETTINGS = {
    **SLAVE,
    "brokerRole": "SYNC_MASTER",
    "inSyncReplicas": "2",
    "accessMessageInMemoryMaxRatio": "0",
}
"""Settings by which sends wait for the slave, and every group with a lag counts as far behind.

A group is far behind if the distance from its message to the end of the log exceeds a share of the memory, here 0 %.
"""
TABLES_SECONDS = 100.0
"""Seconds within which a slave copies its master's tables at least once."""


def wait_until_slave_connected(t: RemotingContext) -> None:
    """Return when the slave is connected to its master, so that no later send waits in vain."""
    topic = t.topic(queues=1)
    # The repeated sends use one unique key, so that the numbering of later messages in the records is stable.
    name = {"UNIQ_KEY": t.message_id()}
    t.require(t.until(lambda: t.send(topic, properties=name).code == 0, 90), "the slave did not connect to its master")


def pull_from_slave(t: RemotingContext, topic: str, group: str) -> DecodedResponse:
    """Return the result of a pull from the slave as soon as it knows the topic."""

    def found() -> DecodedResponse | None:
        response = t.pull(topic, group, to=t.second_broker)
        return None if response.code == 17 else response

    response = t.until(found, TABLES_SECONDS)
    t.require(response is not None, "the slave does not know the topic")
    assert response is not None
    return response


def committed_at_slave(t: RemotingContext, topic: str, group: str) -> DecodedResponse:
    """Return the slave's committed offset."""
    asked = {"consumerGroup": group, "topic": topic, "queueId": 0, "setZeroIfNotFound": "false"}
    return t.request(RequestCode.QUERY_CONSUMER_OFFSET, asked, to=t.second_broker)


@remoting_case("RouteInfoManager.registerBroker", settings=SYNC_MASTER_SETTINGS)
def a_slave_is_listed_in_routes_under_its_masters_broker_name(t: RemotingContext) -> None:
    """Routes and the cluster info list a slave by its broker id; it has no queues of its own."""
    t.note("route", by_broker(t.route(t.topic(queues=1))))
    t.note("brokers", t.request(RequestCode.GET_BROKER_CLUSTER_INFO, to=t.namesrv).json["brokerAddrTable"])


@remoting_case("SendMessageProcessor.rejectRequest", settings=SYNC_MASTER_SETTINGS)
def a_slave_rejects_sends_and_transaction_ends(t: RemotingContext) -> None:
    """A slave rejects sends and messages sent back as SYSTEM_BUSY, and transaction ends as SLAVE_NOT_AVAILABLE."""
    wait_until_slave_connected(t)
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic, 1)
    t.note("sent", t.send(topic, to=t.second_broker), 2)
    t.note("sent back", send_back(t, group, sent.place, 1, to=t.second_broker), 2)
    producers = transacting(t)
    half = producers.half()
    t.note("end", t.request(RequestCode.END_TRANSACTION, producers.end_fields(half, COMMIT), to=t.second_broker), 11)


@remoting_case("SlaveSynchronize.syncAll", settings=SYNC_MASTER_SETTINGS)
def a_slave_serves_pulls_after_the_topic_is_copied(t: RemotingContext) -> None:
    """A slave serves pulls once it knows the topic. A pull beyond the end of a queue gets PULL_RETRY_IMMEDIATELY."""
    wait_until_slave_connected(t)
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.commit(topic, group, 2)
    ends = {"topic": topic, "queueId": 0}
    t.until(lambda: t.request(RequestCode.GET_MAX_OFFSET, ends, to=t.second_broker)["offset"] == "3")
    t.note("end", t.request(RequestCode.GET_MAX_OFFSET, ends, to=t.second_broker), 0)
    found = pull_from_slave(t, topic, group)
    t.note("pulled", found, 0)
    t.note("bodies", found.bodies)
    t.until(lambda: committed_at_slave(t, topic, group).code == 0, TABLES_SECONDS)
    t.note("committed", committed_at_slave(t, topic, group), 0)
    t.note("at the end", t.pull(topic, group, offset=3, to=t.second_broker), 19)
    t.note("beyond the end", t.pull(topic, group, offset=30, to=t.second_broker), 20)
    t.note("nothing that matches", t.pull(topic, group, expression="none", to=t.second_broker), 20)


@remoting_case("SlaveSynchronize.syncTopicConfig", settings=SLAVE, alone=True)
def a_slave_does_not_copy_topics_with_attributes(t: RemotingContext) -> None:
    """A slave does not copy topics with attributes: it takes the attributes for changes, and its copy of topics aborts.

    A change is `+name` or `-name`, so that a name without a sign is an error. Other topics may be missing as well.
    Offsets are copied nevertheless.
    """
    topic, group = t.topic(queues=1, kind="NORMAL"), t.group()
    t.sent(topic, 1)
    t.commit(topic, group, 1)
    t.until(lambda: committed_at_slave(t, topic, group).code == 0, TABLES_SECONDS)
    t.note("committed", committed_at_slave(t, topic, group), 0)
    t.note("pulled", t.pull(topic, group, to=t.second_broker), 17)


@remoting_case("PullMessageProcessor.composeResponseHeader", settings=SYNC_MASTER_SETTINGS)
def a_slave_suggests_itself_to_a_lagging_group(t: RemotingContext) -> None:
    """A slave suggests itself to groups that are far behind, and its master to others."""
    wait_until_slave_connected(t)
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.note("far behind", pull_from_slave(t, topic, group)["suggestWhichBrokerId"])
    t.note("at the end", t.pull(topic, group, offset=3, to=t.second_broker)["suggestWhichBrokerId"])
    t.note("nothing that matches", t.pull(topic, group, expression="none", to=t.second_broker), 20)


@remoting_case("RouteInfoManager.unRegisterBroker", needs=RESTART, settings=SLAVE, alone=True)
def a_slave_serves_pulls_while_its_master_is_stopped(t: RemotingContext) -> None:
    """Without the master a route keeps its queues, and the slave serves pulls.

    Offsets committed at the slave are overwritten after the master's return.
    """
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.commit(topic, group, 1)
    pull_from_slave(t, topic, group)
    with t.stopped():
        t.note("route", by_broker(t.route(topic)))
        t.note("pulled", t.pull(topic, group, to=t.second_broker).bodies)
        t.note("at the end", t.pull(topic, group, offset=3, to=t.second_broker), 19)
        committed = {"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": 3}
        t.note("committed", t.request(RequestCode.UPDATE_CONSUMER_OFFSET, committed, to=t.second_broker), 0)
        t.note("committed at the slave", committed_at_slave(t, topic, group)["offset"])
    t.note("route, back", by_broker(t.route(topic)))
    t.until(lambda: committed_at_slave(t, topic, group)["offset"] == "1", TABLES_SECONDS)
    t.note("committed at the slave, later", committed_at_slave(t, topic, group)["offset"])


@remoting_case("GroupTransferService.doWaitTransfer", settings=SYNC_MASTER_SETTINGS)
def a_send_is_answered_when_the_slave_has_its_message(t: RemotingContext) -> None:
    """A synchronous master responds to a send as soon as the slave has its message."""
    wait_until_slave_connected(t)
    note_sent_at_once(t, t.topic(queues=1))


@remoting_case("DefaultHAService.getRuntimeInfo", settings=SYNC_MASTER_SETTINGS)
def get_broker_ha_status_returns_the_progress_of_slaves(t: RemotingContext) -> None:
    """GET_BROKER_HA_STATUS of a master returns its slaves and their progress, that of a slave its own progress."""
    wait_until_slave_connected(t)

    def even() -> Any:
        status = t.request(RequestCode.GET_BROKER_HA_STATUS, to=t.broker).json
        return status if all(each["diff"] == 0 for each in status["haConnectionInfo"]) else None

    status = t.until(even)
    t.note("master", _without_numbers(status))
    t.note("its slaves", [_without_numbers(each) for each in status["haConnectionInfo"]])
    slave = t.request(RequestCode.GET_BROKER_HA_STATUS, to=t.second_broker).json
    t.note("slave", _without_numbers(slave))
    t.note("its connection", _without_numbers(slave["haClientRuntimeInfo"]))


@remoting_case("DefaultHAService.getRuntimeInfo")
def get_broker_ha_status_without_slaves_lists_no_connection(t: RemotingContext) -> None:
    """GET_BROKER_HA_STATUS of a master without slaves returns the end of its log and no connection."""
    topic = t.topic(queues=1)
    [sent] = t.sent(topic)
    status = t.request(RequestCode.GET_BROKER_HA_STATUS).json
    t.note("master", _without_numbers(status))
    t.note("its slaves", status["haConnectionInfo"])
    t.note("as a slave", status["haClientRuntimeInfo"])
    t.note("behind the last message", status["masterCommitLogMaxOffset"] > sent.place)


def _without_numbers(status: dict[str, Any]) -> dict[str, Any]:
    """Replace offsets, times and addresses by True if they are set; omit rates and write times."""
    return {
        name: bool(value) if name in PRESENCE_ONLY else value
        for name, value in status.items()
        if name not in OMITTED and not isinstance(value, list | dict)
    }


OMITTED = ("transferredByteInSecond", "lastWriteTimestamp", "masterFlushOffset")
PRESENCE_ONLY = (
    "masterCommitLogMaxOffset",
    "maxOffset",
    "slaveAckOffset",
    "transferFromWhere",
    "lastReadTimestamp",
    "addr",
    "masterAddr",
)
