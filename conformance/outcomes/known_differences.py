"""Known differences between the emulator and the reference version, each with its reason.

DELIBERATE differences are permanent. GAPS are temporary; each says which change will close it. An entry that no longer
differs fails the run until it is removed here.
"""

from collections.abc import Mapping

DELIBERATE: Mapping[str, str] = {
    "config.unknown_settings_are_ignored": "the emulator rejects a setting that is unknown or cannot be parsed",
    "key_values.unknown_settings_of_the_name_server_are_ignored": "as config.unknown_settings_are_ignored",
    "protected.a_plain_message_ends_the_timer": (
        "the emulator rejects messages to the timer's topic, because they would stop the timer"
    ),
    "record_forms.a_flag_may_not_claim_long_hosts": "the emulator stores such a message in a readable form",
    "groups.a_live_group_consumes_its_topics": (
        "the emulator lists the topic's live groups; upstream lists the topic's own name"
    ),
    "broadcast_offsets.the_slowest_of_a_broadcast_is_noted": "as groups.a_live_group_consumes_its_topics",
    "grpc_invisible.a_client_without_a_stream": "the emulator accepts the change without a telemetry stream",
    "grpc_invisible.the_new_handle_keeps_the_place_in_the_log": (
        "the tenth field of upstream's receipt handle is a defect"
    ),
    "grpc_invisible.the_new_handle_of_a_later_message_acknowledges": (
        "the acknowledgement with the new receipt handle takes effect"
    ),
    "grpc_dead_letter.a_client_without_a_stream": "the emulator forwards the message without a telemetry stream",
    "grpc_receive.a_client_without_settings": (
        "the emulator serves such a receive, because fast clients often send it first"
    ),
    "broker_restart.clients_of_a_proxy_go_on_after_a_restart@go-grpc": "as grpc_receive.a_client_without_settings",
    "broker_restart.clients_of_a_proxy_go_on_after_a_restart@python": "as grpc_receive.a_client_without_settings",
    "broker_restart.clients_of_a_proxy_go_on_after_a_restart@rust": "as grpc_receive.a_client_without_settings",
    "broker_restart.a_push_consumer_goes_on_after_a_restart@go-grpc": "as grpc_receive.a_client_without_settings",
    "broker_restart.a_push_consumer_goes_on_after_a_restart@python": "as grpc_receive.a_client_without_settings",
    "grpc_settings_expiry.settings_are_forgotten_without_heartbeats": (
        "the emulator keeps a client's settings while its telemetry stream is open"
    ),
    "grpc_settings_expiry.receives_do_not_keep_settings": "as heartbeat_changes.a_silent_client_loses_its_connection",
    "grpc_log_start.the_new_handle_gives_up_the_wrong_message": (
        "the emulator forwards the message whose invisible duration was changed"
    ),
    "grpc_route.a_deleted_topic_has_no_route": "the emulator never returns an outdated route from a cache",
    "grpc_route.a_topic_made_after_a_refused_route_is_found": (
        "the emulator never returns an outdated route from a cache"
    ),
    "grpc_heartbeat.a_client_of_two_groups_leaves": "a client that terminates leaves all its groups at once",
    "heartbeat_changes.a_silent_client_loses_its_connection": (
        "clients do not expire because of time that a jump of the clock skips"
    ),
    "slaves.a_slave_does_not_hear_of_topics_with_attributes": "a slave copies all topics, as in 5.5.0",
    "revive.an_end_too_late_for_a_number_holds_its_queue_back": (
        "the emulator continues a revive queue after such a check point"
    ),
    "pop_order_time.a_shorter_first_message_loses_the_wake_up": "a waiting pop is woken when its queue becomes free",
}
"""Case id, or `scenario@sdk`, and the reason for the permanent difference."""

GAPS: Mapping[str, str] = {}
"""Case id, or `scenario@sdk`, and the feature that the emulator lacks."""

_QUEUES_MAX = (
    "topicQueueNumsMax, a key of the emulator only, limits the queues of a retry topic; 5.3.3 creates all of them"
)
UNPROVOKED: Mapping[tuple[str, str], str] = {
    ("CreateGroup", "INVALID_PARAMETER"): _QUEUES_MAX,
    ("CreateGroups", "INVALID_PARAMETER"): _QUEUES_MAX,
    ("Heartbeat", "INVALID_PARAMETER"): _QUEUES_MAX,
    ("SendMessageBack", "INVALID_PARAMETER"): _QUEUES_MAX,
    ("EndTransaction", "NO_PERMISSION"): "5.3.3 commits a half message to the timer's topic, which stops its timer",
    ("SendMessage", "HA_NOT_AVAILABLE"): "5.3.3 never returns this code; it treats a missing slave as a late one",
}
"""Responses that the emulator's source can return but no case provokes: operation or RPC, code, and reason."""
