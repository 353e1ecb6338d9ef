"""Routes: queues for sends, brokers for receives, addresses for clients.

The proxy reads the brokers' own topic tables, as upstream's LOCAL mode does: no cache, no delay. With several masters
it uses the permissions of the name server, as upstream's CLUSTER mode does. Slaves appear only in routes, for two
reasons: a pop response never suggests a slave, and a slave without its master cannot store check points.
Source: LocalTopicRouteService, MessageQueueSelector, SendMessageActivity, ReceiveMessageActivity (5.3.3).
"""

import re
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.kernel.random_streams import RandomStream
from rocketmq_testkit.emulator.message.names import is_retry_or_dlq
from rocketmq_testkit.emulator.message.properties import string_hash
from rocketmq_testkit.emulator.topic.topic_table import PERM_READ, PERM_WRITE, UNSPECIFIED, type_of

from ..proto import definition_pb2 as pb
from ..rules.java_texts import unknown_topic
from ..rules.message_rules import type_conflict
from ..rules.proxy_rules import check_topic
from ..rules.status import Refusal, proxy_exception
from .transport_call import TransportCall

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.auth.user_table import UserTable
    from rocketmq_testkit.emulator.cluster.broker import Broker
    from rocketmq_testkit.emulator.operations.groups import GroupConfig
    from rocketmq_testkit.emulator.operations.topics import TopicConfig

Address = tuple[str, int]
Endpoint = Callable[[TransportCall, str, int, Address | None], Address]
"""(call, broker name, broker id, dialed address in the request) -> the address of that broker for the client."""
Perm = Callable[["Broker", "TopicConfig"], int]
"""(broker, topic configuration) -> the permission bits of the topic on that broker."""
OrderConf = Callable[[str], str | None]
"""(topic) -> the brokers and queues to which the topic is fixed, from the name server; None if it is not fixed."""

_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}\Z")
_MASK = (1 << 64) - 1
_COUNTERS_MAX = 10_000
_DIGITS_OF_INT = 10
"""The most digits of an int; Python converts no text of thousands of digits."""


