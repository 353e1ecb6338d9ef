"""Topic table of a broker: predefined topics, creation by administrators and by sends, topic attributes.

Source: TopicConfigManager, TopicAttributes, AttributeUtil, AdminBrokerProcessor (5.3.3).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..config import BrokerConfig
from ..kernel.errors import FAQ, EngineError
from ..kernel.java_numbers import parse_long
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..message import names
from ..operations.topics import TopicConfig

PERM_READ = 4
PERM_WRITE = 2
PERM_INHERIT = 1
UNIT, HAS_UNIT_SUBSCRIBERS = 1, 2
"""Bits of a topic's system flag (TopicSysFlag)."""

UNSPECIFIED = "UNSPECIFIED"
"""The message type of an unknown topic."""
MESSAGE_TYPES = (UNSPECIFIED, "TRANSACTION", "FIFO", "MIXED", "DELAY", "NORMAL")
MULTI_TAG = "MULTI_TAG"
CLEANUP_POLICY, COMPACTION = "cleanup.policy", "COMPACTION"
QUEUE_TYPE, BATCH_QUEUE = "queue.type", "BatchCQ"
_SCHEDULE_QUEUES = 18  # upstream's constant, independent of the configured delay levels


def _refused(reason: str) -> EngineError:
    return EngineError(ResponseCode.SYSTEM_ERROR, reason)


