"""Rebalancing: notifications of group changes, client lists, queue locks and assignments."""

from typing import Any

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_members import assignment_request, lock_request, mode_request
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.settings import ODD, VARIED, with_keys

NOTICE_SECONDS = 0.7
"""Seconds after which every notification has arrived."""


def _see_notices(t: Remoting, label: str, connections: dict[str, RemotingClient]) -> None:
    """Record the connections that have been notified of a group change since the last call."""
    t.wait(NOTICE_SECONDS)
    told: dict[str, Any] = {}
    for name, connection in connections.items():
        pushes = t.pushed(connection)
        told[name] = [push.ext_fields for push in pushes if push.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]
    t.see(label, told)


def _lock(t: Remoting, client: str, group: str, topic: str, *queues: int) -> list[int]:
    answer = _ask_lock(t, client, group, topic, *queues)
    return sorted(each["queueId"] for each in answer.json["lockOKMQSet"])


def _ask_lock(t: Remoting, client: str, group: str, topic: str, *queues: int, unlock: bool = False) -> Answer:
    return t.ask(*lock_request(client, group, topic, t.broker_name, queues, unlock=unlock))


def _assignment(t: Remoting, client: str, group: str, topic: str, strategy: str = "AVG", **members: Any) -> Answer:
    return t.ask(*assignment_request(topic, group, client, strategy, **members))


def _mode(t: Remoting, group: str, topic: str, mode: str, share: int = 0) -> Answer:
    return t.ask(*mode_request(topic, group, mode, share))


@remoting_case("DefaultConsumerIdsChangeListener.handle")
def all_consumers_hear_of_one_that_joins(t: Remoting) -> None:
    """The first heartbeat of a consumer notifies all consumers of its group, including itself.

    Further heartbeats notify none.
    """
    topic, group = t.topic(), t.group()
    clients = [t.new("client"), t.new("client")]
    both = {"first": t.connect(), "second": t.connect()}
    t.heartbeat(clients[0], groups={group: {topic: "*"}}, version=1, to=both["first"])
    _see_notices(t, "first joins", both)
    t.heartbeat(clients[1], groups={group: {topic: "*"}}, version=1, to=both["second"])
    _see_notices(t, "second joins", both)
    t.heartbeat(clients[0], groups={group: {topic: "*"}}, version=1, to=both["first"])
    _see_notices(t, "first again", both)


@remoting_case("Broker2Client.notifyConsumerIdsChanged")
def a_notice_wants_no_answer(t: Remoting) -> None:
    """NOTIFY_CONSUMER_IDS_CHANGED is a oneway request that has only the group."""
    topic, group, connection = t.topic(), t.group(), t.connect()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, version=1, to=connection)
    t.wait(NOTICE_SECONDS)
    for push in t.pushed(connection):
        kinds = {"code": push.code, "oneway": push.is_oneway, "answer": push.is_response}
        t.see("notice", {**kinds, "ext": push.ext_fields, "body": push.body, "remark": push.remark})


@remoting_case("DefaultConsumerIdsChangeListener.handle")
def consumers_hear_of_topics_not_of_expressions(t: Remoting) -> None:
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
        _see_notices(t, label, both)


@remoting_case("DefaultConsumerIdsChangeListener.handle")
def the_rest_hears_of_one_that_leaves(t: Remoting) -> None:
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
    t.see("leaves", t.ask(RequestCode.UNREGISTER_CLIENT, ext, to=connections["leaves"]), 0)
    _see_notices(t, "one leaves", connections)
    t.disconnect(connections.pop("dies"))
    _see_notices(t, "one dies", connections)


def _see_both_join(t: Remoting, topic: str, group: str, model: str = "CLUSTERING") -> dict[str, RemotingClient]:
    """Register two clients in the group and record their notifications. Return their connections."""
    both = {"first": t.connect(), "second": t.connect()}
    for connection in both.values():
        t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, model=model, version=1, to=connection)
    _see_notices(t, "both join", both)
    return both


@remoting_case("ConsumerManager.registerConsumer")
def broadcasting_consumers_hear_nothing(t: Remoting) -> None:
    """Broadcasting consumers are not notified of each other."""
    topic, group = t.topic(), t.group()
    _see_both_join(t, topic, group, model="BROADCASTING")


