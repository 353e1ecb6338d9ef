"""Rebalancing: notifications of group changes, client lists, queue locks and assignments."""

from typing import Any

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_members import assignment_request, lock_request, mode_request
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.settings import CHANGED_KEYS, FURTHER_CHANGED_KEYS, shared_settings

NOTICE_SECONDS = 0.7
"""Seconds after which every notification has arrived."""


def _note_notices(t: RemotingContext, label: str, connections: dict[str, RemotingClient]) -> None:
    """Record the connections that have been notified of a group change since the last call."""
    t.wait(NOTICE_SECONDS)
    received: dict[str, Any] = {}
    for name, connection in connections.items():
        pushes = t.pushed(connection)
        received[name] = [push.ext_fields for push in pushes if push.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]
    t.note(label, received)


def _lock(t: RemotingContext, client: str, group: str, topic: str, *queues: int) -> list[int]:
    response = _ask_lock(t, client, group, topic, *queues)
    return sorted(each["queueId"] for each in response.json["lockOKMQSet"])


def _ask_lock(
    t: RemotingContext, client: str, group: str, topic: str, *queues: int, unlock: bool = False
) -> DecodedResponse:
    return t.request(*lock_request(client, group, topic, t.broker_name, queues=queues, unlock=unlock))


def _assignment(
    t: RemotingContext, client: str, group: str, topic: str, *, strategy: str = "AVG", **members: Any
) -> DecodedResponse:
    return t.request(*assignment_request(topic, group, client, strategy, **members))


def _mode(t: RemotingContext, group: str, topic: str, mode: str, *, share: int = 0) -> DecodedResponse:
    return t.request(*mode_request(topic, group, mode, share))


@remoting_case("DefaultConsumerIdsChangeListener.handle")
def a_first_heartbeat_notifies_all_consumers_of_the_group(t: RemotingContext) -> None:
    """The first heartbeat of a consumer notifies all consumers of its group, including itself.

    Further heartbeats notify none.
    """
    topic, group = t.topic(), t.group()
    clients = [t.new("client"), t.new("client")]
    both = {"first": t.connect(), "second": t.connect()}
    t.heartbeat(clients[0], groups={group: {topic: "*"}}, version=1, to=both["first"])
    _note_notices(t, "first joins", both)
    t.heartbeat(clients[1], groups={group: {topic: "*"}}, version=1, to=both["second"])
    _note_notices(t, "second joins", both)
    t.heartbeat(clients[0], groups={group: {topic: "*"}}, version=1, to=both["first"])
    _note_notices(t, "first again", both)


@remoting_case("Broker2Client.notifyConsumerIdsChanged")
def a_group_change_notification_is_a_oneway_request(t: RemotingContext) -> None:
    """NOTIFY_CONSUMER_IDS_CHANGED is a oneway request that has only the group."""
    topic, group, connection = t.topic(), t.group(), t.connect()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, version=1, to=connection)
    t.wait(NOTICE_SECONDS)
    for push in t.pushed(connection):
        kinds = {"code": push.code, "oneway": push.is_oneway, "answer": push.is_response}
        t.note("notice", {**kinds, "ext": push.ext_fields, "body": push.body, "remark": push.remark})


@remoting_case("DefaultConsumerIdsChangeListener.handle")
def changed_topics_notify_consumers_but_changed_expressions_do_not(t: RemotingContext) -> None:
    """Adding or removing a topic of a group's subscription notifies all consumers; changing an expression does not."""
    first, second, group, client = t.topic(), t.topic(), t.group(), t.new("client")
    both = {"one": t.connect(), "other": t.connect()}
    for name, connection in both.items():
        t.heartbeat(f"{client}-{name}", groups={group: {first: "*"}}, version=1, to=connection)
    t.wait(NOTICE_SECONDS)
    for connection in both.values():
        t.pushed(connection)
    beats = {
        "another expression": {first: "A"},
        "a topic more": {first: "A", second: "*"},
        "a topic less": {first: "A"},
    }
    for number, (label, topics) in enumerate(beats.items()):
        t.heartbeat(f"{client}-one", groups={group: topics}, version=number + 2, to=both["one"])
        _note_notices(t, label, both)


@remoting_case("DefaultConsumerIdsChangeListener.handle")
def the_remaining_consumers_are_notified_when_one_leaves(t: RemotingContext) -> None:
    """When a consumer unregisters or loses its connection, the remaining consumers are notified."""
    topic, group = t.topic(), t.group()
    clients = {name: t.new("client") for name in ("stays", "leaves", "dies")}
    connections = {name: t.connect() for name in clients}
    for name, client in clients.items():
        t.heartbeat(client, groups={group: {topic: "*"}}, version=1, to=connections[name])
    t.wait(NOTICE_SECONDS)
    for connection in connections.values():
        t.pushed(connection)
    ext = {"clientID": clients["leaves"], "consumerGroup": group}
    t.note("leaves", t.request(RequestCode.UNREGISTER_CLIENT, ext, to=connections["leaves"]), 0)
    _note_notices(t, "one leaves", connections)
    t.disconnect(connections.pop("dies"))
    _note_notices(t, "one dies", connections)


