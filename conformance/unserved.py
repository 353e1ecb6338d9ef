"""Requests and behaviors of real brokers that the suite does not compare, each with its reason.

`make pages` writes them as a table into docs/conformance.md, and a test compares that page with this module. The codes
and their reasons are declared in `remoting/processors/unserved.py`.
"""

from collections.abc import Iterator, Mapping

from rocketmq_testkit.remoting.processors.unserved import Reason, codes_with
from rocketmq_testkit.remoting.request.request_code import RequestCode

UNSERVED: Mapping[tuple[RequestCode, ...], str] = {
    codes_with(reason): reason.sentence for reason in (Reason.BETWEEN_SERVERS,)
}
"""Request codes that upstream handles and the emulator rejects as unknown, with the reason of their declarations."""

UNCOMPARED: Mapping[str, str] = {
    "the proxy's port for remoting clients": "the emulator has none: remoting clients are answered by the broker",
    "gRPC's channelz": "a door for those who debug upstream's gRPC library; no SDK opens it",
    "whether a notice (40) precedes the answer to its heartbeat": "it does, here too; cases see what came in the end",
    "which of several pops at once finds the queue locked": "a race between upstream's threads; here there is one",
    "which earlier offsets a message about ends of transactions repeats": "a race between two of upstream's threads",
    "what counters of times (315) add up to": "nothing takes any time here; that they are there is held",
    "how many figures a rate has": "3 or 2 with a blank, as its rounds of measuring fall; that all are numbers is held",
    "orders in which SDKs of remoting clients ask at their start": "clients decide; scenarios hold what becomes of it",
}
"""Observations of real brokers that no case checks, with the reason."""


def rows() -> Iterator[str]:
    """Yield the lines of the Markdown table."""
    yield "| what | why not |"
    yield "|---|---|"
    for codes, reason in UNSERVED.items():
        yield f"| {', '.join(f'{code:d} {code.name}' for code in codes)} | {reason} |"
    for what, reason in UNCOMPARED.items():
        yield f"| {what} | {reason} |"
