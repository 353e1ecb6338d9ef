"""The name server: routes, clusters, key-value configuration.

It reads the topic tables of running brokers directly, so that changes are visible at once; upstream's brokers register
them within milliseconds. The layer that owns the sockets adds addresses.
Source: DefaultRequestProcessor, ClientRequestProcessor, RouteInfoManager, KVConfigManager (5.3.3).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Protocol

from ..assembly.handlers import handlers_of, handles
from ..config import BrokerConfig, ConfigError, EmulationConfig, NamesrvConfig
from ..faults.client_call import client_call
from ..faults.defects import Defects
from ..gate.call import Call, Handlers
from ..group.group_table import GroupTable
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.timer_kind import TimerKind
from ..message.names import group_of_retry_topic, is_legal_group, is_retry, retry_topic
from ..operations.base import PARKED, Done, Operation, Parked, Result
from ..operations.clients import MessageQueue
from ..operations.cluster import (
    BrokerMember,
    ClusterInfoResult,
    DeleteKvConfig,
    DeleteTopicInNamesrv,
    GetBrokerClusterInfo,
    GetKvConfig,
    GetKvListByNamespace,
    GetNamesrvConfig,
    GetNamesrvTopicList,
    GetRouteInfo,
    GetUnitTopicList,
    KvListResult,
    KvResult,
    PermOfBrokerResult,
    PutKvConfig,
    QueueRoute,
    RouteResult,
    SetPermOfBroker,
    TextResult,
    TopicListResult,
    UpdateNamesrvConfig,
    no_route,
)
from ..operations.groups import GroupConfig
from ..operations.topics import QueueMapping, TopicConfig
from ..static_topic.queue_mappings import QueueMappings
from ..topic.topic_table import PERM_READ, PERM_WRITE, TopicTable

ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"
REGISTER_PERIOD_MS = 30_000
"""Period at which brokers register everything; then a topic that was deleted only at the name server reappears."""
REMOTING = "remoting"
ALWAYS_BLACK = frozenset({"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"})
"""Keys that no request can change, regardless of `configBlackList`."""


_RouteEntry = tuple[str, str]
"""Broker name and topic: one entry of a route."""


class RegisteredBroker(Protocol):
    """A broker as the name server sees it."""

    @property
    def name(self) -> str:
        """The name that a master shares with its slaves."""

    @property
    def broker_id(self) -> int:
        """MASTER_ID for a master."""

    @property
    def is_master(self) -> bool:
        """True for a master, False for a slave."""

    @property
    def config(self) -> BrokerConfig:
        """The broker's configuration."""

    @property
    def running(self) -> bool:
        """False while it is stopped."""

    @property
    def registered(self) -> bool:
        """True if it runs and is not about to stop."""

    @property
    def topics(self) -> TopicTable:
        """Its topic table."""

    @property
    def groups(self) -> GroupTable:
        """Its group table."""

    @property
    def mappings(self) -> QueueMappings:
        """The queue mappings of its static topics."""

    def execute(self, call: Call, operation: Operation) -> Result | Parked:
        """Carry out an operation with physical queue ids: those of a static topic are not mapped."""


