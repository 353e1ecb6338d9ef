"""Kinds of timers. Users see them as the `kind` of scheduled events."""


class TimerKind:
    """The text of each kind; plain strings, because timers are compared with them often."""

    # requests of clients, and requests to clients
    PULL = "pull"
    POP = "pop"
    NOTIFICATION = "notification"
    REPLY_PUSH = "push of a reply"
    CONSUMER_REQUEST = "request to a consumer"
    GRPC_CLIENT_REQUEST = "request to a gRPC client"
    REQUEST_QUEUES = "request queues"
    """A scan rejects requests that have waited too long for a thread."""
    REQUEST_THREAD = "request thread"
    """The end of the time for which a request occupies a thread of a pool."""

    # delayed messages and transactions
    DELAY_LEVEL = "delay level"
    TIMER = "timer"
    TRANSACTION_CHECK = "transaction check"
    TRANSACTION_OP = "transaction op"

    # pops
    REDELIVERY = "redelivery"
    """The end of one check point, in lists of scheduled events. One timer of the kind REVIVE processes several."""
    REVIVE = "revive"
    POP_BUFFER = "pop buffer"
    """The merge buffer writes a check point, or removes finished ones."""
    POP_CACHE = "pop cache"
    """The cache of KV records writes a record, or moves offsets."""
    POP_RECORDS = "pop records"
    """A scan redelivers messages of due KV records."""
    ORDER_LOCK = "order lock"
    RENEWAL = "renewal"
    """The proxy renews the invisible duration of a message of a push consumer."""

    # clients
    CLIENT_HOUSEKEEPING = "client housekeeping"
    GRPC_SESSION = "grpc session"
    GRPC_SETTINGS = "repeated settings"
    LATE_NOTICES = "late notices of changed groups"
    BROADCAST_OFFSETS = "broadcast offsets"
    SLOW_GROUPS = "check for slow groups"
    COLD_DATA = "counts of cold reads"

    # brokers
    CLEAN_UP = "clean up"
    SHUTDOWN = "shutdown"
    """The end of a graceful stop of a broker (`shutdownWaitTimeSeconds`)."""
    BROKER_REGISTRATION = "broker registration"
    SLAVE_ACKNOWLEDGEMENT = "slave acknowledgement"
    SLAVE_SYNCHRONIZATION = "slave synchronization"
    SLAVE_LAG = "slave lag"
    TIMER_SYNCHRONIZATION = "timer synchronization"

    # rules of faults
    FAULT = "fault"
    """The begin or end of a fault, or the end of a pause that it causes. The owner is the name of its rule, if set."""