def _note_both_join(t: RemotingContext, topic: str, group: str, model: str = "CLUSTERING") -> dict[str, RemotingClient]:
    """Register two clients in the group and record their notifications. Return their connections."""
    both = {"first": t.connect(), "second": t.connect()}
    for connection in both.values():
        t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, model=model, version=1, to=connection)
    _note_notices(t, "both join", both)
    return both


@remoting_case("ConsumerManager.registerConsumer")
def broadcasting_consumers_are_not_notified_of_each_other(t: RemotingContext) -> None:
    """Broadcasting consumers are not notified of each other."""
    topic, group = t.topic(), t.group()
    _note_both_join(t, topic, group, model="BROADCASTING")


@remoting_case("ClientManageProcessor.heartBeat")
def disabled_notifications_are_still_sent_for_lost_connections(t: RemotingContext) -> None:
    """With notifyConsumerIdsChangedEnable=false a new consumer causes no notification, but a lost connection does."""
    topic, group = t.topic(), t.group(notifyConsumerIdsChangedEnable=False)
    both = _note_both_join(t, topic, group)
    t.disconnect(both.pop("second"))
    _note_notices(t, "second dies", both)


@remoting_case("ConsumerManageProcessor.getConsumerListByGroup")
def the_clients_of_a_group_are_listed(t: RemotingContext) -> None:
    """A group's client ids are listed; a group without clients or a missing group name returns an error."""
    topic, group = t.topic(), t.group()
    t.note("nobody", t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 1)
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}})
    t.note("one", t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 0)
    t.note("no group", t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {}), 1)


@remoting_case("RebalanceLockManager.tryLockBatch")
def a_queue_is_locked_by_one_client(t: RemotingContext) -> None:
    """A locked queue is not granted to other clients of the group until its owner unlocks it.

    Others cannot unlock it.
    """
    topic, group = t.topic(), t.group()
    owner, other = t.new("client"), t.new("client")
    t.note("locked", _lock(t, owner, group, topic, 0, 1))
    t.note("locked again", _lock(t, owner, group, topic, 0))
    t.note("locked by another", _lock(t, other, group, topic, 0, 1, 2))
    t.note("unlocked by another", _ask_lock(t, other, group, topic, 0, unlock=True), 0)
    t.note("locked by another then", _lock(t, other, group, topic, 0))
    t.note("unlocked", _ask_lock(t, owner, group, topic, 0, unlock=True), 0)
    t.note("locked by another at last", _lock(t, other, group, topic, 0, 1))


@remoting_case("RebalanceLockManager.tryLockBatch")
def a_queue_may_be_locked_by_several_groups(t: RemotingContext) -> None:
    """A queue locked by one group can be locked by another group."""
    topic = t.topic()
    t.note("one group", _lock(t, t.new("client"), t.group(), topic, 0))
    t.note("another group", _lock(t, t.new("client"), t.group(), topic, 0))


@remoting_case("RebalanceLockManager.tryLockBatch")
def locks_are_granted_for_unknown_groups_topics_and_queues(t: RemotingContext) -> None:
    """Locks are granted for unknown groups, topics and queues."""
    t.note("locked", _ask_lock(t, t.new("client"), t.new("group"), t.new(), 77), 0)
    t.note("no queues", _ask_lock(t, t.new("client"), t.new("group"), t.new()), 0)
    unlock = _ask_lock(t, t.new("client"), t.new("group"), t.new(), 77, unlock=True)
    t.note("unlocked", unlock, 0)


@remoting_case("AdminBrokerProcessor.lockBatchMQ")
def locking_needs_a_body(t: RemotingContext) -> None:
    """A lock or unlock request without a body returns an error."""
    t.note("lock", t.request(RequestCode.LOCK_BATCH_MQ, {}), 1)
    t.note("unlock", t.request(RequestCode.UNLOCK_BATCH_MQ, {}), 1)


@remoting_case("QueryAssignmentProcessor.doLoadBalance")
def queues_are_divided_among_clients(t: RemotingContext) -> None:
    """Each client of a group is assigned its share of a topic's queues by the strategy in its request."""
    topic, group = t.topic(queues=5), t.group()
    clients = _clients(t, 2, group, topic)
    for strategy in ("AVG", "AVG_BY_CIRCLE"):
        for number, client in enumerate(clients):
            t.note(f"{strategy}, client {number}", _shares(_assignment(t, client, group, topic, strategy=strategy)))


