"""The responses to queries of administered topics, groups, users and values, as the model of these knows them."""

from collections.abc import Callable

from administered import PULLERS, SIDE_TOPICS, Administered
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations import cluster, groups, offsets, topics, users
from rocketmq_testkit.emulator.operations.base import Operation
from stored_messages import Violation

Seen = tuple[object, object]
"""An answer, and the answer that the model expects."""


def check_answer(side: Administered, operation: Operation, outcome: Outcome) -> None:
    """Compare the response to an operation that only reads with the model, if that knows it. Raises Violation."""
    known = KNOWN.get(type(operation))
    if known is None:
        return
    seen, expected = known(side, operation, outcome)
    if seen != expected:
        raise Violation(f"{operation} is answered with {seen}, expected is {expected}")


def _topic_config(side: Administered, operation: topics.GetTopicConfig, outcome: Outcome) -> Seen:
    found = outcome.config if isinstance(outcome, topics.TopicResult) else None
    return (found, side.topics.get(operation.topic)) if operation.topic in SIDE_TOPICS else (None, None)


def _topic_stats(side: Administered, operation: topics.GetTopicStats, outcome: Outcome) -> Seen:
    if operation.topic not in SIDE_TOPICS:
        return None, None
    if isinstance(outcome, EngineError):
        return None, side.topics.get(operation.topic)
    assert isinstance(outcome, topics.TopicStatsResult), outcome
    config = side.topics[operation.topic]
    ends = {one: len(side.messages[operation.topic, one]) for one in range(config.read_queue_nums)}
    return {one: (each.min_offset, each.max_offset) for one, each in outcome.offsets.items()}, {
        one: (0, end) for one, end in ends.items()
    }


def _consume_stats(side: Administered, operation: groups.GetConsumeStats, outcome: Outcome) -> Seen:
    group = operation.consumer_group
    if group not in PULLERS:
        return None, None
    assert isinstance(outcome, groups.ConsumeStatsResult), outcome
    seen, expected = {}, {}
    for queue, progress in outcome.offsets.items():
        key = group, queue.topic, queue.queue_id
        if queue.topic in SIDE_TOPICS:
            seen[key] = progress.broker_offset, max(progress.consumer_offset, 0)
            consumed = side.resets.get(key, side.offsets.get(key, 0))
            expected[key] = len(side.messages[queue.topic, queue.queue_id]), consumed
    return seen, expected


def _topics_of_group(side: Administered, operation: groups.QueryTopicsOfGroup, outcome: Outcome) -> Seen:
    assert isinstance(outcome, cluster.TopicListResult), outcome
    expected = {topic for group, topic, _ in side.offsets if group == operation.group}
    return (set(outcome.topics), expected) if operation.group in PULLERS else (None, None)


def _groups_of_topic(side: Administered, operation: groups.QueryGroupsOfTopic, outcome: Outcome) -> Seen:
    assert isinstance(outcome, groups.GroupListResult), outcome
    expected = {group for group, topic, _ in side.offsets if topic == operation.topic}
    return ({*outcome.groups} & {*PULLERS}, expected) if operation.topic in SIDE_TOPICS else (None, None)


def _user(side: Administered, operation: users.GetUser, outcome: Outcome) -> Seen:
    if not isinstance(outcome, users.UserResult):
        return operation.username, ""
    info, expected = outcome.info, side.users.get(outcome.username)
    return None if info is None else (info.password, info.user_type, info.user_status), expected


def _value(side: Administered, operation: cluster.GetKvConfig, outcome: Outcome) -> Seen:
    found = outcome.value if isinstance(outcome, cluster.KvResult) else None
    return found, side.values.get(operation.namespace, {}).get(operation.key)


def _end(side: Administered, operation: offsets.GetMaxOffset, outcome: Outcome) -> Seen:
    if operation.topic not in SIDE_TOPICS or not isinstance(outcome, offsets.OffsetResult):
        return None, None
    return outcome.offset, len(side.messages.get((operation.topic, operation.queue_id), ()))


def _topic_list(side: Administered, operation: cluster.GetNamesrvTopicList, outcome: Outcome) -> Seen:
    assert isinstance(outcome, cluster.TopicListResult), outcome
    seen = {topic for topic in outcome.topics if topic in SIDE_TOPICS}
    is_complete = not operation.system and operation.cluster != "none"
    return seen, set(side.routes) if is_complete else set()


KNOWN: dict[type[Operation], Callable[..., Seen]] = {
    topics.GetTopicConfig: _topic_config,
    topics.GetTopicStats: _topic_stats,
    groups.GetConsumeStats: _consume_stats,
    groups.QueryTopicsOfGroup: _topics_of_group,
    groups.QueryGroupsOfTopic: _groups_of_topic,
    users.GetUser: _user,
    cluster.GetKvConfig: _value,
    cluster.GetNamesrvTopicList: _topic_list,
    offsets.GetMaxOffset: _end,
}
"""The operations whose responses the model knows."""