@remoting_case("ClientManageProcessor.heartBeat")
def a_group_may_have_its_notices_off(t: Remoting) -> None:
    """With notifyConsumerIdsChangedEnable=false a new consumer causes no notification, but a lost connection does."""
    topic, group = t.topic(), t.group(notifyConsumerIdsChangedEnable=False)
    both = _see_both_join(t, topic, group)
    t.disconnect(both.pop("second"))
    _see_notices(t, "second dies", both)


@remoting_case("ConsumerManageProcessor.getConsumerListByGroup")
def the_clients_of_a_group_are_listed(t: Remoting) -> None:
    """A group's client ids are listed; a group without clients or a missing group name returns an error."""
    topic, group = t.topic(), t.group()
    t.see("nobody", t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 1)
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}})
    t.see("one", t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 0)
    t.see("no group", t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {}), 1)


@remoting_case("RebalanceLockManager.tryLockBatch")
def a_queue_is_locked_by_one_client(t: Remoting) -> None:
    """A locked queue is not granted to other clients of the group until its owner unlocks it.

    Others cannot unlock it.
    """
    topic, group = t.topic(), t.group()
    owner, other = t.new("client"), t.new("client")
    t.see("locked", _lock(t, owner, group, topic, 0, 1))
    t.see("locked again", _lock(t, owner, group, topic, 0))
    t.see("locked by another", _lock(t, other, group, topic, 0, 1, 2))
    t.see("unlocked by another", _ask_lock(t, other, group, topic, 0, unlock=True), 0)
    t.see("locked by another then", _lock(t, other, group, topic, 0))
    t.see("unlocked", _ask_lock(t, owner, group, topic, 0, unlock=True), 0)
    t.see("locked by another at last", _lock(t, other, group, topic, 0, 1))


@remoting_case("RebalanceLockManager.tryLockBatch")
def locks_belong_to_their_group(t: Remoting) -> None:
    """A queue locked by one group can be locked by another group."""
    topic = t.topic()
    t.see("one group", _lock(t, t.new("client"), t.group(), topic, 0))
    t.see("another group", _lock(t, t.new("client"), t.group(), topic, 0))


@remoting_case("RebalanceLockManager.tryLockBatch")
def what_is_not_there_can_be_locked(t: Remoting) -> None:
    """Locks are granted for unknown groups, topics and queues."""
    t.see("locked", _ask_lock(t, t.new("client"), t.new("group"), t.new(), 77), 0)
    t.see("no queues", _ask_lock(t, t.new("client"), t.new("group"), t.new()), 0)
    unlock = _ask_lock(t, t.new("client"), t.new("group"), t.new(), 77, unlock=True)
    t.see("unlocked", unlock, 0)


@remoting_case("AdminBrokerProcessor.lockBatchMQ")
def locking_needs_a_body(t: Remoting) -> None:
    """A lock or unlock request without a body returns an error."""
    t.see("lock", t.ask(RequestCode.LOCK_BATCH_MQ, {}), 1)
    t.see("unlock", t.ask(RequestCode.UNLOCK_BATCH_MQ, {}), 1)


@remoting_case("QueryAssignmentProcessor.doLoadBalance")
def queues_are_divided_among_clients(t: Remoting) -> None:
    """Each client of a group is assigned its share of a topic's queues by the strategy in its request."""
    topic, group = t.topic(queues=5), t.group()
    clients = _clients(t, 2, group, topic)
    for strategy in ("AVG", "AVG_BY_CIRCLE"):
        for number, client in enumerate(clients):
            t.see(f"{strategy}, client {number}", _shares(_assignment(t, client, group, topic, strategy)))


def _shares(answer: Answer) -> list[Any]:
    """Return queue ids and modes, sorted by queue id."""
    shares = answer.json["messageQueueAssignments"]
    return sorted(([each["messageQueue"]["queueId"], each["mode"]] for each in shares), key=lambda each: each[0])


