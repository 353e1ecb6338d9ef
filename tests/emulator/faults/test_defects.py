"""The switches by which the emulator imitates defects of upstream, and their table."""

from dataclasses import fields

from rocketmq_testkit.emulator.faults.defects import SWITCHES, Defects
from rocketmq_testkit.emulator.faults.upstream_defects import UPSTREAM_DEFECTS, VERSIONS


def test_every_switch_is_described_in_the_table_and_off_at_first() -> None:
    """Each switch has an entry of the same name in the sorted table, with a known version and one sentence."""
    assert list(SWITCHES) == sorted(UPSTREAM_DEFECTS) == list(UPSTREAM_DEFECTS)
    defects = Defects()
    assert not any(getattr(defects, name) for name in SWITCHES)
    assert {each.name for each in fields(Defects)} - set(SWITCHES) == {"holders"}
    for each in UPSTREAM_DEFECTS.values():
        assert set(each.versions) <= set(VERSIONS)
        assert each.versions
        assert not each.effect.endswith(".")


def test_a_defect_stays_on_until_its_last_holder_releases_it() -> None:
    defects = Defects()
    defects.enable("route_cache")
    defects.enable("route_cache")
    defects.release("route_cache")
    assert defects.route_cache
    assert not defects.receive_needs_settings
    defects.release("route_cache")
    assert not defects.route_cache
