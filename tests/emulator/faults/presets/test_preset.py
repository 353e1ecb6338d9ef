"""Presets, which are named lists of rules, and their YAML text."""

from typing import Any

import pytest
import yaml
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.presets import preset
from rocketmq_testkit.emulator.faults.presets.preset import PRESETS, is_preset, read_preset
from rocketmq_testkit.emulator.faults.rule import RuleSpec
from rocketmq_testkit.emulator.faults.rule_form import read_rule, written_rule
from rocketmq_testkit.emulator.faults.yaml_text import to_yaml


def forms(rules: list[RuleSpec]) -> list[dict[str, Any]]:
    """Return rules as mappings, without `optional`, which all rules of presets have."""
    found = [written_rule(rule) for rule in rules]
    assert all(form.pop("optional") is True for form in found)
    return found


def test_flaky_network_drops_requests_and_responses_and_delays_responses_and_pushes() -> None:
    assert forms(preset("flaky-network", loss=0.02, delay="30ms±5ms")) == [
        {"then": "drop_request", "probability": 0.02},
        {"then": "drop_response", "probability": 0.02},
        {"then": {"delay_response": {"duration": "30ms", "jitter": "5ms"}}},
        {"then": {"delay_push": {"duration": "30ms", "jitter": "5ms"}}},
    ]


def test_without_loss_a_preset_has_no_rule_that_loses() -> None:
    """With a loss of 0 the preset has no rules that lose, and a delay without a range has no jitter."""
    assert forms(preset("flaky-network", loss=0, delay="1s")) == [
        {"then": {"delay_response": {"duration": "1s"}}},
        {"then": {"delay_push": {"duration": "1s"}}},
    ]
    assert preset("lossy-acks", loss=0) == []
    assert preset("flaky-network", loss=0, delay="0ms") == preset("flaky-network", loss=0, delay="0s±0s") == []


def test_lossy_acks_acts_only_on_acknowledgements_and_offset_commits() -> None:
    found = forms(preset("lossy-acks", loss=0.3))
    assert [(form["then"], form["probability"]) for form in found] == [("drop_request", 0.3), ("drop_response", 0.3)]
    assert {*found[0]["when"]["operation"]} == {"AckMessage", "BatchAckMessage", "UpdateConsumerOffset"}


def test_slow_disk_delays_responses_of_appends_and_fails_some_sends() -> None:
    """Rules that reject sends precede and follow the delay, so that a rejected send is not delayed."""
    appends = {"operation": ["SendMessage", "SendMessageBack", "EndTransaction"]}
    late = {"when": appends, "then": {"delay_response": {"duration": "2s", "jitter": "1s"}}}
    sends = {"operation": "SendMessage"}
    assert forms(preset("slow-disk", delay="2s+-1s", busy=0.1, timeouts=0.2)) == [
        {"when": sends, "then": {"refuse_append": {"reason": "page_cache_busy"}}, "probability": 0.1},
        late,
        {"when": sends, "then": {"refuse_append": {"reason": "flush_timeout"}}, "probability": 0.2},
    ]
    assert forms(preset("slow-disk", delay="2s±1s", busy=0, timeouts=0)) == [late]


def test_rolling_restart_stops_one_broker_after_another() -> None:
    """Each broker stops `pause` after the previous one has started again."""
    assert forms(preset("rolling-restart", brokers=["broker-a", "broker-b"], down="11s", pause="4s", kill=True)) == [
        {"when": {"start": start}, "then": {"stop_broker": {"broker": broker, "duration": "11s", "kill": True}}}
        for broker, start in (("broker-a", "0ms"), ("broker-b", "15000ms"))
    ]


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_prints_as_yaml_that_reads_back(name: str) -> None:
    """The text is read back as equal rules, and each preset has a documentation."""
    rules = preset(name)
    assert [read_rule(form) for form in yaml.safe_load(to_yaml(rules))] == rules
    assert PRESETS[name].__doc__


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ("flaky-netwrk", "preset='flaky-netwrk': there is no such preset; did you mean flaky-network?"),
        ({"x": 1, "y": 2}, "preset={'x': 1, 'y': 2}: neither the name of a preset nor a mapping of one name"),
        ({"lossy-acks": {"los": 1}}, "los: no parameter of lossy-acks; did you mean loss?"),
        ({"lossy-acks": {"loss": 2}}, "loss=2: not a number from 0 to 1; use 0.1"),
        ({"slow-disk": {"delay": "20"}}, "delay='20': a duration needs a unit; use '20ms' or '20s'"),
        ({"slow-disk": {"delay": "1s±x"}}, "delay='1s±x': this is not a duration such as"),
        ({"rolling-restart": {"brokers": []}}, "brokers=[]: not a list of names of brokers; use ['broker-a', "),
    ],
)
def test_a_wrong_preset_is_rejected_with_one_sentence(form: object, sentence: str) -> None:
    with pytest.raises(FaultError) as found:
        read_preset({"preset": form}, "rule 2")
    assert str(found.value).startswith(f"rule 2: {sentence}")


def test_a_mapping_with_a_preset_and_other_members_is_rejected() -> None:
    with pytest.raises(FaultError, match=r"rule: preset: has no other members beside it; .*; remove times"):
        read_preset({"preset": "lossy-acks", "times": 3}, "rule")


@pytest.mark.parametrize(
    ("form", "expected"), [({"preset": "lossy-acks"}, True), ({"then": "drop_response"}, False), ("preset", False)]
)
def test_only_a_mapping_with_the_member_preset_names_a_preset(form: object, expected: bool) -> None:
    assert is_preset(form) is expected