class NameServer:
    """A node of the gate that knows the running brokers of an engine. `kv_config`: pairs of a previous name server."""

    name = "namesrv"

    def __init__(
        self,
        *,
        config: NamesrvConfig,
        emulation: EmulationConfig,
        defects: Defects,
        scheduler: Scheduler,
        brokers: Sequence[RegisteredBroker],
        kv_config: Mapping[str, Mapping[str, str]] | None = None,
        on_missing_topic: Callable[[Call, str], None],
    ) -> None:
        self.config = config
        self._emulation = emulation
        self._defects = defects
        self._black_list = ALWAYS_BLACK.union(config.config_black_list.split(";"))
        self._scheduler = scheduler
        self._brokers = brokers
        self._start_ms = scheduler.now_ms
        self.kv_config: dict[str, dict[str, str]] = {name: dict(held) for name, held in (kv_config or {}).items()}
        """Key-value pairs by namespace and key; upstream keeps them on disk."""
        self._perms: dict[_RouteEntry, int] = {}
        """Permissions set by administrators, until the broker registers the topic again."""
        self._hidden: set[_RouteEntry] = set()
        """Entries that administrators have deleted only at the name server."""
        self._deleted: dict[_RouteEntry, TopicConfig] = {}
        """Topics that were deleted only at their broker, as last registered."""
        self._on_missing_topic = on_missing_topic
        """Called with each request (call and topic) for the route of a topic that does not exist."""
        self._stopped_brokers: set[RegisteredBroker] = set()
        """Stopped brokers of names with a running broker. If its id is higher, the topics of the stopped one stay."""
        self._own_handlers: Handlers = handlers_of(self)
        self.handlers: Handlers = self._own_handlers
        self._stops = 0

    # stops

    @property
    def running(self) -> bool:
        """False while remoting clients cannot reach it."""
        return not self._stops

    def stop(self) -> None:
        """Ignore requests of remoting clients until `start`. Each further stop needs a start of its own.

        It still serves the proxy, which upstream would serve from its cache of routes (TopicRouteService, 5.3.3), and
        direct calls of tests, which need no connection.
        """
        self._stops += 1
        self.handlers = dict.fromkeys(self._own_handlers, self._ignore)

    def start(self) -> None:
        """Serve requests again after `stop`."""
        self._stops -= 1
        if self.running:
            self.handlers = self._own_handlers

    def _ignore(self, call: Call, operation: Operation) -> Result | Parked:
        request = client_call(call)
        is_of_remoting = request is not None and request.protocol == REMOTING
        return PARKED if is_of_remoting else self._own_handlers[operation.__class__](call, operation)

    # registrations

    def register(self, broker: RegisteredBroker) -> None:
        """Handle the start of a broker: discard administrators' changes in its entries."""
        self._stopped_brokers.discard(broker)
        if self._registering_broker(broker.name) is broker:
            self._discard_changes(broker.name)

    def unregister(self, broker: RegisteredBroker) -> None:
        """Handle a broker that unregistered or lost its connection; as upstream, it is removed at once.

        The topics of a broker name stay while any broker of that name runs. Source: RouteInfoManager.unRegisterBroker.
        """
        if self._running(broker.name):
            self._stopped_brokers.add(broker)
            return
        self._stopped_brokers = {each for each in self._stopped_brokers if each.name != broker.name}
        self._discard_changes(broker.name)

    def register_topic(self, broker: RegisteredBroker, topic: str) -> None:
        """Handle a topic that a broker created or changed; a slave's counts only if no master runs."""
        if self._registering_broker(broker.name) is broker:
            self._hidden.discard((broker.name, topic))
            self._perms.pop((broker.name, topic), None)
            self._deleted.pop((broker.name, topic), None)

    def note_deleted_topic(self, broker: RegisteredBroker, config: TopicConfig) -> None:
        """Handle a topic that a broker deleted: its route stays until the name server deletes it or removes the broker.

        Source: RouteInfoManager.registerBroker, deleteTopicWithBrokerRegistration is false (5.3.3).
        """
        entry = (broker.name, config.topic_name)
        if self._registering_broker(broker.name) is broker and entry not in self._hidden:
            self._deleted[entry] = config

    def _discard_changes(self, name: str) -> None:
        self._deleted = {entry: config for entry, config in self._deleted.items() if entry[0] != name}
        self._hidden = {entry for entry in self._hidden if entry[0] != name}
        self._perms = {entry: perm for entry, perm in self._perms.items() if entry[0] != name}

    def _names(self) -> list[str]:
        return list(dict.fromkeys(broker.name for broker in self._brokers if broker.registered))

    def _running(self, name: str) -> list[RegisteredBroker]:
        """Return the running brokers of a name, the master first."""
        found = [broker for broker in self._brokers if broker.registered and broker.name == name]
        found.sort(key=lambda broker: broker.broker_id)
        return found

    def _registering_broker(self, name: str) -> RegisteredBroker | None:
        """Return the broker that registers the topics of a name: the running one with the lowest id."""
        running = self._running(name)
        return running[0] if running else None

    def _registered_brokers(self, name: str) -> list[RegisteredBroker]:
        """Return the brokers whose topic tables make up a name's topics, the running one first."""
        registering = self._registering_broker(name)
        if registering is None:
            return []
        stopped = [
            broker
            for broker in self._stopped_brokers
            if broker.name == name and broker.broker_id < registering.broker_id
        ]
        return [registering, *sorted(stopped, key=lambda broker: broker.broker_id)]

    def _find(self, name: str, topic: str) -> tuple[RegisteredBroker, TopicConfig] | None:
        """Return the broker of a name that registered a topic, and the topic's configuration; None if none did."""
        if (name, topic) not in self._hidden:
            for broker in self._registered_brokers(name):
                config = broker.topics.find_registered(topic)
                if config is not None:
                    return broker, config
            deleted, registering = self._deleted.get((name, topic)), self._registering_broker(name)
            if deleted is not None and registering is not None:
                return registering, deleted
        return None

    def _topics(self, name: str) -> dict[str, None]:
        """Return the topics of a broker name."""
        found: dict[str, None] = {}
        for broker in self._registered_brokers(name):
            known = chain(broker.topics.table, broker.topics.lmq_topics)
            found |= dict.fromkeys(topic for topic in known if (name, topic) not in self._hidden)
        found |= dict.fromkeys(topic for owner, topic in self._deleted if owner == name)
        return found

    def master(self, name: str) -> RegisteredBroker | None:
        """Return the master of a broker name, or None."""
        return next((broker for broker in self._brokers if broker.name == name and broker.is_master), None)

    # routes

    @handles(GetRouteInfo)
    def route(self, call: Call, operation: GetRouteInfo) -> RouteResult:
        """Return brokers and queues of a topic. Raises TOPIC_NOT_EXIST."""
        topic = operation.topic
        if topic is None:
            raise no_route("null")
        if self._emulation.retry_topic_on_route_query and is_retry(topic):
            self._create_retry_topic(topic)
        found = self._find_route(topic)
        if found is None:
            self._on_missing_topic(call, topic)
            raise no_route(topic)
        return found

    def routes(self) -> dict[str, RouteResult]:
        """Return the routes of all topics, as clients would get them now."""
        topics = {topic: None for name in self._names() for topic in self._topics(name)}
        return {topic: route for topic in topics if (route := self._find_route(topic)) is not None}

    def _find_route(self, topic: str) -> RouteResult | None:
        """Return the route of a topic, None if no running broker registers it."""
        queues, message_type = {}, None
        for name in self._names():
            found = self._find(name, topic)
            if found is None:
                continue
            broker, config = found
            message_type = message_type or broker.topics.message_type(topic)
            queues[name] = QueueRoute(
                name,
                config.read_queue_nums,
                config.write_queue_nums,
                self.perm(broker, config),
                topic_sys_flag=config.topic_sys_flag,
            )
        if message_type is None:
            return None
        members = [self._member(name) for name in queues]
        order = self.order_conf(topic)
        return RouteResult(members, list(queues.values()), order, message_type, mappings=self._mappings(topic))

    def _create_retry_topic(self, topic: str) -> None:
        """Create the retry topic of a group on all running masters, as its first heartbeat would.

        Retry topics of pops (their names contain a +) are not created: revive creates them with their first message.
        """
        group = group_of_retry_topic(topic)
        if not group or topic != retry_topic(group) or not is_legal_group(group):
            return
        for broker in self._brokers:
            if broker.running and broker.is_master:
                config = broker.groups.find(group) or GroupConfig(group)
                broker.topics.create_internal(topic, config.retry_queue_nums)

    def read_queues(self, topic: str) -> list[MessageQueue] | None:
        """Return the readable queues of a topic on all brokers, in order; None if the topic has no route.

        Source: MQClientInstance.topicRouteData2TopicSubscribeInfo (5.3.3).
        """
        found = [(name, entry) for name in sorted(self._names()) if (entry := self._find(name, topic)) is not None]
        if not found:
            return None
        return [
            MessageQueue(topic, name, queue_id)
            for name, (broker, config) in found
            if self.perm(broker, config) & PERM_READ
            for queue_id in range(config.read_queue_nums)
        ]

    def order_conf(self, topic: str) -> str | None:
        """Return the fixed brokers and queues of an ordered topic, `broker:queues;...`; None if there are none."""
        return self.kv_config.get(ORDER_TOPIC_CONFIG, {}).get(topic) if self.config.order_message_enable else None

    def _mappings(self, topic: str) -> dict[str, QueueMapping] | None:
        """Return the mappings of a static topic by broker name; None for an ordinary topic."""
        found = {}
        for name in self._names():
            registering = self._registering_broker(name)
            if registering is not None and topic in registering.mappings.table:
                found[name] = registering.mappings.table[topic]
        return found or None

    def perm(self, broker: RegisteredBroker, config: TopicConfig) -> int:
        """Return the permission bits of a topic of a broker, as in routes."""
        changed = self._perms.get((broker.name, config.topic_name))
        if changed is not None:
            return changed
        of_broker = broker.config.broker_permission
        if of_broker & (PERM_READ | PERM_WRITE) != PERM_READ | PERM_WRITE:
            return config.perm & of_broker  # a broker with restricted permission registers its topics with these bits
        return config.perm

    def _member(self, broker_name: str) -> BrokerMember:
        running = self._running(broker_name)
        return BrokerMember(
            running[0].config.broker_cluster_name, broker_name, [broker.broker_id for broker in running]
        )

    @handles(GetBrokerClusterInfo)
    def cluster_info(self, call: Call, operation: GetBrokerClusterInfo) -> ClusterInfoResult:
        """Return all brokers and clusters."""
        members = {name: self._member(name) for name in self._names()}
        clusters: dict[str, list[str]] = {}
        for member in members.values():
            clusters.setdefault(member.cluster, []).append(member.broker_name)
        return ClusterInfoResult(members, clusters)

    @handles(GetNamesrvTopicList)
    def topic_list(self, call: Call, operation: GetNamesrvTopicList) -> TopicListResult:
        """Return the names of all topics or of those of one cluster; with `system`, those of clusters and brokers.

        Raises SYSTEM_ERROR if the list is disabled.
        """
        if operation.system:
            info = self.cluster_info(call, GetBrokerClusterInfo())
            found = sorted({*info.brokers, *info.clusters})
            return TopicListResult(found, next(iter(info.brokers.values()), None))
        enabled = self.config.enable_topic_list if operation.cluster else self.config.enable_all_topic_list
        if not enabled:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "disable")
        topics: dict[str, None] = {}
        for name in self._names_of(operation.cluster):
            topics |= self._topics(name)
        return TopicListResult(list(topics))

    def _names_of(self, cluster: str | None) -> list[str]:
        """Return the broker names of a cluster, or all for None."""
        return [name for name in self._names() if cluster in (None, self._member(name).cluster)]

    @handles(GetUnitTopicList)
    def unit_topics(self, call: Call, operation: GetUnitTopicList) -> TopicListResult:
        """Return the names of topics with certain unit flags. Raises SYSTEM_ERROR if the list is disabled."""
        if not self.config.enable_topic_list:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "disable")
        flags: dict[str, int] = {}
        for name in self._names():
            for topic in self._topics(name):
                found = self._find(name, topic)
                if found is not None:
                    flags.setdefault(topic, found[1].topic_sys_flag)
        has, lacks = operation.has, operation.lacks
        return TopicListResult([topic for topic, flag in flags.items() if flag & has == has and not flag & lacks])

    @handles(DeleteTopicInNamesrv)
    def delete_topic(self, call: Call, operation: DeleteTopicInNamesrv) -> Done:
        """Delete a topic, in all clusters or in one, until the brokers register again."""
        gone = {(name, operation.topic) for name in self._names_of(operation.cluster)}
        for broker in self._brokers:
            if (broker.name, operation.topic) in gone:
                broker.topics.lmq_topics.pop(operation.topic, None)  # periodic registrations lack it
        for entry in gone:
            self._deleted.pop(entry, None)
            self._perms.pop(entry, None)
        self._hidden |= gone
        elapsed = self._scheduler.now_ms - self._start_ms
        register_ms = self._start_ms + (elapsed // REGISTER_PERIOD_MS + 1) * REGISTER_PERIOD_MS

        def register() -> None:
            self._hidden -= gone

        self._scheduler.call_at(register_ms, register, TimerKind.BROKER_REGISTRATION, operation.topic)
        return Done()

    @handles(SetPermOfBroker)
    def set_perm(self, call: Call, operation: SetPermOfBroker) -> PermOfBrokerResult:
        """Remove or restore the write permission in the routes of a broker name; an unknown name has no topics.

        Restoring makes every topic readable and writable, regardless of its earlier permission.
        """
        name = operation.broker_name
        topics = self._topics(name)
        for topic in topics:
            found = self._find(name, topic)
            assert found is not None
            perm = PERM_READ | PERM_WRITE if operation.add else self.perm(*found) & ~PERM_WRITE
            self._perms[name, topic] = perm
        return PermOfBrokerResult(len(topics))

    # key-value configuration

    @handles(PutKvConfig)
    def put_value(self, call: Call, operation: PutKvConfig) -> Done:
        """Store a value; None deletes it."""
        values = self.kv_config.setdefault(operation.namespace, {})
        if operation.value is None:
            values.pop(operation.key, None)
        else:
            values[operation.key] = operation.value
        return Done()

    @handles(GetKvConfig)
    def get_value(self, call: Call, operation: GetKvConfig) -> KvResult:
        """Return a value. Raises QUERY_NOT_FOUND."""
        found = self.kv_config.get(operation.namespace, {}).get(operation.key)
        if found is None:
            raise EngineError(
                ResponseCode.QUERY_NOT_FOUND,
                f"No config item, Namespace: {operation.namespace} Key: {operation.key}",
            )
        return KvResult(found)

    @handles(DeleteKvConfig)
    def delete_value(self, call: Call, operation: DeleteKvConfig) -> Done:
        """Delete a value; an unknown one is not an error."""
        self.kv_config.get(operation.namespace, {}).pop(operation.key, None)
        return Done()

    @handles(GetKvListByNamespace)
    def list_values(self, call: Call, operation: GetKvListByNamespace) -> KvListResult:
        """Return the values of a namespace. Raises QUERY_NOT_FOUND."""
        found = self.kv_config.get(operation.namespace)
        if found is None:
            raise EngineError(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {operation.namespace}")
        return KvListResult(dict(found))

    # configuration

    @handles(GetNamesrvConfig)
    def get_config(self, call: Call, operation: GetNamesrvConfig) -> TextResult:
        """Return all keys in properties format."""
        return TextResult(self.config.as_text())

    @handles(UpdateNamesrvConfig)
    def update_config(self, call: Call, operation: UpdateNamesrvConfig) -> Done:
        """Change keys. Raises NO_PERMISSION (black list), SYSTEM_ERROR (unknown key, wrong value)."""
        if self._black_list & operation.properties.keys():
            raise EngineError(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
        if self._defects.unknown_settings_ignored:
            self.config.update_known(operation.properties)
            return Done()
        try:
            self.config.update(operation.properties)
        except ConfigError as error:
            raise EngineError(ResponseCode.SYSTEM_ERROR, str(error)) from None
        return Done()
