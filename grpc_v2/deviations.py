"""Deliberate differences from the proxy of 5.3.3, where upstream's behavior only does harm.

Each has four parts: where a client sees it, the behavior of 5.3.3, the behavior of the emulator, and the defects of
upstream that faults can switch on. Differences that a configuration key enables are in `ProxyConfig`.
"""

from rocketmq_testkit.emulator.deviation import Deviation

DEVIATIONS = (
    Deviation(
        "ReceiveMessage before the client's settings",
        "INTERNAL_SERVER_ERROR, a NullPointerException (a race that fast clients lose)",
        "served; the configuration of the request's group determines order and the limit of delivery attempts",
        ("receive_needs_settings",),
    ),
    Deviation(
        "ChangeInvisibleDuration and ForwardMessageToDeadLetterQueue of a client without a telemetry stream",
        "INTERNAL_SERVER_ERROR, a NullPointerException",
        "served",
        ("telemetry_stream_needed",),
    ),
    Deviation(
        "receipt handle in the response of ChangeInvisibleDuration",
        "ten fields: a stray 0 precedes the commit log offset, so forwarding the message to the dead letter queue"
        " takes the first message of the log instead. The first field is still the offset of the pop's first"
        " message, so the handle acknowledges only that message; an acknowledgement of a later one is lost, and the"
        " message is redelivered",
        "nine fields with the right commit log offset; the first one is the message's own offset",
        ("ack_with_changed_handle_is_lost", "changed_handle_loses_log_offset"),
    ),
    Deviation(
        "QueryRoute after a topic was created or deleted",
        "the old route for up to 20 s, from a cache",
        "the new route at once",
        ("route_cache",),
    ),
    Deviation(
        "response to settings, which a client misses if it does not listen yet",
        "sent once",
        "the response to the first settings of a stream is repeated at the times of settingsPushAgainMillis; any other"
        " is sent once",
    ),
    Deviation(
        "end of a long poll without messages",
        "20 to 50 ms before its timeout",
        "exactly at its timeout, or pollEndsBeforeDeadlineMillis before the client's deadline if that is earlier",
        ("polls_end_early",),
    ),
    Deviation(
        "a client that stops sending heartbeats",
        "its settings expire after 124 to 135 s",
        "they expire 130 s after its telemetry stream has closed; time that a jump of the clock skips does not count",
        ("settings_expire_with_open_stream", "clients_expire_in_clock_jumps"),
    ),
    Deviation(
        "NotifyClientTermination of a client that named several groups in heartbeats",
        "it leaves the group of the request at once, and the others after 120 s",
        "it leaves all of them at once",
        ("termination_leaves_one_group",),
    ),
    Deviation(
        "several brokers",
        "a LOCAL proxy has one broker",
        "each request goes to the broker that its queue or receipt handle names; if there is none of that name,"
        " a ReceiveMessage goes to all brokers, and another request to the first one",
    ),
    Deviation(
        "a broker whose slave runs without its master, behind a CLUSTER proxy",
        "a ReceiveMessage for its queues goes to the slave, which cannot store check points: its messages are"
        " redelivered every five seconds and cannot be acknowledged. QueryAssignment returns INTERNAL_SERVER_ERROR, a"
        " NullPointerException, for all its topics",
        "its queues are in routes, as in upstream; until its master has restarted, consumers receive from the other"
        " brokers only, and assignments do not contain it",
    ),
    Deviation(
        "request with more than 100,000 fields, including those of nested messages",
        "served, limited only by its length",
        "gRPC status UNKNOWN, as for bytes that are not protobuf",
    ),
    Deviation(
        "responses that wait for the client's flow-control credit",
        "kept without a limit",
        "256 MiB a connection; above it new streams are refused with REFUSED_STREAM",
    ),
)
