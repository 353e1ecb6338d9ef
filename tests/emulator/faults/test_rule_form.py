"""Rules as mappings (JSON, YAML): writing, reading, and errors for wrong mappings."""

import json
from typing import Any

import pytest
from fault_rules import rule_spec
from rocketmq_testkit.emulator.faults import kinds  # noqa: F401 - fills the table of kinds
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.requests import DropPush, Throttle
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse
from rocketmq_testkit.emulator.faults.rule import RuleSpec
from rocketmq_testkit.emulator.faults.rule_form import read_rule, written_rule

FORMS: list[tuple[RuleSpec, dict[str, Any]]] = [
    (rule_spec(DropResponse()), {"then": "drop_response"}),
    (
        rule_spec(DropResponse("close"), operation="SendMessage", topic=["orders", "a*"], times=1, name="lossy"),
        {
            "name": "lossy",
            "when": {"operation": "SendMessage", "topic": ["orders", "a*"]},
            "then": {"drop_response": {"how": "close"}},
            "times": 1,
        },
    ),
    (
        rule_spec(Throttle(5), property={"a": "b"}, nth=[1, 3], optional=True, strict=False, start="1s", end="2s"),
        {
            "when": {"property": {"a": "b"}, "start": "1s", "end": "2s"},
            "then": {"throttle": {"per_second": 5}},
            "nth": [1, 3],
            "optional": True,
            "strict": False,
        },
    ),
    (
        rule_spec(DropPush(), client="c", after=2, every=3, probability=0.5),
        {"when": {"client": "c"}, "then": "drop_push", "every": 3, "after": 2, "probability": 0.5},
    ),
]


@pytest.mark.parametrize(
    ("spec", "form"),
    FORMS,
    ids=[form["then"] if isinstance(form["then"], str) else next(iter(form["then"])) for _, form in FORMS],
)
def test_a_rule_is_written_as_a_mapping_that_reads_back_equal(spec: RuleSpec, form: dict[str, Any]) -> None:
    """The mapping can be encoded as JSON and omits defaults."""
    assert written_rule(spec) == form
    assert read_rule(json.loads(json.dumps(form))) == spec


def test_the_mapping_of_a_rule_omits_functions() -> None:
    assert written_rule(rule_spec(DropResponse(), where=lambda _: True)) == {"then": "drop_response"}


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ([], 'rule=[]: not a mapping with \'then\'; use {"then": "drop_response"}'),
        ({"than": "drop_response"}, "rule: 'than': there is no such member of a rule; did you mean then?"),
        (
            {"topic": "T", "then": "x"},
            "rule: 'topic': there is no such member of a rule; it is a criterion; write it",
        ),
        (
            {"drop_response": {}},
            "rule: 'drop_response': there is no such member of a rule; it is a fault; write it",
        ),
        ({}, 'rule: then: missing; a rule has one fault; use {"then": "drop_response"}'),
        ({"then": {"a": 1, "b": 2}}, "rule: then={'a': 1, 'b': 2}: neither the name of a fault nor a mapping of one"),
        ({"then": "drop_response", "when": []}, 'rule: when=[]: not a mapping of criteria; use {"topic": "orders"}'),
        (
            {"then": "drop_response", "when": "T"},
            'rule: when=\'T\': not a mapping of criteria; use {"topic": "orders"}',
        ),
        (
            {"then": "drop_response", "when": {"topik": "T"}},
            "rule: topik: there is no such criterion; did you mean top",
        ),
        ({"then": "drop_response", "when": {"where": "x"}}, "rule: where: a function can only be given in Python; use"),
        ({"then": "drop_response", "times": 0}, "rule: times=0: not a whole number of at least 1; use 1"),
        ({"then": "drop_response", "name": ""}, "rule: name='': not a text of 1 to 100 characters; use a name such as"),
        (
            {"then": "drop_response", "optional": "yes"},
            "rule: optional='yes': neither true nor false; use true",
        ),
        ({"then": "drop_response", "strict": 0}, "rule: strict=0: neither true nor false; use true"),
    ],
)
def test_a_wrong_mapping_is_rejected_with_one_sentence(form: Any, text: str) -> None:
    """The error starts with `rule`, the default of the parameter `at`, which names the mapping."""
    with pytest.raises(FaultError) as caught:
        read_rule(form)
    assert str(caught.value).startswith(text), str(caught.value)
