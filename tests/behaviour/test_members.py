"""Consumers of a group: from their first heartbeat until they unregister or time out."""

from protocol_client import ProtocolClient
from protocol_clients import ALL, through

SILENT_MS, SCAN_MS, BEAT_MS = 120_000, 10_000, 30_000
"""Timeout of a client without heartbeats, interval of the scan that removes it, and interval of heartbeats."""


@through(*ALL)
def test_members_are_listed_until_they_leave(e: ProtocolClient) -> None:
    """A consumer is listed until it unregisters; the other consumers stay, and it may register again."""
    e.topic()
    assert e.members() == []
    for client in ("one", "two"):
        e.heartbeat(client)
    assert sorted(e.members()) == ["one", "two"]
    e.unregister_consumer("one")
    assert e.members() == ["two"]
    e.unregister_consumer("two")
    assert e.members() == []


@through(*ALL)
def test_a_consumer_is_listed_in_its_own_group_only(e: ProtocolClient) -> None:
    """A consumer is listed in its own group only, even if other groups subscribe to the same topic."""
    e.topic()
    e.heartbeat("one")
    e.heartbeat("two", group="H")
    assert (e.members(), e.members("H")) == (["one"], ["two"])
    e.unregister_consumer("two", group="H")
    assert (e.members(), e.members("H")) == (["one"], [])


@through(*ALL)
def test_a_consumer_without_heartbeats_is_removed_after_the_timeout(e: ProtocolClient) -> None:
    """A consumer without heartbeats is removed after the timeout; one that sends heartbeats stays."""
    e.topic()
    for client in ("silent", "alive"):
        e.heartbeat(client)
    for _ in range(SILENT_MS // BEAT_MS):
        assert sorted(e.members()) == ["alive", "silent"]
        e.advance(BEAT_MS)
        e.heartbeat("alive")
    e.advance(2 * SCAN_MS)
    assert e.members() == ["alive"]
    e.advance(SILENT_MS + 2 * SCAN_MS)
    assert e.members() == []
