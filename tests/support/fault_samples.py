"""Rules for tests of interfaces: one of each kind of fault with its own parameters, and one of each criterion."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from rocketmq_testkit.emulator.faults import kinds  # noqa: F401 - fills the table of kinds
from rocketmq_testkit.emulator.faults.criteria import Criteria
from rocketmq_testkit.emulator.faults.fault import KINDS
from rocketmq_testkit.emulator.faults.phase import KNOWN_CRITERIA, Phase

CRITERIA: Mapping[str, Any] = {
    "operation": ["SendMessage", "PULL_MESSAGE"],
    "protocol": "remoting",
    "broker": "broker-*",
    "address": "127.0.0.1",
    "topic": ["orders", "pay*"],
    "group": "warehouse",
    "client": ["10.0.0.7@4711", "10.0.0.8@*"],
    "language": "JAVA",
    "version": "5.3.3",
    "tag": "tea",
    "key": ["1001", "yes"],
    "property": {"color": "red", "size": "10"},
    "body_matches": 'order-\\d+ "grün" \u2028',
    "phase": "response",
    "start": "500ms",
    "end": "1h30m",
}
"""A value of each criterion that JSON and YAML can express."""
_DELAY = {"duration": "200ms", "jitter": "50ms", "distribution": "normal"}
TOGETHER: Mapping[str, Mapping[str, Any]] = {
    "respond": {"code": "SYSTEM_BUSY", "remark": "no: not now"},
    "delay_request": _DELAY,
    "delay_push": _DELAY,
    "delay_response": {**_DELAY, "bytes_per_second": 1000},
}
"""Parameters of the kinds of faults whose parameters exclude or require each other."""
OFTEN: tuple[Mapping[str, Any], ...] = (
    {"nth": 3},
    {"nth": [1, 4]},
    {"every": 2, "after": 1, "times": 5},
    {"probability": 0.25},
    {"probability": 1e-05},
    {"optional": True},
    {"strict": False},
)


def parameters_of(kind: str) -> dict[str, Any]:
    """Return a value of each parameter of a kind that differs from its default."""
    if kind in TOGETHER:
        return dict(TOGETHER[kind])
    cls: Any = KINDS[kind]
    return {each.name: _other(each.metadata["check"].schema(), each.default) for each in fields(cls)}


def rules() -> Iterator[dict[str, Any]]:
    """Yield rules as JSON holds them, each with a name of its own."""
    for kind in KINDS:
        parameters = parameters_of(kind)
        rule: dict[str, Any] = {"name": f"kind {kind}", "then": {kind: parameters} if parameters else kind}
        if Phase.STANDING in KINDS[kind].KIND.phases:
            rule["when"] = {"start": "1h"}  # it does not begin while the test runs
        yield rule
    for criterion, value in CRITERIA.items():
        yield {"name": f"criterion {criterion}", "when": {criterion: value}, "then": _kind_for(criterion)}
    known = KNOWN_CRITERIA[Phase.REQUEST] | {"start", "end"}
    everything = {name: value for name, value in CRITERIA.items() if name in known}
    yield {"name": "all criteria", "when": everything, "then": "drop_request"}
    for number, often in enumerate(OFTEN):
        yield {"name": f"often {number}", "then": "drop_response", **often}


def criteria_in_data() -> set[str]:
    """Return the names of all criteria that JSON and YAML can hold."""
    return {each.name for each in fields(Criteria)} - {"where"}


def _kind_for(criterion: str) -> str:
    return "close_connection" if criterion == "phase" else "drop_request"


def _other(schema: Mapping[str, Any], default: Any) -> Any:
    """Return a value that a JSON Schema allows, other than the default."""
    candidates = [*schema.get("enum", ()), *schema.get("examples", ())]
    if schema.get("type") == "string":
        candidates += [f"{each}0" for each in schema.get("examples", ())]  # another port, or another text
    if schema.get("type") == "boolean":
        candidates += [True, False]
    if schema.get("type") in ("integer", "number"):
        low = schema.get("minimum", 0)
        candidates += [low + 1, low] if schema.get("maximum", low + 1) > low else [low]
    found = [each for each in candidates if each != default]
    assert found, f"no value other than {default!r} for {schema}"
    return found[0]
