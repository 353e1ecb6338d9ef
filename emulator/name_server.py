"""The name server: routes, clusters, key-value configuration.

It reads the brokers' topic tables directly: what upstream's brokers register within milliseconds is visible at once.
Addresses are added by the layer that owns the sockets. Source: DefaultRequestProcessor, ClientRequestProcessor,
RouteInfoManager, KVConfigManager (5.3.3).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .codes import ResponseCode
from .config import ConfigError, NamesrvConfig
from .errors import FAQ, EngineError
from .gate import Call
from .operations import (
    BrokerMember,
    ClusterInfoResult,
    DeleteKvConfig,
    DeleteTopicInNamesrv,
    Done,
    GetBrokerClusterInfo,
    GetKvConfig,
    GetKvListByNamespace,
    GetNamesrvConfig,
    GetNamesrvTopicList,
    GetRouteInfo,
    KvListResult,
    KvResult,
    Operation,
    Parked,
    PermOfBrokerResult,
    PutKvConfig,
    QueueRoute,
    Result,
    RouteResult,
    SetPermOfBroker,
    TextResult,
    TopicConfig,
    TopicListResult,
    UpdateNamesrvConfig,
)
from .scheduler import Scheduler
from .topics import PERM_READ, PERM_WRITE

if TYPE_CHECKING:
    from .broker import Broker

ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"
REGISTER_PERIOD_MS = 30_000
"""Brokers register everything this often; a topic deleted here alone is back then."""
BLACK_LIST = frozenset({"configBlackList", "configStorePath", "kvConfigPath"})


class NameServer:
    """A gate node that knows all brokers of an engine."""

    name = "namesrv"

    def __init__(self, config: NamesrvConfig, scheduler: Scheduler, brokers: Sequence["Broker"]) -> None:
        self.config = config
        self._scheduler = scheduler
        self._brokers = brokers
        self._start_ms = scheduler.now_ms
        self._values: dict[str, dict[str, str]] = {}
        self._wiped: set[str] = set()
        self._given: set[tuple[str, str]] = set()
        self._hidden: set[str] = set()
        self.handlers: Mapping[type[Operation], Callable[[Call, Any], Result | Parked]] = {
            GetRouteInfo: self.route,
            GetBrokerClusterInfo: self.cluster_info,
            GetNamesrvTopicList: self.topic_list,
            DeleteTopicInNamesrv: self.delete_topic,
            PutKvConfig: self.put_value,
            GetKvConfig: self.get_value,
            DeleteKvConfig: self.delete_value,
            GetKvListByNamespace: self.list_values,
            SetPermOfBroker: self.set_perm,
            GetNamesrvConfig: self.get_config,
            UpdateNamesrvConfig: self.update_config,
        }

    # routes

    def route(self, call: Call, operation: GetRouteInfo) -> RouteResult:
        """Brokers and queues of a topic. Errors: TOPIC_NOT_EXIST."""
        topic = operation.topic
        holders = [broker for broker in self._brokers if topic is not None and broker.topics.find(topic) is not None]
        if topic is None or topic in self._hidden or not holders:
            text = "null" if topic is None else topic
            raise EngineError(
                ResponseCode.TOPIC_NOT_EXIST, f"No topic route info in name server for the topic: {text}\n{FAQ}"
            )
        queues = {}
        for broker in holders:
            config = broker.topics.get(topic)
            perm = self._perm(broker, config)
            queues[broker.name] = QueueRoute(
                broker.name, config.read_queue_nums, config.write_queue_nums, perm, config.topic_sys_flag
            )
        order = self._values.get(ORDER_TOPIC_CONFIG, {}).get(topic) if self.config.order_message_enable else None
        return RouteResult(
            [self._member(name) for name in queues], list(queues.values()), order, holders[0].topics.message_type(topic)
        )

    def _perm(self, broker: "Broker", config: TopicConfig) -> int:
        if (broker.name, config.topic_name) in self._given:
            return PERM_READ | PERM_WRITE
        perm, of_broker = config.perm, broker.config.broker_permission
        if of_broker & (PERM_READ | PERM_WRITE) != PERM_READ | PERM_WRITE:
            perm &= of_broker  # a broker that is closed in part registers its topics that way
        return perm & ~PERM_WRITE if broker.name in self._wiped else perm

    def _member(self, broker_name: str) -> BrokerMember:
        same = [broker for broker in self._brokers if broker.name == broker_name]
        return BrokerMember(
            same[0].config.broker_cluster_name, broker_name, sorted(broker.broker_id for broker in same)
        )

    def cluster_info(self, call: Call, operation: GetBrokerClusterInfo) -> ClusterInfoResult:
        """All brokers and clusters."""
        members = {name: self._member(name) for name in dict.fromkeys(broker.name for broker in self._brokers)}
        clusters: dict[str, list[str]] = {}
        for member in members.values():
            clusters.setdefault(member.cluster, []).append(member.broker_name)
        return ClusterInfoResult(members, clusters)

    def topic_list(self, call: Call, operation: GetNamesrvTopicList) -> TopicListResult:
        """Names of all topics, of those of one cluster, or (system) of clusters and brokers.

        Errors: SYSTEM_ERROR when the list is switched off.
        """
        if operation.system:
            info = self.cluster_info(call, GetBrokerClusterInfo())
            found = sorted({*info.brokers, *info.clusters})
            return TopicListResult(found, next(iter(info.brokers.values()), None))
        enabled = self.config.enable_topic_list if operation.cluster else self.config.enable_all_topic_list
        if not enabled:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "disable")
        topics: dict[str, None] = {}
        for broker in self._brokers:
            if operation.cluster in (None, broker.config.broker_cluster_name):
                topics |= dict.fromkeys(broker.topics.table)
        return TopicListResult([topic for topic in topics if topic not in self._hidden])

    def delete_topic(self, call: Call, operation: DeleteTopicInNamesrv) -> Done:
        """Forget a topic until the brokers register again."""
        self._hidden.add(operation.topic)
        elapsed = self._scheduler.now_ms - self._start_ms
        register_ms = self._start_ms + (elapsed // REGISTER_PERIOD_MS + 1) * REGISTER_PERIOD_MS
        self._scheduler.call_at(
            register_ms, lambda: self._hidden.discard(operation.topic), "broker registration", operation.topic
        )
        return Done()

    def topic_created(self, topic: str) -> None:
        """A broker registered a topic anew."""
        self._hidden.discard(topic)
        self._given = {each for each in self._given if each[1] != topic}

    def set_perm(self, call: Call, operation: SetPermOfBroker) -> PermOfBrokerResult:
        """Wipe or give back the write permission in the routes of a broker name; an unknown one has no topics."""
        change = self._wiped.discard if operation.add else self._wiped.add
        brokers = [broker for broker in self._brokers if broker.name == operation.broker_name]
        if not brokers:
            return PermOfBrokerResult(0)
        change(operation.broker_name)
        table = brokers[0].topics.table
        every = {(operation.broker_name, topic) for topic in table}
        # Giving back makes every topic readable and writable, whatever it was before.
        self._given = self._given | every if operation.add else self._given - every
        perms = [config.perm for config in table.values()]
        return PermOfBrokerResult(sum(1 for perm in perms if perm & (PERM_READ | PERM_WRITE)))

    # values

    def put_value(self, call: Call, operation: PutKvConfig) -> Done:
        """Store a value; storing none is as if it were not there."""
        values = self._values.setdefault(operation.namespace, {})
        if operation.value is None:
            values.pop(operation.key, None)
        else:
            values[operation.key] = operation.value
        return Done()

    def get_value(self, call: Call, operation: GetKvConfig) -> KvResult:
        """Errors: QUERY_NOT_FOUND."""
        found = self._values.get(operation.namespace, {}).get(operation.key)
        if found is None:
            raise EngineError(
                ResponseCode.QUERY_NOT_FOUND,
                f"No config item, Namespace: {operation.namespace} Key: {operation.key}",
            )
        return KvResult(found)

    def delete_value(self, call: Call, operation: DeleteKvConfig) -> Done:
        """Forget a value; an unknown one is no error."""
        self._values.get(operation.namespace, {}).pop(operation.key, None)
        return Done()

    def list_values(self, call: Call, operation: GetKvListByNamespace) -> KvListResult:
        """Errors: QUERY_NOT_FOUND."""
        found = self._values.get(operation.namespace)
        if found is None:
            raise EngineError(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {operation.namespace}")
        return KvListResult(dict(found))

    # configuration

    def get_config(self, call: Call, operation: GetNamesrvConfig) -> TextResult:
        """All keys as properties text."""
        return TextResult(self.config.as_text())

    def update_config(self, call: Call, operation: UpdateNamesrvConfig) -> Done:
        """Change keys. Errors: NO_PERMISSION (black list), SYSTEM_ERROR (unknown key, wrong value)."""
        if BLACK_LIST & operation.properties.keys():
            raise EngineError(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
        trial = self.config.copy()
        try:
            for name, value in operation.properties.items():
                trial.set(name, value)
        except ConfigError as error:
            raise EngineError(ResponseCode.SYSTEM_ERROR, str(error)) from None
        for name in operation.properties:
            self.config.set(name, trial.get(name))
        return Done()
