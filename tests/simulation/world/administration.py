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


def _put(world: "AllOperations", wanted: topics.CreateTopic) -> None:
    before = world.side.topics.get(wanted.config.topic_name)
    changes = {name[1:]: value for name, value in (wanted.attributes or {}).items()}
    world.side.put_topic(wanted.config, changes)
    if world.side.topics[wanted.config.topic_name] != before:
        world.side.register(wanted.config.topic_name)


def create_topic(world: "AllOperations", action: Action) -> None:
    """Create or change a topic; some names and attributes are invalid."""
    wanted = _created(action)
    if not world.request(wanted, _problem(wanted)):
        _put(world, wanted)


def create_topics(world: "AllOperations", action: Action) -> None:
    """Create or change two topics; a bad name refuses both, a bad attribute those from there on."""
    wanted = [_created(action), _created(action._replace(a=action.b, d=action.c))]
    problems = [_problem(each) for each in wanted]
    if "INVALID_PARAMETER" in problems:
        world.request(topics.CreateTopics(wanted), "INVALID_PARAMETER")
        return
    world.request(topics.CreateTopics(wanted), next(filter(None, problems), ""))
    for each, problem in zip(wanted, problems, strict=True):
        if problem:
            break
        _put(world, each)


def create_static_topic(world: "AllOperations", action: Action) -> None:
    """Create the static topic, whose only queue is physical queue 0 of this broker."""
    part = QueuePart(0, 0, world.session.broker.name, 0)
    mapping = QueueMapping(STATIC_TOPIC, 1, world.session.broker.name, 1 + action.a, queues={0: [part]})
    world.request(topics.CreateStaticTopic(TopicConfig(STATIC_TOPIC, 1, 1), mapping, force=True))
    world.side.put_topic(TopicConfig(STATIC_TOPIC, 1, 1))
    world.side.register(STATIC_TOPIC)


def delete_topic(world: "AllOperations", action: Action) -> None:
    """Delete a topic, which may not exist; a system topic and a blank name are refused."""
    name = (*SIDE_TOPICS, *SIDE_TOPICS, "side-none", " ", "SELF_TEST_TOPIC")[action.a % 9]
    refused = name in (" ", "SELF_TEST_TOPIC")
    if (POPPERS, name) not in world.session.broker.offsets.committed:
        world.side.left_over |= world.side.bodies(name)
    if not world.request(topics.DeleteTopic(name), "INVALID_PARAMETER" if refused else ""):
        world.side.delete_topic(name, world.session.now_ms)
        world.stale += [held for held in world.handles if held.topic == name]
        world.handles = [held for held in world.handles if held.topic != name]


# groups


def _group(action: Action) -> groups.CreateGroup:
    name = SIDE_GROUPS[action.a % 3]
    return groups.CreateGroup(GroupConfig(name, retry_max_times=16 + action.b % 4, attributes={"x": str(action.c)}))


def create_group(world: "AllOperations", action: Action) -> None:
    """Create or change a group."""
    wanted = _group(action)
    world.request(wanted)
    world.side.groups[wanted.config.group_name] = wanted.config


def create_groups(world: "AllOperations", action: Action) -> None:
    """Create or change two groups; too many retry queues refuse both."""
    wanted = [_group(action), _group(action._replace(a=action.d))]
    if action.d % 5 == 4:
        wanted[1].config.retry_queue_nums = 1_000_000
        world.request(groups.CreateGroups(wanted), "INVALID_PARAMETER")
        return
    world.request(groups.CreateGroups(wanted))
    for each in wanted:
        world.side.groups[each.config.group_name] = each.config


def get_group(world: "AllOperations", action: Action) -> None:
    """Query a group, which creates it with defaults if it does not exist."""
    name = SIDE_GROUPS[action.a % 3]
    world.side.use_group(name)
    world.request(groups.GetGroup(name))
    assert isinstance(world.result, groups.GroupResult), world.result
    if world.result.config != world.side.groups[name]:
        raise Violation(f"{name} is {world.result}, expected is {world.side.groups[name]}")


def delete_group(world: "AllOperations", action: Action) -> None:
    """Delete a group with or without its offsets; its messages in flight are redelivered all the same."""
    name, clean = SIDE_GROUPS[action.a % 3], action.b % 2 == 0
    world.request(groups.DeleteGroup(name, clean))
    world.side.delete_group(name, world.session.now_ms, clean=clean)


def forbid(world: "AllOperations", action: Action) -> None:
    """Forbid a group to read a topic, allow it to read all topics, or query the state."""
    name, topic = PULLERS[action.a % 2], SIDE_TOPICS[action.b % 3]
    readable = (False, True, None)[action.c % 3]
    world.request(groups.UpdateGroupForbidden(name, topic, readable))
    forbidden = world.side.forbidden
    if readable is False:
        forbidden.setdefault(name, set()).add(topic)
    elif readable:
        forbidden.pop(name, None)
    assert isinstance(world.result, groups.GroupForbiddenResult), world.result
    if world.result.readable is not (topic not in forbidden.get(name, ())):
        raise Violation(f"{name} may read {topic}: {world.result}, forbidden are {forbidden}")