@remoting_case("QueryAssignmentProcessor.doLoadBalance")
def every_broadcasting_client_gets_all_queues(t: Remoting) -> None:
    """A request with the broadcasting model is assigned every queue of the topic individually, even in POP mode."""
    topic, group, client = t.topic(queues=3), t.group(), t.new("client")
    t.see("assigned", _shares(_assignment(t, client, group, topic, messageModel="BROADCASTING")))
    t.heartbeat(client, groups={group: {topic: "*"}})
    for share in (0, 1):
        t.see(f"set, share {share}", _mode(t, group, topic, "POP", share), 0)
        t.see(f"popping, share {share}", _shares(_assignment(t, client, group, topic, messageModel="BROADCASTING")))


@remoting_case("QueryAssignmentProcessor.doLoadBalance")
def nothing_is_assigned_to_strangers(t: Remoting) -> None:
    """A client of an offline group, an unknown topic or an unknown strategy is assigned nothing."""
    topic, group, client = t.topic(), t.group(), t.new("client")
    t.see("offline", _assignment(t, client, group, topic), 0)
    t.heartbeat(client, groups={group: {topic: "*"}})
    t.see("unknown topic", _assignment(t, client, group, t.new()), 0)
    t.see("unknown strategy", _assignment(t, client, group, topic, "NONE"), 0)
    t.see("another client", _assignment(t, t.new("client"), group, topic))
    t.see("no body", t.ask(RequestCode.QUERY_ASSIGNMENT, {}), 1)


@remoting_case("QueryAssignmentProcessor.setMessageRequestMode")
def a_group_may_be_told_to_pop(t: Remoting) -> None:
    """A POP group without shared queues is assigned one queue id for all queues. Its retry topic stays in PULL mode."""
    topic, group, client = t.topic(queues=4), t.group(), t.new("client")
    t.heartbeat(client, groups={group: {topic: "*"}})
    t.see("set", _mode(t, group, topic, "POP"), 0)
    t.see("assigned", _assignment(t, client, group, topic), 0)
    t.see("of the retry topic", _assignment(t, client, group, retry_topic(group)), 0)
    t.see("back", _mode(t, group, topic, "PULL"), 0)
    t.see("assigned then", _shares(_assignment(t, client, group, topic)))


@remoting_case("QueryAssignmentProcessor.allocate4Pop")
def popping_clients_may_share_queues(t: Remoting) -> None:
    """POP clients with shared queues are assigned additional queues; a high number means all queues."""
    topic, group = t.topic(queues=4), t.group()
    clients = _clients(t, 4, group, topic)
    for share in (1, 2, 9):
        t.see(f"share {share}", _mode(t, group, topic, "POP", share), 0)
        for number, client in enumerate(clients):
            t.see(f"share {share}, client {number}", _shares(_assignment(t, client, group, topic)))


def _clients(t: Remoting, count: int, group: str, topic: str) -> list[str]:
    """Register new clients of a group, and return their ids in sorted order."""
    clients = [t.new("client") for _ in range(count)]
    for client in clients:
        t.heartbeat(client, groups={group: {topic: "*"}}, to=t.connect())
    return sorted(clients)


def _see_shares(t: Remoting, clients: list[str], group: str, topic: str) -> None:
    for number, client in enumerate(clients):
        t.see(f"client {number}", _shares(_assignment(t, client, group, topic)))


@remoting_case("QueryAssignmentProcessor.allocate4Pop")
def more_popping_clients_than_queues(t: Remoting) -> None:
    """If POP clients outnumber the shared queues, each is assigned one of them in rotation."""
    topic, group = t.topic(queues=2), t.group()
    clients = _clients(t, 5, group, topic)
    t.see("set", _mode(t, group, topic, "POP", 1), 0)
    _see_shares(t, clients, group, topic)


@remoting_case("QueryAssignmentProcessor.allocate4Pop")
def a_popping_stranger_gets_all_or_nothing(t: Remoting) -> None:
    """A client outside a POP group is assigned all queues if they are not shared, otherwise none."""
    topic, group = t.topic(queues=4), t.group()
    _clients(t, 4, group, topic)
    for share in (-1, 0, 1, 2, 3):
        _mode(t, group, topic, "POP", share)
        t.see(f"share {share}", _assignment(t, t.new("stranger"), group, topic), 0)
    _mode(t, group, topic, "PULL")
    t.see("pulling", _assignment(t, t.new("stranger"), group, topic), 0)
    t.see("without a name", _assignment(t, "", group, topic), 0)


