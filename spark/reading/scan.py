"""Queues of a read, and their start and end offsets, according to the options."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..cluster.cluster import Cluster
from ..errors import ClusterError, DataLossError, OptionError
from ..options.offsets import EARLIEST, EARLIEST_OFFSET, GROUP, LATEST, LATEST_OFFSET, MessageQueue, Offsets
from ..options.options import SourceOptions, Start


def find_queues(cluster: Cluster, options: SourceOptions) -> tuple[MessageQueue, ...]:
    """Return the queues to read, sorted; with a pattern there may be none yet.

    Raises ClusterError for a topic without route, for an assigned queue that does not exist, and for an expression that
    brokers reject.
    """
    named = options.named_topics
    found: list[MessageQueue] = []
    for topic in named if named is not None else [each for each in cluster.topics() if options.wants_topic(each)]:
        route = cluster.route(topic)
        if route is not None:
            found += route.readable
        elif named is not None:
            raise ClusterError(
                f"topic {topic} has no route: name servers {', '.join(options.name_server)} know no broker that has it"
            )
    if options.assign is not None:
        missing = options.assign.difference(found)
        if missing:
            raise ClusterError(f"option assign: there is no {min(missing)}{_there_are(found, min(missing))}")
        found = list(options.assign)
    if options.expression_type == "SQL92":
        cluster.check_expression(found, options.consumer_group, options.sub_expression)
    return tuple(sorted(found))


def find_starts(cluster: Cluster, options: SourceOptions, queues: Iterable[MessageQueue], otherwise: str) -> Offsets:
    """Return the start of each queue; `otherwise` (earliest, latest) applies if no option is given.

    Raises OptionError, ClusterError; DataLossError for an offset that the broker does not have.
    """
    start: Start = options.starting_offsets if options.starting_offsets is not None else otherwise
    return _positions(
        cluster,
        options,
        tuple(queues),
        "starting",
        timestamp=options.starting_timestamp,
        timestamps=options.starting_offsets_by_timestamp,
        position=start,
    )


def find_ends(cluster: Cluster, options: SourceOptions, queues: Iterable[MessageQueue]) -> Offsets:
    """Return the end of a batch in each queue, exclusive. Raises the errors of `find_starts`."""
    end: Start = options.ending_offsets if options.ending_offsets is not None else LATEST
    return _positions(
        cluster,
        options,
        tuple(queues),
        "ending",
        timestamp=options.ending_timestamp,
        timestamps=options.ending_offsets_by_timestamp,
        position=end,
    )


def _positions(
    cluster: Cluster,
    options: SourceOptions,
    queues: tuple[MessageQueue, ...],
    side: str,
    *,
    timestamp: int | None,
    timestamps: Mapping[Any, int] | None,
    position: Start,
) -> Offsets:
    low, high = cluster.min_offsets(queues), cluster.max_offsets(queues)
    for name, given in ((f"{side}Offsets", position), (f"{side}OffsetsByTimestamp", timestamps or {})):
        for each in given if isinstance(given, Mapping) else ():
            if isinstance(each, MessageQueue) and each not in low:
                raise OptionError(f"{name} names {each}, which does not exist{_there_are(queues, each)}")
    times = dict.fromkeys(queues, timestamp) if timestamp is not None else _times(timestamps or {}, queues)
    at_times = cluster.offsets_at(times) if times else {}
    rest = [queue for queue in queues if queue not in at_times]
    found = {queue: min(max(offset, low[queue]), high[queue]) for queue, offset in at_times.items()}
    if isinstance(position, dict):
        unnamed = EARLIEST_OFFSET if side == "starting" else LATEST_OFFSET
        given = {queue: position.get(queue, unnamed) for queue in rest}
    elif position == GROUP:
        known = cluster.group_offsets(options.consumer_group, rest)
        # A group may be behind the stored messages, or ahead if a broker lost some; it starts at the nearest stored
        # offset.
        given = {
            queue: min(max(known[queue], low[queue]), high[queue]) if queue in known else EARLIEST_OFFSET
            for queue in rest
        }
    else:
        given = dict.fromkeys(rest, EARLIEST_OFFSET if position == EARLIEST else LATEST_OFFSET)
    for queue, offset in given.items():
        if offset == EARLIEST_OFFSET:
            offset = low[queue]
        elif offset == LATEST_OFFSET:
            offset = high[queue]
        elif not low[queue] <= offset <= high[queue]:
            if options.fail_on_data_loss:
                raise DataLossError(
                    f"{side}Offsets: {queue} has offsets {low[queue]} to {high[queue]}, not {offset}; "
                    "failOnDataLoss=false takes the nearest"
                )
            offset = min(max(offset, low[queue]), high[queue])
        found[queue] = offset
    return found


def _times(timestamps: Mapping[Any, int], queues: Iterable[MessageQueue]) -> dict[MessageQueue, int]:
    """Return the time for each queue; its own time takes precedence over that of its topic."""
    found = {}
    for queue in queues:
        at = timestamps.get(queue, timestamps.get(queue.topic))
        if at is not None:
            found[queue] = at
    return found


def _there_are(queues: Iterable[MessageQueue], missing: MessageQueue) -> str:
    there = ", ".join(f"{each.broker}:{each.queue_id}" for each in sorted(queues) if each.topic == missing.topic)
    return f"; topic {missing.topic} has {there or 'no queue'}"