def set_mode(world: "AllOperations", action: Action) -> None:
    """Set the request mode of a group on a topic."""
    topic, group = (*SIDE_TOPICS, "%RETRY%side-pop")[action.a % 4], PULLERS[action.b % 2]
    mode, share = ("PULL", "POP")[action.c % 2], action.d % 4
    code = "NO_PERMISSION" if topic.startswith("%") else "" if topic in world.side.topics else "TOPIC_NOT_EXIST"
    if not world.request(groups.SetMessageRequestMode(topic, group, mode, share), code):
        world.side.use_group(group)
        world.side.modes[topic, group] = mode, share


# offsets


def reset_offset(world: "AllOperations", action: Action) -> None:
    """Reset the offset of a group in a queue of a topic that may not exist."""
    group, topic, queue_id = PULLERS[action.a % 2], SIDE_TOPICS[action.b % 3], action.c % 2 if action.b % 3 < 2 else 0
    offset = action.d % (len(world.side.messages[topic, queue_id]) + 1)
    missing = topic not in world.side.topics
    code = "TOPIC_NOT_EXIST" if missing else "" if group in world.side.groups else "SUBSCRIPTION_GROUP_NOT_EXIST"
    if not world.request(ResetOffset(group, topic, 0, queue_id, offset=offset), code):
        world.side.reset((group, topic, queue_id), offset, world.session.now_ms)


def clone_offset(world: "AllOperations", action: Action) -> None:
    """Copy the offsets of one group to the other one."""
    source, dest, topic = PULLERS[action.a % 2], PULLERS[1 - action.a % 2], (*SIDE_TOPICS, "side-none")[action.b % 4]
    world.request(groups.CloneGroupOffset(source, dest, topic, action.c % 2 == 0))
    if topic in world.side.topics:
        world.side.clone(source, dest, topic, world.session.now_ms)


def query_correction(world: "AllOperations", action: Action) -> None:
    """Query the smallest offsets, which deletes the offsets of the named groups for good, as upstream."""
    compared, topic = PULLERS[action.a % 2], SIDE_TOPICS[action.b % 3]
    filtered = [PULLERS[action.d % 2]] if action.c % 2 else []
    for group in filtered:
        world.side.forget_offsets(group, world.session.now_ms)
    world.request(QueryCorrectionOffset(topic, compared, filtered))
    smallest = dict(world.session.broker.offsets.committed.get((POPPERS, topic), {}))
    for (_, one, queue_id), offset in world.side.offsets.items():
        if one == topic:
            smallest[queue_id] = min(offset, smallest.get(queue_id, offset))
    assert isinstance(world.result, CorrectionOffsetResult), world.result
    if world.result.offsets != smallest:
        raise Violation(f"smallest offsets of {topic}: {world.result.offsets}, expected are {smallest}")


# users


def create_user(world: "AllOperations", action: Action) -> None:
    """Create a user; a blank name, a blank password and a known name are refused."""
    name, password = world.user(action.a), ("secret", "other", "third", " ")[action.b % 4]
    kind = ("Normal", "Super")[action.c % 2]
    code = "INVALID_PARAMETER" if not name else "NO_PERMISSION" if password == " " or name in world.side.users else ""
    if not world.request(users.CreateUser(name, UserInfo(password, kind)), code):
        world.side.users[name] = password, kind, "enable"


def update_user(world: "AllOperations", action: Action) -> None:
    """Change password and status of a user."""
    name, password = world.user(action.a), ("changed", "", "again")[action.b % 3]
    status = ("enable", "disable", None)[action.c % 3]
    code = "INVALID_PARAMETER" if not name else "" if name in world.side.users else "NO_PERMISSION"
    if not world.request(users.UpdateUser(name, UserInfo(password, None, status)), code):
        before = world.side.users[name]
        world.side.users[name] = password or before[0], before[1], status or before[2]


def delete_user(world: "AllOperations", action: Action) -> None:
    """Delete a user with its policies."""
    name = world.user(action.a)
    if not world.request(users.DeleteUser(name), "" if name else "NO_PERMISSION"):
        world.side.users.pop(name, None)
        world.side.acls.pop(name, None)


def put_acl(world: "AllOperations", action: Action) -> None:
    """Grant a right to a user."""
    name, resource = world.user(action.a), RESOURCES[action.b % 3]
    actions, decision = [("Pub", "Sub")[action.c % 2]], ("Allow", "Deny", "Allow", "Deny", "Perhaps")[action.d % 5]
    entry = PolicyEntryInfo(resource, actions, [], decision)
    refused = decision == "Perhaps" or name not in world.side.users
    operation = users.PutAcl(None, f"User:{name}", [PolicyInfo("Custom", [entry])])
    if not world.request(operation, "NO_PERMISSION" if refused else ""):
        world.side.acls.setdefault(name, {})[resource] = (tuple(actions), decision)