@remoting_case("QueryAssignmentProcessor.doLoadBalance", settings=with_keys(VARIED, "serverLoadBalancerEnable"))
def without_balancing_everybody_gets_all_queues(t: Remoting) -> None:
    """With serverLoadBalancerEnable=false each client is assigned every queue individually, even in POP mode."""
    topic, group = t.topic(queues=3), t.group()
    _see_shares(t, [*_clients(t, 2, group, topic), t.new("stranger")], group, topic)
    t.see("an unknown group", _shares(_assignment(t, t.new("client"), t.new("group"), topic)))
    t.see("an unknown strategy", _shares(_assignment(t, t.new("client"), group, topic, "NONE")))
    t.see("an unknown topic", _assignment(t, t.new("client"), group, t.new()), 0)
    _mode(t, group, topic, "POP", 1)
    t.see("in mode POP", _shares(_assignment(t, t.new("client"), group, topic)))


@remoting_case("QueryAssignmentProcessor.queryAssignment", settings=with_keys(ODD, "defaultMessageRequestMode"))
def groups_may_pop_unless_told_otherwise(t: Remoting) -> None:
    """With defaultMessageRequestMode=POP a group without its own mode is assigned one queue id for all queues."""
    topic, group = t.topic(queues=3), t.group()
    clients = _clients(t, 2, group, topic)
    _see_shares(t, clients, group, topic)
    t.see("of the retry topic", _shares(_assignment(t, clients[0], group, t.topic(name=retry_topic(group), queues=1))))
    _mode(t, group, topic, "PULL")
    t.see("told to pull", _shares(_assignment(t, clients[0], group, topic)))


@remoting_case(
    "QueryAssignmentProcessor.queryAssignment",
    settings={"defaultMessageRequestMode": "POP", "defaultPopShareQueueNum": "1"},
)
def groups_may_share_queues_unless_told_otherwise(t: Remoting) -> None:
    """With defaultPopShareQueueNum clients of such a group are assigned that number of additional queues."""
    topic, group = t.topic(queues=4), t.group()
    clients = _clients(t, 4, group, topic)
    _see_shares(t, clients, group, topic)
    _mode(t, group, topic, "POP")
    t.see("told to pop, without a number", _shares(_assignment(t, clients[0], group, topic)))


@remoting_case("RebalanceLockManager.isLocked")
def a_lock_runs_out_a_minute_after_its_last_renewal(t: Remoting) -> None:
    """A queue lock expires 60 s after the owner's last lock request. A rejected request does not extend it."""
    topic, group = t.topic(), t.group()
    owner, other = t.new("client"), t.new("client")
    watch = t.stopwatch()
    t.see("locked", _lock(t, owner, group, topic, 0))
    t.wait(40)
    t.see("renewed", _lock(t, owner, group, topic, 0))
    t.wait(95 - watch.seconds)
    t.see("by another after 55 s", _lock(t, other, group, topic, 0))
    t.wait(101.5 - watch.seconds)
    t.see("by another after 61.5 s", _lock(t, other, group, topic, 0))
    t.see("by the first owner then", _lock(t, owner, group, topic, 0))


@remoting_case("QueryAssignmentProcessor.setMessageRequestMode")
def the_mode_of_a_retry_topic_is_not_set(t: Remoting) -> None:
    """A request to set the mode of a retry topic is rejected."""
    group = t.group()
    t.heartbeat(t.new("client"), groups={group: {t.topic(): "*"}})
    t.see("set", _mode(t, group, retry_topic(group), "POP"), 16)
    t.see("no body", t.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, {}), 1)


@remoting_case("QueryAssignmentProcessor.setMessageRequestMode")
def a_mode_needs_its_topic(t: Remoting) -> None:
    """A mode for an unknown topic is rejected; one for an unknown group is accepted."""
    t.see("unknown topic", _mode(t, t.group(), t.new(), "POP"), 17)
    t.see("unknown group", _mode(t, t.new("group"), t.topic(), "POP"), 0)
