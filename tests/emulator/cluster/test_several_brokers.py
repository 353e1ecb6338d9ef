"""Several masters behind one name server: routes, permissions, stop and start of a broker."""

from dataclasses import dataclass, field

import pytest
from engine_harness import START_MS, AnyResult, bodies, messages_of
from pull_operation import pull_of
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, Engine
from rocketmq_testkit.emulator.gate.call import Node
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.cluster import (
    ClusterInfoResult,
    DeleteTopicInNamesrv,
    GetBrokerClusterInfo,
    GetNamesrvTopicList,
    GetRouteInfo,
    PermOfBrokerResult,
    PutKvConfig,
    RouteResult,
    SetPermOfBroker,
    TopicListResult,
    UpdateNamesrvConfig,
)
from rocketmq_testkit.emulator.operations.consume import PopMessage, PullResult
from rocketmq_testkit.emulator.operations.offsets import OffsetResult, QueryConsumerOffset, UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig


@dataclass
class Masters:
    """Brokers a and b of the cluster east, c of the cluster west."""

    engine: Engine
    channel: DirectChannel = field(default_factory=lambda: DirectChannel("client", ("10.0.0.9", 4000)))

    def __getitem__(self, name: str) -> Broker:
        found = self.engine.broker(name)
        assert found is not None
        return found

    def ask(self, kind: type[AnyResult], operation: Operation, node: Node | None = None) -> AnyResult:
        """Return the result of a request to a node, the name server by default."""
        result = self.engine.execute(node or self.engine.name_server, operation)
        assert isinstance(result, kind)
        return result

    def topic(self, name: str, **queues: int) -> str:
        """Create a topic on the named brokers with the given number of queues."""
        for broker, number in queues.items():
            self.engine.execute(self[broker], CreateTopic(TopicConfig(name, number, number)))
        return name

    def route(self, topic: str) -> dict[str, tuple[int, int]]:
        """Return write queues and permission by broker name."""
        found = self.ask(RouteResult, GetRouteInfo(topic))
        assert [broker.broker_name for broker in found.brokers] == [queue.broker_name for queue in found.queues]
        return {queue.broker_name: (queue.write_queue_nums, queue.perm) for queue in found.queues}

    def send(self, broker: str, topic: str = "T", body: bytes = b"m", **properties: str) -> SendResult:
        message = SendMessage("PG", topic, 0, body, properties, ("10.0.0.1", 5000), self.now_ms)
        return self.ask(SendResult, message, self[broker])

    def pull(self, broker: str, offset: int = 0) -> PullResult:
        return self.ask(PullResult, pull_of("G", "T", offset=offset), self[broker])

    def pop(self, broker: str, *, poll_ms: int = 0) -> DirectCall:
        pop = PopMessage(
            "G",
            "T",
            queue_id=-1,
            max_msg_nums=32,
            invisible_ms=10_000,
            poll_ms=poll_ms,
            born_ms=self.now_ms,
            exp_type="TAG",
            exp="*",
        )
        return self.engine.submit(self[broker], pop)

    @property
    def now_ms(self) -> int:
        return self.engine.scheduler.now_ms

    def advance(self, ms: int) -> None:
        self.engine.scheduler.advance_to(self.now_ms + ms)


@pytest.fixture
def masters() -> Masters:
    places = {"a": "east", "b": "east", "c": "west"}
    configs = [BrokerConfig(broker_name=name, broker_cluster_name=cluster) for name, cluster in places.items()]
    return Masters(Engine(brokers=configs, now_ms=START_MS))


# routes


def test_a_route_names_the_brokers_that_have_the_topic(masters: Masters) -> None:
    """A route lists the brokers that have the topic, each with its own number of queues, across clusters."""
    masters.topic("T", a=2, b=4)
    masters.topic("U", c=1)
    masters.topic("V", b=1, c=3)
    assert masters.route("T") == {"a": (2, 6), "b": (4, 6)}
    assert masters.route("U") == {"c": (1, 6)}
    assert masters.route("V") == {"b": (1, 6), "c": (3, 6)}


def test_clusters_are_listed_with_their_brokers_and_topics(masters: Masters) -> None:
    """Clusters are listed with their brokers and topics; the latter include topics named like broker and cluster."""
    found = masters.ask(ClusterInfoResult, GetBrokerClusterInfo())
    assert found.clusters == {"east": ["a", "b"], "west": ["c"]}
    assert {name: member.broker_ids for name, member in found.brokers.items()} == {"a": [0], "b": [0], "c": [0]}
    masters.topic("T", a=1)
    lists = {
        cluster: set(masters.ask(TopicListResult, GetNamesrvTopicList(cluster=cluster)).topics)
        for cluster in ("east", "west")
    }
    assert lists["east"] - lists["west"] >= {"T", "a", "b", "east"}
    assert lists["west"] - lists["east"] >= {"c", "west"}
    system = masters.ask(TopicListResult, GetNamesrvTopicList(system=True))
    assert system.topics == ["a", "b", "c", "east", "west"]