class Routes:
    """The queues of brokers, of which at least one is a master."""

    def __init__(
        self,
        brokers: "Sequence[Broker]",
        *,
        perm: Perm,
        order_conf: OrderConf,
        chance: RandomStream,
        endpoint: Endpoint,
    ) -> None:
        self._endpoint = endpoint
        self._chance = chance
        self._round_robin: dict[str, int] = {}
        self._masters = sorted((broker for broker in brokers if broker.is_master), key=lambda broker: broker.name)
        self._default = next(broker for broker in brokers if broker.is_master)
        self._cluster = len(self._masters) > 1
        self._perm = perm if self._cluster else _own_perm
        self._order_conf = order_conf

    @property
    def masters(self) -> "list[Broker]":
        """Running masters, sorted by name."""
        return [broker for broker in self._masters if broker.running]

    def user_table(self) -> "UserTable | None":
        """Return the users of the first running broker, None if no broker runs."""
        return next((broker.user_table for broker in self.masters), None)

    def master_named(self, broker_name: str) -> "Broker":
        """Return the master with that name, else the first master.

        Upstream's LOCAL proxy has one broker for every name.
        """
        for broker in self._masters:
            if broker.name == broker_name:
                return broker
        return self._default

    def broker_of_handle(self, broker_name: str, error_code: pb.Code = pb.INVALID_RECEIPT_HANDLE) -> "Broker":
        """Return the master that a handle names.

        With several masters, raises `error_code` if that broker is unknown or not running.
        Source: ClusterMessageService.resolveBrokerAddrInReceiptHandle, resolveBrokerAddr (5.3.3).
        """
        broker = self.master_named(broker_name)
        if self._cluster and (broker.name != broker_name or not broker.running):
            raise proxy_exception(error_code, f"cannot find broker {broker_name}")
        return broker

    def topic_name(self, resource: pb.Resource) -> str:
        """Return the validated name of a topic. The namespace is ignored. Raises ILLEGAL_TOPIC."""
        name = resource.name
        check_topic(name, self.system_topics() if self._cluster else self._default.topics.system)
        return name

    def group_config(self, group: str) -> "GroupConfig | None":
        """Return a group's configuration on the first broker that has it, without creating it."""
        for broker in self.masters:
            found = broker.groups.find(group)
            if found is not None:
                return found
        return None

    def system_topics(self) -> Container[str]:
        """Return the topics that clients must not use."""
        if len(self._masters) == 1:
            return self._default.topics.system
        return frozenset().union(*(broker.topics.system for broker in self.masters))

    def message_type(self, topic: str) -> str:
        """Return the type of a topic: UNSPECIFIED if no broker has it, NORMAL if the topic declares none."""
        for broker in self._masters:
            config = broker.topics.find(topic) if broker.running else None
            if config is not None:
                return type_of(config)
        return UNSPECIFIED

    def choose_queue(self, topic: str, message_group: str) -> "tuple[Broker, int]":
        """Choose the queue of the next message: by the hash of its message group, else round-robin.

        Raises INTERNAL_SERVER_ERROR for a topic that no broker has, FORBIDDEN if no queue is writable.
        """
        if not self._cluster and not message_group:
            broker = self._default
            config = broker.topics.table.get(topic) if broker.running else None
            if config is not None and config.perm & PERM_WRITE and config.write_queue_nums > 0:
                return broker, self._next_round_robin(topic) % config.write_queue_nums
        choices: list[tuple[Broker, int]] = []
        total = 0
        known = False
        fixed = _order_conf_queues(self._order_conf(topic)) if self._cluster else None
        for broker in self._masters:
            config = broker.topics.table.get(topic) if broker.running else None
            if config is None:
                continue
            known = True
            if fixed is not None:
                queues = fixed.get(broker.name, 0)
            else:
                queues = config.write_queue_nums if self._perm(broker, config) & PERM_WRITE else 0
            if queues > 0:
                total += queues
                choices.append((broker, queues))
        if not total:
            raise self._no_queue(known, "no writable queue")
        hashed = consistent_hash(string_hash(message_group), total) if message_group else None
        index = self._next_round_robin(topic) % total if hashed is None else hashed
        for broker, queues in choices:
            if index < queues:
                return broker, index
            index -= queues
        raise AssertionError("an index below the total names a queue")

    def read_brokers(self, topic: str, broker_name: str, *, spread: bool = False) -> "list[Broker]":
        """Return the brokers to receive from.

        It is the named broker if it has readable queues, else all brokers with a rotating first one. With `spread` it
        is all brokers even if one is named, and that one is first.

        Raises INTERNAL_SERVER_ERROR for a topic that no broker has, FORBIDDEN if no queue is readable.
        """
        readable: list[Broker] = []
        known = False
        for broker in self._masters:
            config = broker.topics.table.get(topic) if broker.running else None
            if config is None:
                continue
            known = True
            if self._perm(broker, config) & PERM_READ and config.read_queue_nums > 0:
                if broker.name == broker_name and not spread:
                    return [broker]
                readable.append(broker)
        if not readable:
            raise self._no_queue(known, "no readable queue")
        if len(readable) == 1:
            return readable
        first = next((index for index, broker in enumerate(readable) if broker.name == broker_name), None)
        if first is None:
            first = self._next_round_robin(topic) % len(readable)
        return readable[first:] + readable[:first]

    def check_type(self, topic: str, actual: str) -> None:
        """Raise MESSAGE_PROPERTY_CONFLICT_WITH_TYPE if the topic does not accept the type.

        Retry topics and dead letter queues accept every type.
        """
        expected = self.message_type(topic)
        if actual != expected and expected != "MIXED" and not is_retry_or_dlq(topic):
            raise type_conflict(expected, actual)

    def fill_endpoints(
        self, endpoints: pb.Endpoints, call: TransportCall, *, broker_name: str, broker_id: int, requested: pb.Endpoints
    ) -> None:
        """Write the address at which the client of a call reaches a broker. `requested` are those of its request."""
        dialed = next(((address.host, address.port) for address in requested.addresses), None)
        write_endpoints(endpoints, *self._endpoint(call, broker_name, broker_id, dialed))

    def _next_round_robin(self, topic: str) -> int:
        index = self._round_robin.get(topic)
        if index is None:
            if len(self._round_robin) >= _COUNTERS_MAX:
                self._round_robin.clear()
            index = self._chance.below(1 << 30)
        self._round_robin[topic] = index + 1
        return index

    @staticmethod
    def _no_queue(known: bool, text: str) -> Refusal:
        if known:
            return proxy_exception(pb.FORBIDDEN, text)
        return Refusal(pb.INTERNAL_SERVER_ERROR, unknown_topic())


def write_endpoints(endpoints: pb.Endpoints, host: str, port: int) -> None:
    """Write one address and its kind."""
    if ":" in host:
        endpoints.scheme = pb.IPv6
    else:
        endpoints.scheme = pb.IPv4 if _IPV4.match(host) else pb.DOMAIN_NAME
    endpoints.addresses.add(host=host, port=port)


def _own_perm(_broker: "Broker", config: "TopicConfig") -> int:
    return config.perm


def _order_conf_queues(order_conf: str | None) -> dict[str, int] | None:
    """Return the writable queues per broker of an order configuration (MessageQueueSelector.buildWrite).

    Permissions do not matter. None if there is no order configuration.
    """
    if order_conf is None or not order_conf.strip():
        return None
    entries = (entry.partition(":") for entry in order_conf.split(";"))
    return {name: int(queues) for name, _, queues in entries if queues.isdecimal() and len(queues) <= _DIGITS_OF_INT}


def consistent_hash(value: int, buckets: int) -> int:
    """Return the bucket (0 to `buckets` - 1) of a hash: jump consistent hashing as in Guava.

    Source: com.google.common.hash.Hashing.consistentHash: a 64-bit linear congruential generator, whose upper 31 bits
    make the next fraction.
    """
    state = value & _MASK
    candidate = 0
    while True:
        state = (2862933555777941757 * state + 1) & _MASK
        fraction = ((state >> 33) + 1) / 0x80000000
        following = int((candidate + 1) / fraction)
        if following >= buckets:
            return candidate
        candidate = following
