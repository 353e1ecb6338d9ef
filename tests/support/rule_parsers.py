"""Parsers of rules of faults, files of users and lists of keys, and comparisons of rules with what clients send."""

import json
from collections.abc import Callable
from typing import Any

from rocketmq_testkit.emulator.config.pool_values import parse_times
from rocketmq_testkit.emulator.explanation.trace_context import trace_context
from rocketmq_testkit.emulator.faults.criteria import Criteria
from rocketmq_testkit.emulator.faults.message_facts import MessageFacts
from rocketmq_testkit.emulator.faults.patterns import matches_pattern
from rocketmq_testkit.emulator.faults.rule_form import read_rule
from rocketmq_testkit.emulator.message import properties
from rocketmq_testkit.fixtures.values.data_files import parse_data
from rocketmq_testkit.fixtures.values.time_text import instant_ms

_OF_MESSAGES = Criteria(tag="a*a*b", key="*a*b", property={"a": "*a*b", "x": "*"})


def _criterion(name: str) -> Callable[[str], object]:
    return lambda text: read_rule({"when": {name: text}, "then": "drop_request"})


def _matches(found: dict[str, str]) -> bool:
    return _OF_MESSAGES.matches_message(MessageFacts(body=b"", properties=found))


RULE_PARSERS: dict[str, Callable[[str], Any]] = {
    "members of a rule": lambda text: read_rule({text: text, "then": "drop_request"}),
    "fault of a rule": lambda text: read_rule({"then": text}),
    "name of a criterion": lambda text: read_rule({"when": {text: text}, "then": "drop_request"}),
    "topic of a rule": _criterion("topic"),
    "operation of a rule": _criterion("operation"),
    "address of a rule": _criterion("address"),
    "version of a rule": _criterion("sdk_version"),
    "start of a rule": _criterion("start"),
    "rule of a JSON file": lambda text: parse_data("rules.json", text, is_yaml=False),
    "rule of a YAML file": lambda text: parse_data("rules.yaml", text, is_yaml=True),
    "name that a pattern matches": lambda text: matches_pattern(text, "*a*a*a*b"),
    "message that a rule matches": lambda text: _matches(properties.decode(text)),
    "keys that a rule matches": lambda text: _matches({"TAGS": "aab", "KEYS": text}),
    "trace context": lambda text: trace_context(properties.decode(text)),
    "times of pools": lambda text: parse_times("requestTimes", text, {"send": 1, "pull": 2}, example_pool="send"),
    "instant": instant_ms,
    "instant of JSON": lambda text: instant_ms(json.loads(text)),
}
"""Parsers by name. Each takes the hostile text."""
