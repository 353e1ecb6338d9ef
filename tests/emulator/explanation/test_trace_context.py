"""Trace contexts (traceparent, b3 and others) in properties of messages."""

import pytest
from rocketmq_testkit.emulator.explanation.trace_context import trace_context


@pytest.mark.parametrize(
    "properties",
    [
        {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "a=1"},
        {"Traceparent": "00-1-2-01", "baggage": "user=7"},
        {"b3": "80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1"},
        {"X-B3-TraceId": "1", "X-B3-SpanId": "2", "X-B3-ParentSpanId": "3", "X-B3-Sampled": "1", "X-B3-Flags": "0"},
        {"uber-trace-id": "1:2:0:1"},
        {"sw8": "1-a-b-3"},
        {"TRACE_CONTEXT": "00-1-2-01"},
    ],
    ids=lambda properties: next(iter(properties)),
)
def test_properties_of_propagators_are_found_by_their_names_in_any_case(properties: dict[str, str]) -> None:
    others = {"UNIQ_KEY": "ID1", "TAGS": "a", "TRACE_ON": "true", "trace": "mine", "b33": "x"}
    assert trace_context(others | properties) == properties
    assert trace_context(others) == {}
