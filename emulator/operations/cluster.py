"""What a name server knows, and the configuration and state of brokers.

Addresses are not here: an address depends on who asks, so the layer that owns the sockets adds it to a broker's name.
"""

from dataclasses import replace

from ..kernel.masking import masked_lines, masked_mapping
from ..kernel.value_class import value
from .base import Operation, Result
from .topics import QueueMapping


@value
class BrokerMember:
    """A broker name and the ids that serve it (0 = master)."""

    cluster: str
    broker_name: str
    broker_ids: list[int]


@value
class QueueRoute:
    """Queues of a topic on one broker name."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int


@value
class GetRouteInfo(Operation):
    """Where a topic lives. Errors: TOPIC_NOT_EXIST. Source: ClientRequestProcessor (5.3.3)."""

    topic: str | None


@value
class RouteResult(Result):
    """Brokers and queues of a topic; `message_type` is the topic attribute (`NORMAL` when absent)."""

    brokers: list[BrokerMember]
    queues: list[QueueRoute]
    order_topic_conf: str | None = None
    message_type: str = "NORMAL"
    mappings: dict[str, QueueMapping] | None = None
    """Of a static topic, by broker name."""


@value
class GetBrokerClusterInfo(Operation):
    """All brokers."""


@value
class ClusterInfoResult(Result):
    """All brokers by name, clusters with their broker names."""

    brokers: dict[str, BrokerMember]
    clusters: dict[str, list[str]]


@value
class GetNamesrvTopicList(Operation):
    """Topics of the name server: all, those of one `cluster`, or the `system` ones."""

    cluster: str | None = None
    system: bool = False


@value
class GetUnitTopicList(Operation):
    """Topics of the name server whose system flag has these bits and none of those (TopicSysFlag)."""

    has: int
    lacks: int = 0


@value
class TopicListResult(Result):
    """Names of topics; `broker` names one broker where the answer carries an address."""

    topics: list[str]
    broker: BrokerMember | None = None


@value
class DeleteTopicInNamesrv(Operation):
    """Forget a topic in the name server."""

    topic: str
    cluster: str | None = None


@value
class PutKvConfig(Operation):
    """Store a value of the name server."""

    namespace: str
    key: str
    value: str | None


@value
class GetKvConfig(Operation):
    """Errors: QUERY_NOT_FOUND."""

    namespace: str
    key: str


@value
class KvResult(Result):
    """One value."""

    value: str


@value
class DeleteKvConfig(Operation):
    """Forget a value of the name server."""

    namespace: str
    key: str


@value
class GetKvListByNamespace(Operation):
    """Errors: QUERY_NOT_FOUND."""

    namespace: str


@value
class KvListResult(Result):
    """All values of a namespace."""

    table: dict[str, str]


@value
class SetPermOfBroker(Operation):
    """Wipe (`add` False) or give back (`add` True) the write permission of all topics of a broker name."""

    broker_name: str
    add: bool


@value
class PermOfBrokerResult(Result):
    """How many topics were changed."""

    topic_count: int


@value
class GetNamesrvConfig(Operation):
    """The configuration of the name server as properties text."""


@value
class UpdateNamesrvConfig(Operation):
    """Change keys of the name server. Errors: NO_PERMISSION (black list), SYSTEM_ERROR."""

    properties: dict[str, str]

    def journaled(self) -> Operation:
        """With the values of secret keys masked."""
        return replace(self, properties=masked_mapping(self.properties))


@value
class GetBrokerConfig(Operation):
    """The configuration of a broker as properties text."""


@value
class TextResult(Result):
    """A text, with the version of what it describes (number of changes, ms of the last one)."""

    text: str
    version_counter: int = 0
    version_timestamp: int = 0

    def journaled(self) -> Result:
        """With the values of secret keys masked."""
        return replace(self, text=masked_lines(self.text))


@value
class UpdateBrokerConfig(Operation):
    """Change keys of a broker while it runs. Errors: NO_PERMISSION (black list), SYSTEM_ERROR (unknown key, value)."""

    properties: dict[str, str]

    def journaled(self) -> Operation:
        """With the values of secret keys masked."""
        return replace(self, properties=masked_mapping(self.properties))


@value
class DeleteExpiredCommitLog(Operation):
    """Delete full files of the commit log that are old enough, whatever the hour is."""


@value
class CleanExpiredConsumeQueue(Operation):
    """Forget consume queues all of whose messages are gone."""


@value
class GetBrokerRuntimeInfo(Operation):
    """Counters and state of a broker."""


@value
class GetBrokerHaStatus(Operation):
    """How far the slaves of a master are, or a slave is."""


@value
class FollowerState:
    """A slave as its master sees it: broker name and id, and the end of its log."""

    broker_name: str
    broker_id: int
    acknowledged_offset: int


@value
class HaStatusResult(Result):
    """The end of the broker's own log; a master's slaves that are connected, or the name of a slave's master.

    `master_name` is None for a master, and empty for a slave without connection. `last_ms`: when the last record came.
    """

    max_offset: int
    followers: list[FollowerState]
    master_name: str | None
    last_ms: int


@value
class RuntimeInfoResult(Result):
    """Upstream's keys and texts. Source: AdminBrokerProcessor.prepareRuntimeInfo (5.3.3)."""

    table: dict[str, str]
