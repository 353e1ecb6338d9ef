"""The key retryTopicOnRouteQuery: a route query for the retry topic of a group creates it."""

import pytest
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo, RouteResult
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig


def engine_with(*, key: bool) -> Engine:
    brokers = [BrokerConfig(broker_name="broker-a"), BrokerConfig(broker_name="broker-b")]
    return Engine(brokers=brokers, emulation=EmulationConfig(retry_topic_on_route_query=key))


def test_a_route_query_creates_the_retry_topic_on_all_masters() -> None:
    """A route query creates the retry topic on all masters, each with the group's number of retry queues."""
    engine = engine_with(key=True)
    engine.execute(engine.brokers[1], CreateGroup(GroupConfig("g", retry_queue_nums=3)))
    route = engine.execute(engine.name_server, GetRouteInfo("%RETRY%g"))
    assert isinstance(route, RouteResult)
    assert [(queue.broker_name, queue.read_queue_nums) for queue in route.queues] == [("broker-a", 1), ("broker-b", 3)]
    assert "g" not in engine.brokers[0].groups.table


@pytest.mark.parametrize(
    ("key", "topic"),
    [
        (False, "%RETRY%g"),
        (True, "%RETRY%g+orders"),
        (True, "%RETRY%"),
        (True, "%RETRY%a b"),
        (True, "%DLQ%g"),
        (True, "g"),
    ],
)
def test_a_route_query_without_the_key_or_for_another_name_creates_no_topic(key: bool, topic: str) -> None:
    """Without the key, or for another name than the retry topic of a legal group, no topic is created."""
    engine = engine_with(key=key)
    with pytest.raises(EngineError, match="No topic route info"):
        engine.execute(engine.name_server, GetRouteInfo(topic))
    assert all(topic not in broker.topics.table for broker in engine.brokers)
