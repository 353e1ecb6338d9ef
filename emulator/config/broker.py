"""Keys of a broker: those of BrokerConfig and MessageStoreConfig (5.3.3) that the emulator honors."""

from dataclasses import dataclass

from ..message.names import TRACE_TOPIC
from .access import AccessConfig
from .keys import key
from .request_pools import RequestPoolConfig

ON_DEMAND = frozenset({"storeDiskBytes", "diskUsedRatio", "requestTimes", "requestRefusals", "goAwayEnable"})
"""Keys that upstream does not have: each simulates a failure at one broker for as long as it is set."""
DELAY_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"


@dataclass
class BrokerConfig(RequestPoolConfig, AccessConfig):
    """The keys of one broker. Attribute `pop_polling_size` is the key `popPollingSize`."""

    # identity
    broker_cluster_name: str = key("DefaultCluster", "Cluster that the broker belongs to.")
    broker_name: str = key("broker-a", "Name shared by a master and its slaves.")
    broker_id: int = key(0, "0 is the master, others are slaves.", low=0)
    region_id: str = key("DefaultRegion", "Stored with every message as MSG_REGION.")
    trace_on: bool = key(True, "Stored with every message as TRACE_ON.")
    config_black_list: str = key(
        "configBlackList;brokerConfigPath",
        "Keys that no request changes, with semicolons between; rocketmqHome and these two are always of them.",
    )
    broker_permission: int = key(6, "Permission bits of the broker: 4 read, 2 write.", low=0, high=7)
    broker_role: str = key("ASYNC_MASTER", "Role in replication.", choices=("ASYNC_MASTER", "SYNC_MASTER", "SLAVE"))
    in_sync_replicas: int = key(
        1, "So many brokers must have a message before a SYNC_MASTER answers its send; itself is one.", low=1
    )
    slave_timeout: int = key(3000, "How long a SYNC_MASTER waits for its slaves.", unit="ms", low=0)
    slave_read_enable: bool = key(False, "Slaves are pulled from, and masters suggest it to consumers far behind.")
    access_message_in_memory_max_ratio: int = key(
        40, "Consumers are far behind that are this share of the memory behind the end.", unit="%", low=0, high=100
    )
    data_read_ahead_enable: bool = key(True, "Told, and switched by a request of its own: nothing is read ahead here.")
    cg_cold_read_threshold: int = key(
        3 * 1024 * 1024, "Told as what a group may read of cold messages: nothing is cold.", unit="bytes"
    )
    global_cold_read_threshold: int = key(
        100 * 1024 * 1024, "Told as what all groups together may read of cold messages.", unit="bytes"
    )
    offset_check_in_slave: bool = key(False, "A slave corrects offsets that are out of range, as a master does.")

    init_authentication_user: str = key(
        "", 'A super user that is made at the start: `{"username": ..., "password": ...}`.', unit="JSON", secret=True
    )
    inner_client_authentication_credentials: str = key(
        "",
        'Another one, as which upstream\'s proxy signs: `{"accessKey": ..., "secretKey": ...}`.',
        unit="JSON",
        secret=True,
    )

    # topics and groups
    auto_create_topic_enable: bool = key(True, "A send creates its topic from the template topic.")
    default_topic_queue_nums: int = key(8, "Queues of the template topic TBW102.", low=1, high=16_384)
    cluster_topic_enable: bool = key(True, "The topic with the cluster's name is readable, writable and a template.")
    broker_topic_enable: bool = key(True, "The topic with the broker's name is readable, writable and a template.")
    trace_topic_enable: bool = key(False, "The message trace topic is created at start.")
    msg_trace_topic_name: str = key(TRACE_TOPIC, "Name of the message trace topic.")
    auto_create_subscription_group: bool = key(True, "An unknown group is created with defaults at first use.")
    enable_create_sys_group: bool = key(True, "Groups named CID_RMQ_SYS_* are created even without auto-creation.")
    enable_mixed_message_type: bool = key(False, "Topics may have message.type MIXED.")
    validate_system_topic_when_update_topic: bool = key(
        True, "Administrators cannot make, change or delete the broker's own topics."
    )
    clear_retry_topic_when_delete_topic: bool = key(True, "Deleting a topic deletes its pop retry topics.")

    # sending
    max_message_size: int = key(4 * 1024 * 1024, "Largest body.", unit="bytes", low=1)
    store_reply_message_enable: bool = key(True, "Replies of requests are stored as well as pushed.")
    reject_transaction_message: bool = key(False, "Half messages are refused.")
    recall_message_enable: bool = key(False, "Timed messages can be recalled.")
    allow_recall_when_broker_not_writeable: bool = key(True, "Also while brokerPermission forbids to write.")
    start_accept_send_request_time_stamp: int = key(0, "Sends and recalls before it are refused.", unit="ms")
    message_delay_level: str = key(DELAY_LEVELS, "The delay levels, separated by blanks.", unit="s, m, h or d each")

    # reading
    long_polling_enable: bool = key(True, "A pull that finds nothing may wait.")
    short_polling_time_mills: int = key(1000, "How long a pull waits when long polling is off.", unit="ms", low=0)
    lite_pull_message_enable: bool = key(True, "Lite pull consumers are served.")
    reject_pull_consumer_enable: bool = key(
        False, "Consumers that ask for messages by themselves are not taken into their groups, and may not pull."
    )
    enable_property_filter: bool = key(False, "SQL92 filters are allowed in pull consumers.")
    filter_support_retry: bool = key(
        False, "Pulls of a retry topic by SQL92 are filtered by what the group wants of each message's first topic."
    )
    filter_data_clean_time_span: int = key(
        24 * 3600 * 1000, "How long SQL92 expressions are kept that no consumer wants any more.", unit="ms", low=0
    )
    max_transfer_bytes_on_message_in_memory: int = key(262144, "Bytes of one read of a queue.", unit="bytes", low=1)
    max_transfer_count_on_message_in_memory: int = key(32, "Messages of one read of a queue.", low=1)
    disable_consume_if_consumer_read_slowly: bool = key(
        False,
        "A group that reads too far behind the end of the log is switched off (`consumeEnable`) at the next look; there"
        " is one every three minutes.",
    )
    consumer_fallbehind_threshold: int = key(16 * 1024**3, "So far behind is too far.", unit="bytes", low=0)
    disk_fall_recorded: bool = key(True, "Whether it is noted how far behind groups read.")
    enable_compaction: bool = key(
        True, "Topics with cleanup.policy=COMPACTION are read from logs of their own, which know no filters."
    )
    compaction_mapped_file_size: int = key(
        100 * 1024 * 1024,
        "A file of such a log; all but the last lose messages that others of the same keys have replaced. Read when a"
        " queue is first read.",
        unit="bytes",
        low=1,
    )
    compaction_cq_mapped_file_size: int = key(
        10 * 1024 * 1024,
        "Such a file ends with as many messages less one as this has units of 46, too; its size is a multiple of this,"
        " five times at least. Read when a queue is first read.",
        unit="bytes",
        low=92,
    )
    compaction_schedule_internal: int = key(
        15 * 60 * 1000,
        "How often files are looked through, and up to as long again by chance. Read when a queue is first read.",
        unit="ms",
        low=1,
    )
    max_filter_message_size: int = key(16000, "Bytes of queue units scanned by one read (20 each).", low=20)
    message_index_enable: bool = key(
        True, "Messages are indexed by their keys when they are stored; others are not found by them."
    )
    default_query_max_num: int = key(32, "Messages of one query by unique key.", low=1)
    max_msgs_num_batch: int = key(64, "Messages of one query by key.", low=1)

    enable_lmq: bool = key(
        False,
        "Messages have offsets in the light queues that they name; topics and groups named %LMQ%* need not be made."
        " Read at the start.",
    )
    enable_detail_stat: bool = key(
        True,
        "Counters are kept of queues, too: of those of delay levels, and of those that brought messages. Read at the"
        " start.",
    )
    enable_schedule_message_stats: bool = key(True, "What was delayed counts as given to SCHEDULE_CONSUMER.")
    enable_lmq_stats: bool = key(False, "Reads of light queues are counted for each of them, not for all together.")
    enable_multi_dispatch: bool = key(False, "Messages are queued in the light queues in which they have offsets.")

    # pop
    revive_queue_num: int = key(8, "Queues of the revive topic.", low=1, high=998)
    pop_from_retry_probability: int = key(20, "How often a pop reads the retry topic first.", unit="%", low=0, high=100)
    enable_retry_topic_v2: bool = key(False, "Pop retry topics are named %RETRY%group+topic instead of group_topic.")
    retrieve_message_from_pop_retry_topic_v1: bool = key(True, "With v2 names the v1 retry topic is still read.")
    init_pop_offset_by_check_msg_in_mem: bool = key(True, "A new group on a young queue starts at offset 0.")
    pop_polling_size: int = key(1024, "Pops that may wait for one topic, group and queue id.", low=0)
    max_pop_polling_size: int = key(100000, "Pops that may wait in all.", low=0)
    pop_long_polling_force_notify_interval: int = key(
        800, "Each so-manieth message of a queue wakes a waiting pop whatever its filter says; 0: none.", low=0
    )
    enable_notify_after_pop_order_lock_release: bool = key(
        True, "Waiting pops are woken when a batch of a queue that is popped in order is out no more."
    )
    enable_pop_message_threshold: bool = key(False, "A queue with too many popped messages out hands out no more.")
    pop_inflight_message_threshold: int = key(10000, "Popped messages of a queue that may be out for that.", low=0)
    pop_response_return_actual_retry_topic: bool = key(False, "Popped retry messages keep the retry topic's name.")
    enable_pop_buffer_merge: bool = key(False, "Check points of pops stay in memory for a while, then are stored.")
    pop_ck_stay_buffer_time: int = key(10_000, "How long a check point stays in memory.", unit="ms", low=0)
    pop_ck_stay_buffer_time_out: int = key(
        3000, "A check point is stored this long before its invisible time ends.", unit="ms", low=0
    )
    pop_ck_max_buffer_size: int = key(200_000, "Check points in memory; with more, the next are stored.", low=0)
    pop_ck_offset_max_queue_size: int = key(
        20_000, "Pops of one queue whose position waits for check points in memory.", low=0
    )
    enable_pop_batch_ack: bool = key(False, "Acknowledgements that leave memory are stored as one message a pop.")
    pop_consumer_kv_service_init: bool = key(
        False,
        "Records of pops are looked after: those that are due are delivered again. Read at the start.",
        name="popConsumerKVServiceInit",
    )
    pop_consumer_kv_service_enable: bool = key(
        False,
        "Pops write records instead of check points; needs popConsumerKVServiceInit.",
        name="popConsumerKVServiceEnable",
    )
    pop_revive_max_attempt_times: int = key(
        16, "Failed redeliveries of a record, after which the message is dropped.", low=0
    )
    skip_when_ck_re_put_reach_max_times: bool = key(
        False,
        "A check point whose copies cannot be stored is written again 17 times only.",
        name="skipWhenCKRePutReachMaxTimes",
    )
    default_pop_share_queue_num: int = key(-1, "Queues shared by pop clients; <= 0 shares all.")
    default_message_request_mode: str = key("PULL", "Mode of groups that have none set.", choices=("PULL", "POP"))
    server_load_balancer_enable: bool = key(True, "QUERY_ASSIGNMENT balances; false gives every client all queues.")

    # clients
    subscription_expired_timeout: int = key(
        600_000, "How long what a request asked for stands for the subscription of its group.", unit="ms", low=0
    )
    channel_expired_timeout: int = key(120_000, "A client without heartbeat is forgotten.", unit="ms", low=1)
    notify_consumer_ids_changed_enable: bool = key(True, "Members of a group are told of joins and leaves.")
    real_time_notify_consumer_change: bool = key(
        True, "Consumers hear of a change of their group at once; else every 15 s, once for all that happened."
    )
    enable_broadcast_offset_store: bool = key(True, "How far broadcasting consumers have read is noted.")
    broadcast_offset_expire_second: int = key(
        120, "How long that is kept of consumers that have left.", unit="s", low=0
    )
    broadcast_offset_expire_max_second: int = key(
        300, "How long that is kept of consumers that do not pull.", unit="s", low=0
    )
    use_server_side_reset_offset: bool = key(
        True, "Resets are kept for the next read of each queue; else live consumers are told to reset themselves."
    )

    # timers
    timer_wheel_enable: bool = key(True, "Messages with an arbitrary delay are accepted.")
    timer_precision_ms: int = key(1000, "Grain of the timer wheel.", unit="ms", low=100, high=1000)
    timer_max_delay_sec: int = key(259_200, "Longest arbitrary delay.", unit="s", low=1)
    timer_roll_window_slot: int = key(
        172_800, "Slots ahead; a timed message beyond them is parked and put into the wheel again.", low=2
    )

    timer_stop_enqueue: bool = key(False, "Timed messages that are stored wait for a slot until this ends.")
    timer_congest_num_each_slot: int = key(
        0x7FFFFFFF,
        "Messages of one timer slot above which more are refused by chance; all are from twice as many on.",
        low=0,
    )

    # transactions
    transaction_time_out: int = key(6000, "Age at which a half message is checked first.", unit="ms", low=0)
    transaction_check_max: int = key(15, "Checks of one half message.", low=0)
    transaction_check_interval: int = key(30_000, "Period of the transaction check.", unit="ms", low=1)
    transaction_op_batch_interval: int = key(3000, "Ends of transactions are noted this often.", unit="ms", low=1)
    transaction_op_msg_max_size: int = key(4096, "Characters of noted ends that are stored at once.", low=1)

    # store
    mapped_file_size_commit_log: int = key(
        16 * 1024 * 1024, "Bytes of a commit log segment (upstream 1 GiB).", unit="bytes", low=64 * 1024
    )
    flush_disk_type: str = key(
        "ASYNC_FLUSH", "When a message is on disk: before its answer, or later.", choices=("ASYNC_FLUSH", "SYNC_FLUSH")
    )
    sync_flush_timeout: int = key(
        5000,
        "How long a send waits for that with SYNC_FLUSH. Here it is so at once, yet too late where this is 0 or less.",
        unit="ms",
    )
    transient_store_pool_enable: bool = key(
        False, "Messages are written through buffers. Without any, remoting clients that send are told that it is busy."
    )
    transient_store_pool_size: int = key(
        5, "Buffers that there are if they are wanted at the start; what is wanted later has none.", low=0
    )
    flush_interval_commit_log: int = key(
        500, "With ASYNC_FLUSH, how often dirty pages are looked for.", unit="ms", low=1
    )
    flush_commit_log_least_pages: int = key(4, "Dirty pages (4 KiB) that such a look writes.", low=0)
    flush_commit_log_thorough_interval: int = key(10_000, "How often it writes whatever is dirty.", unit="ms", low=0)
    flush_consumer_offset_interval: int = key(5000, "How often the offsets of groups are written.", unit="ms", low=1)
    flush_delay_offset_interval: int = key(
        10_000, "How often the offsets of delay levels are written.", unit="ms", low=1
    )
    timer_flush_interval_ms: int = key(1000, "How often the timer writes how far it has read.", unit="ms", low=1)
    file_reserved_time: int = key(72, "Age at which stored messages are removed.", unit="h", low=0)
    delete_when: str = key("04", "Hours of the day (UTC) at which old files are deleted, divided by semicolons.")
    clean_resource_interval: int = key(10_000, "How often files to delete are looked for.", unit="ms", low=1)
    delete_file_batch_max: int = key(10, "Files that one look deletes.", low=1)
    disk_max_used_space_ratio: int = key(
        75, "Share of the disk above which each look deletes files that are old enough; 10 to 95 are read.", unit="%"
    )
    disk_space_clean_forcibly_ratio: int = key(
        85, "Share of the disk above which each look deletes files of any age; 30 to 85 are read.", unit="%"
    )
    disk_space_warning_level_ratio: int = key(
        90, "Share of the disk above which nothing is stored from the next look on; 35 to 90 are read.", unit="%"
    )
    clean_file_forcibly_enable: bool = key(True, "Files of any age are deleted where the disk is that full.")

    # the emulator's own: simulated failures
    store_disk_bytes: int = key(
        0,
        "Size of the disk that the store lies on; 0 is one that no store fills. (Not upstream's.)",
        unit="bytes",
        low=0,
    )
    disk_used_ratio: int = key(0, "Share of the disk that others use. (Not upstream's.)", unit="%", low=0, high=100)
