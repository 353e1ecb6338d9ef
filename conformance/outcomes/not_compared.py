"""Requests that real brokers serve and observations of them that the suite does not compare, each with its reason.

`make pages` writes them as a table into docs/conformance.md, and a test compares that page with this module. The codes
and their reasons are declared in `remoting/processors/unserved.py`.
"""

from collections.abc import Iterator, Mapping

from rocketmq_testkit.remoting.processors.unserved import UnservedReason, codes_with
from rocketmq_testkit.remoting.request.request_code import RequestCode

UNSUPPORTED_CODES: Mapping[tuple[RequestCode, ...], str] = {
    codes_with(reason): reason.sentence for reason in (UnservedReason.BETWEEN_SERVERS,)
}
"""Request codes that upstream handles and the emulator rejects as unknown, with the reason of their declarations."""

NOT_COMPARED: Mapping[str, str] = {
    "the proxy's port for remoting clients": "the emulator has no such port; remoting clients connect to the broker",
    "gRPC's channelz": "a debugging service of upstream's gRPC library; no SDK uses it",
    "order of a notification (40 NOTIFY_CONSUMER_IDS_CHANGED) and the response to the heartbeat that caused it": (
        "the emulator sends the notification first, as upstream does; cases compare only the final state"
    ),
    "the pop that finds the queue locked, of several concurrent ones": (
        "a race between upstream's threads; the emulator has one thread"
    ),
    "half messages that two op messages name": "a race between two of upstream's threads causes the second",
    "sums of the latency counters (315)": "durations are 0 on the emulator; cases compare only that they are present",
    "number of values of a rate in the runtime info": (
        "two or three, because upstream omits a period that it has not sampled yet; cases compare only that all are"
        " numbers"
    ),
    "order of the requests of remoting SDKs at their start": "clients decide it; scenarios compare only the result",
}
"""Observations of real brokers that no case checks, with the reason."""


def rows() -> Iterator[str]:
    """Yield the lines of the Markdown table."""
    yield "| request or observation | reason |"
    yield "|---|---|"
    for codes, reason in UNSUPPORTED_CODES.items():
        yield f"| {', '.join(f'{code:d} {code.name}' for code in codes)} | {reason} |"
    for what, reason in NOT_COMPARED.items():
        yield f"| {what} | {reason} |"