def delete_acl(world: "AllOperations", action: Action) -> None:
    """Revoke the rights of a user, all or one."""
    name, resource = world.user(action.a), (*RESOURCES, None)[action.b % 4]
    held = world.side.acls.get(name)
    code = "" if name in world.side.users and held else "NO_PERMISSION"
    if not world.request(users.DeleteAcl(f"User:{name}", resource), code):
        assert held is not None
        if resource is None:
            held.clear()
        else:
            held.pop(resource, None)
        if not held:
            del world.side.acls[name]


# the name server


def put_value(world: "AllOperations", action: Action) -> None:
    """Store a value in the name server, or delete it with an absent value."""
    namespace, key = world.namespace(action.a), world.key(action.b)
    value = (None, "1", "2")[action.c % 3]
    world.request(cluster.PutKvConfig(namespace, key, value))
    held = world.side.values.setdefault(namespace, {})
    if value is None:
        held.pop(key, None)
    else:
        held[key] = value


def delete_value(world: "AllOperations", action: Action) -> None:
    """Delete a value of the name server."""
    namespace, key = world.namespace(action.a), world.key(action.b)
    world.request(cluster.DeleteKvConfig(namespace, key))
    world.side.values.get(namespace, {}).pop(key, None)


def delete_route(world: "AllOperations", action: Action) -> None:
    """Delete a topic at the name server; the broker registers an existing one again."""
    name, of_cluster = SIDE_TOPICS[action.a % 3], ("DefaultCluster", None, "none")[action.b % 3]
    world.request(cluster.DeleteTopicInNamesrv(name, of_cluster))
    if of_cluster != "none":
        world.hide_route(name)


def set_perm(world: "AllOperations", action: Action) -> None:
    """Remove or restore the write permission in the routes of a broker."""
    name, add = (world.session.broker.name, "none")[action.a % 5 % 2], action.b % 2 == 0
    world.request(cluster.SetPermOfBroker(name, add))
    if name != "none":
        world.side.set_perm(add=add)


# configuration


def _change(world: "AllOperations", operation: Operation, changes: Mapping[str, str], known: dict[str, str]) -> None:
    code = "NO_PERMISSION" if "brokerConfigPath" in changes else ""
    if "noSuchKey" in changes or "many" in changes.values():
        code = "SYSTEM_ERROR"
    if not world.request(operation, code):
        known.update(changes)


def update_config(world: "AllOperations", action: Action) -> None:
    """Change keys of the broker that no invariant depends on; some are refused."""
    changes = SETTINGS[action.a % len(SETTINGS)]
    _change(world, cluster.UpdateBrokerConfig(changes), changes, world.side.settings)


def update_namesrv_config(world: "AllOperations", action: Action) -> None:
    """Change keys of the name server."""
    changes = NAMESRV_SETTINGS[action.a % 3]
    _change(world, cluster.UpdateNamesrvConfig(changes), changes, world.side.namesrv_settings)


def set_read_mode(world: "AllOperations", action: Action) -> None:
    """Turn read-ahead on or off."""
    mode, code = (("0", ""), ("1", ""), ("2", "INVALID_PARAMETER"), ("x", "SYSTEM_ERROR"), (None, "SYSTEM_ERROR"))[
        action.a % 5
    ]
    if not world.request(tools.SetCommitLogReadMode(mode), code):
        world.side.settings["dataReadAheadEnable"] = "true" if mode == "0" else "false"


def update_thresholds(world: "AllOperations", action: Action) -> None:
    """Set the numbers of cold bytes that groups may read; a text that is no number is ignored."""
    name, number = PULLERS[action.a % 2], ("100", "many", "1000")[action.b % 3]
    world.request(tools.UpdateColdDataFlowCtrConfig({name: number}))
    if number != "many":
        world.side.thresholds[name] = int(number)


def remove_threshold(world: "AllOperations", action: Action) -> None:
    """Remove the threshold of a group."""
    name = (*PULLERS, None)[action.a % 3]
    world.request(tools.RemoveColdDataFlowCtrConfig(name))
    if name is not None:
        world.side.thresholds.pop(name, None)


def prepare(world: "AllOperations") -> None:
    """Create what a schedule begins with: topics, groups, a user with a right, and values of the name server."""
    for number in range(2):
        create_topic(world, Action("", a=number))
    create_static_topic(world, Action(""))
    for number in range(len(SIDE_GROUPS)):
        create_group(world, Action("", a=number))
    for number in range(2):
        put_value(world, Action("", a=number, b=number, c=1))
    create_user(world, Action(""))
    put_acl(world, Action(""))


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
