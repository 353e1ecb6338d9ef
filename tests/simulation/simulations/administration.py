"""The operations of administrators that change something: each sends one request and updates the model.

The topics and groups that they create and delete are apart from those of the oracle.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from administered import PLAIN_TOPICS, POPPERS, PULLERS, SIDE_GROUPS, SIDE_TOPICS, STATIC_TOPIC
from rocketmq_testkit.emulator.operations import cluster, groups, tools, topics, users
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.groups import GroupConfig
from rocketmq_testkit.emulator.operations.offsets import CorrectionOffsetResult, QueryCorrectionOffset, ResetOffset
from rocketmq_testkit.emulator.operations.topics import QueueMapping, QueuePart, TopicConfig
from rocketmq_testkit.emulator.operations.users import PolicyEntryInfo, PolicyInfo, UserInfo
from simulation import Action
from stored_messages import Violation

if TYPE_CHECKING:
    from all_operations import AllOperations

BAD_TOPIC = "side 0"
TYPES = (None, {"+message.type": "FIFO"}, None, {"+message.type": "NORMAL"}, None, {"+none": "x"}, {"message": "x"})
SETTINGS = (
    {"traceOn": "false"},
    {"traceOn": "true", "defaultPopShareQueueNum": "2"},
    {"defaultMessageRequestMode": "POP"},
    {"brokerConfigPath": "/"},
    {"noSuchKey": "1"},
    {"maxMessageSize": "many"},
)
NAMESRV_SETTINGS = ({"orderMessageEnable": "true"}, {"orderMessageEnable": "false"}, {"noSuchKey": "1"})
RESOURCES = ("Topic:A", "Topic:B", "Group:pop-all")


# topics


def _created(action: Action) -> topics.CreateTopic:
    name = (*PLAIN_TOPICS, *PLAIN_TOPICS, *PLAIN_TOPICS, BAD_TOPIC)[action.a % 7]
    return topics.CreateTopic(TopicConfig(name, 2, 2, (6, 6, 6, 4)[action.c % 4]), TYPES[action.d % len(TYPES)])


def _problem(wanted: topics.CreateTopic) -> str:
    name, attributes = wanted.config.topic_name, wanted.attributes or {}
    if name == BAD_TOPIC:
        return "INVALID_PARAMETER"
    return "SYSTEM_ERROR" if attributes.keys() & {"+none", "message"} else ""


def _put(simulation: "AllOperations", wanted: topics.CreateTopic) -> None:
    before = simulation.side.topics.get(wanted.config.topic_name)
    changes = {name[1:]: value for name, value in (wanted.attributes or {}).items()}
    simulation.side.put_topic(wanted.config, changes)
    if simulation.side.topics[wanted.config.topic_name] != before:
        simulation.side.register(wanted.config.topic_name)


def create_topic(simulation: "AllOperations", action: Action) -> None:
    """Create or change a topic; some names and attributes are invalid."""
    wanted = _created(action)
    if not simulation.request(wanted, _problem(wanted)):
        _put(simulation, wanted)


def create_topics(simulation: "AllOperations", action: Action) -> None:
    """Create or change two topics; a bad name refuses both, a bad attribute those from there on."""
    wanted = [_created(action), _created(action._replace(a=action.b, d=action.c))]
    problems = [_problem(each) for each in wanted]
    if "INVALID_PARAMETER" in problems:
        simulation.request(topics.CreateTopics(wanted), "INVALID_PARAMETER")
        return
    simulation.request(topics.CreateTopics(wanted), next(filter(None, problems), ""))
    for each, problem in zip(wanted, problems, strict=True):
        if problem:
            break
        _put(simulation, each)


def create_static_topic(simulation: "AllOperations", action: Action) -> None:
    """Create the static topic, whose only queue is physical queue 0 of this broker."""
    part = QueuePart(0, 0, simulation.session.broker.name, 0)
    mapping = QueueMapping(STATIC_TOPIC, 1, simulation.session.broker.name, 1 + action.a, queues={0: [part]})
    simulation.request(topics.CreateStaticTopic(TopicConfig(STATIC_TOPIC, 1, 1), mapping, force=True))
    simulation.side.put_topic(TopicConfig(STATIC_TOPIC, 1, 1))
    simulation.side.register(STATIC_TOPIC)


def delete_topic(simulation: "AllOperations", action: Action) -> None:
    """Delete a topic, which may not exist; a system topic and a blank name are refused."""
    name = (*SIDE_TOPICS, *SIDE_TOPICS, "side-none", " ", "SELF_TEST_TOPIC")[action.a % 9]
    refused = name in (" ", "SELF_TEST_TOPIC")
    if (POPPERS, name) not in simulation.session.broker.offsets.committed:
        simulation.side.left_over |= simulation.side.bodies(name)
    if not simulation.request(topics.DeleteTopic(name), "INVALID_PARAMETER" if refused else ""):
        config = simulation.session.broker.config
        passes_over = config.enable_pop_buffer_merge or config.pop_consumer_kv_service_enable
        simulation.side.delete_topic(name, simulation.session.now_ms, passes_over=passes_over)
        simulation.stale += [held for held in simulation.handles if held.topic == name]
        simulation.handles = [held for held in simulation.handles if held.topic != name]


# groups


def _group(action: Action) -> groups.CreateGroup:
    name = SIDE_GROUPS[action.a % 3]
    return groups.CreateGroup(GroupConfig(name, retry_max_times=16 + action.b % 4, attributes={"x": str(action.c)}))


def create_group(simulation: "AllOperations", action: Action) -> None:
    """Create or change a group."""
    wanted = _group(action)
    simulation.request(wanted)
    simulation.side.groups[wanted.config.group_name] = wanted.config


def create_groups(simulation: "AllOperations", action: Action) -> None:
    """Create or change two groups; too many retry queues refuse both."""
    wanted = [_group(action), _group(action._replace(a=action.d))]
    if action.d % 5 == 4:
        wanted[1].config.retry_queue_nums = 1_000_000
        simulation.request(groups.CreateGroups(wanted), "INVALID_PARAMETER")
        return
    simulation.request(groups.CreateGroups(wanted))
    for each in wanted:
        simulation.side.groups[each.config.group_name] = each.config


def get_group(simulation: "AllOperations", action: Action) -> None:
    """Query a group, which creates it with defaults if it does not exist."""
    name = SIDE_GROUPS[action.a % 3]
    simulation.side.use_group(name)
    simulation.request(groups.GetGroup(name))
    assert isinstance(simulation.result, groups.GroupResult), simulation.result
    if simulation.result.config != simulation.side.groups[name]:
        raise Violation(f"{name} is {simulation.result}, expected is {simulation.side.groups[name]}")


def delete_group(simulation: "AllOperations", action: Action) -> None:
    """Delete a group with or without its offsets; its messages in flight are redelivered all the same."""
    name, clean = SIDE_GROUPS[action.a % 3], action.b % 2 == 0
    simulation.request(groups.DeleteGroup(name, clean))
    simulation.side.delete_group(name, simulation.session.now_ms, clean=clean)


def forbid(simulation: "AllOperations", action: Action) -> None:
    """Forbid a group to read a topic, allow it to read all topics, or query the state."""
    name, topic = PULLERS[action.a % 2], SIDE_TOPICS[action.b % 3]
    readable = (False, True, None)[action.c % 3]
    simulation.request(groups.UpdateGroupForbidden(name, topic, readable))
    forbidden = simulation.side.forbidden
    if readable is False:
        simulation.side.forbid(name, topic)
    elif readable:
        simulation.side.allow(name)
    assert isinstance(simulation.result, groups.GroupForbiddenResult), simulation.result
    if simulation.result.readable is not (topic not in forbidden.get(name, ())):
        raise Violation(f"{name} may read {topic}: {simulation.result}, forbidden are {forbidden}")


def set_mode(simulation: "AllOperations", action: Action) -> None:
    """Set the request mode of a group on a topic."""
    topic, group = (*SIDE_TOPICS, "%RETRY%side-pop")[action.a % 4], PULLERS[action.b % 2]
    mode, share = ("PULL", "POP")[action.c % 2], action.d % 4
    code = "NO_PERMISSION" if topic.startswith("%") else "" if topic in simulation.side.topics else "TOPIC_NOT_EXIST"
    if not simulation.request(groups.SetMessageRequestMode(topic, group, mode, share), code):
        simulation.side.use_group(group)
        simulation.side.modes[topic, group] = mode, share


# offsets


def reset_offset(simulation: "AllOperations", action: Action) -> None:
    """Reset the offset of a group in a queue of a topic that may not exist."""
    group, topic, queue_id = PULLERS[action.a % 2], SIDE_TOPICS[action.b % 3], action.c % 2 if action.b % 3 < 2 else 0
    offset = action.d % (len(simulation.side.messages[topic, queue_id]) + 1)
    missing = topic not in simulation.side.topics
    code = "TOPIC_NOT_EXIST" if missing else "" if group in simulation.side.groups else "SUBSCRIPTION_GROUP_NOT_EXIST"
    if not simulation.request(ResetOffset(group, topic, 0, queue_id, offset=offset), code):
        simulation.side.reset((group, topic, queue_id), offset, simulation.session.now_ms)


def clone_offset(simulation: "AllOperations", action: Action) -> None:
    """Copy the offsets of one group to the other one."""
    source, dest, topic = PULLERS[action.a % 2], PULLERS[1 - action.a % 2], (*SIDE_TOPICS, "side-none")[action.b % 4]
    simulation.request(groups.CloneGroupOffset(source, dest, topic, action.c % 2 == 0))
    if topic in simulation.side.topics:
        simulation.side.clone(source, dest, topic, simulation.session.now_ms)


def query_correction(simulation: "AllOperations", action: Action) -> None:
    """Query the smallest offsets, which deletes the committed offsets of the named groups, as upstream."""
    compared, topic = PULLERS[action.a % 2], SIDE_TOPICS[action.b % 3]
    filtered = [PULLERS[action.d % 2]] if action.c % 2 else []
    for group in filtered:
        simulation.side.forget_committed(group, simulation.session.now_ms)
    simulation.request(QueryCorrectionOffset(topic, compared, filtered))
    smallest = dict(simulation.session.broker.offsets.committed.get((POPPERS, topic), {}))
    for (_, one, queue_id), offset in simulation.side.offsets.items():
        if one == topic:
            smallest[queue_id] = min(offset, smallest.get(queue_id, offset))
    assert isinstance(simulation.result, CorrectionOffsetResult), simulation.result
    if simulation.result.offsets != smallest:
        raise Violation(f"smallest offsets of {topic}: {simulation.result.offsets}, expected are {smallest}")


# users


def create_user(simulation: "AllOperations", action: Action) -> None:
    """Create a user; a blank name, a blank password and a known name are refused."""
    name, password = simulation.user(action.a), ("secret", "other", "third", " ")[action.b % 4]
    kind = ("Normal", "Super")[action.c % 2]
    code = (
        "INVALID_PARAMETER" if not name else "NO_PERMISSION" if password == " " or name in simulation.side.users else ""
    )
    if not simulation.request(users.CreateUser(name, UserInfo(password, kind)), code):
        simulation.side.users[name] = password, kind, "enable"


def update_user(simulation: "AllOperations", action: Action) -> None:
    """Change password and status of a user."""
    name, password = simulation.user(action.a), ("changed", "", "again")[action.b % 3]
    status = ("enable", "disable", None)[action.c % 3]
    code = "INVALID_PARAMETER" if not name else "" if name in simulation.side.users else "NO_PERMISSION"
    if not simulation.request(users.UpdateUser(name, UserInfo(password, None, status)), code):
        before = simulation.side.users[name]
        simulation.side.users[name] = password or before[0], before[1], status or before[2]


def delete_user(simulation: "AllOperations", action: Action) -> None:
    """Delete a user with its policies."""
    name = simulation.user(action.a)
    if not simulation.request(users.DeleteUser(name), "" if name else "NO_PERMISSION"):
        simulation.side.users.pop(name, None)
        simulation.side.acls.pop(name, None)


def put_acl(simulation: "AllOperations", action: Action) -> None:
    """Grant a right to a user."""
    name, resource = simulation.user(action.a), RESOURCES[action.b % 3]
    actions, decision = [("Pub", "Sub")[action.c % 2]], ("Allow", "Deny", "Allow", "Deny", "Perhaps")[action.d % 5]
    entry = PolicyEntryInfo(resource, actions, [], decision)
    refused = decision == "Perhaps" or name not in simulation.side.users
    operation = users.PutAcl(None, f"User:{name}", [PolicyInfo("Custom", [entry])])
    if not simulation.request(operation, "NO_PERMISSION" if refused else ""):
        simulation.side.acls.setdefault(name, {})[resource] = (tuple(actions), decision)


def delete_acl(simulation: "AllOperations", action: Action) -> None:
    """Revoke the rights of a user, all or one."""
    name, resource = simulation.user(action.a), (*RESOURCES, None)[action.b % 4]
    held = simulation.side.acls.get(name)
    code = "" if name in simulation.side.users and held else "NO_PERMISSION"
    if not simulation.request(users.DeleteAcl(f"User:{name}", resource), code):
        assert held is not None
        if resource is None:
            held.clear()
        else:
            held.pop(resource, None)
        if not held:
            del simulation.side.acls[name]


# the name server


def put_value(simulation: "AllOperations", action: Action) -> None:
    """Store a value in the name server, or delete it with an absent value."""
    namespace, key = simulation.namespace(action.a), simulation.key(action.b)
    value = (None, "1", "2")[action.c % 3]
    simulation.request(cluster.PutKvConfig(namespace, key, value))
    held = simulation.side.values.setdefault(namespace, {})
    if value is None:
        held.pop(key, None)
    else:
        held[key] = value


def delete_value(simulation: "AllOperations", action: Action) -> None:
    """Delete a value of the name server."""
    namespace, key = simulation.namespace(action.a), simulation.key(action.b)
    simulation.request(cluster.DeleteKvConfig(namespace, key))
    simulation.side.values.get(namespace, {}).pop(key, None)


def delete_route(simulation: "AllOperations", action: Action) -> None:
    """Delete a topic at the name server; the broker registers an existing one again."""
    name, of_cluster = SIDE_TOPICS[action.a % 3], ("DefaultCluster", None, "none")[action.b % 3]
    simulation.request(cluster.DeleteTopicInNamesrv(name, of_cluster))
    if of_cluster != "none":
        simulation.hide_route(name)


def set_perm(simulation: "AllOperations", action: Action) -> None:
    """Remove or restore the write permission in the routes of a broker."""
    name, add = (simulation.session.broker.name, "none")[action.a % 5 % 2], action.b % 2 == 0
    simulation.request(cluster.SetPermOfBroker(name, add))
    if name != "none":
        simulation.side.set_perm(add=add)


# configuration


def _change(
    simulation: "AllOperations", operation: Operation, changes: Mapping[str, str], known: dict[str, str]
) -> None:
    code = "NO_PERMISSION" if "brokerConfigPath" in changes else ""
    if "noSuchKey" in changes or "many" in changes.values():
        code = "SYSTEM_ERROR"
    if not simulation.request(operation, code):
        known.update(changes)


def update_config(simulation: "AllOperations", action: Action) -> None:
    """Change keys of the broker that no invariant depends on; some are refused."""
    changes = SETTINGS[action.a % len(SETTINGS)]
    _change(simulation, cluster.UpdateBrokerConfig(changes), changes, simulation.side.settings)


def update_namesrv_config(simulation: "AllOperations", action: Action) -> None:
    """Change keys of the name server."""
    changes = NAMESRV_SETTINGS[action.a % 3]
    _change(simulation, cluster.UpdateNamesrvConfig(changes), changes, simulation.side.namesrv_settings)


def set_read_mode(simulation: "AllOperations", action: Action) -> None:
    """Turn read-ahead on or off."""
    mode, code = (("0", ""), ("1", ""), ("2", "INVALID_PARAMETER"), ("x", "SYSTEM_ERROR"), (None, "SYSTEM_ERROR"))[
        action.a % 5
    ]
    if not simulation.request(tools.SetCommitLogReadMode(mode), code):
        simulation.side.settings["dataReadAheadEnable"] = "true" if mode == "0" else "false"


def update_thresholds(simulation: "AllOperations", action: Action) -> None:
    """Set the numbers of cold bytes that groups may read; a text that is no number is ignored."""
    name, number = PULLERS[action.a % 2], ("100", "many", "1000")[action.b % 3]
    simulation.request(tools.UpdateColdDataFlowCtrConfig({name: number}))
    if number != "many":
        simulation.side.thresholds[name] = int(number)


def remove_threshold(simulation: "AllOperations", action: Action) -> None:
    """Remove the threshold of a group."""
    name = (*PULLERS, None)[action.a % 3]
    simulation.request(tools.RemoveColdDataFlowCtrConfig(name))
    if name is not None:
        simulation.side.thresholds.pop(name, None)


def prepare(simulation: "AllOperations") -> None:
    """Create what a schedule begins with: topics, groups, a user with a right, and values of the name server."""
    for number in range(2):
        create_topic(simulation, Action("", a=number))
    create_static_topic(simulation, Action(""))
    for number in range(len(SIDE_GROUPS)):
        create_group(simulation, Action("", a=number))
    for number in range(2):
        put_value(simulation, Action("", a=number, b=number, c=1))
    create_user(simulation, Action(""))
    put_acl(simulation, Action(""))


Change = Callable[["AllOperations", Action], None]
ADMINISTRATION: dict[type[Operation], Change] = {
    topics.CreateTopic: create_topic,
    topics.CreateTopics: create_topics,
    topics.CreateStaticTopic: create_static_topic,
    topics.DeleteTopic: delete_topic,
    groups.CreateGroup: create_group,
    groups.CreateGroups: create_groups,
    groups.GetGroup: get_group,
    groups.DeleteGroup: delete_group,
    groups.UpdateGroupForbidden: forbid,
    groups.SetMessageRequestMode: set_mode,
    ResetOffset: reset_offset,
    groups.CloneGroupOffset: clone_offset,
    QueryCorrectionOffset: query_correction,
    users.CreateUser: create_user,
    users.UpdateUser: update_user,
    users.DeleteUser: delete_user,
    users.PutAcl: put_acl,
    users.DeleteAcl: delete_acl,
    cluster.PutKvConfig: put_value,
    cluster.DeleteKvConfig: delete_value,
    cluster.DeleteTopicInNamesrv: delete_route,
    cluster.SetPermOfBroker: set_perm,
    cluster.UpdateBrokerConfig: update_config,
    cluster.UpdateNamesrvConfig: update_namesrv_config,
    tools.SetCommitLogReadMode: set_read_mode,
    tools.UpdateColdDataFlowCtrConfig: update_thresholds,
    tools.RemoveColdDataFlowCtrConfig: remove_threshold,
}