def test_a_send_creates_its_topic_only_on_the_receiving_broker(masters: Masters) -> None:
    masters.send("b", "new")
    assert masters.route("new") == {"b": (4, 6)}
    masters.send("a", "new")
    assert masters.route("new") == {"a": (4, 6), "b": (4, 6)}


def test_the_order_configuration_of_a_topic_is_part_of_its_route(masters: Masters) -> None:
    """The order configuration that administrators stored is part of the route, even while brokers are stopped."""
    masters.topic("T", a=4, b=4)
    masters.engine.execute(masters.engine.name_server, UpdateNamesrvConfig({"orderMessageEnable": "true"}))
    masters.engine.execute(masters.engine.name_server, PutKvConfig("ORDER_TOPIC_CONFIG", "T", "b:4"))
    assert masters.ask(RouteResult, GetRouteInfo("T")).order_topic_conf == "b:4"
    masters.engine.stop(masters["b"])
    assert masters.ask(RouteResult, GetRouteInfo("T")).order_topic_conf == "b:4"


def test_a_topic_deleted_for_one_cluster_returns_with_its_registration(masters: Masters) -> None:
    """A topic deleted for one cluster has no routes there until its brokers register or change it."""
    masters.topic("T", a=1, b=1, c=1)
    masters.engine.execute(masters.engine.name_server, DeleteTopicInNamesrv("T", "east"))
    assert set(masters.route("T")) == {"c"}
    masters.topic("T", a=2)
    assert set(masters.route("T")) == {"a", "c"}
    masters.advance(30_000)
    assert set(masters.route("T")) == {"a", "b", "c"}


# write permission


def wipe_write_perm(masters: Masters, broker: str, *, add: bool = False) -> int:
    """Remove or restore write permission; return the number of topics changed."""
    return masters.ask(PermOfBrokerResult, SetPermOfBroker(broker, add=add)).topic_count


def test_wiping_write_permission_makes_the_topics_of_one_broker_read_only(masters: Masters) -> None:
    """After its write permission is removed, a broker's topics are read-only in routes; the broker accepts sends."""
    masters.topic("T", a=1, b=1)
    assert wipe_write_perm(masters, "b") == len(masters["b"].topics.table)
    assert masters.route("T") == {"a": (1, 6), "b": (1, 4)}
    masters.send("b")
    wipe_write_perm(masters, "b", add=True)
    assert masters.route("T") == {"a": (1, 6), "b": (1, 6)}


def test_a_topic_changed_after_wiping_write_permission_is_writable_again(masters: Masters) -> None:
    """A topic changed after the removal is writable again, a new one is writable, and others stay read-only."""
    masters.topic("T", b=1)
    masters.topic("U", b=1)
    wipe_write_perm(masters, "b")
    masters.topic("T", b=2)
    masters.topic("V", b=1)
    assert [masters.route(topic)["b"] for topic in "TUV"] == [(2, 6), (1, 4), (1, 6)]


@pytest.mark.parametrize("again", ["restart", "crash", "stop and start"])
def test_a_restarted_broker_is_writable_again_in_routes(masters: Masters, again: str) -> None:
    """A restarted broker is writable again, because it registers all topics."""
    masters.topic("T", a=1, b=1)
    wipe_write_perm(masters, "a")
    wipe_write_perm(masters, "b")
    if again == "restart":
        masters.engine.restart(masters["b"])
    elif again == "crash":
        masters.engine.crash(masters["b"])
    else:
        masters.engine.stop(masters["b"])
        masters.engine.start(masters["b"])
    assert masters.route("T") == {"a": (1, 4), "b": (1, 6)}


# stop and start


def test_a_stopped_broker_disappears_from_routes_at_once(masters: Masters) -> None:
    """A stopped broker disappears from routes at once, its cluster and topics with the last broker that has them."""
    masters.topic("T", a=1, b=1)
    masters.topic("U", c=1)
    masters.engine.stop(masters["b"])
    masters.engine.stop(masters["c"])
    assert set(masters.route("T")) == {"a"}
    with pytest.raises(EngineError, match="No topic route info in name server for the topic: U"):
        masters.route("U")
    found = masters.ask(ClusterInfoResult, GetBrokerClusterInfo())
    assert (found.clusters, set(found.brokers)) == ({"east": ["a"]}, {"a"})
    assert wipe_write_perm(masters, "c") == 0
    masters.engine.start(masters["c"])
    assert set(masters.route("U")) == {"c"}


