"""The page of configuration keys is what the declarations say."""

from pathlib import Path

import config_page
from rocketmq_testkit.fixtures.profiles import FAST, PROFILES

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_configuration_keys_is_current() -> None:
    """`make pages` would change nothing."""
    assert (ROOT / "docs" / "config-keys.md").read_text() == config_page.page()


def test_every_difference_of_the_fast_profile_is_on_it() -> None:
    """Each key of the profile is a declared key, so that its row shows the value."""
    declared = {name for _, config in config_page.SECTIONS for name in config.attributes()}

    assert set(FAST) <= declared
    assert PROFILES["faithful"] == {}