def _shares(response: DecodedResponse) -> list[Any]:
    """Return queue ids and modes, sorted by queue id."""
    shares = response.json["messageQueueAssignments"]
    return sorted(([each["messageQueue"]["queueId"], each["mode"]] for each in shares), key=lambda each: each[0])


@remoting_case("QueryAssignmentProcessor.doLoadBalance")
def every_broadcasting_client_gets_all_queues(t: RemotingContext) -> None:
    """A broadcasting client is assigned every queue of the topic individually, even if the group has the mode POP."""
    topic, group, client = t.topic(queues=3), t.group(), t.new("client")
    t.note("assigned", _shares(_assignment(t, client, group, topic, messageModel="BROADCASTING")))
    t.heartbeat(client, groups={group: {topic: "*"}})
    for share in (0, 1):
        t.note(f"set, share {share}", _mode(t, group, topic, "POP", share=share), 0)
        t.note(f"popping, share {share}", _shares(_assignment(t, client, group, topic, messageModel="BROADCASTING")))


@remoting_case("QueryAssignmentProcessor.doLoadBalance")
def offline_groups_and_unknown_topics_or_strategies_get_no_queues(t: RemotingContext) -> None:
    """A client of an offline group, an unknown topic or an unknown strategy is assigned nothing."""
    topic, group, client = t.topic(), t.group(), t.new("client")
    t.note("offline", _assignment(t, client, group, topic), 0)
    t.heartbeat(client, groups={group: {topic: "*"}})
    t.note("unknown topic", _assignment(t, client, group, t.new()), 0)
    t.note("unknown strategy", _assignment(t, client, group, topic, strategy="NONE"), 0)
    t.note("another client", _assignment(t, t.new("client"), group, topic))
    t.note("no body", t.request(RequestCode.QUERY_ASSIGNMENT, {}), 1)


@remoting_case("QueryAssignmentProcessor.setMessageRequestMode")
def a_pop_group_without_shared_queues_gets_one_id_for_all_queues(t: RemotingContext) -> None:
    """A POP group without shared queues is assigned one queue id for all queues. Its retry topic stays in PULL mode."""
    topic, group, client = t.topic(queues=4), t.group(), t.new("client")
    t.heartbeat(client, groups={group: {topic: "*"}})
    t.note("set", _mode(t, group, topic, "POP"), 0)
    t.note("assigned", _assignment(t, client, group, topic), 0)
    t.note("of the retry topic", _assignment(t, client, group, retry_topic(group)), 0)
    t.note("back", _mode(t, group, topic, "PULL"), 0)
    t.note("assigned then", _shares(_assignment(t, client, group, topic)))


@remoting_case("QueryAssignmentProcessor.allocate4Pop")
def pop_clients_with_shared_queues_are_assigned_additional_queues(t: RemotingContext) -> None:
    """POP clients with shared queues are assigned additional queues; a high number means all queues."""
    topic, group = t.topic(queues=4), t.group()
    clients = _clients(t, 4, group, topic)
    for share in (1, 2, 9):
        t.note(f"share {share}", _mode(t, group, topic, "POP", share=share), 0)
        for number, client in enumerate(clients):
            t.note(f"share {share}, client {number}", _shares(_assignment(t, client, group, topic)))


def _clients(t: RemotingContext, count: int, group: str, topic: str) -> list[str]:
    """Register new clients of a group, and return their ids in sorted order."""
    clients = [t.new("client") for _ in range(count)]
    for client in clients:
        t.heartbeat(client, groups={group: {topic: "*"}}, to=t.connect())
    return sorted(clients)


def _note_shares(t: RemotingContext, clients: list[str], group: str, topic: str) -> None:
    for number, client in enumerate(clients):
        t.note(f"client {number}", _shares(_assignment(t, client, group, topic)))


@remoting_case("QueryAssignmentProcessor.allocate4Pop")
def more_pop_clients_than_queues_get_one_queue_each_in_rotation(t: RemotingContext) -> None:
    """If POP clients outnumber the shared queues, each is assigned one of them in rotation."""
    topic, group = t.topic(queues=2), t.group()
    clients = _clients(t, 5, group, topic)
    t.note("set", _mode(t, group, topic, "POP", share=1), 0)
    _note_shares(t, clients, group, topic)


