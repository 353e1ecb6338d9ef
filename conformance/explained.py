"""Differences of the emulator from the reference version that are known, each with its reason.

DELIBERATE ones stay. GAPS are to be closed; each says what will close it. An entry that no longer differs fails the run
until it is taken out of here.
"""

from collections.abc import Mapping

DELIBERATE: Mapping[str, str] = {
    "grpc_route.a_topic_made_after_a_refused_route_is_found": "a route is never answered from a cache that is old",
    "grpc_heartbeat.a_client_of_two_groups_leaves": "a client that leaves is out of all its groups at once",
}
"""Case id, or `scenario@sdk`, and why the emulator does it otherwise for ever."""

GAPS: Mapping[str, str] = {}
"""Case id, or `scenario@sdk`, and what the emulator lacks."""
