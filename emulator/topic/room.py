"""Builds the topic table of a broker, which outlives its runs."""

from collections.abc import Callable

from ..assembly.room import Room
from ..config import BrokerConfig, EmulationConfig
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import parts
from ..operations.topics import TopicConfig
from .topic_table import TopicTable


@parts
class TopicRoom(Room):
    """Topics. Requests about them are handled by higher rooms."""

    topics: TopicTable


def build(
    config: BrokerConfig,
    emulation: EmulationConfig,
    scheduler: Scheduler,
    *,
    on_change: Callable[[str], None],
    on_delete: Callable[[TopicConfig], None],
) -> TopicRoom:
    """Build the room once for all runs of a broker.

    `on_change` is called with the name of each created or changed topic, `on_delete` with each deleted topic.
    """
    topics = TopicTable(
        config=config,
        scheduler=scheduler,
        queue_nums_max=emulation.topic_queue_nums_max,
        on_change=on_change,
        on_delete=on_delete,
    )
    return TopicRoom(topics=topics)
