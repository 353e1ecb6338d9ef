"""The log and the tables of a broker that most services use; they outlive its runs."""

from ..kernel.value_class import frozen_value
from ..store.message_store import MessageStore
from ..topic.topic_table import TopicTable
from .group_table import GroupTable
from .offset_table import OffsetTable


@frozen_value
class BrokerTables:
    """Stored messages, topics, groups and offsets of one broker."""

    store: MessageStore
    topics: TopicTable
    groups: GroupTable
    offsets: OffsetTable
