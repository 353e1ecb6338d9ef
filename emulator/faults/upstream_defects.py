"""Defects of Apache RocketMQ that the emulator has only while a fault enables them: their effects and sources."""

from collections.abc import Mapping, Sequence

from .errors import unknown_name
from .upstream_defect import UpstreamDefect

V5_3_3, V5_5_0 = "5.3.3", "5.5.0"

_ALL = (V5_3_3, V5_5_0)
_RESTART = "broker_restart.a_grpc_producer_and_simple_consumer_lose_no_message_over_a_restart"
_RESTART_PUSH = "broker_restart.a_grpc_push_consumer_group_loses_no_message_over_a_restart"

_DEFECTS = (
    UpstreamDefect(
        "ack_with_changed_handle_is_lost",
        _ALL,
        "The receipt handle in a response to ChangeInvisibleDuration still has the offset of the pop's first"
        " message: an acknowledgement of a later message of the pop succeeds without effect, and the message is"
        " redelivered",
        "LocalMessageService.changeInvisibleTime",
        shown_by=("grpc_invisible.a_later_message_of_a_batch_is_acknowledged_with_its_new_handle",),
    ),
    UpstreamDefect(
        "blocked_revive_queue",
        _ALL,
        "A check point whose end overflows 64 bits is never revived and blocks its revive queue: messages popped later"
        " through this queue are not redelivered",
        "PopReviveService.mergeAndRevive",
        shown_by=("revive.an_overflowing_check_point_is_never_revived_and_blocks_its_revive_queue",),
    ),
    UpstreamDefect(
        "changed_handle_loses_log_offset",
        _ALL,
        "The receipt handle in a response to ChangeInvisibleDuration has a stray 0 in the place of the commit log"
        " offset: ForwardMessageToDeadLetterQueue with it stores the first message of the log instead",
        "LocalMessageService.changeInvisibleTime",
        shown_by=(
            "grpc_invisible.the_new_handle_of_a_change_keeps_the_log_offset",
            "grpc_log_start.forwarding_a_changed_message_stores_the_logs_first_message_in_the_dlq",
        ),
    ),
    UpstreamDefect(
        "clients_expire_in_clock_jumps",
        _ALL,
        "Time that a jump of the clock skips counts as silence of clients: they lose registrations, queue locks and"
        " connections, as they lose them at upstream if their process or network is paused for that time",
        "ClientHousekeepingService, GrpcClientSettingsManager",
        shown_by=(
            "heartbeat_changes.a_silent_client_loses_its_connection",
            "grpc_settings_expiry.receives_do_not_prevent_the_expiry_of_settings",
            "grpc_settings_expiry.settings_expire_without_heartbeats",
        ),
    ),
    UpstreamDefect(
        "lost_order_wake_up",
        _ALL,
        "Pops that wait for an ordered batch are woken when its first unacknowledged message becomes visible; if others"
        " are still invisible then, nothing wakes the pops later, and they wait until their own timeout",
        "ConsumerOrderInfoManager.OrderInfo.getLockFreeTimestamp",
        shown_by=("pop_order_time.shortening_the_first_message_of_a_batch_loses_the_wake_up",),
    ),
    UpstreamDefect(
        "polls_end_early",
        _ALL,
        "A pop, notification or ReceiveMessage that waits for messages ends without any 30 to 49 ms before its timeout:"
        " it is shorter than the client has requested",
        "PopLongPollingService, PopRequest.isTimeout",
        shown_by=(),
    ),
    UpstreamDefect(
        "receive_needs_settings",
        _ALL,
        "ReceiveMessage of a client whose settings the proxy does not have fails with INTERNAL_SERVER_ERROR, a"
        " NullPointerException: fast clients lose this race at their start, and others after a restart of the proxy",
        "ReceiveMessageActivity.receiveMessage",
        shown_by=(
            "grpc_receive.a_receive_without_settings_fails",
            "grpc_settings_expiry.settings_expire_without_heartbeats",
            f"{_RESTART}@go-grpc",
            f"{_RESTART}@python",
            f"{_RESTART}@rust",
            f"{_RESTART_PUSH}@go-grpc",
            f"{_RESTART_PUSH}@python",
        ),
    ),
    UpstreamDefect(
        "route_cache",
        _ALL,
        "QueryRoute and QueryAssignment respond from a cache that a query refreshes only after 20 s: a deleted topic"
        " keeps its route, and a topic that is created after a refused query has none",
        "TopicRouteService",
        shown_by=(
            "grpc_route.a_deleted_topic_has_no_route",
            "grpc_route.a_topic_created_after_a_rejected_route_request_has_a_route",
        ),
    ),
    UpstreamDefect(
        "settings_expire_with_open_stream",
        _ALL,
        "The proxy forgets the settings of a consumer 130 s after the client last sent them or a heartbeat, even if the"
        " client receives messages and its telemetry stream is open",
        "GrpcClientSettingsManager.onWaitEnd",
        shown_by=("grpc_settings_expiry.settings_expire_without_heartbeats",),
    ),
    UpstreamDefect(
        "slave_skips_topics_with_attributes",
        (V5_3_3,),
        "A slave that copies its master's topics stops at the first one with attributes, such as a message type: this"
        " topic and those after it do not exist on the slave",
        "SlaveSynchronize.syncTopicConfig",
        shown_by=("slaves.a_slave_does_not_copy_topics_with_attributes",),
    ),
    UpstreamDefect(
        "telemetry_stream_needed",
        _ALL,
        "ChangeInvisibleDuration and ForwardMessageToDeadLetterQueue of a client that has opened no telemetry stream"
        " fail with INTERNAL_SERVER_ERROR, a NullPointerException",
        "ReceiptHandleGroupKey.getChannelId",
        shown_by=(
            "grpc_invisible.a_change_without_a_telemetry_stream_fails",
            "grpc_dead_letter.forwarding_without_a_telemetry_stream_fails",
        ),
    ),
    UpstreamDefect(
        "termination_leaves_one_group",
        _ALL,
        "NotifyClientTermination removes a client only from the group that the request names: its other groups keep it"
        " as a member for 120 s",
        "ClientActivity.notifyClientTermination",
        shown_by=("grpc_heartbeat.a_termination_removes_a_client_of_two_groups_from_the_named_one",),
    ),
    UpstreamDefect(
        "timer_topic_stops_timer",
        _ALL,
        "A message that a client sends to rmq_sys_wheel_timer is accepted and stops the timer of this broker for good:"
        " later timed messages are not delivered, and popped messages no longer redelivered",
        "TimerMessageStore.enqueue",
        shown_by=("protected.a_message_sent_to_the_timer_topic_stops_the_timer",),
    ),
    UpstreamDefect(
        "topic_listed_as_group",
        (V5_3_3,),
        "QUERY_TOPIC_CONSUME_BY_WHO lists the topic itself in the place of the connected groups that subscribe to it",
        "ConsumerManager.queryTopicConsumeByWho",
        shown_by=(
            "groups.an_online_subscriber_is_listed_as_consumer_without_an_offset",
            "broadcast_offsets.the_slowest_broadcast_consumers_offset_is_stored_and_never_moves_back",
        ),
    ),
    UpstreamDefect(
        "unknown_settings_ignored",
        _ALL,
        "UPDATE_BROKER_CONFIG and UPDATE_NAMESRV_CONFIG ignore keys that do not exist and values of a wrong type, and"
        " respond with SUCCESS",
        "MixAll.properties2Object",
        shown_by=(
            "config.unknown_settings_are_ignored",
            "key_values.unknown_settings_of_the_name_server_are_ignored",
        ),
    ),
    UpstreamDefect(
        "unreadable_host_flag",
        _ALL,
        "The broker accepts a message whose sysFlag marks the address of the client (0x10) or of the broker (0x20) as"
        " IPv6 although it is IPv4: no consumer ever receives the message",
        "MessageExtEncoder.encode",
        shown_by=("record_forms.a_message_with_a_false_ipv6_flag_is_accepted_but_unreadable",),
    ),
)
UPSTREAM_DEFECTS: Mapping[str, UpstreamDefect] = {each.name: each for each in _DEFECTS}
"""All defects by name."""
VERSIONS: Sequence[str] = sorted({version for each in _DEFECTS for version in each.versions})
"""The versions whose defects are known."""


def defects_of(version: str) -> list[UpstreamDefect]:
    """Return the defects of a version, in the order of their names. Raises FaultError for an unknown version."""
    if version not in VERSIONS:
        raise unknown_name("version", version, VERSIONS)
    return [each for each in _DEFECTS if version in each.versions]


def needed_for(case: str) -> list[UpstreamDefect]:
    """Return the defects that together cause the recorded outcome of a case or `scenario@sdk`; empty if none does."""
    return [each for each in _DEFECTS if case in each.shown_by]