def _one_of(*allowed: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        if value not in allowed:
            raise _refused(f"value is not in set: [{', '.join(allowed)}]")

    return check


def _long_from_minus_one(value: str) -> None:
    try:
        number = parse_long(value)
    except ValueError as no_number:
        raise _refused(str(no_number)) from None
    if number < -1:
        raise _refused(f"value is not in range(-1, {0x7FFFFFFFFFFFFFFF})")


ATTRIBUTES: dict[str, tuple[bool, Callable[[str], None]]] = {
    "message.type": (True, _one_of(*MESSAGE_TYPES)),
    CLEANUP_POLICY: (False, _one_of("DELETE", COMPACTION)),
    QUEUE_TYPE: (False, _one_of("SimpleCQ", BATCH_QUEUE)),
    "reserve.time": (True, _long_from_minus_one),
}
"""Attribute -> (changeable on an existing topic, function that rejects illegal values)."""


@mypyc_attr(allow_interpreted_subclasses=True)
class TopicTable:
    """The topic table of one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        queue_nums_max: int,
        on_change: Callable[[str], None],
        on_delete: Callable[[TopicConfig], None],
    ) -> None:
        self._config = config
        self._queue_nums_max = queue_nums_max
        self._scheduler = scheduler
        self.table: dict[str, TopicConfig] = {}
        self.compacted: set[str] = set()
        """Compacted topics: their messages need keys, because compaction keeps only the last message with each key."""
        self.batched: set[str] = set()
        """Topics whose queues may hold several messages in one record."""
        self.multi_tag: set[str] = set()
        """Topics with filter type MULTI_TAG, whose messages get a system flag."""
        self.special: set[str] = set()
        """Union of the three sets: one lookup shows that a topic is an ordinary one, as most are."""
        self.system: set[str] = set(names.SYSTEM_TOPICS)
        self.version_counter = 0
        self.version_timestamp = scheduler.now_ms
        self.lmq_enabled = config.enable_lmq
        """True if every LMQ name is a topic without having been created."""
        self.lmq_topics: dict[str, TopicConfig] = {}
        """LMQ topics that administrators created explicitly: registered with name servers, but not in the table."""
        self.on_change = on_change
        """Called with the name of each created or changed topic, which upstream registers with name servers."""
        self._on_delete = on_delete
        """Called with each topic that is deleted; name servers keep its route."""
        self._create_at_start()

    def _create_at_start(self) -> None:
        config = self._config
        cluster, broker = config.broker_cluster_name, config.broker_name

        def add(topic: str, queues: int, perm: int = PERM_READ | PERM_WRITE) -> None:
            self.system.add(topic)
            self.table[topic] = TopicConfig(topic, queues, queues, perm)

        everything = PERM_READ | PERM_WRITE | PERM_INHERIT
        add(names.SELF_TEST_TOPIC, 1)
        if config.auto_create_topic_enable:
            add(names.AUTO_CREATE_TOPIC, config.default_topic_queue_nums, everything)
        add(names.BENCHMARK_TOPIC, 1024)
        add(cluster, 16, everything if config.cluster_topic_enable else PERM_INHERIT)
        add(broker, 1, everything if config.broker_topic_enable else PERM_INHERIT)
        add(names.OFFSET_MOVED_TOPIC, 1)
        add(names.SCHEDULE_TOPIC, _SCHEDULE_QUEUES)
        if config.trace_topic_enable:
            add(config.msg_trace_topic_name, 1)
        add(names.reply_topic(cluster), 1)
        add(names.revive_topic(cluster), config.revive_queue_num)
        add(names.SYNC_MEMBER_TOPIC_PREFIX + broker, 1, PERM_INHERIT)
        add(names.HALF_TOPIC, 1)
        add(names.OP_HALF_TOPIC, 1)
        if config.timer_wheel_enable:
            add(names.TIMER_TOPIC, 1)

    def find(self, topic: str) -> TopicConfig | None:
        """Return the configuration of a topic, or None. With LMQ enabled, every LMQ name is a topic of one queue."""
        found = self.table.get(topic)
        return TopicConfig(topic, 1, 1) if found is None and self.lmq_enabled and names.is_lmq(topic) else found

    def find_registered(self, topic: str) -> TopicConfig | None:
        """Return the configuration of a topic as registered with name servers, or None."""
        return self.table.get(topic) or self.lmq_topics.get(topic)

    def get(self, topic: str) -> TopicConfig:
        """Return the configuration of a topic. Raises TOPIC_NOT_EXIST with the text that consumers get."""
        found = self.table.get(topic) or self.find(topic)
        if found is None:
            raise EngineError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please! \n{FAQ}")
        return found

    def is_system(self, topic: str) -> bool:
        """True for a topic that administrators may neither create nor delete."""
        return topic in self.system or topic.startswith(names.SYSTEM_TOPIC_PREFIX)

    def check_name(self, topic: str) -> None:
        """Validate the name of a topic that an administrator creates. Raises INVALID_PARAMETER."""
        names.check_topic(topic)
        self.refuse_system(topic)

    def refuse_system(self, topic: str) -> None:
        """Raise INVALID_PARAMETER for a system topic, unless administrators may change system topics."""
        if self._config.validate_system_topic_when_update_topic and self.is_system(topic):
            raise EngineError(ResponseCode.INVALID_PARAMETER, f"The topic[{topic}] is conflict with system topic.")

    def create(self, wanted: TopicConfig, attributes: dict[str, str] | None) -> TopicConfig:
        """Create or change a topic. Raises INVALID_PARAMETER (name), SYSTEM_ERROR (attributes)."""
        topic = wanted.topic_name
        self.check_name(topic)
        current = self.table.get(topic)
        merged = self._merge_attributes(current, attributes or {})
        if merged.get("message.type") == "MIXED" and not self._config.enable_mixed_message_type:
            raise EngineError(ResponseCode.INVALID_PARAMETER, "MIXED message type is not supported.")
        changed = replace(wanted, attributes=merged)
        if changed != current:
            self.put(changed)
        return changed

    def _merge_attributes(self, current: TopicConfig | None, changes: dict[str, str]) -> dict[str, str]:
        merged = dict(current.attributes) if current is not None else {}
        for signed, value in changes.items():
            sign, name = signed[:1], signed[1:]
            if not name or not sign.strip():
                raise _refused("kv string format wrong.")
            known = name in merged
            if sign != "+":
                if current is None:
                    raise _refused(f"only add attribute is supported while creating topic. key: {name}")
                if not known:
                    raise _refused(f"attempt to delete a nonexistent key: {name}")
            rule = ATTRIBUTES.get(name)
            if rule is None:
                raise _refused(f"unsupported key: {name}")
            changeable, check = rule
            if current is not None and not changeable:
                raise _refused(f"attempt to update an unchangeable attribute. key: {name}")
            if sign != "+":
                del merged[name]
                continue
            check(value)
            merged[name] = value
        return merged

    def check_queue_nums(self, name: str, queues: int) -> None:
        """Raise INVALID_PARAMETER if a topic would have more queues than `topicQueueNumsMax`."""
        if queues > self._queue_nums_max:
            raise EngineError(
                ResponseCode.INVALID_PARAMETER,
                f"{name}={queues}: a topic of this emulator has at most {self._queue_nums_max} queues; "
                "give fewer, or raise the key topicQueueNumsMax",
            )

    def check_queues(self, config: TopicConfig) -> None:
        """Check the numbers of read queues and write queues. Errors: see `check_queue_nums`."""
        self.check_queue_nums("readQueueNums", config.read_queue_nums)
        self.check_queue_nums("writeQueueNums", config.write_queue_nums)

    def put(self, config: TopicConfig) -> None:
        """Store a configuration (of an LMQ in `lmq_topics`) and report the change. Errors: see `check_queue_nums`."""
        self.check_queues(config)
        if self.lmq_enabled and names.is_lmq(config.topic_name):
            self.lmq_topics[config.topic_name] = config
            self.on_change(config.topic_name)
            return
        self.table[config.topic_name] = config
        self._classify(config)
        self._touch()
        self.on_change(config.topic_name)

    def _kinds(self) -> tuple[set[str], ...]:
        return self.compacted, self.batched, self.multi_tag, self.special

    def _classify(self, config: TopicConfig) -> None:
        topic, attributes = config.topic_name, config.attributes
        for kind, belongs in (
            (self.compacted, attributes.get(CLEANUP_POLICY) == COMPACTION),
            (self.batched, attributes.get(QUEUE_TYPE) == BATCH_QUEUE),
            (self.multi_tag, config.topic_filter_type == MULTI_TAG),
        ):
            _set_membership(kind, topic, belongs)
        special = topic in self.compacted or topic in self.batched or topic in self.multi_tag
        _set_membership(self.special, topic, special)

    def create_on_send(
        self, topic: str, template_name: str, client_queues: int, sys_flag: int = 0
    ) -> TopicConfig | None:
        """Create a topic from the template that a send names, or a retry topic of one queue.

        Returns None if neither is possible. Source: TopicConfigManager.createTopicInSendMessageMethod (5.3.3).
        """
        template = self.table.get(template_name)
        if template is not None:
            inherits = bool(template.perm & PERM_INHERIT)
            if template_name == names.AUTO_CREATE_TOPIC and not self._config.auto_create_topic_enable:
                # From now on it is not a template, even if the key is changed back.
                self.table[template_name] = replace(template, perm=PERM_READ | PERM_WRITE)
                inherits = False
            if inherits:
                queues = max(min(client_queues, template.write_queue_nums), 0)
                created = TopicConfig(
                    topic,
                    queues,
                    queues,
                    template.perm & ~PERM_INHERIT,
                    topic_filter_type=template.topic_filter_type,
                    topic_sys_flag=sys_flag,
                )
                self.put(created)
                return created
        if names.is_retry(topic):
            return self.create_internal(topic, 1, sys_flag=sys_flag)
        return None

    def create_internal(
        self, topic: str, queues: int, perm: int = PERM_READ | PERM_WRITE, *, sys_flag: int = 0
    ) -> TopicConfig:
        """Return a topic of the broker's own (retry, dead letter, transaction); create it if it is missing.

        Source: TopicConfigManager.createTopicInSendMessageBackMethod (5.3.3).
        """
        found = self.table.get(topic)
        if found is None:
            found = TopicConfig(topic, queues, queues, perm, topic_sys_flag=sys_flag)
            self.put(found)
        return found

    def copy_from(self, other: "TopicTable") -> None:
        """Replace the table by a copy of another broker's. Both share the configurations, which are only replaced."""
        self.table = dict(other.table)
        for mine, theirs in zip(self._kinds(), other._kinds(), strict=True):
            mine.clear()
            mine.update(theirs)
        self.version_counter, self.version_timestamp = other.version_counter, other.version_timestamp

    def copy_until_attributes(self, other: "TopicTable") -> None:
        """Copy another broker's table up to the first topic with attributes, and delete the topics that it lacks.

        Upstream takes the attributes for changes, which begin with `+`, and throws. Here the order is that of creation,
        in upstream that of a hash table. Source: SlaveSynchronize.syncTopicConfig,
        TopicConfigManager.updateSingleTopicConfigWithoutPersist (5.3.3).
        """
        self.version_counter, self.version_timestamp = other.version_counter, other.version_timestamp
        for name in [name for name in self.table if name not in other.table]:
            del self.table[name]
            for kind in self._kinds():
                kind.discard(name)
        for name, config in other.table.items():
            if config.attributes:
                return
            self.table[name] = replace(config, attributes={})
            self._classify(config)

    def restore(self, table: Mapping[str, TopicConfig], version: tuple[int, int]) -> None:
        """Restore the topics of a previous run. Topics created at start that are missing in `table` stay."""
        self.table |= table
        for config in table.values():
            self._classify(config)
        self.version_counter, self.version_timestamp = version

    def delete(self, topic: str) -> bool:
        """Delete a topic. Returns False if it does not exist."""
        lmq_topic, deleted = self.lmq_topics.pop(topic, None), self.table.pop(topic, None)
        if (last := deleted or lmq_topic) is not None:
            self._on_delete(last)
        if deleted is None:
            return False
        for kind in self._kinds():
            kind.discard(topic)
        self._touch()
        return True

    def message_type(self, topic: str) -> str:
        """Return the message type of a topic; UNSPECIFIED if it is unknown. Source: TopicConfig.getTopicMessageType."""
        found = self.find(topic)
        return UNSPECIFIED if found is None else type_of(found)

    def _touch(self) -> None:
        self.version_counter += 1
        self.version_timestamp = self._scheduler.now_ms


def type_of(config: TopicConfig) -> str:
    """Return the message type of a topic."""
    return config.attributes.get("message.type", "NORMAL")


def _set_membership(kind: set[str], topic: str, belongs: bool) -> None:
    if belongs:
        kind.add(topic)
    else:
        kind.discard(topic)
