"""The state of a broker and of the name server that administrators see, which is compared with its model."""

from administered import POPPERS, SIDE_TOPICS, Administered, Offsets
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations import cluster, groups, tools, topics, users
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.operations.offsets import (
    AllOffsetsResult,
    GetAllConsumerOffset,
    OffsetResult,
    QueryConsumerOffset,
)
from stored_messages import Violation

OWN = "side-"
"""The beginning of the names of topics, groups and keys of the model."""


def digest(engine: Engine, broker: Broker) -> dict[str, object]:
    """Return all state of a broker and the name server by which requests may be answered."""
    store, offsets, server = broker.store, broker.offsets, engine.name_server
    return {
        "the log": f"{store.log.min_offset} {store.log.max_offset}",
        "queues": repr({key: (queue.min_offset, queue.max_offset) for key, queue in store.queues.items()}),
        "committed offsets": repr(offsets.committed),
        "topics": repr((broker.topics.table, broker.topics.version_counter, broker.mappings.table)),
        "groups": repr((broker.groups.table, broker.groups.version_counter, broker.groups.forbidden)),
        "users": repr(broker.user_table.users),
        "configuration": [*vars(broker.config).values(), *vars(server.config).values()],
        "values": repr(server.kv_config),
        "routes": [_route(engine, topic) for topic in SIDE_TOPICS],
        "services": repr({name: each.dump_on_stop() for name, each in broker.durables.items()}),
        "in memory": repr(broker.fork_memories()),
        "members": repr({name: group.client_ids() for name, group in broker.clients.consumers.items()}),
        "waiting requests": [broker.pops.polling.total, broker.notifications.polling.total, len(broker.pulls.hold)],
    }


def offsets(broker: Broker) -> Offsets:
    """Return the committed offsets of the groups that pull topics of administrators."""
    return {
        (group, topic, queue_id): offset
        for (group, topic), table in broker.offsets.committed.items()
        if group.startswith("side-pull")
        for queue_id, offset in table.items()
    }


def judge(engine: Engine, broker: Broker, side: Administered) -> None:
    """Compare the responses to queries with the model. Raises Violation."""

    def ask(operation: Operation) -> Result:
        at_server = type(operation) in engine.name_server.handlers
        return engine.execute(engine.name_server if at_server else broker, operation)

    found = ask(topics.GetAllTopics())
    assert isinstance(found, topics.TopicsResult)
    _same("topics", {name: each for name, each in found.topics.items() if name.startswith(OWN)}, side.topics)
    known = ask(groups.GetAllGroups())
    assert isinstance(known, groups.GroupsResult)
    own = {name: each for name, each in known.groups.items() if name.startswith(OWN) and name != "side-push"}
    if POPPERS in own:
        side.revived(POPPERS)
    _same("groups", own, side.groups)
    committed = ask(GetAllConsumerOffset())
    assert isinstance(committed, AllOffsetsResult)
    _same("offsets", offsets(broker), side.offsets)
    for key in side.offsets.keys() | side.resets:
        group, topic, queue_id = key
        wanted = side.resets.get(key, side.offsets.get(key, -1))
        if topic in side.topics:
            queried = ask(QueryConsumerOffset(group, topic, queue_id))
            assert isinstance(queried, OffsetResult)
            _same(f"offset of {group} in {topic}@{queue_id}", queried.offset, wanted)
            outlived = key in side.resets and key in side.outlived
            if wanted > len(side.messages[topic, queue_id]) and topic not in side.outdated and not outlived:
                raise Violation(f"{group} is at {wanted} of {topic}@{queue_id}, beyond its end")
    for (topic, queue_id), queue in side.messages.items():
        _same(f"end of {topic}@{queue_id}", broker.store.max_offset(topic, queue_id), len(queue))
    _same("forbidden topics", {one: held for one, held in broker.groups.forbidden.items() if held}, side.forbidden)
    modes = ask(tools.GetAllMessageRequestMode())
    assert isinstance(modes, tools.MessageRequestModesResult)
    seen = {(each.topic, each.consumer_group): (each.mode, each.pop_share_queue_num) for each in modes.modes}
    _same("request modes", seen, side.modes)
    _judge_users(ask(users.ListUsers(None)), ask(users.ListAcls(None, None)), side)
    for namespace, table in side.values.items():
        values = ask(cluster.GetKvListByNamespace(namespace))
        assert isinstance(values, cluster.KvListResult)
        _same(f"values of {namespace}", values.table, table)
    for config, settings in ((broker.config, side.settings), (engine.name_server.config, side.namesrv_settings)):
        attributes = config.attributes()
        for setting, value in settings.items():
            _same(setting, str(getattr(config, attributes[setting])).lower(), value.lower())
    cold = ask(tools.GetColdDataFlowCtrInfo())
    assert isinstance(cold, tools.ColdDataFlowCtrResult)
    _same("thresholds", cold.thresholds, side.thresholds)
    routes = {topic: route for topic in SIDE_TOPICS if (route := _route(engine, topic)) is not None}
    _same("routes", routes, side.routes)


def _same(what: str, seen: object, expected: object) -> None:
    if seen != expected:
        raise Violation(f"{what}: {seen}, expected are {expected}")


def _route(engine: Engine, topic: str) -> tuple[int, int, int] | None:
    """Return the numbers of queues and the permission of a topic at the name server, None if it has no route."""
    found = engine.submit(engine.name_server, cluster.GetRouteInfo(topic)).outcome
    if not isinstance(found, cluster.RouteResult):
        return None
    [queue] = found.queues
    return queue.read_queue_nums, queue.write_queue_nums, queue.perm


def _judge_users(found: Result, granted: Result, side: Administered) -> None:
    assert isinstance(found, users.UsersResult)
    seen = {name: (info.password, (info.user_type or ""), info.user_status) for name, info in found.users.items()}
    _same("users", seen, side.users)
    assert isinstance(granted, users.AclsResult)
    rights = {
        name: {
            entry.resource: (tuple(entry.actions), entry.decision) for policy in policies for entry in policy.entries
        }
        for name, policies in granted.acls.items()
    }
    _same("policies", rights, side.acls)