@remoting_case("QueryAssignmentProcessor.allocate4Pop")
def an_unregistered_pop_client_gets_queues_only_if_not_shared(t: RemotingContext) -> None:
    """A client outside a POP group is assigned all queues if they are not shared, otherwise none."""
    topic, group = t.topic(queues=4), t.group()
    _clients(t, 4, group, topic)
    for share in (-1, 0, 1, 2, 3):
        _mode(t, group, topic, "POP", share=share)
        t.note(f"share {share}", _assignment(t, t.new("stranger"), group, topic), 0)
    _mode(t, group, topic, "PULL")
    t.note("pulling", _assignment(t, t.new("stranger"), group, topic), 0)
    t.note("without a name", _assignment(t, "", group, topic), 0)


@remoting_case(
    "QueryAssignmentProcessor.doLoadBalance", settings=shared_settings(CHANGED_KEYS, "serverLoadBalancerEnable")
)
def without_server_load_balancing_each_client_gets_all_queues(t: RemotingContext) -> None:
    """With serverLoadBalancerEnable=false each client is assigned every queue individually, even in POP mode."""
    topic, group = t.topic(queues=3), t.group()
    _note_shares(t, [*_clients(t, 2, group, topic), t.new("stranger")], group, topic)
    t.note("an unknown group", _shares(_assignment(t, t.new("client"), t.new("group"), topic)))
    t.note("an unknown strategy", _shares(_assignment(t, t.new("client"), group, topic, strategy="NONE")))
    t.note("an unknown topic", _assignment(t, t.new("client"), group, t.new()), 0)
    _mode(t, group, topic, "POP", share=1)
    t.note("in mode POP", _shares(_assignment(t, t.new("client"), group, topic)))


@remoting_case(
    "QueryAssignmentProcessor.queryAssignment",
    settings=shared_settings(FURTHER_CHANGED_KEYS, "defaultMessageRequestMode"),
)
def groups_without_a_mode_use_the_default_message_request_mode(t: RemotingContext) -> None:
    """With defaultMessageRequestMode=POP a group without its own mode is assigned one queue id for all queues."""
    topic, group = t.topic(queues=3), t.group()
    clients = _clients(t, 2, group, topic)
    _note_shares(t, clients, group, topic)
    t.note("of the retry topic", _shares(_assignment(t, clients[0], group, t.topic(name=retry_topic(group), queues=1))))
    _mode(t, group, topic, "PULL")
    t.note("with mode PULL", _shares(_assignment(t, clients[0], group, topic)))


@remoting_case(
    "QueryAssignmentProcessor.queryAssignment",
    settings={"defaultMessageRequestMode": "POP", "defaultPopShareQueueNum": "1"},
)
def groups_without_a_mode_use_the_default_pop_share_queue_num(t: RemotingContext) -> None:
    """Clients of a group without its own mode are assigned defaultPopShareQueueNum additional queues."""
    topic, group = t.topic(queues=4), t.group()
    clients = _clients(t, 4, group, topic)
    _note_shares(t, clients, group, topic)
    _mode(t, group, topic, "POP")
    t.note("with mode POP, without a number", _shares(_assignment(t, clients[0], group, topic)))


@remoting_case("RebalanceLockManager.isLocked")
def a_queue_lock_expires_60_seconds_after_its_last_renewal(t: RemotingContext) -> None:
    """A queue lock expires 60 s after the owner's last lock request. A rejected request does not extend it."""
    topic, group = t.topic(), t.group()
    owner, other = t.new("client"), t.new("client")
    watch = t.stopwatch()
    t.note("locked", _lock(t, owner, group, topic, 0))
    t.wait(40)
    t.note("renewed", _lock(t, owner, group, topic, 0))
    t.wait(95 - watch.seconds)
    t.note("by another after 55 s", _lock(t, other, group, topic, 0))
    t.wait(101.5 - watch.seconds)
    t.note("by another after 61.5 s", _lock(t, other, group, topic, 0))
    t.note("by the first owner then", _lock(t, owner, group, topic, 0))


@remoting_case("QueryAssignmentProcessor.setMessageRequestMode")
def setting_the_mode_of_a_retry_topic_is_rejected(t: RemotingContext) -> None:
    """A request to set the mode of a retry topic is rejected."""
    group = t.group()
    t.heartbeat(t.new("client"), groups={group: {t.topic(): "*"}})
    t.note("set", _mode(t, group, retry_topic(group), "POP"), 16)
    t.note("no body", t.request(RequestCode.SET_MESSAGE_REQUEST_MODE, {}), 1)


@remoting_case("QueryAssignmentProcessor.setMessageRequestMode")
def setting_the_mode_of_an_unknown_topic_is_rejected(t: RemotingContext) -> None:
    """A mode for an unknown topic is rejected; one for an unknown group is accepted."""
    t.note("unknown topic", _mode(t, t.group(), t.new(), "POP"), 17)
    t.note("unknown group", _mode(t, t.new("group"), t.topic(), "POP"), 0)
