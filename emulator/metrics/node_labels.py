"""Labels that name the node of a metric, and values of labels in upstream's form."""

from collections.abc import Collection

from ..cluster.broker import Broker
from ..config import MASTER_ID
from ..message.names import SYSTEM_GROUP_PREFIX, SYSTEM_TOPIC_PREFIX
from .family import Labels

BROKER_TYPE, PROXY_TYPE = "broker", "proxy"


def broker_labels(broker: Broker) -> Labels:
    """Return the labels of all metrics of a broker. The id of a slave follows its name, after a colon."""
    name = broker.name if broker.broker_id == MASTER_ID else f"{broker.name}:{broker.broker_id}"
    return {"cluster": broker.config.broker_cluster_name, "node_type": BROKER_TYPE, "node_id": name}


def text_of(is_true: bool) -> str:
    """Return a truth value as the text of a label: `true` or `false`."""
    return "true" if is_true else "false"


def is_system(broker: Broker, topic: str) -> bool:
    """True for a topic of the system (TopicValidator.isSystemTopic)."""
    return is_system_topic(topic, broker.topics.system)


def is_system_topic(topic: str, system: Collection[str]) -> bool:
    """True for a topic of the system. `system`: those topics of the system that lack the common prefix."""
    return topic in system or topic.startswith(SYSTEM_TOPIC_PREFIX)


def is_system_group(group: str) -> bool:
    """True for a group of the system (BrokerMetricsManager.isSystemGroup)."""
    return group.lower().startswith(SYSTEM_GROUP_PREFIX.lower())
