"""The options of reads and writes.

The names are those of Apache's connector for Spark 2, `rocketmq-spark`, or those of Spark's Kafka source if the
connector has none.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import OptionError
from . import schema
from .offsets import EARLIEST, GROUP, LATEST, MessageQueue, Offsets, positions_from, queues_from, timestamps_from
from .option import (
    ADDRESSES,
    FLAG,
    GROUP_NAME,
    NAMES,
    PATTERN,
    REQUIRED,
    TEXT,
    OptionSyntax,
    choice,
    declared_in,
    integer,
    option,
    read_options,
)
from .schema import Wanted

PULL_SIZE = 32
"""Default limit of a broker for the messages of one pull (maxTransferCountOnMessageInMemory)."""

DEFAULT_GROUP = "spark-rocketmq-source"
DEFAULT_PRODUCER_GROUP = "spark-rocketmq-sink"

MILLISECONDS = integer(0, 1 << 53)

Start = str | Offsets
"""EARLIEST, LATEST, GROUP, or offsets of some queues (-2 earliest, -1 latest)."""


def _position(*words: str) -> OptionSyntax:
    def read(text: str) -> Start:
        if text.lower() in words:
            return text.lower()
        if not text.startswith("{"):
            raise ValueError
        return positions_from(text)

    return OptionSyntax(f"{', '.join(words)} or " + '{"topic":{"broker":{"0":offset}}} (-2 earliest, -1 latest)', read)


STARTS = _position(EARLIEST, LATEST, GROUP)
ENDS = _position(LATEST)
TIMESTAMPS = OptionSyntax('{"topic":{"broker":{"0":milliseconds}}} or {"topic":milliseconds}', timestamps_from)
DDL = OptionSyntax("columns with types, as in body STRING, queueOffset BIGINT", schema.parse)
QUEUES = OptionSyntax('{"topic":{"broker":[0,1]}}', queues_from)


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions:
    """Options of connections to the cluster; times in ms."""

    name_server: tuple[str, ...] = option(
        "nameServer",
        ADDRESSES,
        REQUIRED,
        "Addresses of the name servers.",
        aliases=("nameserverAddr",),
    )
    access_key: str | None = option("accessKey", TEXT, None, "Access key of an ACL user; requires secretKey.")
    secret_key: str | None = option("secretKey", TEXT, None, "Secret key of accessKey.", secret=True)
    security_token: str | None = option("securityToken", TEXT, None, "Token of a temporary access key.", secret=True)
    tls: bool = option("tls", FLAG, False, "Encrypt connections to name servers and brokers.")
    tls_ca_file: str | None = option(
        "tlsCaFile", TEXT, None, "PEM file of the trusted certificates; by default, those of the system."
    )
    tls_verify: bool = option(
        "tlsVerify",
        FLAG,
        True,
        "Verify certificates and host names; self-signed certificates of brokers often name no host.",
    )
    request_timeout_ms: int = option(
        "requestTimeoutMs",
        integer(1),
        3000,
        "Longest time to wait for a connection, or for a response to any request but a pull.",
    )
    retries: int = option(
        "fetchOffset.numRetries",
        integer(0),
        3,
        "Retries of a request, pulls included, if a name server or broker is unavailable or busy.",
    )
    retry_interval_ms: int = option("fetchOffset.retryIntervalMs", integer(0), 1000, "Time between retries.")

    def _check_connection(self) -> None:
        if (self.access_key is None) != (self.secret_key is None):
            given, missing = ("accessKey", "secretKey") if self.secret_key is None else ("secretKey", "accessKey")
            raise OptionError(f"{given}: given without {missing}; the two belong together; give {missing}, too")
        if self.security_token is not None and self.access_key is None:
            raise OptionError(
                "securityToken: given without accessKey; a token belongs to a key; give accessKey and secretKey"
            )
        if self.tls_ca_file is not None and not self.tls:
            raise OptionError(f"tlsCaFile={self.tls_ca_file}: no effect without TLS; tls is false; use tls=true, too")


@dataclass(frozen=True, kw_only=True)
class SourceOptions(ConnectionOptions):
    """Options of reads: topics, start, end, and details of reading."""

    topic: str | None = option(
        "topic", TEXT, None, "Topic to read. A read needs exactly one of topic, topics, topicsPattern and assign."
    )
    topics: tuple[str, ...] | None = option("topics", NAMES, None, "Several topics to read.", aliases=("subscribe",))
    topics_pattern: "re.Pattern[str] | None" = option(  # noqa: RUF009 - a field, like all others
        "topicsPattern",
        PATTERN,
        None,
        "All topics whose full name matches; a stream also reads topics that are created later.",
        aliases=("subscribePattern",),
    )
    assign: frozenset[MessageQueue] | None = option("assign", QUEUES, None, "Queues to read; others are not read.")
    starting_offsets: Start | None = option(  # noqa: RUF009 - a field, like all others
        "startingOffsets",
        STARTS,
        None,
        "Offsets to start at; the default is earliest for a batch and latest for a stream. Queues that the JSON"
        " leaves out start at earliest. `group` starts at the offsets of consumerGroup, or at earliest in queues"
        " in which the group has no offset.",
    )
    ending_offsets: Start | None = option(  # noqa: RUF009 - a field, like all others
        "endingOffsets",
        ENDS,
        None,
        "Offsets to end a batch at, exclusive. The default is latest, also for queues that the JSON leaves out.",
    )
    starting_timestamp: int | None = option(
        "startingTimestamp",
        MILLISECONDS,
        None,
        "Start at the first message stored at or after this time, in milliseconds since the epoch; overrides all other"
        " options of the start.",
    )
    ending_timestamp: int | None = option(
        "endingTimestamp",
        MILLISECONDS,
        None,
        "End before the first message stored at or after this time, in milliseconds since the epoch; overrides all"
        " other options of the end.",
    )
    starting_offsets_by_timestamp: Mapping[str, Any] | None = option(
        "startingOffsetsByTimestamp",
        TIMESTAMPS,
        None,
        "Like startingTimestamp, by queue or topic; overrides startingOffsets.",
    )
    ending_offsets_by_timestamp: Mapping[str, Any] | None = option(
        "endingOffsetsByTimestamp",
        TIMESTAMPS,
        None,
        "Like endingTimestamp, by queue or topic; overrides endingOffsets.",
    )
    fail_on_data_loss: bool = option(
        "failOnDataLoss",
        FLAG,
        True,
        "Fail if messages of the range no longer exist; if false, continue with the remaining ones.",
    )
    sub_expression: str = option(
        "subExpression",
        TEXT,
        "*",
        "Filter expression for the broker: tags or SQL92. A read fails at its start if a broker rejects an SQL92"
        " expression.",
    )
    expression_type: str = option("expressionType", choice("TAG", "SQL92"), "TAG", "Language of subExpression.")
    pull_batch_size: int = option(
        "pullBatchSize",
        integer(1, 1024),
        PULL_SIZE,
        "Maximum number of messages that one pull requests; brokers return at most 32 by default.",
    )
    pull_timeout_ms: int = option("pullTimeoutMs", integer(1), 3000, "Longest time to wait for the response to a pull.")
    pull_window: int | None = option(
        "pullWindow",
        integer(1, 256),
        None,
        "Pulls in flight in each task. The default is 64 for pulls of 32 messages, and fewer for larger pulls or"
        " responses, but at least 8.",
    )
    max_offsets_per_trigger: int | None = option(
        "maxOffsetsPerTrigger",
        integer(1, 1 << 53),
        None,
        "Maximum number of offsets of a micro-batch, divided in proportion to the remaining messages of each queue."
        " Messages that the filter excludes count as well.",
    )
    min_partitions: int | None = option(
        "minPartitions", integer(1), None, "Minimum number of tasks; a read without messages has none."
    )
    max_partitions: int | None = option(
        "maxPartitions",
        integer(1),
        None,
        "Maximum number of tasks. The default is the number of the driver's processors, or twice that number for"
        " large reads.",
    )
    consumer_group: str = option(
        "consumerGroup",
        GROUP_NAME,
        DEFAULT_GROUP,
        "Consumer group shown to brokers. All reads use one name by default, because brokers store every group they"
        " see.",
        aliases=("groupIdPrefix",),
    )
    commit_offsets_to_broker: bool = option(
        "commitOffsetsToBroker",
        FLAG,
        False,
        "Commit a stream's progress as offsets of consumerGroup, one micro-batch late. Recovery never uses these"
        " offsets.",
    )
    columns: Wanted | None = option(  # noqa: RUF009 - a field, like all others
        "columns",
        DDL,
        None,
        "Columns and their types, such as `body STRING, tags STRING`, instead of a schema: for SQL, where a statement"
        " cannot give one.",
    )
    include_metadata: bool = option("includeMetadata", FLAG, False, "Append the metadata columns to the schema.")
    filter_pushdown: bool = option(
        "filterPushdown",
        FLAG,
        False,
        "Read fewer messages in a batch: filters of the query by queue, offset or store time restrict the offsets to"
        " read, and brokers filter by tag. Also requires spark.sql.python.filterPushdown.enabled=true.",
    )

    def __post_init__(self) -> None:
        self._check_connection()
        given = [
            name
            for name, value in (
                ("topic", self.topic),
                ("topics", self.topics),
                ("topicsPattern", self.topics_pattern),
                ("assign", self.assign),
            )
            if value is not None
        ]
        if len(given) != 1:
            allowed = "a read has one of topic, topics, topicsPattern and assign"
            if given:
                raise OptionError(f"{', '.join(given)}: more than one is given; {allowed}; leave out {given[-1]}")
            raise OptionError(f"topic: missing; {allowed}; use topic=orders")
        if self.columns is not None and self.include_metadata:
            wrong = "columns, includeMetadata: both are given; columns can name columns of metadata"
            raise OptionError(f"{wrong}; leave out includeMetadata")
        if self.consumer_group == DEFAULT_GROUP:
            if self.starting_offsets == GROUP:
                raise OptionError(
                    "startingOffsets=group: no group is named; consumerGroup names it; give consumerGroup, too"
                )
            if self.commit_offsets_to_broker:
                wrong = "commitOffsetsToBroker=true: no group is named; consumerGroup names it"
                raise OptionError(f"{wrong}; give consumerGroup, too")
        if None not in (self.min_partitions, self.max_partitions) and self.min_partitions > self.max_partitions:  # type: ignore[operator]  # neither is None
            wrong = f"minPartitions={self.min_partitions}: more than maxPartitions={self.max_partitions}"
            raise OptionError(f"{wrong}; it is at most maxPartitions; use maxPartitions={self.min_partitions}")
        for option_name, positions in (
            ("startingOffsets", self.starting_offsets),
            ("endingOffsets", self.ending_offsets),
            ("startingOffsetsByTimestamp", self.starting_offsets_by_timestamp),
            ("endingOffsetsByTimestamp", self.ending_offsets_by_timestamp),
        ):
            self._check_topics(option_name, positions)
        if (
            self.starting_timestamp is not None
            and self.ending_timestamp is not None
            and self.starting_timestamp > self.ending_timestamp
        ):
            wrong = f"startingTimestamp={self.starting_timestamp}: after endingTimestamp={self.ending_timestamp}"
            raise OptionError(f"{wrong}; a range ends after its start; exchange the two")
        if self.starting_timestamp is None and self.ending_timestamp is None:
            self._check_order(
                "OffsetsByTimestamp", self.starting_offsets_by_timestamp, self.ending_offsets_by_timestamp
            )
            if self.starting_offsets_by_timestamp is None and self.ending_offsets_by_timestamp is None:
                self._check_order("Offsets", self.starting_offsets, self.ending_offsets)

    def wants_topic(self, topic: str) -> bool:
        """True if a topic is among those to read."""
        if self.topics_pattern is not None:
            return self.topics_pattern.fullmatch(topic) is not None
        return topic in (self.named_topics or ())

    @property
    def named_topics(self) -> tuple[str, ...] | None:
        """The topics by name; None with a pattern."""
        if self.topic is not None:
            return (self.topic,)
        if self.topics is not None:
            return self.topics
        if self.assign is not None:
            return tuple(sorted({queue.topic for queue in self.assign}))
        return None

    def of_batch(self) -> "SourceOptions":
        """Return the options after checking that a batch can use all of them. Raises OptionError."""
        if self.starting_offsets == LATEST:
            wrong = "startingOffsets=latest: leaves a batch with nothing to read; a batch starts at earliest by default"
            raise OptionError(f"{wrong}; use startingOffsets=earliest")
        if isinstance(self.starting_offsets, dict) and -1 in self.starting_offsets.values():
            raise OptionError(
                "startingOffsets: a batch cannot start at -1 (latest); -2 is earliest; use -2 or an offset"
            )
        if isinstance(self.ending_offsets, dict) and -2 in self.ending_offsets.values():
            raise OptionError("endingOffsets: a batch cannot end at -2 (earliest); -1 is latest; use -1 or an offset")
        if self.max_offsets_per_trigger is not None:
            wrong = f"maxOffsetsPerTrigger={self.max_offsets_per_trigger}: for streams alone"
            raise OptionError(f"{wrong}; endingOffsets bounds a batch; leave it out")
        if self.commit_offsets_to_broker:
            wrong = "commitOffsetsToBroker=true: for streams alone; a batch commits no offsets"
            raise OptionError(f"{wrong}; leave it out")
        return self

    def of_stream(self) -> "SourceOptions":
        """Return the options after checking that a stream can use all of them. Raises OptionError."""
        for name, value in (
            ("endingOffsets", self.ending_offsets),
            ("endingTimestamp", self.ending_timestamp),
            ("endingOffsetsByTimestamp", self.ending_offsets_by_timestamp),
        ):
            if value is not None:
                raise OptionError(f"{name}: for batches alone; a stream ends by its trigger; leave it out")
        if self.filter_pushdown:
            wrong = "filterPushdown=true: for batches alone; Spark pushes no filters to streams"
            raise OptionError(f"{wrong}; leave it out")
        return self

    def _check_order(self, name: str, starts: object, ends: object) -> None:
        """Raise OptionError if a start is after its end, in options that no other one overrides.

        Negative offsets are symbolic, so they are not compared.
        """
        if not isinstance(starts, Mapping) or not isinstance(ends, Mapping):
            return
        for key, start in starts.items():
            if 0 <= ends.get(key, start) < start:
                where = key if isinstance(key, MessageQueue) else f"topic {key}"
                wrong = f"starting{name}: {where} starts at {start}, after its end at {ends[key]}"
                raise OptionError(f"{wrong}; a range ends after its start; correct starting{name} or ending{name}")

    def _check_topics(self, option_name: str, positions: object) -> None:
        if not isinstance(positions, Mapping):
            return
        for key in positions:
            topic = key.topic if isinstance(key, MessageQueue) else str(key)
            if not self.wants_topic(topic):
                wrong = f"{option_name}: topic {topic} is not read; the option names queues of the topics that are read"
                raise OptionError(f"{wrong}; leave {topic} out")


@dataclass(frozen=True, kw_only=True)
class SinkOptions(ConnectionOptions):
    """Options of writes: topic, queues and delivery guarantee."""

    topic: str | None = option("topic", TEXT, None, "Topic of all rows; overrides the column `topic`.")
    producer_group: str = option(
        "producerGroup", GROUP_NAME, DEFAULT_PRODUCER_GROUP, "Producer group shown to brokers."
    )
    delivery_guarantee: str = option(
        "deliveryGuarantee",
        choice("at-least-once", "transactional"),
        "at-least-once",
        "`transactional` sends half messages and commits them with the batch; for streams only, requires txnLogPath.",
    )
    send_batch_size: int = option(
        "sendBatchSize",
        integer(1, 1024),
        1,
        "Maximum number of messages of one queue in one send request; delayed messages are sent one by one.",
    )
    send_window: int = option("sendWindow", integer(1, 4096), 64, "Sends in flight in each task.")
    send_retries: int = option("sendRetries", integer(0), 2, "Retries of a send, also to other brokers.")
    send_timeout_ms: int = option("sendTimeoutMs", integer(1), 3000, "Longest time to wait for the response to a send.")
    queue_selector: str = option(
        "queueSelector",
        choice("roundrobin", "hash"),
        "roundrobin",
        "Queue selection for rows with neither queueId nor shardingKey; `hash` uses the column `keys`.",
    )
    columns: Wanted | None = option(  # noqa: RUF009 - a field, like all others
        "columns",
        DDL,
        None,
        "No effect; accepted because a view or table of SQL has the same options for reads and writes.",
    )
    txn_log_path: str | None = option(
        "txnLogPath",
        TEXT,
        None,
        "Folder in which Spark's driver records the half messages to commit; driver and executors must share it.",
    )

    def __post_init__(self) -> None:
        self._check_connection()
        transactional = self.delivery_guarantee == "transactional"
        if transactional and self.txn_log_path is None:
            wrong = "deliveryGuarantee=transactional: no txnLogPath is given"
            raise OptionError(f"{wrong}; it is a folder that driver and executors share; give txnLogPath, too")
        if not transactional and self.txn_log_path is not None:
            wrong = f"txnLogPath={self.txn_log_path}: no effect with deliveryGuarantee=at-least-once"
            raise OptionError(
                f"{wrong}; it belongs to transactional; use deliveryGuarantee=transactional, or leave it out"
            )
        if transactional and self.send_batch_size > 1:
            wrong = f"sendBatchSize={self.send_batch_size}: half messages are not sent in batches"
            raise OptionError(f"{wrong}; with deliveryGuarantee=transactional it is 1; leave it out")


def names_server(given: Mapping[str, str]) -> bool:
    """True if the option nameServer is given, by one of its names."""
    names = dict(declared_in(ConnectionOptions))["name_server"].names
    return any(name.lower() in names for name in given)


def source_options(given: Mapping[str, str], hint: str = "") -> SourceOptions:
    """Parse the options of a read. `hint` is appended to the error about a missing option. Raises OptionError."""
    return read_options(SourceOptions, given, "read", hint)


def sink_options(given: Mapping[str, str], hint: str = "") -> SinkOptions:
    """Parse the options of a write. `hint` is appended to the error about a missing option. Raises OptionError."""
    return read_options(SinkOptions, given, "write", hint)
