"""Known differences between the emulator and the reference version, each with its reason.

DELIBERATE differences are permanent. GAPS are temporary; each says which change will close it. An entry that no longer
differs fails the run until it is removed here.
"""

from collections.abc import Collection, Mapping

from rocketmq_testkit.emulator.faults.upstream_defects import needed_for

DELIBERATE: Mapping[str, str] = {
    "config.unknown_settings_are_ignored": "the emulator rejects a setting that is unknown or cannot be parsed",
    "key_values.unknown_settings_of_the_name_server_are_ignored": "as config.unknown_settings_are_ignored",
    "protected.a_message_sent_to_the_timer_topic_stops_the_timer": (
        "the emulator rejects messages to the timer's topic, because they would stop the timer"
    ),
    "record_forms.a_message_with_a_false_ipv6_flag_is_accepted_but_unreadable": (
        "the emulator stores such a message in a readable form"
    ),
    "groups.an_online_subscriber_is_listed_as_consumer_without_an_offset": (
        "the emulator lists the topic's groups with members; upstream lists the topic's own name"
    ),
    "broadcast_offsets.the_slowest_broadcast_consumers_offset_is_stored_and_never_moves_back": (
        "as groups.an_online_subscriber_is_listed_as_consumer_without_an_offset"
    ),
    "grpc_invisible.a_change_without_a_telemetry_stream_fails": (
        "the emulator accepts the change without a telemetry stream"
    ),
    "grpc_invisible.the_new_handle_of_a_change_keeps_the_log_offset": (
        "the tenth field of upstream's receipt handle is a defect"
    ),
    "grpc_invisible.a_later_message_of_a_batch_is_acknowledged_with_its_new_handle": (
        "the acknowledgement with the new receipt handle takes effect"
    ),
    "grpc_dead_letter.forwarding_without_a_telemetry_stream_fails": (
        "the emulator forwards the message without a telemetry stream"
    ),
    "grpc_receive.a_receive_without_settings_fails": (
        "the emulator serves such a receive, because fast clients often send it first"
    ),
    "broker_restart.a_grpc_producer_and_simple_consumer_lose_no_message_over_a_restart@go-grpc": (
        "as grpc_receive.a_receive_without_settings_fails"
    ),
    "broker_restart.a_grpc_producer_and_simple_consumer_lose_no_message_over_a_restart@python": (
        "as grpc_receive.a_receive_without_settings_fails"
    ),
    "broker_restart.a_grpc_producer_and_simple_consumer_lose_no_message_over_a_restart@rust": (
        "as grpc_receive.a_receive_without_settings_fails"
    ),
    "broker_restart.a_grpc_push_consumer_group_loses_no_message_over_a_restart@go-grpc": (
        "as grpc_receive.a_receive_without_settings_fails"
    ),
    "broker_restart.a_grpc_push_consumer_group_loses_no_message_over_a_restart@python": (
        "as grpc_receive.a_receive_without_settings_fails"
    ),
    "grpc_settings_expiry.settings_expire_without_heartbeats": (
        "the emulator keeps a client's settings while its telemetry stream is open"
    ),
    "grpc_settings_expiry.receives_do_not_prevent_the_expiry_of_settings": (
        "as heartbeat_changes.a_silent_client_loses_its_connection"
    ),
    "grpc_log_start.forwarding_a_changed_message_stores_the_logs_first_message_in_the_dlq": (
        "the emulator forwards the message whose invisible duration was changed"
    ),
    "grpc_route.a_deleted_topic_has_no_route": "the emulator never returns an outdated route from a cache",
    "grpc_route.a_topic_created_after_a_rejected_route_request_has_a_route": (
        "the emulator never returns an outdated route from a cache"
    ),
    "grpc_heartbeat.a_termination_removes_a_client_of_two_groups_from_the_named_one": (
        "a client that terminates leaves all its groups at once"
    ),
    "heartbeat_changes.a_silent_client_loses_its_connection": (
        "clients do not expire because of time that a jump of the clock skips"
    ),
    "slaves.a_slave_does_not_copy_topics_with_attributes": "a slave copies all topics, as in 5.5.0",
    "revive.an_overflowing_check_point_is_never_revived_and_blocks_its_revive_queue": (
        "the emulator continues a revive queue after such a check point"
    ),
    "pop_order_time.shortening_the_first_message_of_a_batch_loses_the_wake_up": (
        "a waiting pop is woken when its queue becomes free"
    ),
}
"""Case id, or `scenario@sdk`, and the reason for the permanent difference."""


def deliberate(name: str, defects: Collection[str] = ()) -> str | None:
    """Return the reason for the permanent difference of a case or `scenario@sdk`, None if it must not differ.

    `defects`: the defects of upstream that faults have switched on. With all of those that cause the recorded outcome,
    it must not differ.
    """
    needed = needed_for(name)
    if needed and all(each.name in defects for each in needed):
        return None
    return DELIBERATE.get(name)


GAPS: Mapping[str, str] = {}
"""Case id, or `scenario@sdk`, and the feature that the emulator lacks."""

_QUEUES_MAX = (
    "topicQueueNumsMax, a key of the emulator only, limits the queues of a retry topic; 5.3.3 creates all of them"
)
UNTESTED_RESPONSES: Mapping[tuple[str, str], str] = {
    ("CreateGroup", "INVALID_PARAMETER"): _QUEUES_MAX,
    ("CreateGroups", "INVALID_PARAMETER"): _QUEUES_MAX,
    ("Heartbeat", "INVALID_PARAMETER"): _QUEUES_MAX,
    ("SendMessageBack", "INVALID_PARAMETER"): _QUEUES_MAX,
    ("EndTransaction", "NO_PERMISSION"): "5.3.3 commits a half message to the timer's topic, which stops its timer",
    ("SendMessage", "HA_NOT_AVAILABLE"): "5.3.3 never returns this code; it treats a missing slave as a late one",
}
"""Responses that the emulator's source can return but no case provokes: operation or RPC, code, and reason."""
