"""Configuration keys: limits of their values, properties files, and errors for unknown keys."""

from collections.abc import Callable
from dataclasses import fields

import pytest
from rocketmq_testkit.emulator.config import BrokerConfig, ConfigError, EmulationConfig, NamesrvConfig
from rocketmq_testkit.emulator.config.keys import _NAME_LENGTH_MAX, Config, _range, parse_properties, unknown_key


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (None, None, "a 64-bit number"),
        (0, None, "at least 0"),
        (None, 0, "at most 0"),
        (0, 5, "a value from 0 to 5"),
        (-1, 0, "a value from -1 to 0"),
    ],
)
def test_the_text_of_a_range_names_only_its_existing_limits(low: int | None, high: int | None, text: str) -> None:
    """The text of a range names the limits that exist, including a limit of 0."""
    assert _range(low, high) == text


BOUNDED = [
    (config, each.name)
    for config in (BrokerConfig, NamesrvConfig, EmulationConfig)
    for each in fields(config)
    if each.metadata.get("low") is not None or each.metadata.get("high") is not None
]


@pytest.mark.parametrize(("config", "attribute"), BOUNDED, ids=lambda value: getattr(value, "__name__", value))
def test_the_limits_of_a_key_are_accepted_and_values_beyond_are_rejected(config: type[Config], attribute: str) -> None:
    """The limits of a key are valid values, and the next whole number beyond is rejected."""
    made = config()
    [name] = [name for name, each in made.attributes().items() if each == attribute]
    [declared] = [each for each in fields(config) if each.name == attribute]
    for bound, step in ((declared.metadata["low"], -1), (declared.metadata["high"], 1)):
        if bound is not None:
            made.update({name: str(bound)})
            assert getattr(made, attribute) == bound
            with pytest.raises(ConfigError, match=f"{name}={bound + step}: expected"):
                made.update({name: str(bound + step)})


def test_comments_and_blank_lines_of_a_properties_file_are_skipped() -> None:
    """Comments, blank lines and blanks around names and values are ignored; a line without = is rejected."""
    text = "# one\n! two\n\n  a = 1 \n   \nb=2=3\n#c=4\nd="
    assert parse_properties(text) == {"a": "1", "b": "2=3", "d": ""}
    with pytest.raises(ConfigError, match=r"line 2: word: not a setting"):
        parse_properties("a=1\nword")


def test_an_unknown_key_is_rejected_with_the_nearest_name() -> None:
    """Reading or setting an unknown key raises ConfigError with the key and the nearest known name."""
    config = BrokerConfig()
    uses: tuple[Callable[[str], object], ...] = (
        config.get,
        lambda name: config.set(name, "x"),
        lambda name: config.update({name: "x"}),
    )
    for use in uses:
        with pytest.raises(ConfigError, match="key brokerNam; did you mean brokerName") as caught:
            use("brokerNam")
        assert (caught.value.key, caught.value.nearest) == ("brokerNam", "brokerName")
    with pytest.raises(ConfigError) as caught:
        config.get("x" * 40)
    assert (caught.value.key, caught.value.nearest) == ("x" * 40, None)
    assert BrokerConfig().get("brokerName") == "broker-a"


@pytest.mark.parametrize(("length", "whole"), [(_NAME_LENGTH_MAX, True), (_NAME_LENGTH_MAX + 1, False)])
def test_an_unknown_key_longer_than_the_limit_is_cut_in_the_error(length: int, whole: bool) -> None:
    """A name of exactly the maximum length is shown in full, a longer one is cut."""
    assert str(unknown_key("x" * length, ["brokerName"])).endswith("x" if whole else "x...")


def test_known_keys_are_read_as_by_upstream() -> None:
    """Any text but `true` is false for a boolean; invalid numbers and unknown keys are ignored."""
    config = BrokerConfig()
    config.update_known({"popPollingSize": "7", "autoCreateTopicEnable": "yes", "reviveQueueNum": "x", "nothing": "1"})
    assert (config.pop_polling_size, config.auto_create_topic_enable) == (7, False)
    assert config.revive_queue_num == BrokerConfig().revive_queue_num
