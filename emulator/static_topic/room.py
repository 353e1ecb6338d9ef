"""Builds the service for static topics, for one run of a broker."""

from ..assembly.handlers import handlers_of
from ..assembly.room import Room
from ..kernel.value_class import parts
from ..pull.pull_service import PullService
from ..topic.topic_table import TopicTable
from .queue_mappings import QueueMappings
from .static_topics import ExecuteAt, StaticTopics


@parts
class StaticTopicRoom(Room):
    """Static topics; `static_topics.handlers` maps requests of other rooms."""

    static_topics: StaticTopics


def build(mappings: QueueMappings, topics: TopicTable, pulls: PullService, execute_at: ExecuteAt) -> StaticTopicRoom:
    """Build the room. `execute_at` executes a request for physical queues at the broker of a name."""
    static_topics = StaticTopics(mappings, topics, pulls, execute_at)
    return StaticTopicRoom(static_topics=static_topics, handlers=handlers_of(static_topics))
