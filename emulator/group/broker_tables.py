"""The log and the tables of a broker that most services use; they outlive its runs."""

from dataclasses import dataclass

from ..store.message_store import MessageStore
from ..topic.topic_table import Topics
from .group_table import Groups
from .offset_table import Offsets


@dataclass(frozen=True, slots=True)
class BrokerTables:
    """Stored messages, topics, groups and offsets of one broker."""

    store: MessageStore
    topics: Topics
    groups: Groups
    offsets: Offsets
