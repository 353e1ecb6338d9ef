"""The JSON Schema of a rule; tests/fixtures/faults/test_file_schema.py compares it with accepted and rejected rules."""

from rocketmq_testkit.emulator.faults import kinds  # noqa: F401 - fills the table of kinds
from rocketmq_testkit.emulator.faults.criteria import CRITERIA
from rocketmq_testkit.emulator.faults.fault import KINDS
from rocketmq_testkit.emulator.faults.rule_form import MEMBERS
from rocketmq_testkit.emulator.faults.rule_schema import rule_schema

SCHEMA = rule_schema(["SendMessage"])


def test_the_schema_has_each_member_and_each_criterion_that_data_can_express() -> None:
    members = SCHEMA["properties"]
    assert set(members) == set(MEMBERS)
    when = members["when"]["anyOf"][0]
    assert set(when["properties"]) == {*CRITERIA} - {"where"}
    assert when["properties"]["operation"]["anyOf"][0]["anyOf"][0] == {"enum": ["SendMessage"]}


def test_the_schema_describes_each_kind_with_its_parameters() -> None:
    """A kind that needs no parameter may be a name alone. Each parameter has its description."""
    names, *objects = SCHEMA["properties"]["then"]["anyOf"]
    described = {each["required"][0]: each for each in objects}
    assert set(described) == set(KINDS)
    for name, each in described.items():
        assert each["description"].endswith("."), name
        parameters = each["properties"][name]
        assert ("anyOf" in parameters and "type" not in parameters) == (name in names["enum"]), name
        own = parameters.get("anyOf", [parameters])[0] if name in names["enum"] else parameters
        assert set(own["properties"]) == set(KINDS[name].KIND.parameters)
        assert all(one["description"] for one in own["properties"].values())
    assert set(KINDS) - set(names["enum"]) >= {"throttle", "respond", "partition", "delay_response", "upstream_defect"}