def test_a_stopped_broker_rejects_requests_and_runs_no_timer(masters: Masters) -> None:
    """A stopped broker rejects requests; its waiting requests get no response, and no timer of it remains."""
    masters.topic("T", a=1, b=1)
    waiting = masters.pop("b", poll_ms=20_000)
    masters.engine.stop(masters["b"])
    with pytest.raises(EngineError, match=r"the broker\[b\] is not running") as refused:
        masters.send("b")
    assert refused.value.code == 14
    assert [timer for timer in masters.engine.scheduler.scheduled() if timer.lifetime is masters["b"].lifetime] == []
    masters.advance(60_000)
    assert waiting.outcome is None
    masters.send("a")
    assert bodies(messages_of(masters.pop("a"))) == [b"m"]


@pytest.mark.parametrize("kill", [False, True], ids=("graceful stop", "kill"))
def test_a_started_broker_has_its_stored_messages_and_written_offsets(masters: Masters, kill: bool) -> None:
    """A started broker has its messages and topics; offsets not yet written are lost if it was killed."""
    masters.topic("T", b=1)
    masters.send("b", body=b"1")
    assert len(masters.pull("b").records) == 1
    masters.engine.execute(masters["b"], UpdateConsumerOffset("G", "T", 0, 1))
    masters.engine.stop(masters["b"], kill=kill)
    masters.advance(3_600_000)
    masters.engine.start(masters["b"])
    assert len(masters.pull("b").records) == 1
    masters.send("b", body=b"2")
    assert masters.pull("b").max_offset == 2
    found = masters.ask(OffsetResult, QueryConsumerOffset("G", "T", 0), masters["b"])
    assert found.offset == (0 if kill else 1)


def test_a_second_stop_or_start_of_a_broker_has_no_effect(masters: Masters) -> None:
    """A second stop or start has no effect, and a stopped broker stays stopped after a crash or restart."""
    masters.topic("T", b=1)
    masters.engine.stop(masters["b"])
    masters.engine.stop(masters["b"], kill=True)
    masters.engine.crash(masters["b"])
    masters.engine.restart(masters["b"])
    assert not masters["b"].running
    masters.engine.start(masters["b"])
    waiting = masters.pop("b", poll_ms=20_000)
    masters.engine.start(masters["b"])
    masters.send("b")
    assert bodies(messages_of(waiting)) == [b"m"]


def test_messages_due_while_a_broker_is_stopped_are_delivered_after_its_start(masters: Masters) -> None:
    """Messages due while a broker is stopped are delivered after its start, each at its own broker."""
    masters.topic("T", a=1, b=1)
    masters.send("b", body=b"delayed", DELAY="1")
    masters.send("b", body=b"popped")
    assert bodies(messages_of(masters.pop("b"))) == [b"popped"]
    masters.engine.stop(masters["b"])
    masters.advance(60_000)
    assert messages_of(masters.pop("a")) == []
    masters.engine.start(masters["b"])
    masters.advance(10_000)
    assert sorted(bodies(messages_of(masters.pop("b")))) == [b"delayed", b"popped"]


def test_only_the_broker_with_the_half_message_checks_it(masters: Masters) -> None:
    """Only the broker with the half message checks it; while it is stopped no broker does."""
    masters.topic("T", a=1, b=1)
    asked = DirectChannel("producer", ("10.0.0.8", 4000))
    for name in "ab":
        masters.engine.execute(masters[name], Heartbeat("producer", ["PG"], []), asked)
    masters.send("b", TRAN_MSG="true", PGROUP="PG", UNIQ_KEY="k")
    masters.engine.stop(masters["b"])
    masters.advance(60_000)
    assert asked.effects == []
    masters.engine.start(masters["b"])
    for _ in range(4):
        for name in "ab":
            masters.engine.execute(masters[name], Heartbeat("producer", ["PG"], []), asked)
        masters.advance(30_000)
    assert {type(effect) for effect in asked.effects} == {CheckTransactionState}


def test_runs_with_stopped_brokers_and_the_same_seed_write_the_same_journal() -> None:

    def journal(seed: int) -> list[str]:
        harness = Masters(Engine(brokers=[BrokerConfig(broker_name=name) for name in "ab"], seed=seed, now_ms=START_MS))
        harness.topic("T", a=4, b=4)
        for number in range(30):
            if number % 7 == 3:
                harness.engine.stop(harness["b"], kill=number % 2 == 0)
            if number % 7 == 6:
                harness.engine.start(harness["b"])
            harness.send("b" if harness["b"].running and number % 3 else "a", body=b"%d" % number)
            harness.advance(900)
            harness.pop("a")
        return [repr(entry) for entry in harness.engine.journal]

    assert journal(3) == journal(3)
    assert journal(3) != journal(4)
