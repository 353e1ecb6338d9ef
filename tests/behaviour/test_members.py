"""Who belongs to a group: those that say so, until they go or have been silent for too long."""

from entrance import Entrance
from entrances import ALL, through

SILENT_MS, SCAN_MS, BEAT_MS = 120_000, 10_000, 30_000
"""After such a silence a member is forgotten, at the next look."""


@through(*ALL)
def test_members_are_listed_until_they_leave(e: Entrance) -> None:
    """One that leaves takes nobody along, and may come back."""
    e.topic()
    assert e.members() == []
    for client in ("one", "two"):
        e.beat(client)
    assert sorted(e.members()) == ["one", "two"]
    e.leave("one")
    assert e.members() == ["two"]
    e.leave("two")
    assert e.members() == []


@through(*ALL)
def test_a_member_belongs_to_its_own_group(e: Entrance) -> None:
    """Groups of the same topic know nothing of each other."""
    e.topic()
    e.beat("one")
    e.beat("two", group="H")
    assert (e.members(), e.members("H")) == (["one"], ["two"])
    e.leave("two", group="H")
    assert (e.members(), e.members("H")) == (["one"], [])


@through(*ALL)
def test_who_is_silent_for_too_long_is_forgotten(e: Entrance) -> None:
    """Who is not stays."""
    e.topic()
    for client in ("silent", "alive"):
        e.beat(client)
    for _ in range(SILENT_MS // BEAT_MS):
        assert sorted(e.members()) == ["alive", "silent"]
        e.advance(BEAT_MS)
        e.beat("alive")
    e.advance(2 * SCAN_MS)
    assert e.members() == ["alive"]
    e.advance(SILENT_MS + 2 * SCAN_MS)
    assert e.members() == []
