"""Deliberate differences from the proxy of 5.3.3 that no configuration key controls: upstream's behavior only harms.

Differences that a configuration key enables are in `ProxyConfig`.
"""

from typing import NamedTuple


class Deviation(NamedTuple):
    """One difference: where it is visible, upstream's behavior, the emulator's behavior."""

    where: str
    upstream: str
    here: str


DEVIATIONS = (
    Deviation(
        "ReceiveMessage before the client's settings",
        "INTERNAL_SERVER_ERROR, a NullPointerException (a race that fast clients lose)",
        "served; order and attempts follow from the group that the request names",
    ),
    Deviation(
        "ChangeInvisibleDuration and ForwardMessageToDeadLetterQueue of a client without a telemetry stream",
        "INTERNAL_SERVER_ERROR, a NullPointerException",
        "served",
    ),
    Deviation(
        "receipt handle in the answer of ChangeInvisibleDuration",
        "ten fields: a stray 0 before the commit log offset, so that forwarding the message to the dead letter queue"
        " takes the first message of the log instead; the start offset is that of the batch, so that acknowledging any"
        " but its first message by this handle is lost and the message comes back",
        "nine fields with the right commit log offset, and the message's own offset as start",
    ),
    Deviation(
        "QueryRoute after a topic was created or deleted",
        "the old answer for up to 20 s, from a cache",
        "the new answer at once",
    ),
    Deviation(
        "settings, answered while the client does not listen yet",
        "one answer for each settings command",
        "one at once, and for the first command of a stream more of them later (settingsPushAgainMillis)",
    ),
    Deviation(
        "end of a long poll that finds nothing",
        "20 to 50 ms before its time",
        "exactly at its time; pollEndsBeforeDeadlineMillis before the deadline if that comes first",
    ),
    Deviation(
        "a client that sends no heartbeat",
        "its settings vanish after 124 to 135 s",
        "they stay while its telemetry stream is open, and 130 s longer",
    ),
    Deviation(
        "NotifyClientTermination of a client that named several groups in heartbeats",
        "it leaves the group of the request, the others after 120 s",
        "it leaves them all",
    ),
    Deviation(
        "several brokers",
        "a LOCAL proxy has one broker",
        "each request goes to the broker that its queue or receipt handle names; unknown names mean the first broker,"
        " and for a receive all of them",
    ),
    Deviation(
        "a broker whose slave runs alone, behind the proxy of a cluster",
        "receives that name it go to the slave, which cannot remember what it gives: it comes again every five seconds,"
        " and cannot be acknowledged; QueryAssignment is INTERNAL_SERVER_ERROR, a NullPointerException, for all topics"
        " that it has",
        "it has queues in routes, as upstream; receives go to the other brokers and assignments leave it out until its"
        " master is back",
    ),
    Deviation(
        "request with more than 100,000 fields, those of its inner messages included",
        "served up to the limit of its length",
        "gRPC status UNKNOWN, as for bytes that are not protobuf",
    ),
    Deviation(
        "responses that wait for the client's flow-control credit",
        "kept without a limit",
        "256 MiB a connection; above it new streams are refused with REFUSED_STREAM",
    ),
)
