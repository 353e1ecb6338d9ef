"""Listener that commits the progress of streams to brokers as soon as Spark reports it, including the last batch."""

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

from ..cluster.cluster import Cluster
from ..errors import ClusterError
from ..options.offsets import Offsets, from_json
from ..options.options import SourceOptions, source_options

_log = logging.getLogger("pyspark_rocketmq")


class RocketMQProgressListener(StreamingQueryListener):
    """Commits the end offsets of finished micro-batches for a group, so that people and tools see the progress.

    `options` are those of the read; `consumerGroup` is required. The listener runs in Spark's driver and receives
    events of all queries of its session. It commits only offsets of the topics that the options name. A failed commit
    is only logged as a warning.

        spark.streams.addListener(RocketMQProgressListener({"nameServer": ..., "topic": ..., "consumerGroup": ...}))
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        # With commitOffsetsToBroker the check of the options requires consumerGroup.
        self._options: SourceOptions = source_options({**options, "commitOffsetsToBroker": "true"})

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """No-op: there is no progress yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Commit the end offsets of a finished micro-batch."""
        found: Offsets = {}
        for source in event.progress.sources:
            found.update(self._offsets(source.endOffset))
        if found:
            self._commit(found)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """No-op: no new messages."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """No-op: all progress is already committed."""

    def _offsets(self, text: str | None) -> Offsets:
        try:
            found = from_json(json.loads(text or "{}"))
        except ValueError:
            return {}  # of another kind of source
        return {queue: offset for queue, offset in found.items() if self._options.wants_topic(queue.topic)}

    def _commit(self, offsets: Offsets) -> None:
        try:
            with Cluster(self._options) as cluster:
                for topic in {queue.topic for queue in offsets}:
                    cluster.route(topic)
                cluster.commit(self._options.consumer_group, offsets)
        except ClusterError as error:
            _log.warning("committing progress to the broker failed: %s", error)
