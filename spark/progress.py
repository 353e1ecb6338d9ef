"""Progress of streams shown to brokers as soon as Spark tells of it, the last batch included."""

import json
import logging
from collections.abc import Mapping

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from .cluster import Cluster
from .errors import ClusterError
from .offsets import Offsets, from_json
from .options import SourceOptions, source_options

_log = logging.getLogger("pyspark_rocketmq")


class RocketMQProgressListener(StreamingQueryListener):
    """Notes the ends of finished micro-batches as offsets of a group, for people and tools.

    `options` are those of the read; `consumerGroup` is needed. It runs in the driver, listens to all queries of its
    session, and uses what it hears of topics that the options name. Failing to show progress is a warning.

        spark.streams.addListener(RocketMQProgressListener({"nameServer": ..., "topic": ..., "consumerGroup": ...}))
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options: SourceOptions = source_options({**options, "commitOffsetsToBroker": "true"})

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing is done yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """A micro-batch is done."""
        found: Offsets = {}
        for source in event.progress.sources:
            found.update(self._offsets(source.endOffset))
        if found:
            self._show(found)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing has come."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """What was done is shown already."""

    def _offsets(self, text: str | None) -> Offsets:
        try:
            found = from_json(json.loads(text or "{}"))
        except ValueError:
            return {}  # of a source of another kind
        return {queue: offset for queue, offset in found.items() if self._options.wants_topic(queue.topic)}

    def _show(self, offsets: Offsets) -> None:
        try:
            with Cluster(self._options) as cluster:
                for topic in {queue.topic for queue in offsets}:
                    cluster.route(topic)
                cluster.commit(self._options.consumer_group, offsets)
        except ClusterError as error:
            _log.warning("progress could not be shown to the broker: %s", error)
