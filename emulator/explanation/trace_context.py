"""Trace context: the properties in which SDKs and their instrumentation pass a trace from producer to consumer.

Propagators write their fields as user properties: W3C Trace Context (`traceparent`, `tracestate`, `baggage`), Zipkin
(`b3`, `X-B3-*`), Jaeger (`uber-trace-id`) and SkyWalking (`sw8`). The gRPC SDKs have a field of their own, which the
proxy stores as the property TRACE_CONTEXT. Source: the propagators of OpenTelemetry; SystemProperties.trace_context of
the gRPC API.
"""

from collections.abc import Mapping

from ..message.properties import TRACE_CONTEXT

_NAMES = (
    "traceparent",
    "tracestate",
    "baggage",
    "b3",
    "x-b3-traceid",
    "x-b3-spanid",
    "x-b3-parentspanid",
    "x-b3-sampled",
    "x-b3-flags",
    "uber-trace-id",
    "sw8",
    TRACE_CONTEXT.lower(),
)
"""Names in lower case. Propagators differ in case, and carriers such as HTTP headers ignore it."""


def trace_context(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the trace context of a message, by the names of its properties. Empty if the message has none."""
    found = {name.lower(): name for name in properties}
    return {found[name]: properties[found[name]] for name in _NAMES if name in found}
