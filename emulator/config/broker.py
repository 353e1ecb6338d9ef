"""Keys of a broker: those of BrokerConfig and MessageStoreConfig (5.3.3) that the emulator honors."""

from dataclasses import dataclass

from ..message.names import TRACE_TOPIC
from .access import AccessConfig
from .keys import key
from .request_pools import RequestPoolConfig

FAULT_KEYS = frozenset({"storeDiskBytes", "diskUsedRatio", "requestTimes", "requestRefusals", "goAwayEnable"})
"""Keys that upstream does not have: each simulates a failure at one broker for as long as it is set.

`storeDiskBytes` and `diskUsedRatio` are declared at the end of `BrokerConfig`, the others in `request_pools.py`.
"""
MASTER_ID = 0
"""The `brokerId` of a master (MixAll.MASTER_ID)."""
DELAY_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"


@dataclass(repr=False, eq=False, kw_only=True)
class BrokerConfig(RequestPoolConfig, AccessConfig):
    """The keys of one broker. Attribute `pop_polling_size` is the key `popPollingSize`."""

    # identity
    broker_cluster_name: str = key("DefaultCluster", "Cluster that the broker belongs to.")
    broker_name: str = key("broker-a", "Name shared by a master and its slaves.")
    broker_id: int = key(MASTER_ID, "0 is the master, others are slaves.", low=0)
    region_id: str = key("DefaultRegion", "Stored with every message as MSG_REGION.")
    trace_on: bool = key(True, "Stored with every message as TRACE_ON.")
    config_black_list: str = key(
        "configBlackList;brokerConfigPath",
        "Keys that no request may change, separated by semicolons. rocketmqHome, configBlackList and brokerConfigPath"
        " are always protected.",
    )
    broker_permission: int = key(6, "Permission bits of the broker: 4 = read, 2 = write.", low=0, high=7)
    broker_role: str = key("ASYNC_MASTER", "Role in replication.", choices=("ASYNC_MASTER", "SYNC_MASTER", "SLAVE"))
    in_sync_replicas: int = key(
        1,
        "Number of brokers, the SYNC_MASTER included, that must store a message before the master responds to the"
        " send.",
        low=1,
    )
    slave_timeout: int = key(3000, "Longest time that a SYNC_MASTER waits for its slaves.", unit="ms", low=0)
    slave_read_enable: bool = key(
        False,
        "Slaves serve pulls, and a master suggests its slave to consumers that are far behind"
        " (accessMessageInMemoryMaxRatio).",
    )
    access_message_in_memory_max_ratio: int = key(
        40,
        "A consumer is far behind if its distance from the end of the log exceeds this share of 8 GiB (upstream: of the"
        " machine's memory).",
        unit="%",
        low=0,
        high=100,
    )
    data_read_ahead_enable: bool = key(
        True,
        "The read-ahead mode of the commit log, which SET_COMMITLOG_READ_MODE changes. It has no effect, as the"
        " emulator never reads ahead.",
    )
    cold_data_flow_control_enable: bool = key(
        False, "The broker suspends the pulls of groups that read more cold data than their limit within 5 s."
    )
    access_message_in_memory_hot_ratio: int = key(
        26,
        "Messages are cold if their distance from the end of the log exceeds this share of 8 GiB (upstream: of the"
        " machine's memory). With 0 all messages are.",
        unit="%",
        low=0,
        high=100,
    )
    cg_cold_read_threshold: int = key(
        3 * 1024 * 1024,
        "Cold data that pulls of one group may return within 5 s (coldDataFlowControlEnable). Administrators can set"
        " other limits for groups.",
        unit="bytes",
    )
    global_cold_read_threshold: int = key(
        100 * 1024 * 1024,
        "Cold data that pulls of all groups together may return within 5 s (coldDataFlowControlEnable).",
        unit="bytes",
    )
    offset_check_in_slave: bool = key(False, "A slave corrects offsets that are out of range, as a master does.")

    init_authentication_user: str = key(
        "", 'Super user created at the start: `{"username": ..., "password": ...}`.', unit="JSON", secret=True
    )
    inner_client_authentication_credentials: str = key(
        "",
        'Second super user created at the start, with whose credentials upstream\'s proxy signs: `{"accessKey": ...,'
        ' "secretKey": ...}`.',
        unit="JSON",
        secret=True,
    )

    # topics and groups
    auto_create_topic_enable: bool = key(True, "A send to an unknown topic creates it from the template topic.")
    default_topic_queue_nums: int = key(8, "Number of queues of the template topic TBW102.", low=1, high=16_384)
    cluster_topic_enable: bool = key(
        True, "The topic with the cluster's name is readable and writable and can be a template topic."
    )
    broker_topic_enable: bool = key(
        True, "The topic with the broker's name is readable and writable and can be a template topic."
    )
    trace_topic_enable: bool = key(False, "The message trace topic is created at start.")
    msg_trace_topic_name: str = key(TRACE_TOPIC, "Name of the message trace topic.")
    auto_create_subscription_group: bool = key(True, "An unknown group is created with defaults at first use.")
    enable_create_sys_group: bool = key(True, "Groups named CID_RMQ_SYS_* are created even without auto-creation.")
    enable_mixed_message_type: bool = key(False, "Topics may have the attribute message.type=MIXED.")
    validate_system_topic_when_update_topic: bool = key(
        True, "Administrators cannot create, change or delete the broker's system topics."
    )
    clear_retry_topic_when_delete_topic: bool = key(True, "Deleting a topic also deletes its pop retry topics.")

    # sending
    max_message_size: int = key(4 * 1024 * 1024, "Largest message body.", unit="bytes", low=1)
    store_reply_message_enable: bool = key(True, "Reply messages are stored as well as pushed to the requester.")
    reject_transaction_message: bool = key(False, "The broker rejects half messages.")
    recall_message_enable: bool = key(False, "Timed messages can be recalled.")
    allow_recall_when_broker_not_writeable: bool = key(
        True, "Messages can be recalled even if brokerPermission forbids writes."
    )
    start_accept_send_request_time_stamp: int = key(
        0, "Time (since the epoch) before which the broker rejects sends and recalls.", unit="ms"
    )
    message_delay_level: str = key(DELAY_LEVELS, "Delay levels, separated by blanks.", unit="s, m, h or d each")

    # reading
    long_polling_enable: bool = key(
        True,
        "A pull that finds no message waits for the time that it requests (long polling). If false, it waits for"
        " shortPollingTimeMills, and messages do not wake waiting pops.",
    )
    short_polling_time_mills: int = key(
        1000, "Time that a pull without messages waits if long polling is disabled.", unit="ms", low=0
    )
    lite_pull_message_enable: bool = key(True, "The broker serves lite pull consumers.")
    reject_pull_consumer_enable: bool = key(
        False, "The broker rejects pull consumers: it does not register them in their groups and refuses their pulls."
    )
    enable_property_filter: bool = key(False, "Pulls with SQL92 filters are accepted. Pops with them always are.")
    filter_support_retry: bool = key(
        False, "A pull of a retry topic with SQL92 applies the group's filter for each message's original topic."
    )
    filter_data_clean_time_span: int = key(
        24 * 3600 * 1000, "Time after which a SQL92 expression that no consumer uses is deleted.", unit="ms", low=0
    )
    max_transfer_bytes_on_message_in_memory: int = key(
        262144, "Maximum number of bytes that one read of a queue returns.", unit="bytes", low=1
    )
    max_transfer_count_on_message_in_memory: int = key(
        32, "Maximum number of messages that one read of a queue returns.", low=1
    )
    disable_consume_if_consumer_read_slowly: bool = key(
        False,
        "Every three minutes, the broker disables groups (`consumeEnable`) that read too far behind the end of the"
        " log (consumerFallbehindThreshold).",
    )
    consumer_fallbehind_threshold: int = key(
        16 * 1024**3, "Distance behind the end of the log from which a group is too slow.", unit="bytes", low=0
    )
    disk_fall_recorded: bool = key(True, "The broker records how far behind the end of the log each group reads.")
    enable_compaction: bool = key(
        True, "Topics with cleanup.policy=COMPACTION are read from compacted logs, which ignore filters."
    )
    compaction_mapped_file_size: int = key(
        100 * 1024 * 1024,
        "Size of a file of a compacted log. Compaction removes messages with an outdated key from all files but the"
        " last. A queue takes the key's value when it is first read.",
        unit="bytes",
        low=1,
    )
    compaction_cq_mapped_file_size: int = key(
        10 * 1024 * 1024,
        "Size of the index of each file of a compacted log: 46 bytes for each message. A file also ends when its index"
        " has room for only one more message. The size of a file, compactionMappedFileSize, is rounded to a multiple of"
        " this value, at least five times this value. A queue takes the key's value when it is first read.",
        unit="bytes",
        low=92,
    )
    compaction_schedule_internal: int = key(
        15 * 60 * 1000,
        "Interval of compactions; a random time of up to the same length is added. A queue takes the key's value"
        " when it is first read.",
        unit="ms",
        low=1,
    )
    max_filter_message_size: int = key(
        16000,
        "Maximum number of bytes of consume queue units (20 each) that one read scans; a read scans at least as many"
        " units as messages are requested.",
        unit="bytes",
        low=20,
    )
    message_index_enable: bool = key(
        True,
        "Messages are indexed by their keys when they are stored. Queries by key do not find messages stored"
        " without the index.",
    )
    default_query_max_num: int = key(32, "Maximum number of messages that a query by unique key returns.", low=1)
    max_msgs_num_batch: int = key(64, "Maximum number of messages that a query by key returns.", low=1)

    enable_lmq: bool = key(
        False,
        "Messages get offsets in the light message queues (LMQ) that they name. Topics and groups named %LMQ%* need not"
        " be created. The broker reads the key at its start.",
    )
    enable_detail_stat: bool = key(
        True,
        "The broker counts the messages sent to and delivered from each delay level, and keeps the latency of reads"
        " for each queue instead of for all queues of a topic. The broker reads the key at its start.",
    )
    enable_schedule_message_stats: bool = key(
        True, "Delivered delay-level messages are counted as consumed by SCHEDULE_CONSUMER."
    )
    enable_lmq_stats: bool = key(
        False, "Reads of light message queues (LMQ) are counted for each queue instead of for all together."
    )
    enable_multi_dispatch: bool = key(
        False, "Messages are dispatched to the light message queues (LMQ) in which they have offsets."
    )

    # pop
    revive_queue_num: int = key(8, "Number of queues of the revive topic.", low=1, high=998)
    pop_from_retry_probability: int = key(
        20, "Probability that a pop reads the retry topic first.", unit="%", low=0, high=100
    )
    enable_retry_topic_v2: bool = key(False, "Pop retry topics are named %RETRY%group+topic instead of group_topic.")
    retrieve_message_from_pop_retry_topic_v1: bool = key(
        True, "With enableRetryTopicV2, pops still read the v1 retry topic."
    )
    init_pop_offset_by_check_msg_in_mem: bool = key(
        True,
        "A new group that starts with the newest messages starts at offset 0 instead, if a queue still has its first"
        " message.",
    )
    pop_polling_size: int = key(
        1024,
        "A pop that finds no message is rejected, instead of waiting, if more than this number of pops already wait for"
        " the same topic, group and queue id.",
        low=0,
    )
    max_pop_polling_size: int = key(100000, "Maximum number of pops that may wait in total.", low=0)
    pop_long_polling_force_notify_interval: int = key(
        800, "Every Nth message of a queue wakes a waiting pop even if its filter does not match; 0 = never.", low=0
    )
    enable_notify_after_pop_order_lock_release: bool = key(
        True, "Waiting pops are woken when an ordered batch of their queue is no longer in flight."
    )
    enable_pop_message_threshold: bool = key(
        False, "A queue with too many messages in flight (popInflightMessageThreshold) returns no messages to pops."
    )
    pop_inflight_message_threshold: int = key(
        10000, "In-flight messages of a queue above which enablePopMessageThreshold takes effect.", low=0
    )
    pop_response_return_actual_retry_topic: bool = key(
        False, "Popped retry messages have the retry topic as their topic."
    )
    enable_pop_buffer_merge: bool = key(False, "Check points of pops stay in memory at first and are stored later.")
    pop_ck_stay_buffer_time: int = key(
        10_000, "Longest time that a check point or KV record stays in memory.", unit="ms", low=0
    )
    pop_ck_stay_buffer_time_out: int = key(
        3000, "Time before the end of the invisible duration at which a check point is stored.", unit="ms", low=0
    )
    pop_ck_max_buffer_size: int = key(
        200_000, "Number of check points in memory above which further ones are stored at once.", low=0
    )
    pop_ck_offset_max_queue_size: int = key(
        20_000,
        "Maximum number of pops of one queue whose check point is in memory and whose offset is therefore not"
        " committed yet; check points of further pops are stored at once.",
        low=0,
    )
    enable_pop_batch_ack: bool = key(False, "Buffered acknowledgements of a pop are stored as one message.")
    pop_consumer_kv_service_init: bool = key(
        False,
        "The broker runs the service that redelivers the messages of expired KV records. The broker reads the"
        " key at its start.",
        name="popConsumerKVServiceInit",
    )
    pop_consumer_kv_service_enable: bool = key(
        False,
        "Pops write KV records instead of check points. Requires popConsumerKVServiceInit.",
        name="popConsumerKVServiceEnable",
    )
    pop_revive_max_attempt_times: int = key(
        16,
        "Maximum number of times that a failed redelivery of a KV record is repeated; then the message is dropped.",
        low=0,
    )
    skip_when_ck_re_put_reach_max_times: bool = key(
        False,
        "A check point whose messages cannot be redelivered is written again at most 17 times.",
        name="skipWhenCKRePutReachMaxTimes",
    )
    default_pop_share_queue_num: int = key(
        -1,
        "Number of other clients of its group from whose queues a popping client receives, in addition to its own;"
        " 0 or less = every client receives from all queues.",
    )
    default_message_request_mode: str = key(
        "PULL", "Message request mode of groups without one of their own.", choices=("PULL", "POP")
    )
    server_load_balancer_enable: bool = key(
        True, "QUERY_ASSIGNMENT distributes the queues among clients; if false, every client gets all queues."
    )

    # clients
    subscription_expired_timeout: int = key(
        600_000,
        "Time for which the subscription in a pull or pop applies to its group, if no heartbeat of the group has a"
        " subscription to the topic.",
        unit="ms",
        low=0,
    )
    channel_expired_timeout: int = key(
        120_000,
        "Time without a heartbeat after which a consumer is unregistered; for a producer it is always 120 s.",
        unit="ms",
        low=1,
    )
    notify_consumer_ids_changed_enable: bool = key(
        True, "The broker notifies the members of a group when a member joins or leaves."
    )
    real_time_notify_consumer_change: bool = key(
        True,
        "Consumers are notified of a change of their group at once; if false, every 15 s with one notification for"
        " all changes.",
    )
    enable_broadcast_offset_store: bool = key(
        True, "The broker stores the offsets that broadcasting consumers have reached."
    )
    broadcast_offset_expire_second: int = key(
        120,
        "Time after the last pull for which the broadcast offsets of a disconnected consumer are kept.",
        unit="s",
        low=0,
    )
    broadcast_offset_expire_max_second: int = key(
        300,
        "Time after the last pull for which the broadcast offsets of a connected consumer are kept.",
        unit="s",
        low=0,
    )
    use_server_side_reset_offset: bool = key(
        True,
        "A reset offset takes effect with the next read of each queue; if false, the broker requests that connected"
        " consumers reset their offsets.",
    )

    # timers
    timer_wheel_enable: bool = key(True, "The broker accepts messages with an arbitrary delay.")
    timer_precision_ms: int = key(1000, "Precision of the timer wheel.", unit="ms", low=100, high=1000)
    timer_max_delay_sec: int = key(259_200, "Longest arbitrary delay.", unit="s", low=1)
    timer_roll_window_slot: int = key(
        172_800,
        "Number of future slots of the timer wheel. A message that is due later waits in an earlier slot, and is put"
        " into the wheel again when that slot is over.",
        low=2,
    )

    timer_stop_enqueue: bool = key(False, "Stored timed messages do not enter the timer wheel as long as this is true.")
    timer_congest_num_each_slot: int = key(
        0x7FFFFFFF,
        "Messages of one timer slot above which the broker rejects further ones at random; from twice this number"
        " on, it rejects all.",
        low=0,
    )

    # transactions
    transaction_time_out: int = key(6000, "Age at which a half message is first checked.", unit="ms", low=0)
    transaction_check_max: int = key(15, "Maximum number of checks of one half message.", low=0)
    transaction_check_interval: int = key(30_000, "Interval of the transaction check.", unit="ms", low=1)
    transaction_op_batch_interval: int = key(
        3000, "Interval at which collected ends of transactions are stored as an op message.", unit="ms", low=1
    )
    transaction_op_msg_max_size: int = key(
        4096, "Characters of collected ends of transactions above which they are stored at once.", low=1
    )

    # store
    mapped_file_size_commit_log: int = key(
        16 * 1024 * 1024, "Size of a commit log segment (upstream: 1 GiB).", unit="bytes", low=64 * 1024
    )
    flush_disk_type: str = key(
        "ASYNC_FLUSH",
        "A message is flushed before the response to its send (SYNC_FLUSH) or later (ASYNC_FLUSH).",
        choices=("ASYNC_FLUSH", "SYNC_FLUSH"),
    )
    sync_flush_timeout: int = key(
        5000,
        "Longest time that a send waits for the flush with SYNC_FLUSH. The emulator flushes at once; with 0 or less"
        " the flush times out.",
        unit="ms",
    )
    transient_store_pool_enable: bool = key(
        False,
        "Messages are written through buffers. A broker without buffers responds to sends of remoting clients with"
        " SYSTEM_BUSY.",
    )
    transient_store_pool_size: int = key(
        5,
        "Number of write buffers if transientStorePoolEnable is true at the start; a broker that enables them later"
        " has none.",
        low=0,
    )
    flush_interval_commit_log: int = key(500, "Interval of flushes with ASYNC_FLUSH.", unit="ms", low=1)
    flush_commit_log_least_pages: int = key(
        4, "Minimum number of dirty pages (4 KiB) for a flush with ASYNC_FLUSH; with fewer it is skipped.", low=0
    )
    flush_commit_log_thorough_interval: int = key(
        10_000, "Interval at which a flush writes all dirty pages.", unit="ms", low=0
    )
    flush_consumer_offset_interval: int = key(
        5000, "Interval at which the offsets of groups are written.", unit="ms", low=1
    )
    flush_delay_offset_interval: int = key(
        10_000, "Interval at which the offsets of delay levels are written.", unit="ms", low=1
    )
    timer_flush_interval_ms: int = key(
        1000, "Interval at which the timer writes its progress and its metrics.", unit="ms", low=1
    )
    file_reserved_time: int = key(
        72,
        "Age at which files of stored messages expire, and above which half messages are discarded, not checked.",
        unit="h",
        low=0,
    )
    delete_when: str = key("04", "Hours of the day (UTC) at which expired files are deleted, separated by semicolons.")
    clean_resource_interval: int = key(10_000, "Interval of the checks that delete files.", unit="ms", low=1)
    delete_file_batch_max: int = key(10, "Maximum number of files that one check deletes.", low=1)
    disk_max_used_space_ratio: int = key(
        75, "Disk usage above which every check deletes expired files; values are limited to 10 to 95.", unit="%"
    )
    disk_space_clean_forcibly_ratio: int = key(
        85, "Disk usage above which every check deletes files of any age; values are limited to 30 to 85.", unit="%"
    )
    disk_space_warning_level_ratio: int = key(
        90,
        "Disk usage above which the broker rejects messages, from the next check on; values are limited to 35 to 90.",
        unit="%",
    )
    clean_file_forcibly_enable: bool = key(
        True, "Files of any age are deleted if the disk usage is above diskSpaceCleanForciblyRatio."
    )

    # the emulator's own: simulated failures
    store_disk_bytes: int = key(
        0,
        "Size of the simulated disk of the store; 0 = unlimited. (Not upstream's.)",
        unit="bytes",
        low=0,
    )
    disk_used_ratio: int = key(
        0, "Share of the simulated disk that other programs use. (Not upstream's.)", unit="%", low=0, high=100
    )

    @property
    def is_master(self) -> bool:
        """True if the broker is a master, by its id."""
        return self.broker_id == MASTER_ID
