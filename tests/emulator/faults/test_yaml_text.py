"""Rules as YAML text, which PyYAML reads back as equal rules."""

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rocketmq_testkit.emulator.faults.criteria import Criteria
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.requests import DropRequest
from rocketmq_testkit.emulator.faults.occurrence import Occurrence
from rocketmq_testkit.emulator.faults.rule import RuleSpec
from rocketmq_testkit.emulator.faults.rule_form import read_rule
from rocketmq_testkit.emulator.faults.yaml_text import to_yaml

TEXTS = st.text(min_size=1, max_size=20)


# In the first example Hypothesis builds its table of characters, which may exceed a deadline.
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    topics=st.lists(TEXTS, min_size=1, max_size=5),
    properties=st.dictionaries(TEXTS, TEXTS, max_size=5),
    name=st.none() | TEXTS,
    probability=st.floats(0, 1, exclude_min=True),
)
def test_yaml_text_of_any_rule_reads_back(
    topics: list[str], properties: dict[str, str], name: str | None, probability: float
) -> None:
    """Texts that YAML would read differently, such as `no`, `1e-05` and line ends, are quoted."""
    rule = RuleSpec(
        fault=DropRequest(),
        criteria=Criteria(topic=topics, property=properties),
        occurrence=Occurrence(probability=probability),
        name=name,
    )
    assert [read_rule(form) for form in yaml.safe_load(to_yaml([rule, rule]))] == [rule, rule]


def test_yaml_text_of_no_rules_is_an_empty_list() -> None:
    assert yaml.safe_load(to_yaml([])) == []


def test_a_rule_with_a_function_has_no_yaml_text() -> None:
    rule = RuleSpec(fault=DropRequest(), criteria=Criteria(where=bool), occurrence=Occurrence())
    with pytest.raises(FaultError, match="where: YAML cannot hold a function; use the other criteria"):
        to_yaml([rule])


def test_the_text_of_rules_is_a_list_with_quotes_only_where_yaml_needs_them() -> None:
    rule = RuleSpec(
        fault=DropRequest("close"),
        criteria=Criteria(operation="SendMessage", topic=["orders", "pay*"], property={"on": "yes"}),
        occurrence=Occurrence(probability=1e-05),
    )
    assert to_yaml([rule]) == (
        "- when:\n"
        "    operation: SendMessage\n"
        '    topic: [orders, "pay*"]\n'
        "    property:\n"
        '      "on": "yes"\n'
        "  then:\n"
        "    drop_request:\n"
        "      how: close\n"
        "  probability: 1.0e-05\n"
    )
